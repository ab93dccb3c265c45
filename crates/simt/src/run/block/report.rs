//! The faults of a cluster that no instruction causes: it does not get on, or is interrupted.

use super::{BlockFault, RunningCluster};
use crate::memory::AccessFault;
use crate::observe::{Observer, Site};
use crate::regs::{LANES, lanes};
use crate::run::fault::FaultKind;

impl<O: Observer> RunningCluster<'_, '_, O> {
    /// The fault of a block that does not get on.
    pub(in crate::run) fn deadlock(&self) -> BlockFault {
        let several = self.blocks.len() > 1;
        let of_block = |rank: usize| match several {
            true => format!(" of block {rank} of the cluster"),
            false => String::new(),
        };
        let mut waits = Vec::new();
        for (index, warp) in self.warps.iter().enumerate() {
            for (who, what, site, thread) in warp.waits() {
                let rank = warp.rank as usize;
                let what = self.memory.awaited(index).unwrap_or(what);
                let words = format!("{who}{} {what}", of_block(rank));
                waits.push((words, rank, site, thread));
            }
        }
        let blocks = self.blocks.iter().enumerate();
        let barriers = blocks.flat_map(|(rank, block)| {
            let all = block.barriers.iter().enumerate();
            all.map(move |(id, barrier)| (rank, id, barrier))
        });
        let missing = barriers.filter(|(.., barrier)| barrier.threads > 0).map(|(rank, id, barrier)| {
            let (threads, whose) = (barrier.threads, of_block(rank));
            let left = "threads of those that are left".to_owned();
            let of = barrier.expected.map_or(left, |expected| format!("of {expected} threads"));
            format!("barrier {id}{whose} has {threads} {of}")
        });
        let words = waits.iter().map(|(words, ..)| words.clone());
        let waiting = [words.collect::<Vec<_>>().join(", ")].into_iter().chain(missing).collect::<Vec<_>>().join("; ");
        let first = waits.first();
        let start = Site { function: 0, pc: 0 };
        let (rank, site, thread) = first.map_or((0, start, 0), |wait| (wait.1, wait.2, wait.3));
        BlockFault::new(site, thread, FaultKind::Deadlock { waiting }).of(rank)
    }

    /// The calls that the thread of a fault is in.
    pub(in crate::run) fn callers(&self, fault: &BlockFault) -> Vec<(Site, Vec<u64>)> {
        let (warp, lane) = (fault.thread as usize / LANES, fault.thread as usize % LANES);
        self.warps[fault.rank as usize * self.warps_each() + warp].callers(self.launch, lane)
    }

    /// The fault of an asynchronous operation, which nobody is executing any more.
    pub(super) fn asynchronous(&self, words: String) -> BlockFault {
        let access = AccessFault::in_words(0, 0, words);
        let near = String::new();
        self.interrupted(FaultKind::Access { access, near })
    }

    /// A fault of the first warp that has not ended, which is none of its own.
    pub(super) fn interrupted(&self, kind: FaultKind) -> BlockFault {
        let running = self.warps.iter().position(|warp| warp.alive() != 0);
        let running = running.unwrap_or(0);
        let warp = &self.warps[running];
        let lane = lanes(warp.alive()).next().unwrap_or(0);
        BlockFault::new(warp.site(), warp.number * 32 + lane as u32, kind).of(warp.rank as usize)
    }
}
