//! The last accesses to a four-byte word.
//!
//! A word keeps the last write and the reads since then. If the last writes are atomic and of different warps, the word
//! keeps all of them. If there are more than [`MAX_ENTRIES`] reads or writes, an old access is dropped. The check may
//! then miss a race with a dropped reader, if the writer knows all the readers that the word still keeps.

use super::actor::{Actor, Hit, Toucher};

/// The maximum number of reads that a word keeps, and the maximum number of writes.
const MAX_ENTRIES: usize = 5;

/// The last accesses to four bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    pub(super) writes: Entries,
    pub(super) reads: Entries,
}

/// Entries, oldest first. Usually there is only one entry.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    first: Entry,
    more: Option<Box<More>>,
}

/// The entries after the first.
#[derive(Debug, Clone, Default)]
struct More {
    entries: Vec<Entry>,
    /// The index of the entry to replace next, if their order does not matter.
    next: u8,
}

/// An access of lanes to some of the four bytes; empty if no bytes are set.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) toucher: Toucher,
    pub(super) bytes: u8,
}

impl Entries {
    #[inline]
    pub(super) fn all(&self) -> impl Iterator<Item = &Entry> {
        let first = (self.first.bytes != 0).then_some(&self.first);
        first.into_iter().chain(self.rest())
    }

    /// Returns the entries after the first.
    #[inline]
    fn rest(&self) -> &[Entry] {
        self.more.as_ref().map_or(&[], |more| &more.entries)
    }

    #[inline]
    fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        if let Some(more) = &mut self.more {
            more.entries.retain(&mut keep);
        }
        if self.first.bytes != 0 && !keep(&self.first) {
            self.first = self.remove_second().unwrap_or_default();
        }
    }

    /// Removes the oldest entry after the first.
    fn remove_second(&mut self) -> Option<Entry> {
        let more = self.more.as_mut()?;
        (!more.entries.is_empty()).then(|| more.entries.remove(0))
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        let first = (self.first.bytes != 0).then_some(&mut self.first);
        let rest: &mut [Entry] = self.more.as_mut().map_or(&mut [], |more| &mut more.entries);
        first.into_iter().chain(rest)
    }

    /// Adds an entry whose place in the order does not matter. If all slots are used, the entry replaces an old entry.
    #[inline]
    fn add(&mut self, entry: Entry) {
        match &mut self.more {
            Some(more) if more.is_full() => {
                more.next = (more.next + 1) % more.entries.len() as u8;
                more.entries[usize::from(more.next)] = entry;
            }
            _ => self.push(entry),
        }
    }

    /// Adds an entry as the latest. If all slots are used, the oldest entry is dropped.
    pub(super) fn push(&mut self, entry: Entry) {
        if self.first.bytes == 0 {
            self.first = entry;
            return;
        }
        let more = self.more.get_or_insert_default();
        if more.is_full() {
            self.first = more.entries.remove(0);
        }
        more.entries.push(entry);
    }
}

impl More {
    fn is_full(&self) -> bool {
        self.entries.len() + 1 == MAX_ENTRIES
    }
}

impl Word {
    /// Checks and adds an access.
    #[inline]
    pub(super) fn access(&mut self, toucher: &Toucher, bytes: u8, at: u8, actor: &Actor<'_>, hits: &mut Vec<Hit>) {
        if !self.is_of_thread(toucher, bytes, actor) {
            self.check_and_add(toucher, bytes, at, actor, hits);
            return;
        }
        let entry = Entry { toucher: *toucher, bytes };
        match actor.writes {
            true => (self.writes.first, self.reads.first) = (entry, Entry::default()),
            false => self.reads.first = entry,
        }
    }

    // Kept out of the fast path, which this code would slow down.
    #[inline(never)]
    fn check_and_add(&mut self, toucher: &Toucher, bytes: u8, at: u8, actor: &Actor<'_>, hits: &mut Vec<Hit>) {
        self.check(toucher, bytes, at, actor, hits);
        self.add(toucher, bytes, actor);
    }

    /// Returns whether the only accesses so far are one thread's accesses to the same bytes, which the new access
    /// replaces.
    #[inline]
    fn is_of_thread(&self, toucher: &Toucher, bytes: u8, actor: &Actor<'_>) -> bool {
        let is_replaced = |entry: &Entry| {
            entry.bytes == 0
                || entry.bytes == bytes
                    && entry.toucher.is_thread_of(toucher)
                    && actor.is_as_strong_as(entry.toucher.site)
        };
        actor.is_threads()
            && self.writes.rest().is_empty()
            && self.reads.rest().is_empty()
            && is_replaced(&self.writes.first)
            && is_replaced(&self.reads.first)
    }

    #[inline]
    fn check(&self, toucher: &Toucher, bytes: u8, at: u8, actor: &Actor<'_>, hits: &mut Vec<Hit>) {
        let reads = actor.writes.then_some(&self.reads);
        let all = [(Some(&self.writes), true), (reads, false)];
        for (entries, wrote) in all {
            for (index, other) in entries.into_iter().flat_map(Entries::all).enumerate() {
                if other.bytes & bytes == 0 || actor.happened_before(&other.toucher) {
                    continue;
                }
                let mut lanes = toucher.lanes;
                if wrote && actor.may_have_seen(&other.toucher) {
                    let later = self.writes.all().skip(index + 1).chain(self.reads.all());
                    let overlapping = later.filter(|entry| entry.bytes & bytes != 0);
                    lanes &= !actor.have_seen(overlapping.map(|entry| entry.toucher), lanes);
                }
                let same_size = actor.same_size(other.toucher.site);
                let at = at + bytes.trailing_zeros() as u8;
                hits.extend(actor.hit(&other.toucher, wrote, lanes, same_size, at));
            }
        }
    }

    #[inline]
    pub(super) fn add(&mut self, toucher: &Toucher, bytes: u8, actor: &Actor<'_>) {
        let is_obsolete = |other: &Entry| {
            other.bytes & !bytes == 0
                && actor.is_as_strong_as(other.toucher.site)
                && (actor.is_threads() && other.toucher.is_thread_of(toucher)
                    || actor.happened_before(&other.toucher)
                    || actor.all_before(&other.toucher, toucher.lanes))
        };
        let entry = Entry { toucher: *toucher, bytes };
        if actor.writes {
            self.reads.retain(|other| other.bytes & !bytes != 0);
            self.writes.retain(|other| (other.bytes & !bytes != 0 || actor.is_strong) && !is_obsolete(other));
            self.writes.push(entry);
        } else {
            let is_repeated = |other: &&mut Entry| {
                let Toucher { warp, clock, site, .. } = other.toucher;
                other.bytes == bytes && (warp, clock, site) == (toucher.warp, toucher.clock, toucher.site)
            };
            if let Some(other) = self.reads.all_mut().find(is_repeated) {
                other.toucher.lanes |= toucher.lanes;
                return;
            }
            // A later write that is ordered after this read is also ordered after the reads that precede this read.
            let is_obsolete =
                |other: &Entry| actor.happened_before(&other.toucher) && actor.is_as_strong_as(other.toucher.site);
            self.reads.retain(|other| other.bytes & !bytes != 0 || !is_obsolete(other));
            // If all slots are used, drop the oldest access, because it most likely happened before.
            self.reads.add(entry);
        }
    }
}
