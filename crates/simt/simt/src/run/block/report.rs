//! The faults of a cluster that no single instruction causes: a deadlock or an interruption.

use super::{BlockFault, CLUSTER_BARRIER, RunningCluster, WaitedForThread};
use crate::memory::AccessFault;
use crate::observe::{Observer, Site, WarpId};
use crate::regs::{LANES, lanes};
use crate::run::fault::FaultKind;
use crate::run::warp::{Waiting, WarpState};

impl<O: Observer> RunningCluster<'_, '_, O> {
    /// Returns the fault of a block that makes no progress.
    pub(in crate::run) fn deadlock(&self) -> BlockFault {
        let several = self.blocks.len() > 1;
        let of_block = |rank: usize| match several {
            true => format!(" of block {rank} of the cluster"),
            false => String::new(),
        };
        let mut waits = Vec::new();
        for (index, warp) in self.warps.iter().enumerate() {
            for waiting in warp.waiting() {
                let what = self.memory.awaited(index).unwrap_or(waiting.what);
                waits.push((warp.rank as usize, warp.alive(), Waiting { what, ..waiting }));
            }
        }
        let blocks = self.blocks.iter().enumerate();
        let barriers = blocks.flat_map(|(rank, block)| {
            let all = block.barriers.iter().enumerate();
            all.map(move |(id, barrier)| (rank, id, barrier))
        });
        let missing = barriers.filter(|(.., barrier)| barrier.threads > 0).map(|(rank, id, barrier)| {
            let (threads, whose) = (barrier.threads, of_block(rank));
            let left = "of the remaining threads".to_owned();
            let of = barrier.expected.map_or(left, |expected| format!("of {expected} threads"));
            format!("barrier {id}{whose} has {threads} {of}")
        });
        waits.sort_by_key(|(.., waiting)| waiting.reconverges);
        let stuck = waits.iter().filter(|(.., waiting)| !waiting.reconverges);
        let words = stuck.map(|(rank, alive, Waiting { warp, lanes, what, .. })| match lanes == alive {
            true => format!("warp {warp}{} {what}", of_block(*rank)),
            false => format!("lanes {lanes:#010x} of warp {warp}{} {what}", of_block(*rank)),
        });
        let waiting = [words.collect::<Vec<_>>().join(", ")].into_iter().chain(missing).collect::<Vec<_>>().join("; ");
        let kind = FaultKind::Deadlock { waiting };
        if waits.is_empty() {
            return BlockFault::new(Site { function: 0, pc: 0 }, 0, kind);
        }
        let (rank, _, first) = waits.remove(0);
        let fault = BlockFault::new(first.site, first.thread(), kind).with_rank(rank);
        BlockFault { other: self.awaited(rank, &first, waits), ..fault }
    }

    /// Returns a thread that the lanes of `first` may wait for: a thread that waits for something else, or a thread
    /// that has ended without arriving.
    fn awaited(&self, rank: usize, first: &Waiting, waits: Vec<(usize, u32, Waiting)>) -> Option<WaitedForThread> {
        let within = first.barrier.is_some_and(|id| id != CLUSTER_BARRIER);
        let differs = |(block_rank, _, waiting): &(usize, u32, Waiting)| match within {
            true => *block_rank == rank && waiting.barrier != first.barrier,
            false => waiting.site != first.site,
        };
        if let Some((block_rank, _, other)) = waits.into_iter().find(differs) {
            return Some(other.elsewhere(Some(self.blocks[block_rank].number)));
        }
        let mut warps = self.warps.iter().filter(|warp| within && warp.rank as usize == rank);
        warps.find_map(WarpState::ended)
    }

    /// Returns the calls on the call stack of the thread that faulted.
    pub(in crate::run) fn callers(&self, fault: &BlockFault) -> Vec<(Site, Vec<u64>)> {
        let (warp, lane) = (fault.thread as usize / LANES, fault.thread as usize % LANES);
        self.warps[fault.rank as usize * self.warps_each() + warp].callers(self.launch, lane)
    }

    /// Reports to the observer the asynchronous operations that an ending block has not waited for.
    pub(super) fn report_unfinished_copies(&mut self, rank: usize) {
        let each = self.warps_each();
        let number = self.blocks[rank].number;
        for (site, index, lanes, mistake) in self.memory.unfinished_operations(rank as u32, number) {
            let block = &mut self.blocks[index / each];
            let warp_id = WarpId { block: block.number, warp: (index % each) as u32 };
            block.observer.mistake(site, warp_id, lanes, &mistake);
        }
    }

    /// Returns the fault of an asynchronous operation, which occurs when no thread executes the operation.
    pub(super) fn asynchronous(&self, words: String) -> BlockFault {
        let access = AccessFault::of_synchronization(0, words);
        let near = String::new();
        self.interrupted(FaultKind::Access { access, near })
    }

    /// Returns a fault attributed to the first warp that has not ended, although that warp did not cause it.
    pub(super) fn interrupted(&self, kind: FaultKind) -> BlockFault {
        let running = self.warps.iter().position(|warp| warp.alive() != 0);
        let running = running.unwrap_or(0);
        let warp = &self.warps[running];
        let lane = lanes(warp.alive()).next().unwrap_or(0);
        BlockFault::new(warp.site(), warp.number * 32 + lane as u32, kind).with_rank(warp.rank as usize)
    }
}
