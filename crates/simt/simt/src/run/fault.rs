//! Faults: the errors of a kernel that end a launch early.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use ptx::Source;

use super::arg::Arg;
use super::block::{BlockFault, WaitedForThread};
use super::frames::{Position, bounds, frames, panicked};
use super::launch::Launch;
use super::simulator::Simulator;
use crate::code::FUNCTIONS;
use crate::demangle::{demangled, variable};
use crate::memory::{AccessFault, AccessProblem, PARAM_WINDOW, WINDOW_BYTES};
use crate::observe::Space;
use crate::regs::LANES;
use crate::source_frames::{Frame, origin};

/// Addresses from here on are offsets from a null pointer, with a negative number of 32 bits.
const BEFORE_NULL: u64 = 1_u64.wrapping_neg() << 32;
/// Addresses of the host's memory on Linux: the heap on x86-64; the rest of x86-64's and all of aarch64's 48-bit addresses.
const HOST: [Range<u64>; 2] = [0x5500_0000_0000..0x5700_0000_0000, PARAM_WINDOW + WINDOW_BYTES..1 << 48];

/// A fault: the kernel did something that is not allowed.
///
/// Displayed as a line that says what, where in the kernel and at which line of its source, for logs;
/// `simt_check::diagnostic` draws it for people.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: String,
    /// The function, if it is not the kernel itself.
    pub function: Option<String>,
    /// The block.
    pub block: [u32; 3],
    /// The thread in its block; the first of those concerned.
    pub thread: [u32; 3],
    /// The thread's lane in its warp.
    pub lane: u32,
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// The text of that line.
    pub ptx: String,
    /// The source line to look at, file and line: the innermost of [`Fault::frames`] that is not a library's, or else
    /// the innermost.
    pub origin: Option<(String, u32)>,
    /// The column in that line, in bytes from 1; 0 where the PTX says none.
    pub column: u32,
    /// The functions that the thread was in, the innermost first: that of the instruction, those that it was inlined
    /// into, and their callers. Of calls nested deeply, only the innermost.
    pub frames: Vec<Frame>,
    /// A thread that the first one waits for in vain, if it waits for others.
    pub other: Option<OtherThread>,
}

/// The thread that another one waits for in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherThread {
    /// What it does: `it waits at barrier 1`.
    pub what: String,
    /// Its block.
    pub block: [u32; 3],
    /// The thread in that block.
    pub thread: [u32; 3],
    /// The line of the PTX where it is, from 1.
    pub ptx_line: u32,
    /// The text of that line.
    pub ptx: String,
    /// The source line, as [`Fault::origin`].
    pub origin: Option<(String, u32)>,
    /// The column in that line, as [`Fault::column`].
    pub column: u32,
}

crate::error::debug_like_display!(Fault);

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A load, store or atomic at an address where it may not be.
    Access {
        /// The access.
        access: AccessFault,
        /// The memory near the address, in words: `16 bytes past the end of argument 0's buffer of 4096 bytes`.
        near: String,
    },
    /// A barrier was reached by some threads of a warp only.
    DivergentBarrier {
        /// The lanes that have arrived.
        here: u32,
        /// The lanes that have not.
        elsewhere: u32,
    },
    /// A barrier's number or count is out of range.
    BadBarrier {
        /// The reason, in words.
        problem: String,
    },
    /// A warp operation's `membermask` names lanes that do not execute it.
    AbsentLanes {
        /// The lanes that are named but absent.
        lanes: u32,
    },
    /// Lanes execute a warp operation whose `membermask` does not name them.
    UnnamedLanes {
        /// The lanes.
        lanes: u32,
    },
    /// `trap`
    Trap,
    /// A panic of Rust code, which ends in a `trap`.
    Panic {
        /// What went wrong, in words, where the function that panicked says it: `index out of bounds`.
        message: Option<String>,
    },
    /// The launch executed more instructions than its budget.
    Budget {
        /// The budget, in instructions of warps.
        instructions: u64,
    },
    /// The launch took longer than it may.
    TimeLimit {
        /// How long it may take.
        limit: Duration,
    },
    /// Somebody asked for the end of all launches: [`interruption`](crate::run::interruption).
    Interrupted,
    /// Nothing in the block gets on, nor in other blocks: its threads wait at barriers that will not be completed, for
    /// lanes that do not come, or for memory that nobody changes.
    Deadlock {
        /// Who waits for what, in words.
        waiting: String,
    },
    /// `brx.idx` with an index beyond its targets.
    BadIndex {
        /// The index.
        index: u32,
        /// How many targets there are.
        targets: u32,
    },
    /// `assert` of a condition that does not hold.
    Assert {
        /// The condition, as the source has it.
        expression: String,
        /// The source file.
        file: String,
        /// Its line.
        line: u32,
        /// The function.
        function: String,
    },
    /// `free` of an address that `malloc` has not given, or that was freed before.
    BadFree {
        /// The address.
        address: u64,
    },
    /// A call of an address that is no function's, or not of one that the call fits.
    BadCall {
        /// The address.
        address: u64,
        /// What is there, in words.
        problem: String,
    },
    /// No local memory for another frame: calls nested too deeply for what a thread may have, or no more
    /// memory to be had from the host.
    StackOverflow,
}

