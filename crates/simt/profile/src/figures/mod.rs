//! Figures of a launch, drawn from its execution on the simulator.
//!
//! A [`Recording`] contains the actions of one warp and of its block, and the counters of the whole launch. Each of
//! [`DRAWINGS`] converts a recording into [`Figure`]s, which are data; other crates render them. The sectors and
//! wavefronts of a figure equal the numbers that the simulator counts.

mod access;
mod banks;
mod bursts;
mod exchange;
mod figure;
mod flow;
mod fragments;
mod loops;
mod meeting;
mod record;
mod recorder;
mod scan;
mod shuffle;
mod source;
mod tiles;
mod timeline;
mod tree;

pub use exchange::{Exchanged, exchange};
pub use figure::{Arrow, Cell, Drawing, Figure, FigureRow, Grid, Line, Listing, PtxLine, Shade};
pub use flow::{Graph, Id as ValueId, Kind as ValueKind, Loaded, MemoryAddress, Value as FlowValue};
pub use record::{Recording, Request, Residence, Shuffle, Written};
pub use recorder::Observers;
pub(crate) use recorder::{finish, observers};
pub use tree::{Addition, Round, Term, Tree, tree};

/// The kinds of figures, in the order in which they are shown.
pub const DRAWINGS: &[Drawing] = &[
    access::ACCESS,
    banks::BANKS,
    shuffle::SHUFFLE,
    loops::LOOP,
    fragments::FRAGMENTS,
    tree::TREE,
    scan::SCAN,
    tiles::TILES,
    bursts::BURSTS,
    timeline::TIMELINE,
    exchange::EXCHANGE,
    source::SOURCE,
];
