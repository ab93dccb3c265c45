//! Asynchronous operations that were issued and are not complete: copies, reductions, and arrivals at mbarriers.
//!
//! An operation completes at the latest when a thread waits for it. An operation may complete earlier: at a time that a
//! random schedule chooses, when nothing else in the cluster makes progress, or when its block ends. An operation reads
//! its source when it completes, not when it is issued, so a kernel that does not wait reads the old bytes of the
//! destination.

use super::atomic::Atomic;
use super::cluster::{Cluster, Place, Reach};
use super::storage::{OneAllocation, SharedMemory, Storage};
use super::{AccessFault, Accessed, Env, GlobalMemory, LocalMemory, Recent};
use crate::observe::{AsyncGroup, Mistake, Site};
use crate::regs::{ALL, LANES, Regs, lanes};
use crate::vectors::Portable;

/// The operations that the warps of a cluster have issued.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// The operations of each warp, in the order of issue.
    jobs: Vec<Vec<Job>>,
    /// A counter that increases when an operation is issued or completes, or when an mbarrier changes.
    pub(crate) changes: u64,
    /// The mbarrier that each warp last waited for without success.
    pub(super) awaited: Vec<Option<(u32, u64)>>,
    /// Whether the last wait was unsuccessful; if so, the warp yields to other warps.
    pub(crate) yields: bool,
    /// Empty buffers for the pieces of later operations.
    spare: Vec<Vec<Piece>>,
}

/// An operation of some lanes of a warp.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) lanes: u32,
    /// The instruction that issued the operation, if there is an observer.
    pub(super) site: Site,
    /// The number of the operation in the cluster.
    pub(super) number: u64,
    /// The number of groups that each lane has committed since it issued the operation.
    pub(super) ages: [u8; LANES],
    pub(super) group: Group,
    pub(super) pieces: Vec<Piece>,
    /// The reduction of the pieces with the old values; `None` if the pieces replace the old values.
    pub(super) reduce: Option<Atomic>,
    pub(super) signals: Vec<Signal>,
}

/// The kind of groups that an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// No group: an mbarrier signals completion.
    None,
    /// The groups of `cp.async`.
    Copies,
    /// The groups of `cp.async.bulk`.
    Bulk,
}

/// Consecutive bytes of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) lane: u8,
    pub(super) bytes: u32,
    pub(super) from: Source,
    pub(super) to: Place,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    Memory(Place),
    /// These eight bytes, repeated.
    Value(u64),
}

/// The effect of a completed operation on an mbarrier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signal {
    pub(super) lane: u8,
    pub(super) rank: u32,
    pub(super) at: u64,
    /// The number of completed bytes; `None` for an arrival.
    pub(super) bytes: Option<u32>,
}

impl Job {
    pub(super) fn new(lanes: u32, group: Group) -> Self {
        let site = Site::default();
        Self { lanes, site, number: 0, ages: [0; LANES], group, pieces: Vec::new(), reduce: None, signals: Vec::new() }
    }
}

impl InFlight {
    pub(super) fn new(warps: usize) -> Self {
        Self { jobs: (0..warps).map(|_| Vec::new()).collect(), awaited: vec![None; warps], ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.jobs.iter_mut().for_each(Vec::clear);
        self.awaited.fill(None);
    }

    /// Returns the number of warps of the cluster.
    pub(super) fn warps(&self) -> u32 {
        self.awaited.len() as u32
    }

    /// Returns whether no operation is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.iter().all(Vec::is_empty)
    }

    /// Returns an empty buffer for pieces.
    pub(super) fn pieces(&mut self) -> Vec<Piece> {
        self.spare.pop().unwrap_or_default()
    }
}

impl Cluster {
    /// Issues an operation of the executing warp.
    pub(super) fn issue(&mut self, mut job: Job) {
        self.in_flight.changes += 1;
        job.number = self.in_flight.changes;
        job.site = self.site;
        self.in_flight.jobs[self.warp as usize].push(job);
    }

    /// Completes a warp's operations; `choose` returns, for each operation, the lanes to complete.
    fn finish(&mut self, global: &GlobalMemory, warp: usize, choose: impl Fn(&Job) -> u32) -> Result<(), String> {
        let mut index = 0;
        while let Some(job) = self.in_flight.jobs[warp].get(index) {
            let chosen = choose(job) & job.lanes;
            if chosen == 0 {
                index += 1;
                continue;
            }
            let arrives = job.signals.iter().any(|signal| signal.bytes.is_none());
            if arrives {
                // Copies that were issued earlier complete first.
                for before in (0..index).rev() {
                    let job = &self.in_flight.jobs[warp][before];
                    let lanes = job.lanes & chosen;
                    if job.group == Group::Copies && lanes != 0 {
                        index -= usize::from(self.finish_one(global, warp, before, lanes)?);
                    }
                }
            }
            if !self.finish_one(global, warp, index, chosen)? {
                index += 1;
            }
        }
        Ok(())
    }

