//! The optimization checklist: what each optimization gains, how it is done, and which rungs show it.
//!
//! The six optimizations, and what each of them is good for, are those of the chapter on performance
//! considerations that the matmul ladder comes from (its table 6.1). The rungs are this repository's.
//!
//! [`ENTRIES`] is data: `ladder checklist` prints it, and whoever has found a bottleneck looks up what is done
//! about it.
//!
//! ```
//! use host::checklist::Optimization;
//!
//! let entry = Optimization::Coalescing.entry();
//! let pair = entry.pair("transpose", "transpose_naive").unwrap();
//! assert_eq!(pair.after, "transpose_smem");
//! ```

mod entries;
mod measure;

use serde::Serialize;

use engine::launch::Launch;
use engine::registry::Rung;

pub use entries::ENTRIES;
pub use measure::{Measured, Numbers, measure};

/// An optimization of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimization {
    /// As many threads on a multiprocessor as it takes to hide latencies.
    Occupancy,
    /// Neighbouring threads of a warp access neighbouring words of global memory.
    Coalescing,
    /// The threads of a warp take the same way.
    Divergence,
    /// What a block uses more than once lies in shared memory or in registers.
    Tiling,
    /// Threads that update the same data update copies of their own first.
    Privatization,
    /// A thread does the work of several.
    Coarsening,
}

/// What the checklist says of an optimization.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The optimization.
    pub optimization: Optimization,
    /// What it gains for the cores. Empty for nothing.
    pub compute: &'static str,
    /// What it gains for the memory. Empty for nothing.
    pub memory: &'static str,
    /// How it is done.
    pub strategies: &'static [&'static str],
    /// The rungs that show it.
    pub pairs: &'static [Pair],
}

/// Two rungs of a ladder, of which the second does what the first does not.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The ladder.
    pub ladder: &'static str,
    /// The rung without the optimization.
    pub before: &'static str,
    /// The rung with it.
    pub after: &'static str,
    /// The ladder's options for a problem that shows it and is counted in a moment, as they are written on the
    /// command line; the ladder's defaults for what is not there.
    pub options: &'static [(&'static str, &'static str)],
    /// The block of both, or each one's own.
    pub block: Option<[u32; 3]>,
    /// What is measured of both, and better of the second.
    pub metrics: &'static [Gain],
}

/// A number that an optimization makes better.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// What it is, in a few words.
    pub what: &'static str,
    /// Where it comes from.
    pub measure: Measure,
    /// Which way is better.
    pub better: Better,
}

/// Where a number comes from. Counters go by the names of [`METRICS`](simt::counters::METRICS).
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// The sum of counters of a launch.
    Sum(&'static [&'static str]),
    /// The sum of the first by the second.
    Quotient(&'static [&'static str], &'static str),
    /// What a launch takes of a multiprocessor.
    Resource(Resource),
}

/// What limits how many blocks a multiprocessor holds at a time, as far as the registry knows it. Registers are
/// `ptxas`'s to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Bytes of shared memory of a block, however they are declared.
    SharedBytes,
}

/// Which way a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less of it.
    Less,
    /// More of it.
    More,
}

impl Optimization {
    /// All of them, in the checklist's order.
    pub const ALL: [Self; 6] = [
        Self::Occupancy,
        Self::Coalescing,
        Self::Divergence,
        Self::Tiling,
        Self::Privatization,
        Self::Coarsening,
    ];

    /// Its name, as JSON has it too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Occupancy => "occupancy",
            Self::Coalescing => "coalescing",
            Self::Divergence => "divergence",
            Self::Tiling => "tiling",
            Self::Privatization => "privatization",
            Self::Coarsening => "coarsening",
        }
    }

    /// What the checklist says of it.
    pub fn entry(self) -> &'static Entry {
        ENTRIES
            .iter()
            .find(|entry| entry.optimization == self)
            .expect("every optimization has an entry, as a test sees")
    }
}

impl Entry {
    /// The pair that leads from this rung on, where there is one.
    pub fn pair(&self, ladder: &str, rung: &str) -> Option<&'static Pair> {
        let mut pairs = self.pairs.iter();
        pairs.find(|pair| pair.ladder == ladder && pair.before == rung)
    }
}

impl Measure {
    /// The number, of a launch of a rung with these counters; `None` where a counter is not there, or is 0 and
    /// divides.
    pub fn of(
        &self,
        rung: &Rung,
        launch: &Launch,
        counter: impl Fn(&str) -> Option<f64>,
    ) -> Option<f64> {
        let sum = |names: &[&str]| names.iter().map(|name| counter(name)).sum::<Option<f64>>();
        match self {
            Self::Sum(names) => sum(names),
            Self::Quotient(names, by) => {
                let by = counter(by).filter(|&by| by != 0.0)?;
                Some(sum(names)? / by)
            }
            Self::Resource(Resource::SharedBytes) => {
                Some(f64::from(rung.shared.bytes(launch.block)))
            }
        }
    }
}

impl Better {
    /// Whether the second number is better than the first.
    pub fn is_gain(self, before: f64, after: f64) -> bool {
        match self {
            Self::Less => after < before,
            Self::More => after > before,
        }
    }
}
