//! What the checks find, and how it is collected.

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
use super::faults::{self, sentence};
use crate::language::Language;
use simt::code::{Callee, Op, Program};
use simt::library_frames;
use simt::memory::AccessProblem;
use simt::observe::{Place, Site, Space};
use simt::run::{Arg, Fault, FaultKind, Frame, Launch, OtherThread, Position, unravel};
use simt::{demangled, variable};

/// Something that a check has found, at one pair of places.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The check that has found it.
    pub check: Check,
    /// What is wrong: `write of 4 bytes races with a read of 4 bytes by another warp of the block`.
    pub what: String,
    /// What the thread does there, where [`Finding::what`] does not say it alone: `write of 4 bytes`.
    #[serde(skip)]
    pub action: Option<String>,
    /// The kernel, demangled.
    pub kernel: String,
    /// The source line to look at: file and line, if the PTX has them.
    #[serde(serialize_with = "with_colon")]
    pub source: Option<(String, u32)>,
    /// The column in that line, in bytes from 1; 0 where the PTX says none.
    pub column: u32,
    /// The frames of library code between the instruction and that line, the innermost first: the line is that of the user's
    /// code where there is any.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_places")]
    pub library: Vec<Frame>,
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// The text of that line.
    #[serde(skip)]
    pub ptx: String,
    /// The block of the thread that was seen first.
    pub block: [u32; 3],
    /// That thread in its block.
    pub thread: [u32; 3],
    /// The address, in the space that it lies in; `None` where it is not about an address.
    pub address: Option<u64>,
    /// The allocation or variable that the address belongs to, by name and offset.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// The usual fix, with the functions' names in the language of the source.
    pub help: String,
    /// The second party, if two are concerned.
    pub other: Option<OtherParty>,
    /// How often it was seen.
    pub times: u64,
}

/// The second of two parties of a [`Finding`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherParty {
    /// What it does: `read of 4 bytes`.
    pub what: String,
    /// Its source line, as that of the finding.
    #[serde(serialize_with = "with_colon")]
    pub source: Option<(String, u32)>,
    /// The column in that line, as that of the finding.
    pub column: u32,
    /// Its line of the PTX.
    pub ptx_line: u32,
    /// The text of that line.
    #[serde(skip)]
    pub ptx: String,
    /// Its block.
    pub block: [u32; 3],
    /// Its thread in that block.
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
    /// One line, for logs: [`Diagnostic`](crate::diagnostic::Diagnostic) is for people.
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

/// A thread and its place in the text.
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
    /// What is wrong, as [`Finding::what`].
    pub(super) what: String,
    /// As [`Finding::action`].
    pub(super) action: Option<String>,
    /// The usual fix, with places for the names of functions: see [`Language::fill`].
    pub(super) help: Cow<'static, str>,
    pub(super) party: ThreadAtSite,
    pub(super) address: Option<u64>,
    /// The memory that the address belongs to, in words: see [`in_words`].
    pub(super) place: Option<String>,
    pub(super) other: Option<(String, ThreadAtSite)>,
}

/// The different findings of a check that are kept; those beyond are counted only.
const MOST: usize = 256;

/// What one check has found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What could not be checked, in a sentence.
    pub(super) note: Option<String>,
    found: Vec<Found>,
    /// By kind, by the places in the text, and by the calls that led there.
    known: HashMap<(&'static str, Site, Option<Site>, u64), usize>,
    /// How often findings were seen that are not kept.
    left_out: u64,
    /// The calls of the warp whose turn it is.
    calls: RefCell<Arc<WarpCalls>>,
}

/// A finding, and what is known of it beyond its places.
#[derive(Debug)]
struct Found {
    raw: RawFinding,
    times: u64,
    /// The calls that its thread was in, the innermost first.
    calls: Vec<Site>,
    /// Whether it is a note, and not an error.
    is_note: bool,
}

