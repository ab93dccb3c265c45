//! Records the behavior of a launch: a digest of its accesses and synchronization, and the instructions that it
//! executes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use simt::observe::{Access, AsyncGroup, BarrierArrival, Observer, Scope, Site, Space, WarpId};

/// Counts instructions and records which instructions are executed.
#[derive(Default)]
pub(crate) struct Coverage {
    pub(crate) instructions: u64,
    /// For each instruction at which a run of consecutive instructions starts, the maximum length of such a run.
    rows: FxHashMap<Site, u32>,
}

impl Coverage {
    fn add(&mut self, first: Site, count: u32) {
        let most = self.rows.entry(first).or_default();
        *most = count.max(*most);
    }

    /// Returns the lines without executed instructions. `instructions` holds the kernel's instructions with their
    /// lines.
    pub(crate) fn unreached_lines(&self, instructions: &[(Site, u32)]) -> HashSet<u32> {
        let after = |&(first, count): &(&Site, &u32)| {
            let Site { function, pc } = *first;
            (pc..pc + count).map(move |pc| Site { function, pc })
        };
        let executed: HashSet<Site> = self.rows.iter().flat_map(|row| after(&row)).collect();
        let (mut lines, mut reached) = (HashSet::new(), HashSet::new());
        for (site, line) in instructions {
            lines.insert(*line);
            if executed.contains(site) {
                reached.insert(*line);
            }
        }
        &lines - &reached
    }
}

impl Observer for Coverage {
    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.instructions += other.instructions;
        other.rows.into_iter().for_each(|(first, count)| self.add(first, count));
    }

    fn executed(&mut self, first: Site, count: u32, _: u32) {
        self.instructions += u64::from(count);
        self.add(first, count);
    }
}

/// A buffer of the problem. The digest does not depend on the buffer's address.
#[derive(Clone, Copy, Default)]
struct Buffer {
    base: u64,
    bytes: u64,
    /// The number of the buffer, starting at 1.
    number: u64,
}

impl Buffer {
    /// Encodes an address as the buffer's number and the offset in the buffer. Returns `None` if the address is not in
    /// the buffer.
    fn place(self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        (offset < self.bytes).then_some(self.number << 48 | offset)
    }
}

/// A digest of a launch. For each warp, it covers the memory accesses in their order, the barriers, the fences and the
/// warp-wide operations. The digest does not depend on the order in which warps run.
pub(crate) struct Trace {
    buffers: Arc<[Buffer]>,
    warps: FxHashMap<(u64, u32), FxHasher>,
    /// The digest of the blocks that have ended.
    digest: u64,
}

impl Trace {
    /// Creates the digest of a launch with these buffers, given by their first addresses and sizes.
    pub(crate) fn new(buffers: &[(u64, u64)]) -> Self {
        let numbered = (1..).zip(buffers).map(|(number, &(base, bytes))| Buffer { base, bytes, number });
        let mut buffers: Vec<Buffer> = numbered.collect();
        buffers.sort_unstable_by_key(|buffer| buffer.base);
        Self::of(buffers.into())
    }

    fn of(buffers: Arc<[Buffer]>) -> Self {
        Self { buffers, warps: FxHashMap::default(), digest: 0 }
    }

    /// Returns the digest of the launch.
    pub(crate) fn digest(mut self) -> u64 {
        for ((block, warp), hasher) in std::mem::take(&mut self.warps) {
            self.add(block, warp, hasher);
        }
        self.digest
    }

    fn add(&mut self, block: u64, warp: u32, hasher: FxHasher) {
        // The digests are summed, so this hash must not be linear in them.
        let mut all = DefaultHasher::new();
        (block, warp, hasher.finish()).hash(&mut all);
        self.digest = self.digest.wrapping_add(all.finish());
    }

    fn event(&mut self, warp: WarpId, event: impl Hash) {
        event.hash(self.warps.entry((warp.block, warp.warp)).or_default());
    }
}

impl Observer for Trace {
    fn fork(&self) -> Self {
        Self::of(Arc::clone(&self.buffers))
    }

    fn merge(&mut self, other: Self) {
        self.digest = self.digest.wrapping_add(other.digest());
    }

