//! The findings of the checks, and how they are collected.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ptx::Source;

use serde::{Serialize, Serializer};

use super::calls::WarpCalls;
use super::checks::Check;
use super::facts::LaunchFacts;
use super::faults::{self, fault_message};
use crate::language::Language;
use simt::code::{Callee, Op, Program};
use simt::library_frames;
use simt::memory::AccessProblem;
use simt::observe::{Place, Site, Space};
use simt::run::{Arg, Fault, FaultKind, Frame, Launch, OtherThread, Position, unravel};
use simt::{demangled, variable};

/// An error that a check found at one place or one pair of places.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The check that found the error.
    pub check: Check,
    /// What is wrong: `write of 4 bytes races with a read of 4 bytes by another warp of the block`.
    pub what: String,
    /// The action of the thread, if [`Finding::what`] contains more than the action: `write of 4 bytes`.
    #[serde(skip)]
    pub action: Option<String>,
    /// The kernel, demangled.
    pub kernel: String,
    /// The source line to look at: file and line, if the PTX contains them.
    #[serde(serialize_with = "with_colon")]
    pub source: Option<(String, u32)>,
    /// The column in the source line, in bytes from 1; 0 if the PTX contains no column.
    pub column: u32,
    /// The frames of library code between the instruction and the source line, innermost first. If any frame is in the
    /// user's code, the source line is in the user's code.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_places")]
    pub library: Vec<Frame>,
    /// The line of the PTX, starting at 1.
    pub ptx_line: u32,
    /// The text of the PTX line.
    #[serde(skip)]
    pub ptx: String,
    /// The block of the first thread for which the error was seen.
    pub block: [u32; 3],
    /// The coordinates, in its block, of the first thread for which the error was seen.
    pub thread: [u32; 3],
    /// The address in its address space; `None` if the finding is not about an address.
    pub address: Option<u64>,
    /// The allocation or variable that the address belongs to, by name and offset.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// The usual fix, with function names in the language of the source.
    pub help: String,
    /// The second party, if the finding concerns two threads.
    pub other: Option<OtherParty>,
    /// The number of times that the finding was seen.
    pub times: u64,
}

/// The second of the two parties of a [`Finding`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherParty {
    /// The action of the thread: `read of 4 bytes`.
    pub what: String,
    /// The source line, as in [`Finding::source`].
    #[serde(serialize_with = "with_colon")]
    pub source: Option<(String, u32)>,
    /// The column in the source line, as in [`Finding::column`].
    pub column: u32,
    /// The line of the PTX.
    pub ptx_line: u32,
    /// The text of the PTX line.
    #[serde(skip)]
    pub ptx: String,
    /// The block of the thread.
    pub block: [u32; 3],
    /// The coordinates of the thread in its block.
    pub thread: [u32; 3],
}

fn with_colon<S: Serializer>(source: &Option<(String, u32)>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = source.as_ref().map(|(file, line)| format!("{file}:{line}"));
    text.serialize(serializer)
}

fn as_places<S: Serializer>(frames: &[Frame], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(frames.iter().map(Frame::to_string))
}

impl fmt::Display for Finding {
    /// Formats the finding as one line for logs. [`Diagnostic`](crate::diagnostic::Diagnostic) is for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, what, kernel, source, ptx_line, block, thread, address, place, other, .. } = self;
        write!(f, "{check}: {what}")?;
        if let Some(address) = address {
            write!(f, " at {address:#x}")?;
        }
        if let Some(place) = place {
            write!(f, ", {place}")?;
        }
        write!(f, ", in kernel `{kernel}`, {}", party(*block, *thread, *ptx_line, source.as_ref()))?;
        match other {
            None => Ok(()),
            Some(other) => {
                let party = party(other.block, other.thread, other.ptx_line, other.source.as_ref());
                write!(f, "; the other: {}, {party}", other.what)
            }
        }
    }
}

/// Formats a thread and its place in the PTX and the source.
fn party(block: [u32; 3], thread: [u32; 3], ptx_line: u32, source: Option<&(String, u32)>) -> String {
    let ([bx, by, bz], [tx, ty, tz]) = (block, thread);
    let source = source.map_or(String::new(), |(file, line)| format!(" [{file}:{line}]"));
    format!("block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz}), PTX line {ptx_line}{source}")
}

