//! What ends a launch early.

use std::fmt;

use crate::memory::{AccessFault, AccessProblem};

/// A kernel did something that it may not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: String,
    /// The function, if it is another.
    pub function: Option<String>,
    /// The block.
    pub block: [u32; 3],
    /// The thread in its block; the first of those concerned.
    pub thread: [u32; 3],
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// That line.
    pub ptx: String,
    /// The source line that the instruction was compiled from: file and line.
    pub origin: Option<(String, u32)>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A load, store or atomic at an address where it may not be.
    Access {
        /// The access.
        access: AccessFault,
        /// What lies near, in words: `16 bytes past the end of argument 0's buffer of 4096 bytes`.
        near: String,
    },
    /// A barrier was reached by some threads of a warp only.
    DivergentBarrier {
        /// The lanes that are there.
        here: u32,
        /// The lanes that are not.
        elsewhere: u32,
    },
    /// A barrier's number or count is out of range.
    BadBarrier {
        /// What is wrong.
        problem: String,
    },
    /// A warp operation names lanes that are not there.
    AbsentLanes {
        /// Those lanes.
        lanes: u32,
    },
    /// `trap`
    Trap,
    /// The launch executed more instructions than its budget.
    Budget {
        /// The budget, in instructions of warps.
        instructions: u64,
    },
    /// All warps of the block wait at barriers that will not be completed.
    Deadlock {
        /// Who waits where, in words.
        waiting: String,
    },
    /// `brx.idx` with an index beyond its targets.
    BadIndex {
        /// The index.
        index: u32,
        /// How many targets there are.
        targets: u32,
    },
    /// No local memory for another frame: calls nested too deeply for what a thread may have, or no more
    /// memory to be had from the host.
    StackOverflow,
}

impl Fault {
    fn text(&self) -> String {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        let mut text = format!("{} in kernel `{}`", self.kind, self.kernel);
        if let Some(function) = &self.function {
            text += &format!(" (function `{function}`)");
        }
        text += &format!(", block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})");
        if self.ptx_line > 0 {
            text += &format!(", PTX line {}: {}", self.ptx_line, self.ptx);
        }
        if let Some((file, line)) = &self.origin {
            text += &format!(" [{file}:{line}]");
        }
        text
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Access { access, near } => {
                let what = match access.what {
                    AccessProblem::Misaligned => "misaligned",
                    AccessProblem::OutOfBounds => "out of bounds",
                    AccessProblem::ReadOnly => "read-only memory:",
                };
                let verb = if access.write { "write" } else { "read" };
                write!(
                    f,
                    "{what} {verb} of {} bytes at {:#x}",
                    access.bytes, access.address
                )?;
                if near.is_empty() {
                    Ok(())
                } else {
                    write!(f, ", {near},")
                }
            }
            FaultKind::DivergentBarrier { here, elsewhere } => write!(
                f,
                "barrier reached by some threads of a warp only ({} lanes are there, {} are not)",
                here.count_ones(),
                elsewhere.count_ones()
            ),
            FaultKind::BadBarrier { problem } => write!(f, "barrier: {problem}"),
            FaultKind::AbsentLanes { lanes } => write!(
                f,
                "warp operation whose mask names lanes that are not there ({lanes:#010x})"
            ),
            FaultKind::Trap => f.write_str("trap"),
            FaultKind::Budget { instructions } => {
                write!(f, "more than {instructions} instructions executed")
            }
            FaultKind::Deadlock { waiting } => write!(f, "deadlock: {waiting}"),
            FaultKind::BadIndex { index, targets } => {
                write!(f, "brx.idx with index {index} of {targets} targets")
            }
            FaultKind::StackOverflow => f.write_str(
                "calls nested too deeply: no local memory for another frame (Config::max_local_bytes, or the host's own memory)",
            ),
        }
    }
}