    /// Completes an operation for some of its lanes. Returns whether the operation is now complete for all lanes.
    fn finish_one(&mut self, global: &GlobalMemory, warp: usize, index: usize, chosen: u32) -> Result<bool, String> {
        self.in_flight.changes += 1;
        let job = &mut self.in_flight.jobs[warp][index];
        job.lanes &= !chosen;
        let (left, reduce) = (job.lanes, job.reduce.clone());
        let mut pieces = std::mem::take(&mut job.pieces);
        let mut signals = std::mem::take(&mut job.signals);
        let is_chosen = |lane: u8| chosen >> lane & 1 != 0;
        for piece in pieces.iter().filter(|piece| is_chosen(piece.lane)) {
            match &reduce {
                Some(reduce) => self.reduce(global, reduce, piece),
                None => copy(&mut self.shared, global, piece),
            }
        }
        for signal in signals.iter().filter(|signal| is_chosen(signal.lane)) {
            self.signal(signal)?;
        }
        if left == 0 {
            self.in_flight.jobs[warp].remove(index);
            pieces.clear();
            self.in_flight.spare.push(pieces);
        } else {
            pieces.retain(|piece| !is_chosen(piece.lane));
            signals.retain(|signal| !is_chosen(signal.lane));
            let job = &mut self.in_flight.jobs[warp][index];
            (job.pieces, job.signals) = (pieces, signals);
        }
        Ok(left == 0)
    }

    /// Reduces a piece into its destination, 32 elements at a time, like the lanes of a warp.
    fn reduce(&mut self, global: &GlobalMemory, reduce: &Atomic, piece: &Piece) {
        let size = u64::from(reduce.width.bytes());
        let mut bytes = vec![0; piece.bytes as usize];
        read(&self.shared, global, piece.from, 0, &mut bytes);
        for (chunk, bytes) in bytes.chunks(LANES * size as usize).enumerate() {
            let (mut at, mut operand) = ([0; LANES], [0; LANES]);
            let mut mask = 0;
            for (lane, bytes) in bytes.chunks_exact(size as usize).enumerate() {
                let element = (chunk * LANES + lane) as u64;
                at[lane] = piece.to.at() + element * size;
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                operand[lane] = u64::from_le_bytes(word);
                mask |= 1 << lane;
            }
            let mut none = SharedMemory::new(0);
            let shared = match piece.to {
                Place::Shared(rank, _) => &mut self.shared[rank as usize],
                Place::Global(_) => &mut none,
            };
            let mut env = Env {
                regs: Regs { r32: &mut [], r64: &mut [operand, at], preds: &mut [] },
                shared,
                local: &mut LocalMemory::default(),
                params: &[],
                constants: &[],
                global,
                recent: &mut Recent::default(),
                cluster: &mut Cluster::default(),
                fault: None,
            };
            // The addresses were checked when the operation was issued.
            let _ = super::access::run(Portable, reduce, &mut env, mask, &mut [0; LANES]);
        }
    }

    /// Completes all operations that signal an mbarrier.
    pub(super) fn finish_signals(&mut self, global: &GlobalMemory, (rank, at): (u32, u64)) -> Result<(), String> {
        (0..self.in_flight.jobs.len()).try_for_each(|warp| {
            self.finish(global, warp, |job| {
                let signals = job.signals.iter();
                let signals = signals.filter(|signal| (signal.rank, signal.at) == (rank, at));
                signals.fold(0, |lanes, signal| lanes | 1 << signal.lane)
            })
        })
    }

    /// Returns the operations in flight that read or write the shared memory of the block with this rank and number.
    /// For each operation, the result contains the instruction that issued it, its warp in the cluster, its lanes, and
    /// the mistake to report.
    pub(crate) fn unfinished_operations(&self, rank: u32, block: u64) -> Vec<(Site, usize, u32, Mistake)> {
        let all = self.in_flight.jobs.iter().enumerate();
        let all = all.flat_map(|(warp, jobs)| jobs.iter().map(move |job| (warp, job)));
        let here = all.filter_map(|(warp, job)| {
            let offset_in_block = |place: Place| match place {
                Place::Shared(of, at) if of == rank => Some(at),
                _ => None,
            };
            let (at, bytes, write) = job.pieces.iter().find_map(|piece| {
                let read = match piece.from {
                    Source::Memory(from) => offset_in_block(from),
                    Source::Value(_) => None,
                };
                let place = offset_in_block(piece.to).map(|at| (at, true)).or(read.map(|at| (at, false)));
                place.map(|(at, write)| (at, piece.bytes, write))
            })?;
            Some((job.site, warp, job.lanes, Mistake::CopyInFlight { block, at, bytes, write }))
        });
        here.collect()
    }

