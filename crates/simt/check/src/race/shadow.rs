//! The last accesses to each byte of memory.
//!
//! Memory is divided into 128-byte lines. If few instructions have accessed a line, each access is recorded as a
//! [`Run`]. For other lines, the last accesses to each four-byte word are recorded, with the accessed bytes of the
//! word.

use std::collections::HashMap;

use super::actor::{Actor, Hit, Toucher};
use super::grid::WarpNumber;
use super::sites::SiteNumber;
use super::words::{Entry, Word};
use rustc_hash::FxBuildHasher;

/// The number of bytes of a line.
pub(super) const LINE: u64 = 128;
/// The number of lines of a page.
const PAGE: u64 = 256;
/// The maximum number of reads, and of writes, that are recorded for a line before the line is divided into words.
const RUNS: usize = 4;

/// One access of lanes to bytes of a line. Either each lane accesses `size` bytes, consecutively from byte `lo`, or all
/// lanes access the same bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    pub(super) warp: WarpNumber,
    pub(super) clock: u32,
    pub(super) site: SiteNumber,
    pub(super) lanes: u32,
    pub(super) lo: u8,
    /// The byte after the last one.
    pub(super) hi: u8,
    /// The number of bytes per lane.
    pub(super) size: u8,
    /// The lane of byte `lo`.
    pub(super) first: u8,
}

impl Run {
    /// Returns whether all lanes access the same bytes.
    #[inline]
    pub(super) fn is_of_same_bytes(&self) -> bool {
        self.hi - self.lo == self.size
    }

    /// Returns the lanes that access a byte.
    #[inline]
    fn lanes_at(&self, byte: u8) -> u32 {
        match self.is_of_same_bytes() {
            true => self.lanes,
            false => 1 << (self.first + (byte - self.lo) / self.size),
        }
    }

    #[inline]
    fn overlaps(&self, other: &Self) -> bool {
        self.lo < other.hi && other.lo < self.hi
    }

    /// Returns whether the run includes all bytes of the other run.
    #[inline]
    fn covers(&self, other: &Self) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    #[inline]
    fn same_bytes(&self, other: &Self) -> bool {
        (self.lo, self.hi, self.size) == (other.lo, other.hi, other.size)
    }

    /// Returns whether each byte is accessed by the same lane of the same warp in both runs.
    #[inline]
    fn same_threads(&self, other: &Self) -> bool {
        self.warp == other.warp
            && self.size == other.size
            && match (self.is_of_same_bytes(), other.is_of_same_bytes()) {
                (true, true) => self.lanes == other.lanes && self.lanes.is_power_of_two(),
                (false, false) => {
                    let origin = |run: &Self| i32::from(run.lo) - i32::from(run.first) * i32::from(run.size);
                    origin(self) == origin(other)
                }
                _ => false,
            }
    }

    fn toucher(&self, lanes: u32) -> Toucher {
        Toucher { warp: self.warp, clock: self.clock, site: self.site, lanes }
    }

    /// Calls `act` with each accessed word, the lanes, and the accessed bytes of the word.
    #[inline]
    fn each_word(&self, mut act: impl FnMut(usize, &Toucher, u8)) {
        let step = usize::from(self.size.clamp(1, 4));
        let part = (1u8 << step) - 1;
        if self.hi - self.lo <= 4 && self.is_of_same_bytes() {
            act(usize::from(self.lo / 4), &self.toucher(self.lanes), part << (self.lo % 4));
            return;
        }
        for byte in (self.lo..self.hi).step_by(step) {
            act(usize::from(byte / 4), &self.toucher(self.lanes_at(byte)), part << (byte % 4));
        }
    }
}

/// The last accesses to a line.
#[derive(Debug, Default)]
enum Line {
    #[default]
    Empty,
    Runs(Box<Runs>),
    Words(Box<[Word; 32]>),
}

/// The last few runs, oldest first.
#[derive(Debug, Clone, Copy, Default)]
struct RecentRuns {
    len: u8,
    runs: [Run; RUNS],
}

#[derive(Debug, Clone, Copy, Default)]
struct Runs {
    writes: RecentRuns,
    reads: RecentRuns,
}

impl RecentRuns {
    #[inline]
    fn all(&self) -> &[Run] {
        &self.runs[..usize::from(self.len)]
    }

    fn all_mut(&mut self) -> &mut [Run] {
        &mut self.runs[..usize::from(self.len)]
    }

