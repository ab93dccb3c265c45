//! The resources of a multiprocessor, by compute capability.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Error, embedded};

/// The resources of a multiprocessor (SM) of one compute capability, and their allocation units. `limits.toml` lists
/// them with their sources.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Major and minor compute capability.
    pub capability: (u32, u32),
    /// The number of warps that an SM holds at once.
    pub warps: u32,
    /// The number of blocks that an SM holds at once.
    pub blocks: u32,
    /// The maximum number of threads per block.
    pub threads_per_block: u32,
    /// The number of 32-bit registers of an SM.
    pub registers: u32,
    /// The maximum number of registers per block.
    pub registers_per_block: u32,
    /// The maximum number of registers per thread.
    pub registers_per_thread: u32,
    /// The unit in which registers are allocated to a warp.
    pub register_unit: u32,
    /// The number of partitions of an SM, each with a share of the registers. A warp resides in one partition. A
    /// block's number of warps, rounded up to a multiple of the number of partitions, decides whether the block fits.
    pub partitions: u32,
    /// The shared memory of an SM in bytes, at the largest carveout.
    pub shared: u32,
    /// The maximum shared memory of a block in bytes without an opt-in.
    pub shared_per_block: u32,
    /// The maximum shared memory of a block in bytes with an opt-in.
    pub shared_opt_in: u32,
    /// The bytes of shared memory that the driver reserves in each block.
    pub shared_reserved: u32,
    /// The unit in bytes in which shared memory is allocated to a block.
    pub shared_unit: u32,
    /// The possible sizes in KiB of shared memory within an SM's combined L1 and shared memory, in ascending order.
    pub carveouts: Vec<u32>,
    /// The number of barriers of an SM, if barriers limit the number of blocks.
    pub barriers: Option<u32>,
}

/// Threads per warp.
pub const WARP: u32 = 32;

/// The contents of `limits.toml`.
#[derive(Deserialize)]
struct File {
    /// The default figures of an architecture.
    common: toml::Table,
    architecture: Vec<toml::Table>,
}

static ALL: LazyLock<Vec<Limits>> = LazyLock::new(|| {
    let file: File = embedded("limits.toml", include_str!("limits.toml"));
    let limits = file.architecture.into_iter().map(|figures| {
        let table: toml::Table = file.common.clone().into_iter().chain(figures).collect();
        let limits = table.try_into();
        limits.unwrap_or_else(|error| panic!("limits.toml: {error}"))
    });
    limits.collect()
});

impl Limits {
    /// Returns the limits of all known architectures, oldest first.
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// Returns the limits of a compute capability, given as major and minor number.
    ///
    /// # Errors
    /// Returns [`Error::NoSuchArchitecture`] when the compute capability is not in the tables.
    pub fn of((major, minor): (u32, u32)) -> Result<&'static Self, Error> {
        Self::named(&format!("sm_{major}{minor}"))
    }

    /// Returns the limits of an architecture by NVIDIA's name, such as `sm_90`. A suffix `a` or `f` is ignored.
    ///
    /// # Errors
    /// Returns [`Error::NoSuchArchitecture`] when no architecture in the tables has this name.
    pub fn named(arch: &str) -> Result<&'static Self, Error> {
        let plain = arch.strip_suffix(['a', 'f']).unwrap_or(arch);
        let mut all = ALL.iter();
        let limits = all.find(|limits| limits.arch() == plain);
        limits.ok_or_else(|| {
            let known = ALL.iter().map(Self::arch).collect();
            Error::NoSuchArchitecture { arch: arch.to_owned(), known }
        })
    }

    /// Returns NVIDIA's name for the architecture, such as `sm_90`.
    pub fn arch(&self) -> String {
        let (major, minor) = self.capability;
        format!("sm_{major}{minor}")
    }

    /// Returns the number of threads that an SM holds at once.
    pub fn threads(&self) -> u32 {
        self.warps * WARP
    }
}

#[cfg(test)]
mod tests;