    /// Completes all operations in flight.
    pub(crate) fn finish_all(&mut self, global: &GlobalMemory) -> Result<(), String> {
        (0..self.in_flight.jobs.len()).try_for_each(|warp| self.finish(global, warp, |_| ALL))
    }

    /// Completes one operation. `choose` receives the number of operations and returns the index of one.
    pub(crate) fn finish_any(
        &mut self,
        global: &GlobalMemory,
        choose: impl FnOnce(usize) -> usize,
    ) -> Result<(), String> {
        let all = self.in_flight.jobs.iter().enumerate();
        let all: Vec<(usize, u64)> =
            all.flat_map(|(warp, jobs)| jobs.iter().map(move |job| (warp, job.number))).collect();
        if all.is_empty() {
            return Ok(());
        }
        let (warp, number) = all[choose(all.len())];
        self.finish(global, warp, |job| if job.number == number { ALL } else { 0 })
    }
}

/// Commits the operations of lanes as a group, or waits for groups.
pub(super) fn group(reach: &mut Reach<'_, '_, '_>, which: Group, op: AsyncGroup, mask: u32) -> Accessed {
    let warp = reach.cluster.warp as usize;
    let least = match op {
        AsyncGroup::Commit => {
            let jobs = reach.cluster.in_flight.jobs[warp].iter_mut();
            for job in jobs.filter(|job| job.group == which) {
                for lane in lanes(job.lanes & mask) {
                    job.ages[lane] = job.ages[lane].saturating_add(1);
                }
            }
            return Ok(());
        }
        AsyncGroup::Wait(groups) => groups,
        AsyncGroup::WaitAll => 0,
    };
    let all = op == AsyncGroup::WaitAll;
    let done = reach.cluster.finish(reach.global, warp, |job| {
        if job.group != which {
            return 0;
        }
        lanes(job.lanes & mask)
            .filter(|lane| all || u64::from(job.ages[*lane]) > least)
            .fold(0, |chosen, lane| chosen | 1 << lane)
    });
    done.map_err(|words| AccessFault::of_synchronization(mask.trailing_zeros() as usize, words))
}

/// Reads bytes of a source, starting at the source's byte `offset`, which is a multiple of 8.
fn read(shared: &[SharedMemory], global: &GlobalMemory, from: Source, offset: u64, bytes: &mut [u8]) {
    match from {
        Source::Memory(Place::Shared(rank, at)) => shared[rank as usize].read(at + offset, bytes),
        Source::Memory(Place::Global(at)) => global.read(at + offset, bytes),
        Source::Value(value) => {
            for part in bytes.chunks_mut(8) {
                part.copy_from_slice(&value.to_le_bytes()[..part.len()]);
            }
        }
    }
}

/// Copies a piece.
pub(super) fn copy(shared: &mut [SharedMemory], global: &GlobalMemory, piece: &Piece) {
    let mut buffer = [0; 256];
    let mut offset = 0;
    while offset < u64::from(piece.bytes) {
        let len = (u64::from(piece.bytes) - offset).min(256);
        let bytes = &mut buffer[..len as usize];
        read(shared, global, piece.from, offset, bytes);
        match piece.to.offset_by(offset) {
            Place::Shared(rank, at) => {
                let to = shared[rank as usize].bytes_mut().get_mut(at as usize..);
                if let Some(to) = to.and_then(|to| to.get_mut(..bytes.len())) {
                    to.copy_from_slice(bytes);
                }
            }
            Place::Global(at) => write(global, at, bytes),
        }
        offset += len;
    }
}

/// Writes bytes of device memory that have been checked to be allocated.
fn write(global: &GlobalMemory, at: u64, bytes: &[u8]) {
    let Some(found) = global.find(at) else { return };
    let mut memory = OneAllocation { words: &found.words, base: found.base, strong: true };
    let (words, rest) = match at % 8 {
        0 => bytes.as_chunks::<8>(),
        _ => (&[][..], bytes),
    };
    for (index, word) in words.iter().enumerate() {
        memory.set(0, at + index as u64 * 8, u64::from_le_bytes(*word));
    }
    let at = at + words.len() as u64 * 8;
    for (index, byte) in rest.iter().enumerate() {
        memory.set(0, at + index as u64, *byte);
    }
}
