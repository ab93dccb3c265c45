//! Measures how evenly a rung's accesses spread over DRAM channels and banks. The kernel runs on the simulator, and
//! each access of a warp to global memory is split into bursts.
//!
//! All requests are counted, as if there were no cache: which accesses a cache absorbs depends on timing, which the
//! simulator does not model. Within one access of a warp, a burst counts once.
//!
//! The order of the blocks stands for time, and is divided into windows with equal numbers of blocks. A GPU runs
//! blocks in approximately this order. All blocks that fit run concurrently.

mod traffic;

use serde::Serialize;

use crate::Error;
use engine::device::Sim;
use engine::launch::Launch;
use engine::problem::{Problem, Verdict};
use engine::registry::{Ladder, Rung};
use engine::run::Session;

use profile::dram::{Dram, within};
use traffic::Traffic;

pub use traffic::{Accesses, Kind, Window};

/// The distribution of a rung's accesses.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// The rung's ladder.
    pub ladder: &'static str,
    /// The rung.
    pub rung: &'static str,
    /// The problem, in words.
    pub size: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// Whether the result was correct.
    pub correct: bool,
    /// The memory.
    #[serde(flatten)]
    pub dram: Dram,
    /// The accesses of each kind that occurs.
    pub accesses: Vec<Accesses>,
    /// The launch of the rung.
    #[serde(skip)]
    pub launch: Launch,
    /// The comparison of the result with the reference.
    #[serde(skip)]
    pub verdict: Verdict,
}

/// Runs a launch of a rung once and traces its accesses to `dram`. The blocks are divided into 1 to 32 windows. The
/// trace reports a wrong result.
///
/// # Errors
/// Returns [`Error::Request`] for any other number of windows, and [`Error::Engine`] when the simulator refuses the
/// launch or its kernel fails.
pub fn trace(
    sim: &mut Sim,
    ladder: &Ladder,
    rung: &Rung,
    problem: &dyn Problem,
    launch: &Launch,
    dram: Dram,
    windows: u64,
) -> Result<Trace, Error> {
    let traffic = Traffic::new(dram, within("windows", windows, 1..=32)?, launch.blocks());
    let mut session = Session::new(sim, problem, false)?;
    let traffic = session.observe(rung, launch, None, |_| traffic)?;
    let verdict = session.verdict(rung, launch)?;
    Ok(Trace {
        ladder: ladder.name,
        rung: rung.name,
        size: problem.labels().size,
        grid: launch.grid,
        block: launch.block,
        correct: verdict.is_right(),
        dram,
        accesses: traffic.accesses(),
        launch: launch.clone(),
        verdict,
    })
}

#[cfg(test)]
mod tests;
