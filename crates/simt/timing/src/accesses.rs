//! Accesses to global memory: hits in the L1, requests to the L2 and memory, and the time of their results.

use std::collections::HashMap;

use ptx::ast::Space;
use simt::counters::SECTOR;
use simt::observe::{Access, AccessKind, Site};
use simt::regs::lanes;

use crate::{Cost, CriticalPath, LINE, Published, Times};

/// The number of consecutive bytes that one slice of the L2 holds. An H100 updates counters that are 1 KB apart at the
/// rate of two slices, and counters that are 104 bytes apart at the rate of one slice.
const SLICE: u64 = 512;
/// The first address used for local memory; it is outside all allocations.
const LOCAL: u64 = 1 << 56;
/// The maximum number of bytes of a warp's local memory: 512 KB for each thread.
const LOCAL_OF_WARP: u64 = 1 << 24;

impl CriticalPath {
    /// Returns the sectors of an access, sorted and without repetitions.
    fn sectors(access: &Access<'_>) -> Vec<u64> {
        let of_lane = |lane: usize| {
            let first = access.addresses[lane];
            first / SECTOR..=(first + u64::from(access.bytes) - 1) / SECTOR
        };
        let mut sectors: Vec<u64> = lanes(access.mask).flat_map(of_lane).collect();
        sectors.sort_unstable();
        sectors.dedup();
        sectors
    }

    /// Returns the latency of an access to local memory, which goes through the L1 as global memory does. Consecutive
    /// lanes of a warp store the same local word at consecutive addresses.
    pub(crate) fn local(&mut self, cost: Cost, access: &Access<'_>) -> Times {
        const LANES: u64 = 32;
        const WORD: u64 = 4;
        let mut latency = [0; 2];
        for word in 0..u64::from(access.bytes).div_ceil(WORD) {
            let mut addresses = [0; 32];
            let warp = LOCAL + self.block.at as u64 * LOCAL_OF_WARP;
            for lane in lanes(access.mask) {
                let at = access.addresses[lane] / WORD + word;
                addresses[lane] = warp + (at * LANES + lane as u64) * WORD;
            }
            latency = self.global(
                (cost, false),
                &Access { addresses: &addresses, patterns: None, bytes: WORD as u32, ..*access },
            );
        }
        latency
    }

    /// Tracks which block waits for which block: a block that loads a word waits for the blocks that have written it.
    /// Only atomic operations and the loads and stores that bypass the L1 (`is_strong`) count.
    pub(crate) fn follow_waits(&mut self, is_strong: bool, access: &Access<'_>) {
        let block = &mut self.block;
        let published = || self.published.lock().expect("no observer panics");
        let addresses = lanes(access.mask).map(|lane| access.addresses[lane]);
        match access.kind {
            AccessKind::Load if is_strong => {
                let words = published();
                for word in addresses.filter_map(|address| words.get(&address)) {
                    if word.block != Some(block.number) {
                        block.waits = block.waits.max(word.waits + 1);
                    }
                }
            }
            AccessKind::Store if !is_strong => {}
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => {
                let mut words = published();
                for address in addresses {
                    let publication = Published { block: Some(block.number), waits: block.waits };
                    let word = words.entry(address).or_insert(publication);
                    word.block = word.block.filter(|other| *other == block.number);
                    word.waits = word.waits.max(block.waits);
                }
            }
            AccessKind::Load | AccessKind::AsyncCopy => {}
        }
    }

    /// Returns whether a load polls the word of the warp's last access again. If so, the load gets the time of the
    /// first poll.
    pub(crate) fn repeats_poll(&mut self, site: Site, access: &Access<'_>) -> bool {
        let warp = &mut self.block.warps[self.block.at];
        let address = access.addresses[access.mask.trailing_zeros() as usize];
        let (Some(poll), Some(pending)) = (&mut warp.poll, &mut self.block.pending) else {
            return false;
        };
        if (poll.site, poll.address) != (site, address) {
            return false;
        }
        warp.next = poll.next;
        (pending.begins, pending.latency) = (poll.begins, poll.latency);
        self.sums.issued = *poll.issued.get_or_insert(self.sums.issued);
        true
    }

