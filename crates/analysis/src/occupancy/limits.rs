//! The resources of a multiprocessor, by compute capability.

use super::error::OccupancyError;

/// The resources of a multiprocessor (SM) of one compute capability, and their allocation units.
///
/// The amounts are those of the CUDA C++ Programming Guide, "Compute Capabilities", table "Technical
/// Specifications per Compute Capability" (releases 12.9 for 7.0 and 7.2, and 13.0 from 7.5 on) and of
/// `cuda/__device/arch_traits.h` in the CUDA C++ Core Libraries 3.3 (8.8, which the guide leaves out). The units,
/// the shared memory that the driver reserves and the carveouts are those of NVIDIA's occupancy calculator,
/// `cuda_occupancy.h` in the CUDA toolkit 13.5; the carveouts are in the guide's chapters on the architectures,
/// too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Major and minor compute capability.
    pub capability: (u32, u32),
    /// Warps that an SM holds at once.
    pub warps: u32,
    /// Blocks that an SM holds at once.
    pub blocks: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Registers of 32 bits of an SM.
    pub registers: u32,
    /// Registers that a block can have.
    pub registers_per_block: u32,
    /// Registers that a thread can have.
    pub registers_per_thread: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    /// The parts of an SM, each with a share of the registers. A warp lives in one, and whether a block fits is
    /// judged by its warps rounded up to a multiple of these.
    pub partitions: u32,
    /// Bytes of shared memory of an SM, at the largest carveout.
    pub shared: u32,
    /// Bytes of shared memory that a block can have without an opt-in.
    pub shared_per_block: u32,
    /// Bytes of shared memory that a block can have with an opt-in.
    pub shared_opt_in: u32,
    /// Bytes of shared memory that the driver reserves in each block.
    pub shared_reserved: u32,
    /// Shared memory is given to a block in multiples of this many bytes.
    pub shared_unit: u32,
    /// How much of an SM's memory for L1 and shared memory can be shared memory, in KiB, least first.
    pub carveouts: &'static [u32],
    /// Barriers of an SM, if they limit the number of blocks.
    pub barriers: Option<u32>,
}

/// Threads of a warp.
pub(super) const WARP: u32 = 32;

const KIB: u32 = 1 << 10;

/// The figures that most architectures have in common with 8.0.
const USUAL: Limits = Limits {
    capability: (8, 0),
    warps: 64,
    blocks: 32,
    threads_per_block: 1024,
    registers: 64 * KIB,
    registers_per_block: 64 * KIB,
    registers_per_thread: 255,
    register_unit: 256,
    partitions: 4,
    shared: 164 * KIB,
    shared_per_block: 48 * KIB,
    shared_opt_in: 163 * KIB,
    shared_reserved: KIB,
    shared_unit: 128,
    carveouts: &[0, 8, 16, 32, 64, 100, 132, 164],
    barriers: None,
};

/// The figures of Volta, which reserves no shared memory.
const VOLTA: Limits = Limits {
    capability: (7, 0),
    shared: 96 * KIB,
    shared_opt_in: 96 * KIB,
    shared_reserved: 0,
    shared_unit: 256,
    carveouts: &[0, 8, 16, 32, 64, 96],
    ..USUAL
};

/// The figures of the smaller chips from 8.6 on: less shared memory, fewer warps.
const SMALL: Limits = Limits {
    capability: (8, 6),
    warps: 48,
    blocks: 16,
    shared: 100 * KIB,
    shared_opt_in: 99 * KIB,
    carveouts: &[0, 8, 16, 32, 64, 100],
    ..USUAL
};

const HOPPER: Limits = Limits {
    capability: (9, 0),
    shared: 228 * KIB,
    shared_opt_in: 227 * KIB,
    carveouts: &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
    barriers: Some(64),
    ..USUAL
};

static ALL: [Limits; 14] = [
    VOLTA,
    Limits {
        capability: (7, 2),
        ..VOLTA
    },
    Limits {
        capability: (7, 5),
        warps: 32,
        blocks: 16,
        shared: 64 * KIB,
        shared_opt_in: 64 * KIB,
        carveouts: &[32, 64],
        ..VOLTA
    },
    USUAL,
    SMALL,
    Limits {
        capability: (8, 7),
        shared: 164 * KIB,
        shared_opt_in: 163 * KIB,
        carveouts: USUAL.carveouts,
        ..SMALL
    },
    Limits {
        capability: (8, 8),
        ..SMALL
    },
    Limits {
        capability: (8, 9),
        blocks: 24,
        ..SMALL
    },
    HOPPER,
    Limits {
        capability: (10, 0),
        ..HOPPER
    },
    Limits {
        capability: (10, 3),
        barriers: Some(32),
        ..HOPPER
    },
    Limits {
        capability: (11, 0),
        warps: 48,
        blocks: 24,
        barriers: Some(24),
        ..HOPPER
    },
    Limits {
        capability: (12, 0),
        blocks: 24,
        barriers: Some(24),
        ..SMALL
    },
    Limits {
        capability: (12, 1),
        blocks: 24,
        barriers: Some(24),
        ..SMALL
    },
];

impl Limits {
    /// The limits of all known architectures, oldest first.
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// The limits of a compute capability, major and minor.
    ///
    /// # Errors
    /// [`OccupancyError::NoLimits`] when the compute capability is not in the tables.
    pub fn of(capability: (u32, u32)) -> Result<&'static Self, OccupancyError> {
        Self::known(capability).ok_or_else(|| OccupancyError::no_limits(&sm(capability)))
    }

    /// The limits of an architecture by NVIDIA's name for it, `sm_90`. A suffix `a` or `f` is ignored.
    ///
    /// # Errors
    /// [`OccupancyError::NoLimits`] when the name is not an architecture's, or when the architecture is not in the
    /// tables.
    pub fn named(arch: &str) -> Result<&'static Self, OccupancyError> {
        parse(arch)
            .and_then(Self::known)
            .ok_or_else(|| OccupancyError::no_limits(arch))
    }

    fn known(capability: (u32, u32)) -> Option<&'static Self> {
        ALL.iter().find(|limits| limits.capability == capability)
    }

    /// NVIDIA's name for the architecture, `sm_90`.
    pub fn arch(&self) -> String {
        sm(self.capability)
    }

    /// Threads that an SM holds at once.
    pub fn threads(&self) -> u32 {
        self.warps * WARP
    }
}

/// `sm_90` for 9.0.
pub(super) fn sm((major, minor): (u32, u32)) -> String {
    format!("sm_{major}{minor}")
}

/// The compute capability in `sm_90`, `sm_90a`: the last digit is the minor number.
fn parse(arch: &str) -> Option<(u32, u32)> {
    let number = arch.strip_prefix("sm_")?;
    let digits = number.strip_suffix(['a', 'f']).unwrap_or(number);
    if digits.len() < 2 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u32 = digits.parse().ok()?;
    Some((number / 10, number % 10))
}

#[cfg(test)]
mod tests;
