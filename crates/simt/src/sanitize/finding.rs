//! What the checks find, and how it is collected.

use std::collections::HashMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::checks::Check;
use super::observer::LaunchFacts;
use super::sync::faults::sentence;
use crate::demangle::demangled;
use crate::memory::AccessProblem;
use crate::observe::{Place, Site, Space};
use crate::run::{Arg, Fault, FaultKind, Launch, OtherThread, Position, ravel, unravel};

/// Something that a check has found, at one pair of places.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The check that has found it.
    pub check: Check,
    /// What is wrong, a sentence without its end: `write of 4 bytes races with a read by another thread`.
    pub what: String,
    /// The kernel, demangled.
    pub kernel: String,
    /// The source line to look at: file and line, if the PTX has them.
    #[serde(serialize_with = "with_colon")]
    pub source: Option<(String, u32)>,
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// The block of the thread that was seen first.
    pub block: [u32; 3],
    /// That thread in its block.
    pub thread: [u32; 3],
    /// The address, in the space that it lies in; `None` where it is not about an address.
    pub address: Option<u64>,
    /// The allocation or variable that the address belongs to, by name and offset.
    #[serde(rename = "where")]
    pub place: Option<String>,
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
    /// Its line of the PTX.
    pub ptx_line: u32,
    /// Its block.
    pub block: [u32; 3],
    /// Its thread in that block.
    pub thread: [u32; 3],
}

impl Finding {
    /// Whether another one is about the same places of the same kernel.
    #[must_use]
    pub fn is_at_places_of(&self, other: &Self) -> bool {
        let places = |own: &Self| (own.check, own.ptx_line, own.other.as_ref().map(|other| other.ptx_line));
        places(self) == places(other) && self.kernel == other.kernel
    }
}

fn with_colon<S: Serializer>(source: &Option<(String, u32)>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = source.as_ref().map(|(file, line)| format!("{file}:{line}"));
    text.serialize(serializer)
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, what, kernel, source, ptx_line, block, thread, address, place, other, times } = self;
        write!(f, "{check}: {what}")?;
        if let Some(address) = address {
            write!(f, " at {address:#x}")?;
        }
        if let Some(place) = place {
            write!(f, ", {place}")?;
        }
        write!(f, ", in kernel `{kernel}`, {}", party(*block, *thread, *ptx_line, source.as_ref()))?;
        if let Some(other) = other {
            let party = party(other.block, other.thread, other.ptx_line, other.source.as_ref());
            write!(f, "\n  the other: {}, {party}", other.what)?;
        }
        match times {
            1 => Ok(()),
            _ => write!(f, "\n  seen {times} times"),
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
    pub(super) party: ThreadAtSite,
    pub(super) address: Option<u64>,
    /// The memory that the address belongs to, in words: see [`in_words`].
    pub(super) place: Option<String>,
    pub(super) other: Option<(String, ThreadAtSite)>,
}

/// The different findings that are kept; those beyond are counted only.
const MOST: usize = 256;

/// What one check has found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What could not be checked, in a sentence.
    pub(super) note: Option<String>,
    found: Vec<(RawFinding, u64)>,
    /// By kind and by the places in the text.
    known: HashMap<(&'static str, Site, Option<Site>), usize>,
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
        match self.known.get(&(kind, site, other)) {
            Some(index) => self.found[*index].1 += times,
            None if self.found.len() < MOST => {
                self.known.insert((kind, site, other), self.found.len());
                self.found.push((make(), times));
            }
            None => {}
        }
    }

    /// The findings with their places.
    pub(super) fn resolve(&self, check: Check, launch: &Launch<'_>) -> Vec<Finding> {
        let resolved = self.found.iter().map(|(found, times)| {
            let ThreadAtSite { site, block, thread } = found.party;
            let Position { ptx_line, source } = Position::of(launch.function, site);
            let other = found.other.as_ref().map(|(what, party)| {
                let Position { ptx_line, source } = Position::of(launch.function, party.site);
                let (block, thread) = (unravel(party.block, launch.grid), unravel(party.thread.into(), launch.block));
                OtherParty { what: what.clone(), source, ptx_line, block, thread }
            });
            Finding {
                check,
                what: found.what.clone(),
                kernel: demangled(launch.function.name()),
                source,
                ptx_line,
                block: unravel(block, launch.grid),
                thread: unravel(thread.into(), launch.block),
                address: found.address,
                place: found.place.clone(),
                other,
                times: *times,
            }
        });
        resolved.collect()
    }
}

/// A fault as a finding of the check that it belongs to.
pub(super) fn of_fault(check: Check, fault: &Fault, launch: &Launch<'_>) -> Finding {
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
        kind => {
            let lane = ravel(fault.thread, launch.block) % 32;
            (sentence(fault, lane as u32).unwrap_or_else(|| kind.to_string()), None, None)
        }
    };
    let other = fault.other.clone().map(|OtherThread { what, block, thread, ptx_line, origin }| OtherParty {
        what,
        source: origin,
        ptx_line,
        block,
        thread,
    });
    Finding {
        check,
        what: what.trim_end_matches(',').to_owned(),
        kernel: demangled(&fault.kernel),
        source: fault.origin.clone(),
        ptx_line: fault.ptx_line,
        block: fault.block,
        thread: fault.thread,
        address,
        place,
        other,
        times: 1,
    }
}

/// The memory that an address of a space belongs to, in words: `byte 16 of argument 0's buffer of 64 bytes`.
pub(super) fn in_words(launch: &LaunchFacts, space: Space, place: &Place<'_>, address: u64) -> String {
    let whose = whose(launch, space, place);
    format!("byte {} of {whose} of {} bytes", address.wrapping_sub(place.base), place.bytes)
}

/// What memory is, in words: `argument 0's buffer`.
pub(super) fn whose(launch: &LaunchFacts, space: Space, place: &Place<'_>) -> String {
    match (place.variable, space) {
        (Some(name), _) => format!("variable `{}`", demangled(name)),
        (None, Space::Shared) => "dynamic shared memory".to_owned(),
        (None, _) => match launch.args.iter().position(|arg| *arg == Arg::Pointer(place.base)) {
            Some(index) => format!("argument {index}'s buffer"),
            None => "an allocation".to_owned(),
        },
    }
}
