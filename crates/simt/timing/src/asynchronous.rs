//! Asynchronous work: products of tensor cores, bulk copies, and the mbarriers that signal their completion.

use devices::Rates;
use simt::counters::SECTOR;
use simt::observe::{Issue, Location, MbarrierEvent, MbarrierUse};

use crate::booked::UnitSchedule;
use crate::cost::Cost;
use crate::{Activity, CriticalPath, Times, later};

/// The number of tensor cores of a multiprocessor. A warp uses the tensor core of its scheduler.
const CORES: usize = 4;

/// The units that work for a block independently of its warps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    cores: [[UnitSchedule; 2]; CORES],
    copies_in: [UnitSchedule; 2],
    copies_out: [UnitSchedule; 2],
    loads: [UnitSchedule; 2],
    stores: [UnitSchedule; 2],
    /// The time at which the last store is sent.
    stored: Times,
}

/// The data that one bulk copy moves, for all its lanes.
#[derive(Debug, Clone, Default)]
pub(crate) struct BulkCopyTraffic {
    /// The bytes copied to shared memory, and the bytes copied from it.
    bytes: [u64; 2],
    /// The sectors of global memory that are read, and the sectors that are written.
    sectors: [Vec<u64>; 2],
    mbarrier: Option<u64>,
}

impl BulkCopyTraffic {
    /// Adds a piece of the copy.
    pub(crate) fn add(&mut self, issue: &Issue) {
        let bytes = u64::from(issue.bytes);
        self.bytes[0] += if matches!(issue.to, Some(Location::Shared(..))) { bytes } else { 0 };
        self.bytes[1] += if matches!(issue.from, Some(Location::Shared(..))) { bytes } else { 0 };
        for (place, sectors) in [issue.from, issue.to].into_iter().zip(&mut self.sectors) {
            if let (Some(Location::Global(first)), Some(last)) = (place, bytes.checked_sub(1)) {
                sectors.extend(first / SECTOR..=(first + last) / SECTOR);
            }
        }
        self.mbarrier = self.mbarrier.or(issue.mbarrier.map(|(_, at)| at));
    }
}

impl Units {
    fn core(&mut self, warp: usize) -> &mut [UnitSchedule; 2] {
        &mut self.cores[warp % CORES]
    }

    /// Schedules a product on a warp's tensor core, at `from` or later. Returns the start time.
    pub(crate) fn product(&mut self, warp: usize, cost: &Cost, rates: &Rates, from: Times) -> Times {
        let cycles = f64::from(cost.products) / (rates.matrix * rates.mma_share / CORES as f64);
        let ends = take(self.core(warp), from, cycles);
        [0, 1].map(|served_by| from[served_by].max(ends[served_by].saturating_sub(cycles.ceil() as u64)))
    }

    /// Schedules a warp's part of a warpgroup product on its tensor core. Returns the end time.
    pub(crate) fn group_product(
        &mut self,
        warp: usize,
        cost: &Cost,
        rates: &Rates,
        (from, first): (Times, u32),
    ) -> Times {
        let products = f64::from(cost.products) / (rates.matrix / CORES as f64);
        let operands = f64::from(cost.operands) / (rates.shared_bytes / CORES as f64);
        take(self.core(warp), from, products.max(operands) + f64::from(first))
    }
}

impl Units {
    /// Schedules the transfer of `sectors` sectors from the L2, at `from` or later. Returns the end time.
    pub(crate) fn load(&mut self, sectors: u64, rates: &Rates, from: Times) -> Times {
        take(&mut self.loads, from, (sectors * SECTOR) as f64 / rates.loads)
    }

    /// Schedules the transfer of whole and partially written sectors to the L2, at `from` or later.
    pub(crate) fn store(&mut self, whole: u64, partial: u64, rates: &Rates, from: Times) {
        let ends = take(&mut self.stores, from, ((whole + 2 * partial) * SECTOR) as f64 / rates.stores);
        self.stored = later(self.stored, ends);
    }

    /// Returns the time at which the last store is sent.
    pub(crate) fn stored(&self) -> Times {
        self.stored
    }
}

