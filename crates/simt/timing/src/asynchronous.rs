//! What goes on beside the warps: products of tensor cores, bulk copies, and the mbarriers that tell of their ends.

use devices::Rates;
use simt::counters::SECTOR;
use simt::observe::{Issue, Location, MbarrierEvent, MbarrierUse};

use crate::booked::UnitSchedule;
use crate::cost::Cost;
use crate::{Activity, CriticalPath, Times, later};

/// Tensor cores of a multiprocessor. A warp has the one of its scheduler.
const CORES: usize = 4;

/// The units of a block that work beside its warps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    cores: [[UnitSchedule; 2]; CORES],
    copies_in: [UnitSchedule; 2],
    copies_out: [UnitSchedule; 2],
    loads: [UnitSchedule; 2],
    stores: [UnitSchedule; 2],
    /// When the last store has gone.
    stored: Times,
}

/// What one bulk copy copies, of all its lanes.
#[derive(Debug, Clone, Default)]
pub(crate) struct BulkCopyTraffic {
    /// Bytes that come to shared memory, and bytes that leave it.
    bytes: [u64; 2],
    /// Sectors of global memory that are read, and those that are written.
    sectors: [Vec<u64>; 2],
    mbarrier: Option<u64>,
}

impl BulkCopyTraffic {
    /// Adds a piece of it.
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

    /// Has a warp's tensor core form a product from a time on; returns when it begins.
    pub(crate) fn product(&mut self, warp: usize, cost: &Cost, rates: &Rates, from: Times) -> Times {
        let cycles = f64::from(cost.products) / (rates.matrix * rates.mma_share / CORES as f64);
        let ends = take(self.core(warp), from, cycles);
        [0, 1].map(|served_by| from[served_by].max(ends[served_by].saturating_sub(cycles.ceil() as u64)))
    }

    /// Has a warp's tensor core form its part of a warp group's product; returns when it ends.
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
    /// Has so many sectors come from the L2 from a time on; returns when they have.
    pub(crate) fn load(&mut self, sectors: u64, rates: &Rates, from: Times) -> Times {
        take(&mut self.loads, from, (sectors * SECTOR) as f64 / rates.loads)
    }

    /// Has sectors go to the L2 from a time on, of which so many are written in part.
    pub(crate) fn store(&mut self, whole: u64, in_part: u64, rates: &Rates, from: Times) {
        let ends = take(&mut self.stores, from, ((whole + 2 * in_part) * SECTOR) as f64 / rates.stores);
        self.stored = later(self.stored, ends);
    }

    /// When the last store has gone.
    pub(crate) fn stored(&self) -> Times {
        self.stored
    }
}

fn take(unit: &mut [UnitSchedule; 2], from: Times, cycles: f64) -> Times {
    let [near, far] = unit;
    [near.take(from[0], cycles), far.take(from[1], cycles)]
}

impl CriticalPath {
    /// Counts a bulk copy that begins at this time; returns how long it takes.
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
            // Blocks that run at once and copy the same wait for memory together.
            let is_first = *at_once && read.iter().any(|sector| !block.loaded.contains(sector));
            ends = [ends[0] + if is_first { from_memory } else { from_l2 }, ends[1] + from_memory];
        }
        block.loaded.extend(read);
        block.stored.extend(written);
        if let Some(at) = copied.mbarrier {
            arrive(&mut block.mbarriers, at, ends);
            block.copying.insert(at);
            sums.under_way = sums.under_way.max(block.copying.len());
        }
        [0, 1].map(|served_by| ends[served_by].saturating_sub(begins[served_by]))
    }

    /// Follows arrivals at an mbarrier, and those that wait there.
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
                // It has looked since then, however often the machine had it do so.
                let since = match warp.looks.take() {
                    Some((at, since)) if at == event.at => since,
                    _ => warp.next,
                };
                warp.next = since;
                if over {
                    block.copying.remove(&event.at);
                }
                match (over, block.mbarriers.get(&event.at)) {
                    (false, _) => warp.looks = Some((event.at, since)),
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
