//! What a launch did: a digest of its accesses and of how its threads met, and the number of its instructions.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use simt::observe::{Access, AsyncGroup, BarrierArrival, Observer, Scope, Site, WarpId};

/// Counts instructions.
#[derive(Default)]
pub(crate) struct Instructions(pub(crate) u64);

impl Observer for Instructions {
    fn fork(&self) -> Self {
        Self(0)
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn executed(&mut self, _: Site, count: u32, _: u32) {
        self.0 += u64::from(count);
    }
}

/// A digest of a launch: for each warp, its accesses to memory in their order, and its barriers, fences and operations of
/// lanes together. The order in which warps have their turns does not matter.
#[derive(Default)]
pub(crate) struct Trace {
    warps: HashMap<(u64, u32), DefaultHasher>,
    /// The digests of the blocks that have ended.
    digest: u64,
}

impl Trace {
    /// The digest of the launch.
    pub(crate) fn digest(mut self) -> u64 {
        for ((block, warp), hasher) in std::mem::take(&mut self.warps) {
            self.add(block, warp, &hasher);
        }
        self.digest
    }

    fn add(&mut self, block: u64, warp: u32, hasher: &DefaultHasher) {
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
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.digest = self.digest.wrapping_add(other.digest());
    }

    fn access(&mut self, _: Site, warp: WarpId, access: &Access<'_>) {
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        let addresses = lanes.map(|lane| access.addresses[lane]);
        let addresses: Vec<u64> = addresses.collect();
        self.event(warp, ("access", access.space.name(), access.kind, access.bytes, access.mask, addresses));
    }

    fn barrier(&mut self, own: &BarrierArrival) {
        self.event(own.warp_id, ("barrier", own.id, own.count, own.lanes, own.waits));
    }

    fn synchronized(&mut self, _: Site, warp: WarpId, lanes: u32) {
        self.event(warp, ("synchronized", lanes));
    }

    fn fence(&mut self, _: Site, warp: WarpId, lanes: u32, scope: Scope) {
        self.event(warp, ("fence", lanes, scope as u8));
    }

    fn async_group(&mut self, _: Site, warp: WarpId, lanes: u32, group: AsyncGroup) {
        let (kind, groups) = match group {
            AsyncGroup::Commit => (0_u8, 0),
            AsyncGroup::Wait(groups) => (1, groups),
            AsyncGroup::WaitAll => (2, 0),
        };
        self.event(warp, ("async", lanes, kind, groups));
    }

    fn block_ended(&mut self, block: u64) {
        let ended: Vec<(u64, u32)> = self.warps.keys().filter(|own| own.0 == block).copied().collect();
        for key in ended {
            if let Some(hasher) = self.warps.remove(&key) {
                self.add(key.0, key.1, &hasher);
            }
        }
    }
}

/// The digest of what is in memory.
pub(crate) fn digest_of(memory: &[Vec<u8>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    memory.hash(&mut hasher);
    hasher.finish()
}
