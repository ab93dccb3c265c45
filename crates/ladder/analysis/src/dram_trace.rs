//! How evenly the accesses of a rung spread over channels and banks: its kernel runs on the simulator, and each
//! access of a warp to global memory is taken apart into bursts.
//!
//! All that warps ask for is counted, as if there were no cache: what a cache keeps from the memory depends on how
//! near in time two accesses are, which the simulator does not know. Within one access of a warp, a burst counts
//! once.
//!
//! Time is the order of the blocks, divided into windows of as many blocks each. A GPU runs as many blocks at a time
//! as fit, one after the other in about this order.

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
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Whether the result was right.
    pub correct: bool,
    /// The memory.
    #[serde(flatten)]
    pub dram: Dram,
    /// The accesses of each kind that the rung has.
    pub accesses: Vec<Accesses>,
    /// How the rung was launched.
    #[serde(skip)]
    pub launch: Launch,
    /// The result against the reference.
    #[serde(skip)]
    pub verdict: Verdict,
}

/// Runs a launch of a rung once and watches its accesses to `dram`, its blocks divided into 1 to 32 windows. A wrong
/// result is in the trace.
///
/// # Errors
/// [`Error::Request`] for any other number of windows; [`Error::Engine`] when the simulator refuses the
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