    fn push(&mut self, run: Run) -> bool {
        let len = usize::from(self.len);
        if len == RUNS {
            return false;
        }
        self.runs[len] = run;
        self.len += 1;
        true
    }

    fn remove(&mut self, index: usize) {
        self.runs.copy_within(index + 1..usize::from(self.len), index);
        self.len -= 1;
    }

    #[inline]
    fn retain(&mut self, keep: impl Fn(&Run) -> bool) {
        let mut len = 0;
        for index in 0..usize::from(self.len) {
            if keep(&self.runs[index]) {
                self.runs[len] = self.runs[index];
                len += 1;
            }
        }
        self.len = len as u8;
    }
}

impl Line {
    /// Adds an access, and adds its conflicts with earlier accesses to `hits`. Returns the number of newly allocated
    /// bytes.
    #[inline]
    fn access(&mut self, run: &Run, actor: &Actor<'_>, hits: &mut Vec<Hit>) -> u64 {
        match self {
            Line::Empty => {
                let mut runs = Runs::default();
                if actor.writes {
                    runs.writes.push(*run)
                } else {
                    runs.reads.push(*run)
                };
                *self = Line::Runs(Box::new(runs));
                return size_of::<Runs>() as u64;
            }
            Line::Runs(runs) => {
                runs.check(run, actor, hits);
                if !runs.add(run, actor) {
                    let mut words = runs.divide();
                    run.each_word(|index, toucher, bytes| words[index].add(toucher, bytes, actor));
                    *self = Line::Words(words);
                    return size_of::<[Word; 32]>() as u64;
                }
            }
            Line::Words(words) => run.each_word(|index, toucher, bytes| {
                words[index].access(toucher, bytes, index as u8 * 4, actor, hits);
            }),
        }
        0
    }
}

impl Runs {
    #[inline]
    fn check(&self, run: &Run, actor: &Actor<'_>, hits: &mut Vec<Hit>) {
        let reads = if actor.writes { self.reads.all() } else { &[] };
        let all = [(self.writes.all(), true), (reads, false)];
        for (others, wrote) in all {
            for (index, other) in others.iter().enumerate() {
                let same_size = actor.same_size(other.site);
                if !other.overlaps(run)
                    || actor.happened_before(&other.toucher(other.lanes))
                    || actor.is_threads() && other.same_threads(run)
                    || actor.is_harmless(&other.toucher(other.lanes), wrote, run.lanes, same_size)
                {
                    continue;
                }
                let step = usize::from(run.size.min(other.size).max(1));
                for byte in (run.lo.max(other.lo)..run.hi.min(other.hi)).step_by(step) {
                    let toucher = other.toucher(other.lanes_at(byte));
                    let mut lanes = run.lanes_at(byte);
                    if wrote && actor.may_have_seen(&toucher) {
                        let later = self.writes.all()[index + 1..].iter().chain(self.reads.all());
                        let overlapping = later.filter(|later_run| later_run.lo <= byte && byte < later_run.hi);
                        lanes &= !actor
                            .have_seen(overlapping.map(|later_run| later_run.toucher(later_run.lanes_at(byte))), lanes);
                    }
                    if let Some(hit) = actor.hit(&toucher, wrote, lanes, same_size, byte) {
                        hits.push(hit);
                        break;
                    }
                }
            }
        }
    }

    /// Adds a run. Returns false if all slots are used.
    #[inline]
    fn add(&mut self, run: &Run, actor: &Actor<'_>) -> bool {
        let is_obsolete = |other: &Run| {
            run.covers(other)
                && actor.is_as_strong_as(other.site)
                && (actor.is_threads() && other.same_threads(run)
                    || actor.happened_before(&other.toucher(other.lanes))
                    || actor.all_before(&other.toucher(other.lanes), run.lanes))
        };
        if actor.writes {
            self.reads.retain(|other| !run.covers(other));
            self.writes.retain(|other| (!run.covers(other) || actor.is_strong) && !is_obsolete(other));
            return self.writes.push(*run);
        }
        let is_repeated = |other: &&mut Run| actor.is_threads() && other.same_threads(run) && other.same_bytes(run);
        if let Some(other) = self.reads.all_mut().iter_mut().find(is_repeated) {
            *other = *run;
            return true;
        }
        if self.reads.push(*run) {
            return true;
        }
        // If all runs read the same bytes, do not divide the line: many warps may read it without a write.
        if !self.reads.all().iter().all(|other| other.same_bytes(run)) {
            self.reads.retain(|other| !is_obsolete(other));
            return self.reads.push(*run);
        }
        // Keep the accesses of other blocks longest.
        let same_block = |other: &Run| actor.grid.block(other.warp) == actor.grid.block(run.warp);
        let near = self.reads.all().iter().position(same_block);
        self.reads.remove(near.unwrap_or(0));
        self.reads.push(*run)
    }