    fn access(&mut self, _: Site, warp: WarpId, access: &Access<'_>) {
        let hasher = self.warps.entry((warp.block, warp.warp)).or_default();
        (access.space, access.kind, access.bytes, access.mask).hash(hasher);
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        // Shared and local memory have the same addresses in every launch.
        let buffers = if access.space == Space::Global { &*self.buffers } else { &[] };
        // The address is usually in the buffer of the previous lane.
        let mut buffer = Buffer::default();
        for lane in lanes {
            let address = access.addresses[lane];
            let place = buffer.place(address).or_else(|| {
                let end = buffers.partition_point(|candidate| candidate.base <= address);
                buffer = *buffers[..end].last()?;
                buffer.place(address)
            });
            // An address outside of all buffers is not translated.
            hasher.write_u64(place.unwrap_or(address));
        }
    }

    fn barrier(&mut self, arrival: &BarrierArrival) {
        self.event(arrival.warp_id, (1_u8, arrival.id, arrival.count, arrival.lanes, arrival.waits));
    }

    fn synchronized(&mut self, _: Site, warp: WarpId, lanes: u32) {
        self.event(warp, (2_u8, lanes));
    }

    fn fence(&mut self, _: Site, warp: WarpId, lanes: u32, scope: Scope) {
        self.event(warp, (3_u8, lanes, scope as u8));
    }

    fn async_group(&mut self, _: Site, warp: WarpId, lanes: u32, group: AsyncGroup) {
        let (kind, groups) = match group {
            AsyncGroup::Commit => (0_u8, 0),
            AsyncGroup::Wait(groups) => (1, groups),
            AsyncGroup::WaitAll => (2, 0),
        };
        self.event(warp, (4_u8, lanes, kind, groups));
    }

    fn block_ended(&mut self, block: u64) {
        let ended: Vec<(u64, u32)> = self.warps.keys().filter(|key| key.0 == block).copied().collect();
        for key in ended {
            if let Some(hasher) = self.warps.remove(&key) {
                self.add(key.0, key.1, hasher);
            }
        }
    }
}

/// Returns the digest of memory contents.
pub(crate) fn digest_of(memory: &[Vec<u8>]) -> u64 {
    let mut digest = FxHasher::default();
    memory.iter().for_each(|bytes| digest.write(bytes));
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_unreached_if_none_of_its_instructions_is_executed() {
        let site = |pc| Site { function: 0, pc };
        let mut coverage = Coverage::default();
        coverage.executed(site(1), 2, 1);
        let mut other = coverage.fork();
        other.executed(site(1), 1, 1);
        other.executed(site(6), 1, 1);
        coverage.merge(other);
        assert_eq!(coverage.instructions, 4);
        // Lines 10 to 17. The last line has two instructions.
        let all: Vec<(Site, u32)> = (0..9).map(|pc| (site(pc), 10 + pc.min(7))).collect();
        let mut unreached: Vec<u32> = coverage.unreached_lines(&all).into_iter().collect();
        unreached.sort_unstable();
        assert_eq!(unreached, [10, 13, 14, 15, 17]);
        coverage.executed(site(8), 1, 1);
        assert!(!coverage.unreached_lines(&all).contains(&17));
    }

    #[test]
    fn a_digest_does_not_depend_on_buffer_addresses() {
        let warp_id = WarpId { block: 0, warp: 0 };
        let digest = |buffers: [(u64, u64); 2], addresses: [u64; 32]| {
            let mut trace = Trace::new(&buffers);
            let access = Access {
                space: Space::Global,
                kind: simt::observe::AccessKind::Load,
                bytes: 4,
                mask: 0b111,
                rank: None,
                stored: Default::default(),
                addresses: &addresses,
                patterns: None,
            };
            trace.access(Site::default(), warp_id, &access);
            trace.digest()
        };
        let at = |three: [u64; 3]| std::array::from_fn(|lane| three.get(lane).copied().unwrap_or(0));
        let here = digest([(1000, 40), (2000, 40)], at([1004, 2036, 3000]));
        // Here the second buffer has the lower address.
        assert_eq!(here, digest([(5000, 40), (400, 40)], at([5004, 436, 3000])));
        assert_ne!(here, digest([(1000, 40), (2000, 40)], at([2004, 1036, 3000])));
        assert_ne!(here, digest([(1000, 40), (2000, 36)], at([1004, 2036, 3000])));
        assert_ne!(here, digest([(1000, 40), (2000, 40)], at([1004, 2036, 3004])));
    }
}