impl Findings {
    /// Adds `times` occurrences of what `make` describes, which is called for the first one only. Those of the same `kind`
    /// at the same places are counted together.
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
            None if self.found.len() < MOST => {
                self.known.insert(key, self.found.len());
                let raw = make();
                let calls = calls.of(raw.party.block, raw.party.thread).collect();
                self.found.push(Found { raw, times, calls, is_note: false });
            }
            None => self.left_out += times,
        }
    }

    /// Adds what [`Findings::add`] adds, as a note if `is_note`: the launch is right as it is.
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
        self.found[before..].iter_mut().for_each(|own| own.is_note = is_note);
    }

    /// Divides the resolved findings into errors and notes, which are sentences.
    pub(super) fn divide(&self, check: Check, findings: Vec<Finding>) -> (Vec<Finding>, Vec<String>) {
        let (mut errors, mut notes) = (Vec::new(), Vec::new());
        for (own, finding) in self.found.iter().zip(findings) {
            if !own.is_note {
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

    /// What could not be checked or is not listed, a sentence each.
    pub(super) fn notes(&self, check: Check) -> impl Iterator<Item = String> {
        let left_out = (self.left_out > 0).then(|| {
            format!("{check}: {MOST} different findings are listed; others were seen {} times", self.left_out)
        });
        self.note.clone().into_iter().chain(left_out)
    }

    /// The warp whose turn it is is in these calls from now on.
    pub(super) fn enter(&self, calls: &Arc<WarpCalls>) {
        self.calls.replace(calls.clone());
    }

    /// The findings with their places.
    pub(super) fn resolve(&self, check: Check, launch: &Launch<'_>) -> Vec<Finding> {
        if self.found.is_empty() {
            return Vec::new();
        }
        let program = &launch.function.program();
        let parties = self.found.iter().flat_map(|Found { raw, calls, .. }| {
            let chain = |site: Site, calls: &[Site]| [&[site], calls].concat();
            let own = match calls.is_empty() {
                true => chain(raw.party.site, &only_calls(program, raw.party.site)),
                false => chain(raw.party.site, calls),
            };
            // Which calls the other thread was in is not known any more.
            let other = raw.other.as_ref().map(|(_, other)| chain(other.site, &only_calls(program, other.site)));
            [Some(own), other].into_iter().flatten()
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

/// The calls that lead to a function, the innermost first, as long as there is only one of each in the program.
fn only_calls(program: &Program, site: Site) -> Vec<Site> {
    let mut function = site.function;
    let call = |function: u32| {
        let code = program.functions.iter().enumerate().flat_map(|(of, own)| {
            own.code.iter().enumerate().map(move |(pc, inst)| (Site { function: of as u32, pc: pc as u32 }, inst))
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
    // A function that only calls itself is never entered.
    calls.take(program.functions.len()).collect()
}

impl Finding {
    /// Whether two findings are about the same instructions, in either order.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let lines = |own: &Self| {
            let line = own.other.as_ref().map_or(own.ptx_line, |other| other.ptx_line);
            (own.ptx_line.min(line), own.ptx_line.max(line))
        };
        self.check == other.check && lines(self) == lines(other)
    }

    /// A fault as a finding of the check that it belongs to.
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
            kind => (sentence(fault).unwrap_or_else(|| kind.to_string()), None, None),
        };
        // The machine's own words have the fix after a semicolon.
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

/// The usual fix of what has caused a fault; empty where there is none.
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
            "check that each loop ends, for every thread, and raise the limit if the kernel needs longer"
        }
        FaultKind::StackOverflow => "let the recursion end earlier, or use a loop",
        FaultKind::BadFree { .. } => "free each address once, and only what `malloc` has returned",
        FaultKind::DivergentBarrier { .. } | FaultKind::AbsentLanes { .. } | FaultKind::UnnamedLanes { .. } => {
            faults::help(fault)
        }
        FaultKind::Deadlock { .. } => "let every thread reach the barrier, or the store that another thread waits for",
        _ => "",
    }
}

/// The usual fix of an access out of bounds.
pub(super) const OUT_OF_BOUNDS: &str =
    "check the index before the access ({length}): the last block often has more threads than there are elements left";

/// The memory that an address of a space belongs to, in words: `byte 16 of argument 0's buffer of 64 bytes`.
pub(super) fn in_words(launch: &LaunchFacts, space: Space, place: &Place<'_>, address: u64) -> String {
    let whose = whose(launch, space, place);
    format!("byte {} of {whose} of {} bytes", address.wrapping_sub(place.base), place.bytes)
}

/// What memory is, in words: `argument 0's buffer`.
pub(super) fn whose(launch: &LaunchFacts, space: Space, place: &Place<'_>) -> String {
    match (place.variable, space) {
        (Some(name), _) => variable(name),
        (None, Space::Shared) => "dynamic shared memory".to_owned(),
        (None, _) => match launch.args.iter().position(|arg| *arg == Arg::Pointer(place.base)) {
            Some(index) => format!("argument {index}'s buffer"),
            None => "an allocation".to_owned(),
        },
    }
}