    fn divide(&self) -> Box<[Word; 32]> {
        let mut words: Box<[Word; 32]> = Box::default();
        for (few, write) in [(&self.writes, true), (&self.reads, false)] {
            for run in few.all() {
                run.each_word(|index, toucher, bytes| {
                    let word = &mut words[index];
                    let entries = if write { &mut word.writes } else { &mut word.reads };
                    entries.push(Entry { toucher: *toucher, bytes });
                });
            }
        }
        words
    }
}

/// The number of pages that are found without a hash lookup.
const LOW: usize = 8;

type Page = [Line; PAGE as usize];

/// The lines of an address space.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    /// The pages of the lowest addresses, which shared memory uses.
    low: [Option<Box<Page>>; LOW],
    pages: HashMap<u64, Box<Page>, FxBuildHasher>,
    /// The approximate number of bytes that the shadow uses.
    pub(super) bytes: u64,
}

impl Shadow {
    fn page(&mut self, number: u64) -> Option<&mut Page> {
        match self.low.get_mut(number as usize) {
            Some(low) => low.as_deref_mut(),
            None => self.pages.get_mut(&number).map(|page| &mut **page),
        }
    }

    /// Forgets the accesses to these bytes, because they belong to a new allocation.
    pub(super) fn forget(&mut self, address: u64, bytes: u64) {
        let end = address + bytes;
        for number in address / LINE..end.div_ceil(LINE) {
            let Some(page) = self.page(number / PAGE) else { continue };
            let line = &mut page[(number % PAGE) as usize];
            let first = number * LINE;
            if let Line::Runs(runs) = line {
                *line = Line::Words(runs.divide());
            }
            if let Line::Words(words) = line {
                let is_in_range = |word: &(usize, &mut Word)| (address..end).contains(&(first + word.0 as u64 * 4));
                words.iter_mut().enumerate().filter(is_in_range).for_each(|(_, word)| *word = Word::default());
            }
        }
    }

    /// Calls `act` with each earlier access to bytes of a run, whether it wrote, the lanes of the run, and the byte.
    #[cold]
    pub(super) fn visit(&mut self, line: u64, run: &Run, mut act: impl FnMut(&Toucher, bool, u32, u8)) {
        let Some(page) = self.page(line / PAGE) else { return };
        match &page[(line % PAGE) as usize] {
            Line::Empty => {}
            Line::Runs(runs) => {
                for (few, wrote) in [(&runs.writes, true), (&runs.reads, false)] {
                    for other in few.all().iter().filter(|other| other.overlaps(run)) {
                        let step = usize::from(run.size.min(other.size).max(1));
                        for byte in (run.lo.max(other.lo)..run.hi.min(other.hi)).step_by(step) {
                            act(&other.toucher(other.lanes_at(byte)), wrote, run.lanes_at(byte), byte);
                        }
                    }
                }
            }
            Line::Words(words) => run.each_word(|index, toucher, bytes| {
                for (entries, wrote) in [(&words[index].writes, true), (&words[index].reads, false)] {
                    for other in entries.all().filter(|other| other.bytes & bytes != 0) {
                        let byte = index as u8 * 4 + bytes.trailing_zeros() as u8;
                        act(&other.toucher, wrote, toucher.lanes, byte);
                    }
                }
            }),
        }
    }

    /// Adds an access to the line with this number. If `full` is true, only lines with earlier accesses are tracked.
    #[inline]
    pub(super) fn access(&mut self, line: u64, run: &Run, full: bool, actor: &Actor<'_>, hits: &mut Vec<Hit>) {
        let number = line / PAGE;
        if full && self.page(number).is_none() {
            return;
        }
        let bytes = &mut self.bytes;
        let new = || {
            *bytes += size_of::<Page>() as u64;
            Box::new(std::array::from_fn(|_| Line::Empty))
        };
        let page = match self.low.get_mut(number as usize) {
            Some(low) => low.get_or_insert_with(new),
            None => self.pages.entry(number).or_insert_with(new),
        };
        let line = &mut page[(line % PAGE) as usize];
        if full && matches!(line, Line::Empty) {
            return;
        }
        self.bytes += line.access(run, actor, hits);
    }
}
