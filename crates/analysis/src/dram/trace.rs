//! How evenly the accesses of a rung spread over channels and banks: its kernel runs on the SIMT machine, and each
//! access of a warp to global memory is taken apart into bursts.
//!
//! All that warps ask for is counted, as if there were no cache: what a cache keeps from the memory depends on how
//! near in time two accesses are, which the SIMT machine does not say. Within one access of a warp, a burst counts
//! once.
//!
//! Time is the order of the blocks: [`Setup::windows`] windows of as many blocks each. A GPU runs as many blocks at a time
//! as fit, one after the other in about this order.

mod traffic;

use engine::Catalog;
use engine::device::Sim;
use engine::launch::Launch;
use engine::options::Options;
use engine::problem::{Problem, Verdict};
use engine::registry::{Ladder, Rung};
use engine::run::Session;
use engine::selection::select;

use super::{Dram, DramError, positive};
use traffic::{Counts, Traffic};

pub use traffic::{Kind, Spread, Traced};

/// Channels of an H100: 5 stacks of HBM3 (NVIDIA H100 Tensor Core GPU Architecture, "H100 GPU Architecture
/// In-Depth") of 16 channels of 64 bits each (JEDEC JESD238).
pub const CHANNELS: u64 = 5 * 16;

/// Banks of each of them: 4 groups of 4 (the same standard).
pub const BANKS: u64 = 16;

/// Bytes of a burst: 8 transfers of 64 bits (the same standard).
pub const BURST: u64 = 8 * 8;

/// The most windows.
pub const MOST_WINDOWS: u64 = 4096;

/// The most that is counted apart: windows × banks × kinds of accesses.
const MOST_COUNTS: u64 = 1 << 23;

/// A memory to trace, and how finely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    dram: Dram,
    windows: u64,
}

impl Setup {
    /// A memory, and the number of windows that the blocks are divided into.
    ///
    /// # Errors
    /// [`DramError::Zero`] for no windows, [`DramError::TooMuch`] for more than [`MOST_WINDOWS`] or than can be
    /// counted apart.
    pub fn new(dram: Dram, windows: u64) -> Result<Self, DramError> {
        positive("windows", windows)?;
        if windows > MOST_WINDOWS {
            return Err(DramError::TooMuch {
                what: format!("{windows} windows"),
                limit: format!("--windows takes up to {MOST_WINDOWS}"),
            });
        }
        let banks = dram.channels() * dram.banks();
        if windows * banks * Kind::ALL.len() as u64 > MOST_COUNTS {
            return Err(DramError::TooMuch {
                what: format!("{windows} windows × {banks} banks"),
                limit: format!(
                    "{} are counted apart; ask for fewer of either",
                    MOST_COUNTS / Kind::ALL.len() as u64
                ),
            });
        }
        Ok(Self { dram, windows })
    }

    /// The memory.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }

    /// Windows that the blocks are divided into.
    pub fn windows(&self) -> u64 {
        self.windows
    }
}

/// A trace that was found possible, before anything runs.
pub struct Plan {
    ladder: &'static Ladder,
    rung: &'static Rung,
    problem: Box<dyn Problem>,
    launch: Launch,
    setup: Setup,
}

/// Why a rung's traffic cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The model of DRAM cannot show what was asked for.
    #[error(transparent)]
    Dram(#[from] DramError),
}

impl Plan {
    /// A rung by its name, on the problem that the options of its ladder ask for.
    ///
    /// # Errors
    /// [`engine::Error::UnknownName`]; [`DramError::SeveralRungs`]; what the ladder does not take; a block that the rung cannot be launched with.
    pub fn new(
        catalog: &Catalog,
        name: &str,
        options: &Options,
        block: Option<[u32; 3]>,
        setup: Setup,
    ) -> Result<Self, TraceError> {
        let (ladder, rung) = find(catalog, name)?;
        let problem = ladder.problem(options)?;
        // Refuses a rung that does not compute the problem.
        ladder.select(&[rung.name.to_owned()], &*problem)?;
        let launch = ladder.launch(rung, &*problem, block)?;
        Ok(Self {
            ladder,
            rung,
            problem,
            launch,
            setup,
        })
    }

    /// Launches the rung once and watches it.
    ///
    /// # Errors
    /// What the machine refuses.
    pub fn run(&self, sim: &mut Sim) -> Result<Trace, TraceError> {
        let problem = &*self.problem;
        let mut session = Session::new(sim, problem, false)?;
        let traffic = Traffic::new(self.setup, self.launch.blocks());
        let traffic = session.observe(self.rung, &self.launch, None, |_| traffic)?;
        let verdict = session.verdict(self.rung, &self.launch)?;
        Ok(Trace {
            ladder: self.ladder,
            rung: self.rung,
            launch: self.launch.clone(),
            size: problem.size(),
            setup: self.setup,
            verdict,
            blocks: self.launch.blocks(),
            counts: traffic.into_counts(),
        })
    }
}

/// What became of a rung's accesses.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The rung's ladder.
    pub ladder: &'static Ladder,
    /// The rung.
    pub rung: &'static Rung,
    /// How it was launched.
    pub launch: Launch,
    /// The problem, in words.
    pub size: String,
    /// The memory, and how finely it was watched.
    pub setup: Setup,
    /// Whether its result was right.
    pub verdict: Verdict,
    blocks: u64,
    counts: Counts,
}

impl Trace {
    /// The accesses of a kind, `None` where there were none.
    pub fn traced(&self, kind: Kind) -> Option<Traced<'_>> {
        self.counts.traced(kind)
    }

    /// The blocks of a window, from the first to before the last.
    pub fn blocks_of(&self, window: u64) -> (u64, u64) {
        let at = |window: u64| {
            let begin = u128::from(window) * u128::from(self.blocks);
            begin.div_ceil(u128::from(self.setup.windows)) as u64
        };
        (at(window), at(window + 1))
    }
}

/// The rung of this name, on whichever ladder.
fn find(catalog: &Catalog, name: &str) -> Result<(&'static Ladder, &'static Rung), TraceError> {
    let found = select(catalog, &[name.to_owned()])?;
    let all: Vec<_> = found
        .iter()
        .flat_map(|own| own.rungs().into_iter().map(|rung| (own.ladder, rung)))
        .collect();
    if let [one] = all[..] {
        return Ok(one);
    }
    let names: Vec<&str> = all.iter().map(|(_, rung)| rung.name).collect();
    Err(DramError::SeveralRungs {
        name: name.to_owned(),
        rungs: names.join(", "),
    }
    .into())
}

#[cfg(test)]
mod tests;
