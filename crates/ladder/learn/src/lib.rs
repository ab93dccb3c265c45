//! Exercises (kernels with blanks or with a bug), and checks for a learner's answers.
//!
//! Input: an [`Exercise`] and the file with a learner's answer. Output: an [`AnswerVerdict`], which reports that the
//! answer is correct, or describes the first error. An answer is compiled separately ([`compile()`]) and runs on the
//! simulator with all sanitizers, at difficult sizes. Exercises can limit counters of memory traffic or instructions
//! ([`check()`]). No GPU is needed. This crate must not depend on ladders or on how results are displayed.
//!
//! The parts of an exercise are in these files:
//!
//! | what | where |
//! |---|---|
//! | the kernel with blanks, with the task at its head | `exercises/NAME.rs` |
//! | the answer, with hints and an explanation at its head | `crates/ladder/learn/solutions/NAME.rs` |
//! | modules that kernels and answers use | `crates/ladder/learn/support/NAME.rs` |
//! | inputs, sizes, correct results, and limits of counters | an entry in `crates/ladder/learn/src/topics/TOPIC.rs` |
//!
//! A common bug ([`rung::Pitfall`]) is also an exercise: a single file contains both kernels and the launch, and the
//! module `bug` creates the two texts from this file.
//!
//! Solutions are plain files, so that contributors can edit them and compilers can check them. They are in a separate
//! folder, so that a learner who opens an exercise does not see its solution. Learners edit copies ([`Progress`]), and
//! the originals stay unchanged.

mod bug;
mod check;
mod compile;
mod exercise;
mod progress;
mod topics;
mod values;

pub use bug::CheckedBug;
pub use check::{AnswerError, AnswerVerdict, GoalResult, Launched, WrongResult, check};
pub use compile::{build, compile, library};
pub use exercise::{Argument, BufferState, CHAPTERS, Case, Exercise, Goal, Launches, Topic, WARPS_PER_SM};
pub use progress::{Progress, State};
pub use values::{Values, floats, integers, words};

use std::path::PathBuf;

use rung::Pitfall;

/// All exercises.
#[derive(Debug)]
pub struct Course {
    /// The topics, in teaching order.
    pub topics: Vec<Topic>,
}

impl Course {
    /// Returns the kernels with blanks, followed by the given common bugs. Bugs in host code are excluded, because no
    /// kernel can fix them.
    #[must_use]
    pub fn new(bugs: &'static [Pitfall]) -> Self {
        let mut topics = topics::topics();
        topics.push(Topic {
            name: bug::TOPIC,
            title: "kernels with a bug: find it and fix it",
            chapter: "pitfalls",
            exercises: bugs.iter().filter(|bug| !bug.is_of_host()).map(Exercise::for_bug).collect(),
        });
        for topic in &mut topics {
            topic.exercises.iter_mut().for_each(|exercise| exercise.add_facts(topic.chapter));
        }
        Self { topics }
    }

    /// Returns all exercises, in teaching order.
    pub fn exercises(&self) -> impl Iterator<Item = &Exercise> + Clone {
        self.topics.iter().flat_map(|topic| &topic.exercises)
    }

    /// Returns the exercise with this name.
    #[must_use]
    pub fn exercise(&self, name: &str) -> Option<&Exercise> {
        self.exercises().find(|exercise| exercise.name == name)
    }
}

/// The reason why an answer could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {doing} {path}: {why}")]
    File {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The record of a learner's progress cannot be parsed.
    #[error("cannot read {path} ({why}): remove it; exercises then count as unsolved until you check them again")]
    Progress {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: serde_json::Error,
    },
    /// The sources from which this program was built are missing. They are needed to compile an answer.
    #[error(
        "the sources of this program are not in {repository}: rebuild the program in the folder that contains its sources"
    )]
    NoSources {
        /// The folder that contained the sources when the program was built.
        repository: PathBuf,
    },
    /// A program that compiles kernels is not installed on this machine, or it failed.
    #[error("{0}")]
    Compiler(String),
    /// The simulator could not be started.
    #[error("cannot start the simulator: {0}")]
    Simulator(String),
}

impl Error {
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        move |why| Self::File { doing, path: path.into(), why }
    }

    /// Returns whether the environment caused the error. Otherwise, the cause is the request itself.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Progress { .. })
    }
}
