//! Exercises as data: their texts, and the launches that check an answer.

use std::borrow::Cow;

use rung::Pitfall;
use serde::Serialize;

use crate::values::Values;

/// The folder of the book's chapters.
pub const CHAPTERS: &str = "docs/book/src";

/// The exercises about one subject.
#[derive(Debug)]
pub struct Topic {
    /// The name of the topic, such as `memory`.
    pub name: &'static str,
    /// The subject in a few words.
    pub title: &'static str,
    /// The chapter of the book that explains the subject: `banks` is `docs/book/src/banks.md`.
    pub chapter: &'static str,
    /// The exercises, in teaching order.
    pub exercises: Vec<Exercise>,
}

/// An exercise: a kernel with blanks to fill in, or with a bug to find and fix.
#[derive(Debug)]
pub struct Exercise {
    /// The name of the exercise, its files and its kernel.
    pub name: &'static str,
    /// The name of the topic.
    pub topic: &'static str,
    /// The kernel to complete or to fix, with the task in the comment at the top.
    pub text: Cow<'static, str>,
    /// The answer, with hints and an explanation in the comment at the top.
    pub solution: Cow<'static, str>,
    /// The launches that check an answer.
    pub launches: Launches,
}

/// The launches of an exercise.
#[derive(Debug)]
pub enum Launches {
    /// A launch for each problem size.
    Sizes {
        /// The problem sizes, in the order in which they are checked. The check reports the first size that fails, so
        /// the most instructive size comes first. Goals limit the counters at the last size.
        sizes: &'static [usize],
        /// Returns the launch for a size.
        case: fn(usize) -> Case,
        /// The limits for counters at the last size.
        goals: &'static [Goal],
    },
    /// The launch of a common bug.
    Bug(&'static Pitfall),
}

/// The limit of a counter at an exercise's last size. The task and the verdict print it with the same name and unit.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Goal {
    /// The counter: one of [`simt::counters::METRICS`], or [`WARPS_PER_SM`].
    #[serde(rename = "name")]
    pub counter: &'static str,
    /// Whether `limit` is a minimum. Otherwise `limit` is a maximum.
    pub is_least: bool,
    /// The limit.
    pub limit: f64,
    /// What the counter counts, with its unit: `sectors per store request`.
    #[serde(skip)]
    pub what: &'static str,
}

impl Goal {
    /// Returns the limit in words: `at most 4`.
    #[must_use]
    pub fn limit(&self) -> String {
        format!("at {} {}", if self.is_least { "least" } else { "most" }, self.limit)
    }
}

/// Nsight Compute's name for the warps that can reside on a multiprocessor at once.
pub const WARPS_PER_SM: &str = "sm__maximum_warps_avg_per_active_cycle";

impl Exercise {
    /// Returns the task in one line: the first line of the text.
    #[must_use]
    pub fn title(&self) -> &str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("//!").trim()
    }

    /// Returns the task: the comment at the top of the text.
    #[must_use]
    pub fn task(&self) -> String {
        head(&self.text)
    }

    /// Returns the common bug that the exercise is about.
    #[must_use]
    pub fn bug(&self) -> Option<&'static Pitfall> {
        match self.launches {
            Launches::Bug(bug) => Some(bug),
            Launches::Sizes { .. } => None,
        }
    }

    /// Returns the limits for counters at the last size.
    #[must_use]
    pub fn goals(&self) -> &'static [Goal] {
        match self.launches {
            Launches::Sizes { goals, .. } => goals,
            Launches::Bug(_) => &[],
        }
    }

    /// Appends the goals and the chapter to the task at the top of the text.
    pub(crate) fn add_facts(&mut self, chapter: &str) {
        let size = match self.launches {
            Launches::Sizes { sizes, .. } => sizes.last().map_or(String::new(), |size| format!(" for n = {size}")),
            Launches::Bug(_) => String::new(),
        };
        let goals = self.goals().iter().map(|goal| format!("//! - goal: {}: {}{size}\n", goal.what, goal.limit()));
        let facts: String = goals.chain([format!("//! - chapter: {chapter} ({CHAPTERS}/{chapter}.md)\n")]).collect();
        let code = self.text.lines().take_while(|line| line.starts_with("//!")).map(|line| line.len() + 1).sum();
        self.text.to_mut().insert_str(code, &format!("//!\n{facts}"));
    }

    /// Returns the launches in the order in which they are checked.
    pub(crate) fn cases(&self) -> Vec<Case> {
        match self.launches {
            Launches::Sizes { sizes, case, .. } => {
                sizes.iter().map(|size| Case { size: Some(*size), ..case(*size) }).collect()
            }
            Launches::Bug(bug) => vec![Case::for_bug(bug, bug.fixed)],
        }
    }

    /// Returns the hints: the numbered list at the top of the solution.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let head = head(&self.solution);
        let list = head.split("\n\n").find(|part| part.starts_with("1. ")).unwrap_or_default();
        let mut hints: Vec<String> = Vec::new();
        for line in list.lines() {
            let numbered = line.split_once(". ").filter(|(number, _)| number.parse::<usize>().is_ok());
            match (numbered, hints.last_mut()) {
                (Some((_, hint)), _) => hints.push(hint.to_owned()),
                (None, Some(hint)) => *hint = format!("{hint} {}", line.trim()),
                (None, None) => {}
            }
        }
        hints
    }
}

