//! The state that all blocks of a launch share.

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
    /// The kernel's registers whose initial values differ between blocks.
    pub(super) block_registers: Vec<InitializedRegister>,
    pub(super) module: &'a Text,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// The cluster size in blocks; 1 in each dimension unless the launch or the kernel specifies another size.
    pub(super) cluster: [u32; 3],
    pub(super) explicit_cluster: bool,
    pub(super) dynamic_shared: u32,
    pub(super) params: &'a [u8],
    /// The addresses of the module's variables, indexed by variable number.
    pub(super) variables: &'a [u64],
    /// The contents of constant memory.
    pub(super) constants: &'a [u8],
    pub(super) global: &'a GlobalMemory,
    pub(super) config: &'a Config,
    pub(super) simd: &'a crate::host_simd::HostSimd,
    pub(super) deadline: Option<Instant>,
    pub(super) progress: Exchange,
    /// The number of instructions of all previous launches.
    pub(super) clock: u64,
    /// The address of the memory that a cooperative launch uses to synchronize its grid; 0 for other launches.
    pub(super) workspace: u64,
    pub(super) heap: &'a Mutex<Heap>,
    pub(super) printed: &'a Mutex<Printed>,
    /// The skipped accesses: empty unless the observer requests skipping.
    pub(super) skipped: Mutex<Skipped>,
}

/// The state that host threads exchange while they run. This state is in separate cache lines, because the rest of the
/// launch state is read for every instruction.
#[repr(align(128))]
pub(super) struct Exchange {
    /// The number of instructions that all blocks together have executed.
    pub(super) instructions: AtomicU64,
    /// The lowest number of any cluster that has faulted.
    pub(super) faulted: AtomicU64,
    /// Whether any warp was found to repeat itself, which it does until another warp changes memory that it reads.
    pub(super) repeats: AtomicBool,
    /// Whether all started blocks were waiting at some point. If so, lanes at a reconvergence point continue without
    /// the rest of their warp, because the rest may wait for these lanes.
    pub(super) separates: AtomicBool,
}

impl LaunchState<'_> {
    /// Returns the instruction at a site.
    pub(super) fn inst(&self, site: Site) -> &Inst {
        &self.program.functions[site.function as usize].code[site.pc as usize]
    }

    /// Skips an invalid access of a lane: see [`Skipped::add`].
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

    /// Returns the memory that contains an address in global, constant or shared memory. For an address in the heap,
    /// returns the block that `malloc` returned.
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
            Space::Const => self.module.variables.iter().flatten().find_map(|variable| {
                let base = u64::from(variable.constant_at?);
                let is_inside = (base..base + variable.bytes).contains(&address);
                is_inside.then_some((Some(&*variable.name), base, variable.bytes))
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

    /// Returns the offset of dynamic shared memory.
    pub(super) fn dynamic_shared_at(&self) -> u32 {
        self.program.shared_bytes.next_multiple_of(16)
    }

    /// Returns the offset of the shared memory that is reserved for the system, which follows the kernel's shared
    /// memory.
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

    /// Prints a message of the block with these coordinates.
    pub(super) fn print(&self, block: [u32; 3], message: Vec<u8>) {
        let sides = self.grid.map(u64::from);
        let [x, y, z] = block.map(u64::from);
        let number = x + sides[0] * (y + sides[1] * z);
        let mut printed = self.printed.lock().expect("printing does not panic");
        printed.add(number, message, self.config.printf_bytes);
    }

    /// Returns the number of blocks of a cluster.
    pub(super) fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Returns the number of clusters of the grid in each dimension.
    pub(super) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis])
    }

    /// Returns the coordinates of a cluster, and of the block with this rank in the cluster.
    pub(super) fn coordinates(&self, cluster: u64, rank: u32) -> ([u32; 3], [u32; 3]) {
        let at = unravel(cluster, self.clusters());
        let offset = unravel(rank.into(), self.cluster);
        let block = |axis: usize| at[axis] * self.cluster[axis] + offset[axis];
        (at, std::array::from_fn(block))
    }

    /// Returns the number of the block with this rank in a cluster.
    pub(super) fn block_number(&self, cluster: u64, rank: u32) -> u64 {
        ravel(self.coordinates(cluster, rank).1, self.grid)
    }

    /// Returns the number of the cluster that a block belongs to.
    pub(super) fn cluster_number(&self, block: u64) -> u64 {
        let at = unravel(block, self.grid);
        let at = std::array::from_fn(|axis| at[axis] / self.cluster[axis]);
        ravel(at, self.clusters())
    }

    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Returns the number of blocks that the device runs at the same time.
    pub(super) fn resident_blocks(&self) -> u64 {
        if self.config.resident_blocks > 0 {
            return self.config.resident_blocks;
        }
        // Each multiprocessor of an H100 supports 64 warps, 32 blocks, and 228 KB of shared memory. A block occupies 1
        // KB more shared memory than it uses ("CUDA C++ Programming Guide", "Technical Specifications per Compute
        // Capability").
        let warps = self.threads().div_ceil(32);
        let shared = self.dynamic_shared_at() + self.dynamic_shared + 1024;
        let blocks = (64 / warps).min(228 * 1024 / shared).clamp(1, 32);
        u64::from(self.config.multiprocessors) * u64::from(blocks)
    }
}