fn take(unit: &mut [UnitSchedule; 2], from: Times, cycles: f64) -> Times {
    let [near, far] = unit;
    [near.take(from[0], cycles), far.take(from[1], cycles)]
}

impl CriticalPath {
    /// Counts a bulk copy that starts at `begins`, and returns its duration.
    pub(crate) fn end_copy(&mut self, copied: &BulkCopyTraffic, begins: Times) -> Times {
        let sorted = |sectors: &Vec<u64>| {
            let mut sectors = sectors.clone();
            sectors.sort_unstable();
            sectors.dedup();
            sectors
        };
        let Self { block, sums, latencies, rates, at_once, .. } = self;
        let [read, written] = [0, 1].map(|way| sorted(&copied.sectors[way]));
        sums.l2_reads += read.len() as u64;
        sums.l2_writes += written.len() as u64;
        let [bytes_in, bytes_out] = copied.bytes;
        sums.engine_bytes += (bytes_in + bytes_out) as f64;
        let mut ends = take(&mut block.units.copies_in, begins, bytes_in as f64 / rates.bulk_in);
        if bytes_out > 0 {
            ends = take(&mut block.units.copies_out, ends, bytes_out as f64 / rates.bulk_out);
            ends = ends.map(|at| at + u64::from(latencies.bulk_store));
        }
        if !read.is_empty() {
            let from_l2 = u64::from(latencies.l2 + latencies.bulk);
            let from_memory = u64::from(latencies.memory + latencies.bulk_memory);
            // Blocks that run at once and copy the same data wait for memory together.
            let is_first = *at_once && read.iter().any(|sector| !block.loaded.contains(sector));
            ends = [ends[0] + if is_first { from_memory } else { from_l2 }, ends[1] + from_memory];
        }
        block.loaded.extend(read);
        block.stored.extend(written);
        if let Some(at) = copied.mbarrier {
            arrive(&mut block.mbarriers, at, ends);
            block.copying.insert(at);
            sums.copy_groups_in_flight = sums.copy_groups_in_flight.max(block.copying.len());
        }
        [0, 1].map(|served_by| ends[served_by].saturating_sub(begins[served_by]))
    }

    /// Tracks the warps that arrive at an mbarrier and the warps that wait for it.
    pub(crate) fn at_mbarrier(&mut self, event: &MbarrierEvent) {
        self.end_pending();
        let block = &mut self.block;
        let warp = &mut block.warps[block.at];
        match event.what {
            MbarrierUse::Arrive => arrive(&mut block.mbarriers, event.at, warp.next),
            MbarrierUse::CopiesArrive => {
                let copies = warp.groups.iter().copied().fold(warp.next, later);
                arrive(&mut block.mbarriers, event.at, copies);
            }
            MbarrierUse::Wait { over, .. } => {
                // The warp polls from this time on, regardless of the number of polls that the simulator runs.
                let since = match warp.polled_mbarrier.take() {
                    Some((at, since)) if at == event.at => since,
                    _ => warp.next,
                };
                warp.next = since;
                if over {
                    block.copying.remove(&event.at);
                }
                match (over, block.mbarriers.get(&event.at)) {
                    (false, _) => warp.polled_mbarrier = Some((event.at, since)),
                    (true, Some(last)) => {
                        let told = last.map(|at| at + u64::from(self.latencies.mbarrier));
                        let waited = later(since, told);
                        if let Some(log) = self.log.as_mut().filter(|log| log.is_on) {
                            log.waited(block.at, (since[1], waited[1]), Activity::WaitsAtMbarrier);
                        }
                        warp.next = waited;
                    }
                    (true, None) => {}
                }
            }
            MbarrierUse::Init | MbarrierUse::Inval | MbarrierUse::Bytes | MbarrierUse::PhaseEnds => {}
        }
    }
}

fn arrive(mbarriers: &mut std::collections::HashMap<u64, Times>, at: u64, time: Times) {
    let last = mbarriers.entry(at).or_default();
    *last = later(*last, time);
}
