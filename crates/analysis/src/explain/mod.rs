//! Figures of what a warp of a rung does, drawn from the execution of its PTX on the SIMT machine.
//!
//! A rung is run once, and a [`Recording`] keeps what one warp does. Each of [`DRAWINGS`] makes [`Figure`]s of it, which
//! are data: how they look is the business of others. The sectors and wavefronts of a figure are those that the machine
//! counts.

mod access;
mod banks;
mod model;
mod record;
mod shuffle;

use crate::Error;
use crate::selection::{has_sizes, shrink};
use engine::device::Sim;
use engine::launch::Launch;
use engine::problem::{Problem, Verdict};
use engine::registry::Rung;
use engine::run::Session;
use engine::selection::Selection;

pub use model::{Arrow, Cell, Drawing, Figure, Grid, Row, Shade};
use record::{Recorder, Watched};
pub use record::{Recording, Request, Shuffle};

/// The kinds of figures, in the order in which they are shown.
pub const DRAWINGS: &[Drawing] = &[access::ACCESS, banks::BANKS, shuffle::SHUFFLE];

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
    let ladder = selection.ladder;
    let problem = ladder.problem(&selection.options())?;
    let bytes = problem.buffer_bytes();
    let smaller = |most: u64| problem.smaller(most as f64 / bytes.max(1) as f64);
    if has_sizes(selection) {
        return match bytes > MOST_BYTES {
            false => Ok(()),
            true => {
                let fits =
                    smaller(MOST_BYTES).map_or(String::new(), |sizes| format!("; {} fits", sizes.command_line()));
                let size = problem.size();
                let (bytes, most) = (bytes >> 20, MOST_BYTES >> 20);
                Err(Error::Request(format!("{size} is too large to draw: {bytes} MiB, of {most} MiB at most{fits}")))
            }
        };
    }
    if bytes > USUAL_BYTES {
        shrink(selection, &*problem, USUAL_BYTES as f64 / bytes as f64)?;
    }
    Ok(())
}

/// Runs a launch of a rung once and keeps what a warp does, by its number in its block, and the block's in the grid.
///
/// # Errors
/// [`Error::Request`] when there is no such block or warp; [`Error::Engine`] when the SIMT machine refuses the launch or
/// its kernel fails.
pub fn record(
    sim: &mut Sim,
    problem: &dyn Problem,
    rung: &Rung,
    launch: &Launch,
    (block, warp): (u64, u64),
) -> Result<(Recording, Verdict), Error> {
    let threads: u64 = launch.block.iter().map(|side| u64::from(*side)).product();
    for (what, number, count, option) in
        [("block", block, launch.blocks(), "--block-index"), ("warp", warp, threads.div_ceil(32), "--warp")]
    {
        if number >= count {
            return Err(Error::Request(format!(
                "there is no {what} {number}: {launch} has {count} of them, {option} is less than that"
            )));
        }
    }
    let mut session = Session::new(sim, problem, false)?;
    let watched = Watched { block, warp: warp as u32 };
    let recorder = session.observe(rung, launch, None, |function| Recorder::new(function, watched))?;
    let recording = recorder.finish(session.ranges()?);
    let verdict = session.verdict(rung, launch)?;
    Ok((recording, verdict))
}
