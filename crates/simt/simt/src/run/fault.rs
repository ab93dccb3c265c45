//! Faults: errors in a kernel that end a launch early.

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

/// The lowest address that is a negative 32-bit offset from a null pointer; all higher addresses are too.
const BEFORE_NULL: u64 = 1_u64.wrapping_neg() << 32;
/// The addresses of the host's memory on Linux. The first range is the heap on x86-64; the second contains the
/// remaining 48-bit addresses on x86-64, and all addresses on aarch64.
const HOST: [Range<u64>; 2] = [0x5500_0000_0000..0x5700_0000_0000, PARAM_WINDOW + WINDOW_BYTES..1 << 48];

/// A fault: an invalid operation of the kernel.
///
/// `Display` prints one line for logs: the fault, its place in the kernel, and the source line.
/// `simt_check::diagnostic` renders the fault for users.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The name of the kernel.
    pub kernel: String,
    /// The name of the function, if it is not the kernel itself.
    pub function: Option<String>,
    /// The coordinates of the block.
    pub block: [u32; 3],
    /// The coordinates of the thread in its block; if the fault concerns several threads, those of the first thread.
    pub thread: [u32; 3],
    /// The thread's lane in its warp.
    pub lane: u32,
    /// The line number in the PTX, from 1.
    pub ptx_line: u32,
    /// The text of that line.
    pub ptx: String,
    /// The file and line of the source to look at: those of the innermost frame in [`Fault::frames`] that is not
    /// library code, or else of the innermost frame.
    pub origin: Option<(String, u32)>,
    /// The column in that line, in bytes from 1; 0 if the PTX does not specify one.
    pub column: u32,
    /// The functions on the thread's call stack, innermost first: the function of the instruction, the functions that
    /// this function was inlined into, and their callers. If calls are deeply nested, only the innermost calls are
    /// included.
    pub frames: Vec<Frame>,
    /// A thread that the faulting thread waits for in vain, if it waits for other threads.
    pub other: Option<OtherThread>,
}

/// The thread that another thread waits for in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherThread {
    /// What the thread does, for example `it waits at barrier 1`.
    pub what: String,
    /// The coordinates of its block.
    pub block: [u32; 3],
    /// The coordinates of the thread in that block.
    pub thread: [u32; 3],
    /// The line number in the PTX of the thread's instruction, from 1.
    pub ptx_line: u32,
    /// The text of that line.
    pub ptx: String,
    /// The file and line of the source, as for [`Fault::origin`].
    pub origin: Option<(String, u32)>,
    /// The column in that line, as for [`Fault::column`].
    pub column: u32,
}

crate::error::debug_like_display!(Fault);

/// The kind of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A load, store or atomic accesses an invalid address.
    Access {
        /// The access.
        access: AccessFault,
        /// The memory near the address, for example `16 bytes past the end of argument 0's buffer of 4096 bytes`.
        near: String,
    },
    /// Only some threads of a warp reached a barrier.
    DivergentBarrier {
        /// The lanes that have arrived.
        here: u32,
        /// The lanes that have not arrived.
        elsewhere: u32,
    },
    /// The number or the thread count of a barrier is out of range.
    BadBarrier {
        /// The reason, in words.
        problem: String,
    },
    /// The `membermask` of a warp operation names lanes that do not execute it.
    AbsentLanes {
        /// The absent lanes that the mask names.
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
        /// The reason, for example `index out of bounds`. `None` if the name of the function that panicked does not
        /// contain the reason.
        message: Option<String>,
    },
    /// The launch executed more instructions than its budget.
    Budget {
        /// The budget, in warp instructions.
        instructions: u64,
    },
    /// The launch exceeded its time limit.
    TimeLimit {
        /// The time limit.
        limit: Duration,
    },
    /// All launches of the process were interrupted: see [`interruption`](crate::run::interruption).
    Interrupted,
    /// No block of the launch makes progress. The threads wait at barriers that will not complete, for lanes that do
    /// not arrive, or for memory that no thread changes.
    Deadlock {
        /// Which threads wait for what, in words.
        waiting: String,
    },
    /// `brx.idx` with an index beyond its targets.
    BadIndex {
        /// The index.
        index: u32,
        /// The number of targets.
        targets: u32,
    },
    /// An `assert` failed.
    Assert {
        /// The condition, as in the source.
        expression: String,
        /// The source file.
        file: String,
        /// The line in that file.
        line: u32,
        /// The function.
        function: String,
    },
    /// A thread called `free` with an address that `malloc` did not return or that was already freed.
    BadFree {
        /// The address.
        address: u64,
    },
    /// A thread called an address at which there is no function, or at which the function does not match the call.
    BadCall {
        /// The address.
        address: u64,
        /// What is at the address, in words.
        problem: String,
    },
    /// There is no local memory for another frame: a thread's calls are nested too deeply, or the host has no more
    /// memory.
    StackOverflow,
}

impl Simulator {
    /// Describes a fault of block `number` in words, with its position in the text. `variables` are the addresses of
    /// the module's variables.
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
                    FaultKind::Panic { message: callers.iter().find_map(|caller| bounds(&caller.1)).or(message) }
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

    /// Describes the memory that a faulting access was probably meant for.
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

/// Describes the constant or the parameter that contains an address.
fn constant(access: &AccessFault, launch: &Launch<'_>) -> Option<String> {
    let function = launch.function;
    let (what, name, begin, bytes) = match access.space {
        Space::Const => function.module.variables.iter().flatten().find_map(|variable| {
            let begin = u64::from(variable.constant_at?);
            let is_inside = (begin..begin + variable.bytes).contains(&access.offset);
            is_inside.then(|| ("constant", demangled(&variable.name), begin, variable.bytes))
        })?,
        Space::Param => function.program.params.iter().find_map(|param| {
            let (begin, bytes) = (u64::from(param.offset), u64::from(param.bytes));
            let is_inside = (begin..begin + bytes).contains(&access.offset);
            is_inside.then(|| ("parameter", param.name.clone(), begin, bytes))
        })?,
        _ => return None,
    };
    Some(format!("byte {} of {what} `{name}` of {bytes} bytes", access.offset - begin))
}

/// Returns the coordinates of a linear index; x varies fastest.
pub fn unravel(index: u64, sides: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(sides[0]), u64::from(sides[1]));
    [(index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32]
}

/// Returns the linear index of coordinates; x varies fastest.
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
                "barrier reached by only some threads of a warp ({} lanes are there, {} are not)",
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
                "warp operation executed by lanes that its mask does not name ({lanes:#010x})"
            ),
            FaultKind::Trap => f.write_str("trap"),
            FaultKind::Panic { message: None } => f.write_str("panic"),
            FaultKind::Panic {
                message: Some(message),
            } => write!(f, "panic: {message}"),
            FaultKind::Budget { instructions } => {
                write!(f, "more than {instructions} instructions executed")
            }
            FaultKind::TimeLimit { limit } => write!(f, "time limit of {limit:?} exceeded"),
            FaultKind::Interrupted => f.write_str("interrupted"),
            FaultKind::Deadlock { waiting } => write!(f, "deadlock: {waiting}"),
            FaultKind::BadIndex { index, targets } => {
                write!(f, "brx.idx: index {index} is out of range for {targets} targets")
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
                "free of {address:#x}, which malloc did not return or which was already freed,"
            ),
            FaultKind::BadCall { address, problem } => {
                write!(f, "call of the address {address:#x}, {problem},")
            }
            FaultKind::StackOverflow => f.write_str(
                "calls nested too deeply: no local memory for another call (see Config::max_local_bytes), or the host is out of memory",
            ),
        }
    }
}
