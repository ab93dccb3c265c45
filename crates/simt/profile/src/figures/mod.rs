//! Figures of what a launch does, drawn from its execution on the simulator.
//!
//! A [`Recording`] keeps what one warp does, what its block does, and what the whole launch counts. Each of [`DRAWINGS`] makes
//! [`Figure`]s of it, which are data: how they look is the business of others. The sectors and wavefronts of a figure are
//! those that the machine counts.

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