impl Simulator {
    /// A fault of block `number`, in words and with its place in the text.
    /// The module's variables lie at `variables`.
    pub(super) fn describe(&self, launch: &Launch<'_>, variables: &[u64], number: u64, fault: BlockFault) -> Fault {
        let BlockFault { site, thread, kind, callers, other, .. } = fault;
        let program = &*launch.function.program;
        let source = Source::new(&launch.function.module.ptx);
        let text = |line: u32| source.line_text(line).trim().to_owned();
        let other = other.map(|WaitedForThread { what, site, block, thread }| {
            let Position { ptx_line, source: origin, column, .. } = Position::of(launch.function, site);
            let block = unravel(block.unwrap_or(number), launch.grid);
            let thread = unravel(u64::from(thread), launch.block);
            OtherThread { what, block, thread, ptx_line, ptx: text(ptx_line), origin, column }
        });
        let func = &program.functions[site.function as usize];
        let (ptx_line, _) = source.line_column(func.origins[site.pc as usize].at);
        let sites = callers.iter().map(|(site, _)| *site);
        let sites = [site].into_iter().chain(sites);
        let frames = frames(&launch.function.module.ptx, program, sites);
        let kind = match *kind {
            FaultKind::Access { access, .. } => {
                let near = self.near(&access, launch, variables);
                FaultKind::Access { access, near }
            }
            FaultKind::Trap => match panicked(&frames) {
                Some(message) => {
                    FaultKind::Panic { message: callers.iter().find_map(|own| bounds(&own.1)).or(message) }
                }
                None => FaultKind::Trap,
            },
            other => other,
        };
        Fault {
            kind,
            kernel: program.functions[0].name.clone(),
            function: (site.function > 0).then(|| func.name.clone()),
            block: unravel(number, launch.grid),
            thread: unravel(u64::from(thread), launch.block),
            ptx_line,
            lane: thread % LANES as u32,
            ptx: text(ptx_line),
            column: origin(&frames).map_or(0, |frame| frame.column),
            origin: origin(&frames).and_then(|frame| frame.place.clone()),
            frames,
            other,
        }
    }

    /// The memory that a faulting access was probably meant for.
    fn near(&self, access: &AccessFault, launch: &Launch<'_>, variables: &[u64]) -> String {
        if access.what == AccessProblem::ReadOnly
            && let Some(near) = constant(access, launch)
        {
            return near;
        }
        if let Some(near) = access.near() {
            return near;
        }
        match access.address {
            0 => return "a null pointer".to_owned(),
            bytes @ ..FUNCTIONS => return format!("{bytes} bytes from a null pointer"),
            bytes @ BEFORE_NULL.. => return format!("{} bytes before a null pointer", bytes.wrapping_neg()),
            address if HOST.iter().any(|range| range.contains(&address)) => {
                return "probably a pointer to the host's memory".to_owned();
            }
            _ => {}
        }
        if let Some(freed) = self.global.freed(access.address) {
            let (at, bytes) = (access.address - freed.start, freed.end - freed.start);
            return format!("{at} bytes into an allocation of {bytes} bytes that was freed");
        }
        let Some(allocation) = self.global.nearest(access.address) else {
            return String::new();
        };
        let mut args = launch.args.iter();
        let argument = args.position(|arg| *arg == Arg::Pointer(allocation.base));
        let name = launch.function.module.variable_at(variables, allocation.base);
        let whose = match (argument, name) {
            (Some(index), _) => format!("argument {index}'s buffer"),
            (None, Some(name)) => variable(name),
            (None, None) => "an allocation".to_owned(),
        };
        let end = allocation.base + allocation.bytes;
        let bytes = allocation.bytes;
        if access.address >= end {
            format!("{} bytes past the end of {whose} of {bytes} bytes", access.address - end)
        } else if access.address < allocation.base {
            format!("{} bytes before {whose} of {bytes} bytes", allocation.base - access.address)
        } else {
            format!("at byte {} of {whose} of {bytes} bytes", access.address - allocation.base)
        }
    }
}

