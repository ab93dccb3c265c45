//! What all blocks of a launch share.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::fault::{ravel, unravel};
use super::heap::Heap;
use super::printf::Printed;
use super::simulator::Config;
use super::skipped::Skipped;
use crate::code::{InitializedRegister, Inst, Program, RESERVED_SHARED};
use crate::memory::{AccessFault, GlobalMemory};
use crate::module::Text;
use crate::observe::{Place, Site, Space, WarpId};

/// The state that all blocks of a running launch share.
pub(super) struct LaunchState<'a> {
    pub(super) program: &'a Program,
    /// The registers of the kernel that get another value for each block.
    pub(super) block_registers: Vec<InitializedRegister>,
    pub(super) module: &'a Text,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Blocks of a cluster, 1 in each direction unless the launch or the kernel says otherwise.
    pub(super) cluster: [u32; 3],
    pub(super) explicit_cluster: bool,
    pub(super) dynamic_shared: u32,
    pub(super) params: &'a [u8],
    /// Addresses of the module's variables, by their numbers.
    pub(super) variables: &'a [u64],
    /// The contents of constant memory.
    pub(super) constants: &'a [u8],
    pub(super) global: &'a GlobalMemory,
    pub(super) config: &'a Config,
    pub(super) simd: &'a crate::host_simd::HostSimd,
    pub(super) deadline: Option<Instant>,
    pub(super) progress: Exchange,
    /// The instructions of all launches before.
    pub(super) clock: u64,
    /// The memory that a cooperative launch synchronizes its grid in; 0 for other launches.
    pub(super) workspace: u64,
    pub(super) heap: &'a Mutex<Heap>,
    pub(super) printed: &'a Mutex<Printed>,
    /// The accesses that were skipped: none unless the observer asks for it.
    pub(super) skipped: Mutex<Skipped>,
}

/// The state that host threads exchange while they run. It has cache lines of its own, because the rest of the launch
/// state is read for every instruction.
#[repr(align(128))]
pub(super) struct Exchange {
    /// Instructions executed by all blocks together.
    pub(super) instructions: AtomicU64,
    /// The lowest number of a block that faulted.
    pub(super) faulted: AtomicU64,
    /// Whether a warp was found to repeat itself until another one changes what it reads.
    pub(super) repeats: AtomicBool,
    /// Whether all blocks that had begun waited at some time, so that lanes at a reconvergence point go on without the rest
    /// of their warp: the rest may wait for them.
    pub(super) separates: AtomicBool,
}

impl LaunchState<'_> {
    /// The instruction at a site.
    pub(super) fn inst(&self, site: Site) -> &Inst {
        &self.program.functions[site.function as usize].code[site.pc as usize]
    }

    /// Skips the access of a lane that cannot be done: see [`Skipped::add`].
    #[cold]
    pub(super) fn skip(
        &self,
        site: Site,
        warp_id: WarpId,
        callers: impl Iterator<Item = Site>,
        fault: AccessFault,
    ) -> Result<(), AccessFault> {
        self.skipped.lock().expect("skipping does not panic").add(site, warp_id, callers, fault)
    }

    /// The memory that an address of the global, constant or shared space belongs to. In the heap that is what `malloc` has
    /// given out.
    pub(super) fn place(&self, space: Space, address: u64) -> Option<Place<'_>> {
        let (variable, base, bytes) = match space {
            Space::Global => {
                let found = self.global.find(address)?;
                let heap = self.heap();
                if heap.base == Some(found.base) {
                    let (base, bytes) = heap.block(address)?;
                    return Some(Place { variable: None, base, bytes });
                }
                let variable = self.module.variable_at(self.variables, found.base);
                (variable, found.base, found.bytes)
            }
            Space::Const => self.module.variables.iter().flatten().find_map(|own| {
                let base = u64::from(own.constant_at?);
                let is_inside = (base..base + own.bytes).contains(&address);
                is_inside.then_some((Some(&*own.name), base, own.bytes))
            })?,
            Space::Shared => {
                let mut named = self.program.shared.iter();
                let named = named.find(|(_, place)| place.contains(&address));
                let begin = u64::from(self.dynamic_shared_at());
                let dynamic = begin..begin + u64::from(self.dynamic_shared);
                let (name, place) = match named {
                    Some((name, place)) => (Some(&**name), place),
                    None if dynamic.contains(&address) => (None, &dynamic),
                    None => return None,
                };
                (name, place.start, place.end - place.start)
            }
            _ => return None,
        };
        Some(Place { variable, base, bytes })
    }

    /// Where dynamic shared memory begins.
    pub(super) fn dynamic_shared_at(&self) -> u32 {
        self.program.shared_bytes.next_multiple_of(16)
    }

    /// Where the shared memory begins that is reserved for the system, behind the kernel's.
    pub(super) fn reserved_shared_at(&self) -> u32 {
        (self.dynamic_shared_at() + self.dynamic_shared).next_multiple_of(16)
    }

    pub(super) fn shared_bytes(&self) -> u32 {
        match self.program.uses_reserved_shared() {
            true => self.reserved_shared_at() + RESERVED_SHARED,
            false => self.dynamic_shared_at() + self.dynamic_shared,
        }
    }

    pub(super) fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().expect("the heap does not panic")
    }

    /// Prints a message of the block at these coordinates.
    pub(super) fn print(&self, block: [u32; 3], message: Vec<u8>) {
        let sides = self.grid.map(u64::from);
        let [x, y, z] = block.map(u64::from);
        let number = x + sides[0] * (y + sides[1] * z);
        let mut printed = self.printed.lock().expect("printing does not panic");
        printed.add(number, message, self.config.printf_bytes);
    }

    /// Blocks of a cluster.
    pub(super) fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// The grid's clusters in each direction.
    pub(super) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis])
    }

    /// The coordinates of a cluster, and of its block of this rank.
    pub(super) fn coordinates(&self, cluster: u64, rank: u32) -> ([u32; 3], [u32; 3]) {
        let at = unravel(cluster, self.clusters());
        let own = unravel(rank.into(), self.cluster);
        let block = |axis: usize| at[axis] * self.cluster[axis] + own[axis];
        (at, std::array::from_fn(block))
    }

    /// The number of a cluster's block.
    pub(super) fn block_number(&self, cluster: u64, rank: u32) -> u64 {
        ravel(self.coordinates(cluster, rank).1, self.grid)
    }

    /// The number of the cluster that a block belongs to.
    pub(super) fn cluster_number(&self, block: u64) -> u64 {
        let at = unravel(block, self.grid);
        let at = std::array::from_fn(|axis| at[axis] / self.cluster[axis]);
        ravel(at, self.clusters())
    }

    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The number of blocks that the device runs at the same time.
    pub(super) fn resident_blocks(&self) -> u64 {
        if self.config.resident_blocks > 0 {
            return self.config.resident_blocks;
        }
        // Each multiprocessor of an H100 has 64 warps, 32 blocks, and 228 KB of shared memory, of which a block takes
        // 1 KB more than it uses ("CUDA C++ Programming Guide", "Technical Specifications per Compute Capability").
        let warps = self.threads().div_ceil(32);
        let shared = self.dynamic_shared_at() + self.dynamic_shared + 1024;
        let blocks = (64 / warps).min(228 * 1024 / shared).clamp(1, 32);
        u64::from(self.config.multiprocessors) * u64::from(blocks)
    }
}
