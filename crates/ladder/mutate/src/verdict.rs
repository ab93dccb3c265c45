//! The verdicts on mutants.

use std::fmt;

use engine::device::Check;
use serde::{Deserialize, Serialize};

/// The check that caught a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caught {
    /// A wrong result, or a write beyond the end of an output.
    Result,
    /// The simulator stopped the launch: an access outside of all memory, a barrier that some lanes do not reach, or a
    /// deadlock.
    Fault,
    /// The launch did not end within a multiple of the kernel's number of instructions.
    TimeOut,
    /// A finding of a sanitizer.
    #[serde(untagged)]
    Sanitizer(Check),
}

impl Caught {
    /// Returns all variants, in the order in which they are tested.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Result, Self::Fault, Self::TimeOut].into_iter().chain(Check::ALL.iter().copied().map(Self::Sanitizer))
    }
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The verdict on a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MutantVerdict {
    /// The check detects the mutant.
    Caught {
        /// The check that caught the mutant.
        by: Caught,
        /// The problem on which the mutant was caught.
        at: String,
        /// A description of the error.
        what: String,
    },
    /// No change of behavior was observed: on all problems of the check and on other problems, each thread accesses the
    /// same memory in the same order and leaves the same contents.
    Unchanged {
        /// The number of launches.
        launches: usize,
    },
    /// The change makes no difference to the result: on all problems of the check and on other problems, all memory has
    /// the same final contents and no sanitizer reports a finding. The accesses can differ, for example if work is done
    /// twice.
    SameMemory {
        /// The number of launches.
        launches: usize,
        /// The first problem with other accesses.
        at: String,
    },
    /// No problem executes the changed instruction.
    Unreached {
        /// The number of launches.
        launches: usize,
    },
    /// The check does not detect the mutant.
    Survived {
        /// A description of the difference.
        what: String,
    },
    /// The mutant is not a valid program: the simulator cannot load it.
    Refused {
        /// The error of the simulator.
        why: String,
    },
}

impl MutantVerdict {
    /// Returns the check that caught the mutant, if one did.
    #[must_use]
    pub fn caught(&self) -> Option<Caught> {
        match self {
            Self::Caught { by, .. } => Some(*by),
            _ => None,
        }
    }
}