/// A thread at an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadAtSite {
    pub(super) site: Site,
    /// The block's number in the grid, x fastest.
    pub(super) block: u64,
    /// The thread's number in its block, x fastest.
    pub(super) thread: u32,
}

/// A finding before its places are looked up in the text.
#[derive(Debug, Clone)]
pub(super) struct RawFinding {
    /// What is wrong, as in [`Finding::what`].
    pub(super) what: String,
    /// The action of the thread, as in [`Finding::action`].
    pub(super) action: Option<String>,
    /// The usual fix, with placeholders for the names of functions: see [`Language::fill`].
    pub(super) help: Cow<'static, str>,
    pub(super) party: ThreadAtSite,
    pub(super) address: Option<u64>,
    /// The memory that the address belongs to, formatted by [`describe_memory`].
    pub(super) place: Option<String>,
    pub(super) other: Option<(String, ThreadAtSite)>,
}

/// The maximum number of different findings that a check keeps. Further findings are only counted.
const MAX_FINDINGS: usize = 256;

/// The findings of one check.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// A sentence that states what could not be checked.
    pub(super) note: Option<String>,
    found: Vec<Found>,
    /// The indices of the findings, by kind, by the places in the text, and by the active calls.
    known: HashMap<(&'static str, Site, Option<Site>, u64), usize>,
    /// The number of occurrences of findings that are not recorded.
    left_out: u64,
    /// The active calls of the current warp.
    calls: RefCell<Arc<WarpCalls>>,
}

/// A finding with its count, its calls and its severity.
#[derive(Debug)]
struct Found {
    raw: RawFinding,
    times: u64,
    /// The active calls of its thread, innermost first.
    calls: Vec<Site>,
    /// Whether the finding is a note instead of an error.
    is_note: bool,
}

impl Findings {
    /// Adds `times` occurrences of a finding. Findings of the same `kind` at the same places are counted together, and
    /// `make` is called only for the first one.
    pub(super) fn add(
        &mut self,
        kind: &'static str,
        site: Site,
        other: Option<Site>,
        times: u64,
        make: impl FnOnce() -> RawFinding,
    ) {
        let calls = self.calls.borrow();
        let key = (kind, site, other, calls.number);
        match self.known.get(&key) {
            Some(index) => self.found[*index].times += times,
            None if self.found.len() < MAX_FINDINGS => {
                self.known.insert(key, self.found.len());
                let raw = make();
                let calls = calls.of(raw.party.block, raw.party.thread).collect();
                self.found.push(Found { raw, times, calls, is_note: false });
            }
            None => self.left_out += times,
        }
    }

    /// Adds a finding as [`Findings::add`] does. If `is_note` is true, the finding becomes a note, because the launch
    /// is correct.
    pub(super) fn add_as(
        &mut self,
        is_note: bool,
        kind: &'static str,
        (site, other): (Site, Option<Site>),
        times: u64,
        make: impl FnOnce() -> RawFinding,
    ) {
        let before = self.found.len();
        self.add(kind, site, other, times, make);
        self.found[before..].iter_mut().for_each(|found| found.is_note = is_note);
    }

    /// Divides the resolved findings into errors and notes. A note is a sentence.
    pub(super) fn divide(&self, check: Check, findings: Vec<Finding>) -> (Vec<Finding>, Vec<String>) {
        let (mut errors, mut notes) = (Vec::new(), Vec::new());
        for (found, finding) in self.found.iter().zip(findings) {
            if !found.is_note {
                errors.push(finding);
                continue;
            }
            let place = match &finding.source {
                Some((file, line)) => format!("{file}:{line}"),
                None => format!("line {} of the PTX", finding.ptx_line),
            };
            notes.push(format!("{check}: {}, at {place}", finding.what));
        }
        (errors, notes)
    }

    /// Returns a sentence for each part of the launch that could not be checked, and for findings that are not listed.
    pub(super) fn notes(&self, check: Check) -> impl Iterator<Item = String> {
        let left_out = (self.left_out > 0).then(|| {
            format!(
                "{check}: {MAX_FINDINGS} different findings are listed; the others were seen {} times",
                self.left_out
            )
        });
        self.note.clone().into_iter().chain(left_out)
    }

