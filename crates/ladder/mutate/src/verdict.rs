//! What became of a mutant.

use std::fmt;

use engine::device::Check;
use serde::{Deserialize, Serialize};

/// What noticed a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caught {
    /// A result is wrong, or memory behind an output was written.
    Result,
    /// The machine ended the launch: an access to no memory, a barrier that some lanes do not reach, a deadlock.
    Fault,
    /// The launch did not end within several times as many instructions as the kernel takes.
    TimeOut,
    /// A sanitizer.
    #[serde(untagged)]
    Sanitizer(Check),
}

impl Caught {
    /// Returns all, in the order in which they are asked.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Result, Self::Fault, Self::TimeOut].into_iter().chain(Check::ALL.iter().copied().map(Self::Sanitizer))
    }
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MutantVerdict {
    /// The check notices it.
    Caught {
        /// By what.
        by: Caught,
        /// The problem.
        at: String,
        /// What was wrong, in words.
        what: String,
    },
    /// No change of behaviour was seen: on all problems of the check, and on others, each thread accesses the same memory in
    /// the same order, and leaves the same in it.
    Unchanged {
        /// On how many launches.
        launches: usize,
    },
    /// It makes no difference: on all problems of the check, and on others, all memory is the same in the end, and no
    /// sanitizer finds anything. The threads access other memory in between, as where work is done twice.
    SameMemory {
        /// On how many launches.
        launches: usize,
        /// The first problem with other accesses.
        at: String,
    },
    /// No problem executes what was changed.
    Unreached {
        /// On how many launches.
        launches: usize,
    },
    /// The check does not notice it.
    Survived {
        /// What is different, in words.
        what: String,
    },
    /// It is not a program: the machine does not load it.
    Refused {
        /// Why not.
        why: String,
    },
}

impl MutantVerdict {
    /// What caught it.
    #[must_use]
    pub fn caught(&self) -> Option<Caught> {
        match self {
            Self::Caught { by, .. } => Some(*by),
            _ => None,
        }
    }
}
