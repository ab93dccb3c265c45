//! The optimization checklist: what each optimization gains, how it is done, and which rungs show it.
//!
//! Six of the optimizations and their gains are from the chapter on performance considerations on which the matmul
//! ladder is based (table 6.1). The seventh, bank conflicts, is from the article on which the transpose ladder is
//! based. The rungs are from this repository.
//!
//! [`entries`] returns the entries of `checklist.toml`. `ladder why --checklist` prints them, and the verdict of a
//! profile refers to the entry that addresses its bottleneck.
//!
//! ```
//! use profile::checklist::Optimization;
//!
//! let entry = Optimization::Coalescing.entry();
//! let pair = entry.pair("transpose", "transpose_naive").unwrap();
//! assert_eq!(pair.after, "transpose_smem");
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::counters::{Expression, embedded};

/// An optimization of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimization {
    /// There are enough threads per multiprocessor to hide latencies.
    Occupancy,
    /// Neighboring threads of a warp access neighboring words of global memory.
    Coalescing,
    /// The threads of a warp access words of shared memory in different banks.
    #[serde(rename = "bank conflicts")]
    BankConflicts,
    /// The threads of a warp take the same branches.
    Divergence,
    /// Data that a block uses more than once is kept in shared memory or in registers.
    Tiling,
    /// Threads that update the same data first update private copies.
    Privatization,
    /// One thread does the work of several.
    Coarsening,
}

/// An entry of the checklist.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The optimization.
    #[serde(rename = "name")]
    pub optimization: Optimization,
    /// The gain for the cores. Empty if there is no gain.
    pub compute: String,
    /// The gain for the memory. Empty if there is no gain.
    pub memory: String,
    /// The ways to apply the optimization.
    pub strategies: Vec<String>,
    /// The pairs of rungs that show the optimization.
    pub pairs: Vec<Pair>,
}

/// Two rungs of a ladder; only the second one applies the optimization.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The ladder.
    pub ladder: String,
    /// The rung without the optimization.
    pub before: String,
    /// The rung with the optimization.
    pub after: String,
    /// The ladder's options, as written on the command line, for a problem that shows the gain and is quick to count.
    /// Missing options have the ladder's default values.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The names of the [gains](gain): numbers that are measured for both rungs and are better for the second rung.
    #[serde(skip_serializing)]
    pub gains: Vec<String>,
}

/// A number that an optimization improves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// The expression that computes the number from the simulator's counters.
    #[serde(skip_serializing)]
    pub number: Expression,
    /// Whether less or more is better.
    pub better: Better,
}

/// Whether less or more of a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

/// The contents of `checklist.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    gains: BTreeMap<String, Gain>,
    /// A small problem for each ladder.
    problems: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(rename = "optimization")]
    entries: Vec<Entry>,
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    let mut file: File = embedded("checklist.toml", include_str!("checklist.toml"));
    let pairs = file.entries.iter_mut().flat_map(|entry| &mut entry.pairs);
    for pair in pairs.filter(|pair| pair.options.is_empty()) {
        pair.options = file.problems.get(&pair.ladder).cloned().unwrap_or_default();
    }
    file
});

/// Returns the entries of the checklist, in order.
pub fn entries() -> &'static [Entry] {
    &FILE.entries
}

/// Returns the gain with this name, if the checklist contains it.
pub fn gain(name: &str) -> Option<&'static Gain> {
    FILE.gains.get(name)
}

impl fmt::Display for Optimization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Optimization {
    /// Returns the entry of the checklist for this optimization.
    pub fn entry(self) -> &'static Entry {
        let mut entries = entries().iter();
        let entry = entries.find(|entry| entry.optimization == self);
        entry.expect("every optimization has an entry, as a test checks")
    }
}

impl Entry {
    /// Returns the pair that begins with this rung, if there is one.
    pub fn pair(&self, ladder: &str, rung: &str) -> Option<&Pair> {
        let mut pairs = self.pairs.iter();
        pairs.find(|pair| pair.ladder == ladder && pair.before == rung)
    }
}

impl Better {
    /// Returns whether the second number is better than the first.
    pub fn is_gain(self, before: f64, after: f64) -> bool {
        match self {
            Self::Less => after < before,
            Self::More => after > before,
        }
    }
}