/// The constant or the parameter that an address lies in, in words.
fn constant(access: &AccessFault, launch: &Launch<'_>) -> Option<String> {
    let function = launch.function;
    let (what, name, begin, bytes) = match access.space {
        Space::Const => function.module.variables.iter().flatten().find_map(|own| {
            let begin = u64::from(own.constant_at?);
            let is_inside = (begin..begin + own.bytes).contains(&access.offset);
            is_inside.then(|| ("constant", demangled(&own.name), begin, own.bytes))
        })?,
        Space::Param => function.program.params.iter().find_map(|own| {
            let (begin, bytes) = (u64::from(own.offset), u64::from(own.bytes));
            let is_inside = (begin..begin + bytes).contains(&access.offset);
            is_inside.then(|| ("parameter", own.name.clone(), begin, bytes))
        })?,
        _ => return None,
    };
    Some(format!("byte {} of {what} `{name}` of {bytes} bytes", access.offset - begin))
}

/// Coordinates of a linear index, x fastest.
pub fn unravel(index: u64, sides: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(sides[0]), u64::from(sides[1]));
    [(index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32]
}

/// The linear index of coordinates.
pub fn ravel(at: [u32; 3], sides: [u32; 3]) -> u64 {
    let [x, y, z] = at.map(u64::from);
    (z * u64::from(sides[1]) + y) * u64::from(sides[0]) + x
}

impl Fault {
    fn text(&self) -> String {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        let mut text = format!("{} in kernel `{}`", self.kind, demangled(&self.kernel));
        if let Some(function) = &self.function {
            text += &format!(" (function `{}`)", demangled(function));
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
                if let Some(words) = access.what.words() {
                    return f.write_str(words);
                }
                write!(f, "{access} at {:#x}", access.address)?;
                if access.what == AccessProblem::Misaligned {
                    write!(f, ", which is not a multiple of {}", access.align)?;
                }
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
            FaultKind::UnnamedLanes { lanes } => write!(
                f,
                "warp operation of lanes that its mask does not name ({lanes:#010x})"
            ),
            FaultKind::Trap => f.write_str("trap"),
            FaultKind::Panic { message: None } => f.write_str("panic"),
            FaultKind::Panic {
                message: Some(message),
            } => write!(f, "panic: {message}"),
            FaultKind::Budget { instructions } => {
                write!(f, "more than {instructions} instructions executed")
            }
            FaultKind::TimeLimit { limit } => write!(f, "not at its end after {limit:?}"),
            FaultKind::Interrupted => f.write_str("interrupted"),
            FaultKind::Deadlock { waiting } => write!(f, "deadlock: {waiting}"),
            FaultKind::BadIndex { index, targets } => {
                write!(f, "brx.idx with index {index} of {targets} targets")
            }
            FaultKind::Assert {
                expression,
                file,
                line,
                function,
            } => write!(
                f,
                "assertion `{expression}` failed, {file}:{line}, in `{function}`,"
            ),
            FaultKind::BadFree { address } => write!(
                f,
                "free of {address:#x}, which malloc has not given out or which was freed before,"
            ),
            FaultKind::BadCall { address, problem } => {
                write!(f, "call of the address {address:#x}, {problem},")
            }
            FaultKind::StackOverflow => f.write_str(
                "calls nested too deeply: no local memory for another call (Config::max_local_bytes, or the host's own memory)",
            ),
        }
    }
}