    /// Sets the active calls of the current warp.
    pub(super) fn enter(&self, calls: &Arc<WarpCalls>) {
        self.calls.replace(calls.clone());
    }

    /// Returns the findings with their places in the text.
    pub(super) fn resolve(&self, check: Check, launch: &Launch<'_>) -> Vec<Finding> {
        if self.found.is_empty() {
            return Vec::new();
        }
        let program = &launch.function.program();
        let parties = self.found.iter().flat_map(|Found { raw, calls, .. }| {
            let chain = |site: Site, calls: &[Site]| [&[site], calls].concat();
            let first = match calls.is_empty() {
                true => chain(raw.party.site, &only_calls(program, raw.party.site)),
                false => chain(raw.party.site, calls),
            };
            // The active calls of the other thread are no longer known.
            let other = raw.other.as_ref().map(|(_, other)| chain(other.site, &only_calls(program, other.site)));
            [Some(first), other].into_iter().flatten()
        });
        let chains: Vec<Vec<Site>> = parties.collect();
        let mut positions = Position::of_chains(launch.function, chains.iter().map(Vec::as_slice)).into_iter();
        let text = Source::new(launch.function.ptx());
        let mut resolve = |party: &ThreadAtSite| {
            let position = positions.next().expect("each party has a position");
            let ptx = text.line_text(position.ptx_line).trim().to_owned();
            (position, ptx, unravel(party.block, launch.grid), unravel(party.thread.into(), launch.block))
        };
        let resolved = self.found.iter().map(|Found { raw: found, times, .. }| {
            let (Position { ptx_line, source, column, library }, ptx, block, thread) = resolve(&found.party);
            let other = found.other.as_ref().map(|(what, party)| {
                let (Position { ptx_line, source, column, .. }, ptx, block, thread) = resolve(party);
                OtherParty { what: what.clone(), source, column, ptx_line, ptx, block, thread }
            });
            Finding {
                check,
                what: found.what.clone(),
                action: found.action.clone(),
                kernel: demangled(launch.function.name()),
                help: Language::of(source.as_ref()).fill(&found.help),
                source,
                column,
                library,
                ptx_line,
                ptx,
                block,
                thread,
                address: found.address,
                place: found.place.clone(),
                other,
                times: *times,
            }
        });
        resolved.collect()
    }
}

/// Returns the calls that lead to a function, innermost first, for as long as each function is called at only one place
/// in the program.
fn only_calls(program: &Program, site: Site) -> Vec<Site> {
    let mut function = site.function;
    let call = |function: u32| {
        let code = program.functions.iter().enumerate().flat_map(|(index, func)| {
            func.code.iter().enumerate().map(move |(pc, inst)| (Site { function: index as u32, pc: pc as u32 }, inst))
        });
        let mut calls = code.filter(|(_, inst)| match &inst.op {
            Op::Call(call) => matches!(call.callee, Callee::Function(number) if number == function),
            _ => false,
        });
        let (first, second) = (calls.next(), calls.next());
        first.filter(|_| second.is_none()).map(|(site, _)| site)
    };
    let calls = std::iter::from_fn(|| {
        let found = call(function).filter(|_| function != 0)?;
        function = found.function;
        Some(found)
    });
    // The entry kernel is never called, so a function that is called only by itself is never entered.
    calls.take(program.functions.len()).collect()
}

