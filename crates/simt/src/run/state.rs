//! What all blocks of a launch share.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use super::machine::Config;
use crate::code::Program;
use crate::memory::GlobalMemory;
use crate::module::Text;
use crate::observe::{Place, Space};

/// The state that all blocks of a running launch share.
pub(super) struct LaunchState<'a> {
    pub(super) program: &'a Program,
    pub(super) module: &'a Text,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
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
}

/// The state that host threads exchange while they run. It has cache lines of its own, because the rest of the launch
/// state is read for every instruction.
#[repr(align(128))]
pub(super) struct Exchange {
    /// Instructions executed by all blocks together.
    pub(super) instructions: AtomicU64,
    /// The lowest number of a block that faulted.
    pub(super) faulted: AtomicU64,
}

impl LaunchState<'_> {
    /// The memory that an address of the global, constant or shared space belongs to.
    pub(super) fn place(&self, space: Space, address: u64) -> Option<Place<'_>> {
        let (variable, base, bytes) = match space {
            Space::Global => {
                let found = self.global.find(address)?;
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
        Some(Place {
            variable,
            base,
            bytes,
        })
    }

    /// Where dynamic shared memory begins.
    pub(super) fn dynamic_shared_at(&self) -> u32 {
        self.program.shared_bytes.next_multiple_of(16)
    }

    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// How many blocks the device has room for at a time.
    pub(super) fn resident_blocks(&self) -> u64 {
        if self.config.resident_blocks > 0 {
            return self.config.resident_blocks;
        }
        // An H100: 132 multiprocessors with 64 warps, 32 blocks, and 228 KB of shared memory, of which each block takes
        // 1 KB more than it uses ("CUDA C++ Programming Guide", "Technical Specifications per Compute Capability").
        let warps = self.threads().div_ceil(32);
        let shared = self.dynamic_shared_at() + self.dynamic_shared + 1024;
        u64::from(132 * (64 / warps).min(228 * 1024 / shared).clamp(1, 32))
    }
}
