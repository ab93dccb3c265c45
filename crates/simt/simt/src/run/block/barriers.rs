//! The barriers of a block and of a cluster.

use super::{BARRIERS, BarrierState, BlockFault, CLUSTER_BARRIER, RunningCluster, WaitedForThread};
use crate::code::ReduceOp;
use crate::observe::{BarrierArrival, Observer, WarpId};
use crate::run::fault::FaultKind;
use crate::run::geometry::GeometryLimits;
use crate::run::warp::{Arrival, WarpState};

impl<O: Observer> RunningCluster<'_, '_, O> {
    /// Records the arrival of a warp's lanes at a barrier.
    pub(super) fn arrive(&mut self, index: usize, arrival: &Arrival) -> Result<(), BlockFault> {
        let site = arrival.site;
        let WarpState { rank, number, .. } = self.warps[index];
        let (rank, thread) = (rank as usize, number * 32);
        let bad = |problem| BlockFault::new(site, thread, FaultKind::BadBarrier { problem }).with_rank(rank);
        let id = arrival.id as usize;
        if id >= BARRIERS {
            return Err(bad(format!("number {id}; there are 0 to {}", BARRIERS - 1)));
        }
        if let Some(count) = arrival.count
            && (count == 0 || count % 32 != 0 || count > GeometryLimits::LARGEST.threads)
        {
            return Err(bad(format!("a count of {count}; it must be a multiple of the warp's 32 threads")));
        }
        let block = &mut self.blocks[rank];
        let barrier = &mut block.barriers[id];
        if let (Some(before), Some(now)) = (barrier.expected, arrival.count)
            && before != now
        {
            let fault = bad(format!("waits for {before} threads and for {now} at the same time"));
            let other = barrier.first.map(|(site, thread)| {
                let what = format!("waits at the barrier for {before} threads");
                WaitedForThread { what, site, block: None, thread }
            });
            return Err(BlockFault { other, ..fault });
        }
        barrier.first = barrier.first.or(Some((site, thread)));
        barrier.expected = barrier.expected.or(arrival.count);
        barrier.threads += arrival.threads;
        if let Some(votes) = arrival.votes {
            barrier.yes += votes.yes.count_ones();
            barrier.votes += votes.lanes.count_ones();
        }
        let warp_id = WarpId { block: block.number, warp: number };
        block.observer.barrier(&BarrierArrival {
            site,
            warp_id,
            id: arrival.id,
            count: arrival.count,
            lanes: arrival.lanes,
            waits: arrival.waits,
        });
        self.release(rank, id);
        Ok(())
    }

    /// Ends the phase of the cluster's barrier if all threads that have not ended have arrived. Returns whether the
    /// phase ended.
    pub(super) fn release_cluster(&mut self) -> bool {
        let is_complete = self.warps.iter().all(WarpState::has_arrived_in_cluster)
            && self.warps.iter().any(|warp| warp.cluster_arrived != 0);
        if is_complete {
            let first = &mut self.blocks[0];
            first.observer.cluster_released(first.number);
            for warp in &mut self.warps {
                warp.end_cluster_phase();
                warp.release(self.launch, CLUSTER_BARRIER, |_| 0);
            }
        }
        is_complete
    }

    /// Releases the warps at a block's barrier if all expected threads have arrived. Returns whether the barrier was
    /// released.
    pub(super) fn release(&mut self, rank: usize, id: usize) -> bool {
        let warps = self.warps_each();
        let block = &mut self.blocks[rank];
        let barrier = block.barriers[id];
        if barrier.threads == 0 {
            return false;
        }
        let expected = barrier.expected.unwrap_or(block.alive);
        if barrier.threads < expected {
            return false;
        }
        block.barriers[id] = BarrierState::default();
        block.observer.released(block.number, id as u32);
        for warp in &mut self.warps[rank * warps..][..warps] {
            warp.release(self.launch, id as u32, |op| match op {
                ReduceOp::Popc => barrier.yes,
                ReduceOp::And => u32::from(barrier.yes == barrier.votes),
                ReduceOp::Or => u32::from(barrier.yes > 0),
            });
        }
        true
    }
}
