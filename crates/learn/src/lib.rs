//! Exercises: kernels with holes, which a learner fills, and the checks that tell whether they are filled right.
//!
//! In: an [`Exercise`] and the file with a learner's answer. Out: a [`Verdict`], which says that the answer is right, or
//! the first thing that is wrong with it, in words. An answer is compiled by itself ([`compile()`]) and runs on the SIMT
//! machine with all of its checks, at sizes that are awkward, and a counter of its memory traffic or its instructions may
//! have a limit ([`check()`]). No GPU is needed. This crate must not know ladders, nor how results are shown.
//!
//! An exercise consists of texts in these places:
//!
//! | what | where |
//! |---|---|
//! | the kernel with holes, with the task at its head | `exercises/NAME.rs` |
//! | the answer, with hints and an explanation at its head | `crates/learn/solutions/NAME.rs` |
//! | modules that kernels and answers use | `crates/learn/support/NAME.rs` |
//! | inputs, sizes, what is right, and limits of counters | an entry in `crates/learn/src/topics/TOPIC.rs` |
//!
//! Solutions are plain files, so that contributors edit them and compilers check them, in a folder where nobody comes by
//! who looks at exercises. Learners edit copies in a folder of their own ([`Progress`]): what they write is in nobody's
//! way, and the originals are always there.

mod check;
mod compile;
mod exercise;
mod progress;
mod topics;
mod values;

pub use check::{AnswerError, GoalResult, Launched, Verdict, WrongResult, check};
pub use compile::{build, compile, library};
pub use exercise::{Argument, Case, Exercise, Goal, Topic};
pub use progress::{Progress, State};
pub use topics::TOPICS;
pub use values::{Values, floats, integers, words};

use std::path::PathBuf;

/// All exercises, in the order in which they are taught.
pub fn exercises() -> impl Iterator<Item = &'static Exercise> + Clone {
    TOPICS.iter().flat_map(|topic| topic.exercises)
}

/// The exercise of this name.
#[must_use]
pub fn exercise(name: &str) -> Option<&'static Exercise> {
    exercises().find(|exercise| exercise.name == name)
}

/// What keeps an answer from being checked, whatever is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {doing} {path}: {why}")]
    File {
        /// What was to be done with it.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it cannot be done.
        #[source]
        why: std::io::Error,
    },
    /// The file of a learner's progress has been changed by something else.
    #[error("{path} cannot be read ({why}): remove it, and exercises count as unsolved until they are checked again")]
    Progress {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: serde_json::Error,
    },
    /// The sources that this program was built from are needed to compile an answer, and have gone.
    #[error("{repository} has not the sources that this program was built from: build it again where they are now")]
    NoSources {
        /// Where they were.
        repository: PathBuf,
    },
    /// This machine lacks a program that compiles kernels, or one failed.
    #[error("{0}")]
    Compiler(String),
    /// The SIMT machine could not be started.
    #[error("the SIMT machine cannot be started: {0}")]
    Machine(String),
}

impl Error {
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        move |why| Self::File { doing, path: path.into(), why }
    }

    /// Whether the machine failed; otherwise the request could not be fulfilled.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Progress { .. })
    }
}