impl Finding {
    /// Returns whether two findings are about the same instructions, in either order.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let lines = |finding: &Self| {
            let line = finding.other.as_ref().map_or(finding.ptx_line, |other| other.ptx_line);
            (finding.ptx_line.min(line), finding.ptx_line.max(line))
        };
        self.check == other.check && lines(self) == lines(other)
    }

    /// Converts a fault to a finding of `check`.
    pub(crate) fn of_fault(check: Check, fault: &Fault) -> Self {
        let (what, address, place) = match &fault.kind {
            FaultKind::Access { access, near } if access.what.words().is_none() => {
                let what = match access.what {
                    AccessProblem::Misaligned => {
                        format!("{access}, whose address has to be a multiple of {}", access.align)
                    }
                    _ => access.to_string(),
                };
                (what, Some(access.offset), Some(near.clone()).filter(|near| !near.is_empty()))
            }
            FaultKind::BadFree { address } => (fault.kind.to_string(), Some(*address), None),
            kind => (fault_message(fault).unwrap_or_else(|| kind.to_string()), None, None),
        };
        // In the text of a fault, the fix follows a semicolon.
        let (what, help) = match (help(fault), what.split_once("; ")) {
            ("", Some((what, help))) => (what.to_owned(), help.to_owned()),
            (help, _) => (what, Language::of(fault.origin.as_ref()).fill(help)),
        };
        let other = fault.other.clone().map(|OtherThread { what, block, thread, ptx_line, ptx, origin, column }| {
            OtherParty { what, source: origin, column, ptx_line, ptx, block, thread }
        });
        Self {
            check,
            what: what.trim_end_matches(',').to_owned(),
            action: None,
            kernel: demangled(&fault.kernel),
            source: fault.origin.clone(),
            column: fault.column,
            library: library_frames(&fault.frames),
            ptx_line: fault.ptx_line,
            ptx: fault.ptx.clone(),
            block: fault.block,
            thread: fault.thread,
            address,
            place,
            help,
            other,
            times: 1,
        }
    }
}

/// Returns the usual fix for a fault, or an empty text if the fault has no usual fix.
fn help(fault: &Fault) -> &'static str {
    match &fault.kind {
        FaultKind::Access { access, near } => match access.what {
            AccessProblem::Misaligned => "start such accesses at multiples of their size, or access smaller elements",
            AccessProblem::NotAtomic => {
                "use a plain load and store for local memory, which no other thread sees, or keep the value in shared or \
                 global memory"
            }
            AccessProblem::ReadOnly => "write to a buffer or to a variable that is not constant",
            AccessProblem::OutOfBounds if near.contains("null pointer") => {
                "pass a buffer for this pointer, and check that the host passes the arguments in the kernel's order"
            }
            AccessProblem::OutOfBounds if near.contains("host") => {
                "copy the data to the device, and pass the pointer that the device's allocation returned"
            }
            AccessProblem::OutOfBounds if near.contains("freed") => {
                "free the memory after the last launch that uses it"
            }
            AccessProblem::OutOfBounds => OUT_OF_BOUNDS,
            AccessProblem::Synchronization(_) | AccessProblem::Other(_) => "",
        },
        FaultKind::Panic { message: Some(message) } if message.contains("out of") => OUT_OF_BOUNDS,
        FaultKind::Budget { .. } | FaultKind::TimeLimit { .. } => {
            "check that each loop ends for every thread, and raise the limit if the kernel needs more time"
        }
        FaultKind::StackOverflow => "reduce the depth of the recursion, or use a loop",
        FaultKind::BadFree { .. } => "free only addresses that `malloc` returned, and each of them once",
        FaultKind::DivergentBarrier { .. } | FaultKind::AbsentLanes { .. } | FaultKind::UnnamedLanes { .. } => {
            faults::help(fault)
        }
        FaultKind::Deadlock { .. } => "let every thread reach the barrier, or the store that another thread waits for",
        _ => "",
    }
}

/// The usual fix for an access out of bounds.
pub(super) const OUT_OF_BOUNDS: &str =
    "check the index before the access ({length}): the last block often has more threads than there are elements left";

/// Describes the memory at an address: `byte 16 of argument 0's buffer of 64 bytes`.
pub(super) fn describe_memory(launch: &LaunchFacts, space: Space, place: &Place<'_>, address: u64) -> String {
    let owner_name = owner_name(launch, space, place);
    format!("byte {} of {owner_name} of {} bytes", address.wrapping_sub(place.base), place.bytes)
}

/// Names the owner of memory: `argument 0's buffer`.
pub(super) fn owner_name(launch: &LaunchFacts, space: Space, place: &Place<'_>) -> String {
    match (place.variable, space) {
        (Some(name), _) => variable(name),
        (None, Space::Shared) => "dynamic shared memory".to_owned(),
        (None, _) => match launch.args.iter().position(|arg| *arg == Arg::Pointer(place.base)) {
            Some(index) => format!("argument {index}'s buffer"),
            None => "an allocation".to_owned(),
        },
    }
}