/// Returns the comment at the top of a file, without the comment markers.
pub(crate) fn head(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// A launch with its correct results.
#[derive(Debug, Clone)]
pub struct Case {
    /// The problem size, if the exercise has several.
    pub(crate) size: Option<usize>,
    pub(crate) kernel: Option<&'static str>,
    /// The number of blocks in each dimension.
    pub grid: [u32; 3],
    /// The threads of a block in each dimension.
    pub block: [u32; 3],
    /// The number of bytes of dynamic shared memory per block.
    pub shared_bytes: u32,
    /// The problem size for which the answer's function `launch` returns the grid, the block and the shared memory.
    pub(crate) chosen_for: Option<u32>,
    /// The arguments, in the order of the parameters.
    pub arguments: Vec<Argument>,
    pub(crate) tolerance: f32,
    pub(crate) any_order: bool,
}

/// An argument of a launch.
#[derive(Debug, Clone)]
pub enum Argument {
    /// A number.
    Value(simt::Arg),
    /// A pointer to a buffer.
    Buffer {
        /// The name of the parameter.
        name: &'static str,
        /// The elements before the launch, or placeholders unless the host writes the buffer.
        before: Values,
        /// What the host has done with the buffer before the launch.
        state: BufferState,
        /// The correct elements after the launch, or `None` if all values are accepted.
        after: Option<Values>,
        /// Whether the parameter is a slice, which is a pointer and a length.
        slice: bool,
    },
}

/// What the host has done with a buffer before a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferState {
    /// The host has written all elements.
    Written,
    /// The host has only allocated the buffer.
    Unwritten,
    /// The host has written all elements, and has then freed the buffer.
    Freed,
}

impl Case {
    /// Creates a launch with `blocks` blocks in x and y, and `threads` threads per block in x and y.
    #[must_use]
    pub fn new(blocks: [usize; 2], threads: [u32; 2]) -> Self {
        let grid = [blocks[0] as u32, blocks[1] as u32, 1];
        let block = [threads[0], threads[1], 1];
        let (size, kernel, shared_bytes, chosen_for, tolerance) = (None, None, 0, None, 0.0);
        Self { size, kernel, grid, block, shared_bytes, chosen_for, arguments: Vec::new(), tolerance, any_order: false }
    }

    /// Creates a one-dimensional launch.
    #[must_use]
    pub fn line(blocks: usize, threads: u32) -> Self {
        Self::new([blocks, 1], [threads, 1])
    }

    /// Creates a launch with a thread for each of `n` elements, using as few blocks of `threads` threads as possible,
    /// but at least one block.
    #[must_use]
    pub fn covering(n: usize, threads: u32) -> Self {
        Self::line(n.div_ceil(threads as usize).max(1), threads)
    }

    /// Creates a launch for `n` elements whose grid, block and shared memory come from the answer's function `launch`.
    #[must_use]
    pub fn chosen_for(n: usize) -> Self {
        Self { chosen_for: Some(n as u32), ..Self::line(1, 1) }
    }

    /// Sets the suffix that is appended to the exercise's name to form the kernel's name.
    #[must_use]
    pub fn kernel(self, name: &'static str) -> Self {
        Self { kernel: Some(name), ..self }
    }

    /// Sets the number of bytes of dynamic shared memory per block.
    #[must_use]
    pub fn shared(self, bytes: usize) -> Self {
        Self { shared_bytes: bytes as u32, ..self }
    }

    /// Sets the allowed relative error of floats.
    #[must_use]
    pub fn tolerance(self, tolerance: f32) -> Self {
        Self { tolerance, ..self }
    }

    /// Accepts the elements of a result in any order.
    #[must_use]
    pub fn any_order(self) -> Self {
        Self { any_order: true, ..self }
    }

    fn with(mut self, argument: Argument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Appends a number.
    #[must_use]
    pub fn value(self, value: impl Into<simt::Arg>) -> Self {
        self.with(Argument::Value(value.into()))
    }

    /// Appends a pointer to a buffer in this state.
    #[must_use]
    pub fn buffer(self, name: &'static str, state: BufferState, before: Values, after: Option<Values>) -> Self {
        self.with(Argument::Buffer { name, before, state, after, slice: false })
    }

    /// Appends a pointer to elements that the kernel must not change.
    #[must_use]
    pub fn input(self, name: &'static str, elements: impl Into<Values>) -> Self {
        let elements = elements.into();
        self.buffer(name, BufferState::Written, elements.clone(), Some(elements))
    }

    /// Appends a slice of elements that the kernel must not change.
    #[must_use]
    pub fn slice(self, name: &'static str, elements: impl Into<Values>) -> Self {
        let before = elements.into();
        let after = Some(before.clone());
        self.with(Argument::Buffer { name, before, state: BufferState::Written, after, slice: true })
    }

    /// Appends a pointer to unwritten elements, together with the elements that the kernel must write.
    #[must_use]
    pub fn output(self, name: &'static str, expected: impl Into<Values>) -> Self {
        let expected = expected.into();
        self.buffer(name, BufferState::Unwritten, expected.poison(), Some(expected))
    }

    /// Appends a pointer to elements, together with the values to which the kernel must change them.
    #[must_use]
    pub fn in_place(self, name: &'static str, before: impl Into<Values>, expected: impl Into<Values>) -> Self {
        self.buffer(name, BufferState::Written, before.into(), Some(expected.into()))
    }

    /// Appends a pointer to elements that may have any value after the launch.
    #[must_use]
    pub fn scratch(self, name: &'static str, before: impl Into<Values>) -> Self {
        self.buffer(name, BufferState::Written, before.into(), None)
    }
}
