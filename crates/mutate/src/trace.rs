//! What a launch did: a digest of its accesses and of how its threads met, and the number of its instructions.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use simt::observe::{Access, AsyncGroup, BarrierArrival, Observer, Scope, Site, Space, WarpId};

/// A digest that is fast to make, word by word.
#[derive(Clone, Copy, Default)]
struct Digest(u64);

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_ne_bytes(*word)));
        rest.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }
}

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
pub(crate) struct Trace {
    /// The first addresses of the problem's buffers and their sizes. Where they lie does not matter.
    buffers: Arc<[(u64, u64)]>,
    warps: HashMap<(u64, u32), Digest, BuildHasherDefault<Digest>>,
    /// The digests of the blocks that have ended.
    digest: u64,
}

impl Trace {
    /// The digest of a launch that is given these buffers.
    pub(crate) fn new(buffers: impl Into<Arc<[(u64, u64)]>>) -> Self {
        Self { buffers: buffers.into(), warps: HashMap::default(), digest: 0 }
    }

    /// The digest of the launch.
    pub(crate) fn digest(mut self) -> u64 {
        for ((block, warp), own) in std::mem::take(&mut self.warps) {
            self.add(block, warp, own);
        }
        self.digest
    }

    fn add(&mut self, block: u64, warp: u32, own: Digest) {
        let mut all = Digest::default();
        (block, warp, own.0).hash(&mut all);
        self.digest = self.digest.wrapping_add(all.finish());
    }

    fn event(&mut self, warp: WarpId, event: impl Hash) {
        event.hash(self.warps.entry((warp.block, warp.warp)).or_default());
    }
}

impl Observer for Trace {
    fn fork(&self) -> Self {
        Self::new(Arc::clone(&self.buffers))
    }

    fn merge(&mut self, other: Self) {
        self.digest = self.digest.wrapping_add(other.digest());
    }

    fn access(&mut self, _: Site, warp: WarpId, access: &Access<'_>) {
        let own = self.warps.entry((warp.block, warp.warp)).or_default();
        (access.space, access.kind, access.bytes, access.mask).hash(own);
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        // Shared and local memory lie at the same addresses in each launch.
        let buffers = if access.space == Space::Global { &*self.buffers } else { &[] };
        lanes.for_each(|lane| own.write_u64(place(buffers, access.addresses[lane])));
    }

    fn barrier(&mut self, own: &BarrierArrival) {
        self.event(own.warp_id, (1_u8, own.id, own.count, own.lanes, own.waits));
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
        let ended: Vec<(u64, u32)> = self.warps.keys().filter(|own| own.0 == block).copied().collect();
        for key in ended {
            if let Some(own) = self.warps.remove(&key) {
                self.add(key.0, key.1, own);
            }
        }
    }
}

/// An address of a buffer as the buffer's number and what lies before it there; any other as it is.
fn place(buffers: &[(u64, u64)], address: u64) -> u64 {
    let within = |own: &(u64, u64)| address.wrapping_sub(own.0) < own.1;
    let number = buffers.iter().position(within);
    number.map_or(address, |number| (1 + number as u64) << 48 | (address - buffers[number].0))
}

/// The digest of what is in memory.
pub(crate) fn digest_of(memory: &[Vec<u8>]) -> u64 {
    let mut digest = Digest::default();
    memory.iter().for_each(|bytes| digest.write(bytes));
    digest.finish()
}