    /// Counts an access to global memory and returns its latency.
    pub(crate) fn global(&mut self, (cost, gathers): (Cost, bool), access: &Access<'_>) -> Times {
        let sectors = Self::sectors(access);
        let by_line = |sectors: &[u64]| {
            let lines = sectors.chunk_by(|a, b| a * SECTOR / LINE == b * SECTOR / LINE);
            lines.fold([0, 0], |[all, lone], line| [all + 1, lone + u64::from(line.len() == 1)])
        };
        let [lines, lone] = by_line(&sectors);
        let latencies = self.latencies;
        match access.kind {
            AccessKind::Atomic | AccessKind::Reduction => {
                let mut words: HashMap<u64, u64> = HashMap::new();
                for lane in lanes(access.mask) {
                    *words.entry(access.addresses[lane]).or_default() += 1;
                }
                for sector in &sectors {
                    let counts = words.iter().filter(|(at, _)| *at / SECTOR == *sector);
                    let max_count = counts.map(|(_, count)| *count).max().unwrap_or(1);
                    let passes = f64::from(cost.passes) * if cost.elects { 1.0 } else { max_count as f64 };
                    self.sums.atomics += passes;
                    *self.sums.passes.entry(sector * SECTOR / SLICE).or_default() += passes;
                }
                [u64::from(latencies.l2); 2]
            }
            AccessKind::Store => {
                self.sums.tags += lines;
                self.sums.l2_writes += sectors.len() as u64;
                let bytes = |sector: &u64| {
                    let addresses = lanes(access.mask).map(|lane| access.addresses[lane]);
                    let mut addresses: Vec<u64> = addresses.filter(|address| address / SECTOR == *sector).collect();
                    addresses.sort_unstable();
                    addresses.dedup();
                    addresses.len() as u64 * u64::from(access.bytes)
                };
                if u64::from(access.mask.count_ones() * access.bytes) * 2 < sectors.len() as u64 * SECTOR {
                    self.sums.l2_lone[1] += lone;
                }
                let partial = sectors.iter().filter(|sector| bytes(sector) < SECTOR).count() as u64;
                let whole = sectors.len() as u64 - partial;
                self.sums.port_writes += (whole + 2 * partial) as f64;
                let begins = self.block.pending.as_ref().map_or([0; 2], |pending| pending.begins);
                self.block.units.store(whole, partial, &self.rates, begins);
                if access.space == Space::Local {
                    self.block.young.extend(&sectors);
                }
                self.block.stored.extend(sectors);
                [0; 2]
            }
            AccessKind::Load | AccessKind::AsyncCopy => {
                self.sums.tags += lines;
                self.sums.one_line += u64::from(lines == 1 && access.kind == AccessKind::Load);
                let block = &mut self.block;
                let known = block.loaded.len();
                block.loaded.extend(&sectors);
                let is_first = block.loaded.len() > known;
                // Blocks that run at once and load the same data wait for memory together, unless their addresses come
                // from other loads.
                let waits_for_memory = !gathers
                    && access.space == Space::Global
                    && is_first
                    && self.at_once
                    && access.kind == AccessKind::Load;
                let mut missed = Vec::new();
                for sector in sectors {
                    let is_cached = !block.young.insert(sector) || block.old.contains(&sector);
                    if cost.bypasses_l1 || !is_cached {
                        missed.push(sector);
                    }
                }
                // Sectors that were not used while half of the L1 was refilled are evicted.
                if block.young.len() > self.l1_sectors / 2 {
                    block.old = std::mem::take(&mut block.young);
                }
                self.sums.l2_lone[0] += by_line(&missed)[1];
                let missed = missed.len() as u64;
                self.sums.l2_reads += missed;
                let more = lines - 1;
                let after = |latency: u32| u64::from(latency) + more;
                if missed == 0 {
                    return [after(latencies.l1); 2];
                }
                let begins = block.pending.as_ref().map_or([0; 2], |pending| pending.begins);
                let come = block.units.load(missed, &self.rates, begins);
                let [near, far] = match waits_for_memory {
                    true => [latencies.memory + latencies.tile_memory; 2],
                    false => [latencies.l2, latencies.memory],
                };
                [come[0] - begins[0] + after(near), come[1] - begins[1] + after(far)]
            }
        }
    }
}
