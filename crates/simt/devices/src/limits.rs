//! The resources of a multiprocessor, by compute capability.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Error, embedded};

/// The resources of a multiprocessor (SM) of one compute capability, and their allocation units. `limits.toml` has them,
/// with their sources.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
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
    pub carveouts: Vec<u32>,
    /// Barriers of an SM, if they limit the number of blocks.
    pub barriers: Option<u32>,
}

/// Threads of a warp.
pub const WARP: u32 = 32;

/// The file of the limits.
#[derive(Deserialize)]
struct File {
    /// The figures of every architecture that does not have its own.
    common: toml::Table,
    architecture: Vec<toml::Table>,
}

static ALL: LazyLock<Vec<Limits>> = LazyLock::new(|| {
    let file: File = embedded("limits.toml", include_str!("limits.toml"));
    let limits = file.architecture.into_iter().map(|own| {
        let table: toml::Table = file.common.clone().into_iter().chain(own).collect();
        let limits = table.try_into();
        limits.unwrap_or_else(|error| panic!("limits.toml: {error}"))
    });
    limits.collect()
});

impl Limits {
    /// The limits of all known architectures, oldest first.
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// The limits of a compute capability, major and minor.
    ///
    /// # Errors
    /// [`Error::NoSuchArchitecture`] when the compute capability is not in the tables.
    pub fn of((major, minor): (u32, u32)) -> Result<&'static Self, Error> {
        Self::named(&format!("sm_{major}{minor}"))
    }

    /// The limits of an architecture by NVIDIA's name for it, `sm_90`. A suffix `a` or `f` is ignored.
    ///
    /// # Errors
    /// [`Error::NoSuchArchitecture`] when the name is not that of an architecture in the tables.
    pub fn named(arch: &str) -> Result<&'static Self, Error> {
        let plain = arch.strip_suffix(['a', 'f']).unwrap_or(arch);
        let mut all = ALL.iter();
        let limits = all.find(|limits| limits.arch() == plain);
        limits.ok_or_else(|| {
            let known = ALL.iter().map(Self::arch).collect();
            Error::NoSuchArchitecture { arch: arch.to_owned(), known }
        })
    }

    /// NVIDIA's name for the architecture, `sm_90`.
    pub fn arch(&self) -> String {
        let (major, minor) = self.capability;
        format!("sm_{major}{minor}")
    }

    /// Threads that an SM holds at once.
    pub fn threads(&self) -> u32 {
        self.warps * WARP
    }
}

#[cfg(test)]
mod tests;
