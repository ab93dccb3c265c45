//! Figures of what a rung does, drawn from the execution of its PTX on the SIMT machine.
//!
//! A rung is run once, and a [`Recording`] keeps what one warp does, what its block does, and what the whole launch counts.
//! Each of [`DRAWINGS`] makes [`Figure`]s of it, which are data: how they look is the business of others. The sectors and
//! wavefronts of a figure are those that the machine counts.

mod access;
mod banks;
mod bursts;
mod flow;
mod meeting;
mod model;
mod record;
mod recorder;
mod shuffle;
mod source;
mod tiles;
mod timeline;
mod tree;

use crate::Error;
use crate::occupancy::Limits;
use crate::selection::{has_sizes, shrink};
use engine::device::Sim;
use engine::launch::Launch;
use engine::problem::{Problem, Verdict, buffer_bytes};
use engine::registry::{DeviceProperties, Rung};
use engine::run::Session;
use engine::selection::Selection;

use crate::predict;
pub use devices::Description;
pub use flow::{Graph, Id as ValueId, Kind as ValueKind, Loaded, MemoryAddress, Value as FlowValue};
pub use model::{Arrow, Cell, Drawing, Figure, FigureRow, Grid, Line, Listing, PtxLine, Shade};
pub use record::{Recording, Request, Residence, Shuffle, Watch};
use recorder::{finish, observers};
use simt::critical_path::CriticalPath;
pub use tree::{Addition, Round, Term, Tree, tree};

/// The kinds of figures, in the order in which they are shown.
pub const DRAWINGS: &[Drawing] = &[
    access::ACCESS,
    banks::BANKS,
    shuffle::SHUFFLE,
    tree::TREE,
    tiles::TILES,
    bursts::BURSTS,
    timeline::TIMELINE,
    source::SOURCE,
];

/// The most bytes of a problem that is drawn. The machine runs all of it, which takes seconds.
const MOST_BYTES: u64 = 4 << 20;
/// About how many bytes a problem has for which no size is given.
const USUAL_BYTES: u64 = 256 << 10;

/// Makes sure that a selection's problem is small enough to be drawn, and gives it sizes where none are given.
///
/// # Errors
/// [`Error::Engine`] when the options are not possible, [`Error::Request`] with sizes that fit when those that are given
/// are too large.
pub fn small_enough(selection: &mut Selection) -> Result<(), Error> {
    fit(selection, USUAL_BYTES)
}

/// The same, where a problem for which no sizes are given gets about so many bytes.
///
/// # Errors
/// As those of [`small_enough`].
pub fn fit(selection: &mut Selection, usual_bytes: u64) -> Result<(), Error> {
    let ladder = selection.ladder;
    let problem = ladder.problem(&selection.options())?;
    let bytes = buffer_bytes(&*problem, DeviceProperties::default());
    let smaller = |most: u64| problem.smaller(most as f64 / bytes.max(1) as f64);
    if has_sizes(selection) {
        return match bytes > MOST_BYTES {
            false => Ok(()),
            true => {
                let fits =
                    smaller(MOST_BYTES).map_or(String::new(), |sizes| format!("; {} fits", sizes.command_line()));
                let size = problem.labels().size;
                let (bytes, most) = (bytes >> 20, MOST_BYTES >> 20);
                Err(Error::Request(format!("{size} is too large to draw: {bytes} MiB, of {most} MiB at most{fits}")))
            }
        };
    }
    if bytes > usual_bytes {
        shrink(selection, &*problem, usual_bytes as f64 / bytes as f64)?;
    }
    Ok(())
}

/// Runs a launch of a rung once and keeps what a warp and its block do, by their numbers in the grid and the block.
///
/// # Errors
/// [`Error::Request`] when there is no such block or warp; [`Error::Engine`] when the SIMT machine refuses the launch or
/// its kernel fails; [`Error`] when the device is not known whose latencies are modelled.
pub fn record(
    sim: &mut Sim,
    problem: &dyn Problem,
    rung: &Rung,
    launch: &Launch,
    watch: impl Into<Watch>,
) -> Result<(Recording, Verdict), Error> {
    let watch = watch.into();
    let threads: u64 = launch.block.iter().map(|side| u64::from(*side)).product();
    for (what, number, count, option) in
        [("block", watch.block, launch.blocks(), "--block-index"), ("warp", watch.warp, threads.div_ceil(32), "--warp")]
    {
        if number >= count {
            return Err(Error::Request(format!(
                "there is no {what} {number}: {launch} has {count} of them, {option} is less than that"
            )));
        }
    }
    let device = match &watch.on {
        Some(device) => device.clone(),
        None => Description::open("h100")?,
    };
    let (entry, has_registers) = predict::occupancy_of(watch.kernels, &device, launch)?;
    let residence = Residence {
        device: device.name.clone(),
        multiprocessors: device.multiprocessors,
        blocks: launch.blocks(),
        resident: entry.occupancy.blocks,
        warps: threads.div_ceil(32) as u32,
        most_warps: Limits::named(&device.arch)?.warps,
        has_registers,
    };
    let l1_bytes = predict::l1_bytes(&device, &entry);
    let mut session = Session::new(sim, problem, false)?;
    let ranges = session.ranges()?;
    let seen = session.observe(rung, launch, None, |function| {
        let path = || CriticalPath::new(function, device.latency, l1_bytes, &ranges);
        observers(function, &watch, &ranges, path)
    })?;
    let mut recording = finish(seen, watch, ranges, residence);
    // Values may grow as the bytes or, in a product of matrices, as their root.
    let smaller = problem.smaller(recording.flow.kept().powi(2) * 0.9);
    recording.fits = smaller.map(|sizes| sizes.command_line());
    let verdict = session.verdict(rung, launch)?;
    Ok((recording, verdict))
}
