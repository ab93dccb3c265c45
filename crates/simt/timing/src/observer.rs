//! The observer that feeds the events of a launch to the critical path.

use ptx::ast::Space;
use simt::counters;
use simt::observe::{
    Access, AccessKind, BarrierArrival, Issue, MbarrierEvent, Observer, Places, Requests, Site, WarpId,
};
use simt::regs::lanes;

use crate::log::{Activity, Log};
use crate::{Block, CONSTANT_CYCLES, Clock, CriticalPath, Poll, ResourceUse, later};

impl Observer for CriticalPath {
    // The critical path includes mbarriers and bulk copies.
    const REQUESTS: Requests = Requests::ASYNCHRONOUS;

    fn fork(&self) -> Self {
        let log = self.log.as_ref().map(Log::fork);
        Self { block: Block::default(), sums: ResourceUse::of_ranges(self.ranges.len()), log, ..self.clone() }
    }

    fn merge(&mut self, mut other: Self) {
        other.end_block();
        self.sums.add(other.sums);
        if let (Some(log), Some(other)) = (&mut self.log, other.log) {
            log.spans.extend(other.spans);
        }
    }

    fn block(&mut self, block: u64, warps: u32, threads: u32) {
        self.end_block();
        if let Some(log) = &mut self.log {
            log.block(block, threads, warps, self.registers);
        }
        self.sums.blocks += 1;
        self.sums.warps += u64::from(warps);
        let clock = Clock { ready: vec![[0; 2]; self.registers], groups: vec![[0; 2]], ..Clock::default() };
        self.block.warps = vec![clock; warps as usize];
        self.block.number = block;
    }

    fn turn(&mut self, warp_id: WarpId) {
        self.end_pending();
        self.block.at = warp_id.warp as usize;
        if let Some(poll) = &mut self.block.warps[self.block.at].poll {
            poll.issued = None;
        }
    }

    fn executed(&mut self, first: Site, count: u32, active: u32) {
        for pc in first.pc..first.pc + count {
            self.step(Site { pc, ..first }, active);
        }
    }

    fn access(&mut self, site: Site, _warp_id: WarpId, access: &Access<'_>) {
        if access.mask == 0 {
            return;
        }
        let step = &self.steps[site.function as usize][site.pc as usize];
        let (cost, gathers) = (step.cost, step.gathers);
        let is_poll = access.space == Space::Global && access.kind == AccessKind::Load && cost.bypasses_l1;
        if access.space == Space::Global {
            self.follow_waits(cost.bypasses_l1, access);
        }
        if is_poll && self.repeats_poll(site, access) {
            return;
        }
        let latency = match access.space {
            Space::Global => self.global((cost, gathers), access),
            Space::Shared => {
                let wavefronts = counters::shared_wavefronts(self.function.program(), site, access, &mut self.banks);
                self.sums.wavefronts += wavefronts;
                let more = wavefronts.saturating_sub(1);
                let shared = u64::from(self.latencies.shared);
                match access.kind {
                    AccessKind::Load => [shared + more; 2],
                    AccessKind::Atomic | AccessKind::Reduction => [shared + more * u64::from(self.latencies.atomic); 2],
                    AccessKind::Store | AccessKind::AsyncCopy => [0; 2],
                }
            }
            Space::Local => self.local(cost, access),
            Space::Const => {
                let mut words: Vec<u64> = lanes(access.mask).map(|lane| access.addresses[lane]).collect();
                words.sort_unstable();
                words.dedup();
                let more = words.len() as u64 - 1;
                self.sums.constants += more;
                [more * CONSTANT_CYCLES; 2]
            }
            // Operands in the constant bank.
            Space::Param | Space::Reg | Space::Tex => [0; 2],
        };
        if let Some(log) = self.log.as_mut().filter(|log| log.is_on) {
            log.accessed(access.space);
        }
        let Some(pending) = &mut self.block.pending else {
            return;
        };
        pending.latency = later(pending.latency, latency);
        let warp = &mut self.block.warps[self.block.at];
        let address = access.addresses[access.mask.trailing_zeros() as usize];
        let issued = Some(self.sums.issued);
        let (begins, latency, next) = (pending.begins, pending.latency, warp.next);
        warp.poll = is_poll.then_some(Poll { site, address, begins, latency, next, issued });
    }

    fn barrier(&mut self, arrival: &BarrierArrival) {
        self.end_pending();
        let warp = &mut self.block.warps[arrival.warp_id.warp as usize];
        let last = self.block.barriers.entry(arrival.id).or_default();
        *last = later(*last, warp.next);
        if arrival.waits {
            warp.waits = Some(arrival.id);
        }
    }

    fn cluster_barrier(&mut self, _site: Site, _warp_id: WarpId, _lanes: u32, waits: bool) {
        self.end_pending();
        // The blocks of a cluster are assumed to behave alike, so they arrive together.
        if waits {
            let warp = &mut self.block.warps[self.block.at];
            warp.next = warp.next.map(|at| at + u64::from(self.latencies.cluster));
            warp.loads_from = warp.next;
        }
    }

    fn issued(&mut self, site: Site, _warp_id: WarpId, issue: &Issue, _places: &Places<'_>) {
        if let Some(pending) = self.block.pending.as_mut().filter(|pending| pending.site == site) {
            pending.copied.get_or_insert_default().add(issue);
        }
    }

    fn mbarrier(&mut self, _site: Site, _warp_id: WarpId, event: &MbarrierEvent) {
        self.at_mbarrier(event);
    }

    fn exited(&mut self, _site: Site, warp_id: WarpId, lanes: u32) {
        if let Some(log) = self.log.as_mut().filter(|log| log.is_on) {
            log.exited(warp_id.warp as usize, lanes);
        }
    }

    fn released(&mut self, _block: u64, id: u32) {
        let last = self.block.barriers.remove(&id).unwrap_or_default();
        let met = last.map(|at| at + u64::from(self.latencies.barrier));
        for (number, warp) in self.block.warps.iter_mut().enumerate() {
            if warp.waits == Some(id) {
                warp.waits = None;
                let arrived = warp.next[1];
                warp.next = later(warp.next, met);
                warp.loads_from = warp.next;
                self.sums.at_barriers += warp.next[1] - arrived;
                if let Some(log) = self.log.as_mut().filter(|log| log.is_on) {
                    log.waited(number, (arrived, warp.next[1]), Activity::WaitsAtBarrier);
                }
            }
        }
    }
}
