//! The occupancy of a rung, and how it changes with the block size, the shared memory and the registers.

use serde::Serialize;
use toolkit::Usage;

use super::{Block, Limits, Occupancy, geometry, of, usage};
use crate::Error;
use engine::Kernels;
use engine::device::Resident;
use engine::launch::Launch;
use engine::problem::Problem;
use engine::registry::{DeviceProperties, Ladder, Rung};
use profile::Geometry;

/// The occupancy of an entry with a given block, on an architecture.
#[derive(Clone, Debug, Serialize)]
pub struct EntryOccupancy {
    /// The entry.
    pub entry: String,
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of shared memory per block that the entry declares.
    pub static_shared_bytes: u32,
    /// Bytes of shared memory per block that the launch adds.
    pub dynamic_shared_bytes: u32,
    /// Bytes per thread that are spilled to local memory.
    pub spill_store_bytes: u32,
    /// Bytes per thread that are loaded back from spilled registers.
    pub spill_load_bytes: u32,
    /// Named barriers.
    pub barriers: u32,
    /// The number of blocks that fit, and the resources that limit this number.
    #[serde(flatten)]
    pub occupancy: Occupancy,
}

impl EntryOccupancy {
    /// Returns the occupancy of a launch on an architecture, such as `sm_90`.
    ///
    /// # Errors
    /// Returns [`Error`] when [`usage`] fails: without `ptxas`, or if `ptxas` does not know the architecture or the
    /// entry.
    pub fn new(kernels: &'static Kernels, launch: &Launch, arch: &str) -> Result<Self, Error> {
        let usage = usage(kernels, launch, arch)?;
        Ok(Self::with_usage(usage, launch, Limits::named(arch)?))
    }

    pub(crate) fn with_usage(usage: Usage, launch: &Launch, limits: &Limits) -> Self {
        Self::of(launch.entry.clone(), usage, geometry(launch), limits)
    }

    /// Returns the occupancy of an entry with the usage that `ptxas` reports.
    pub fn of(entry: String, usage: Usage, geometry: Geometry, limits: &Limits) -> Self {
        Self {
            entry,
            block: geometry.block,
            registers: usage.registers,
            static_shared_bytes: usage.shared_bytes,
            dynamic_shared_bytes: geometry.shared_bytes,
            spill_store_bytes: usage.spill_store_bytes,
            spill_load_bytes: usage.spill_load_bytes,
            barriers: usage.barriers,
            occupancy: of(limits, usage, geometry.block_load()),
        }
    }

    /// Returns the bytes of shared memory per block, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        self.static_shared_bytes + self.dynamic_shared_bytes
    }
}

/// A range of amounts of a resource that all allow the same number of resident blocks.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The smallest amount.
    pub from: u32,
    /// The largest amount.
    pub up_to: u32,
    /// The occupancy with the smallest amount.
    #[serde(flatten)]
    pub occupancy: Occupancy,
}

/// A rung's occupancy on an architecture.
#[derive(Clone, Debug, Serialize)]
pub struct RungOccupancy {
    /// The rung's ladder; empty for any other kernel.
    pub ladder: &'static str,
    /// The rung, or the kernel.
    pub rung: String,
    /// The requested architecture.
    pub arch: String,
    /// The occupancy with the requested block, or the rung's default block.
    #[serde(flatten)]
    pub launch: EntryOccupancy,
    /// The occupancy with each block that the rung can be launched with.
    pub by_block: Vec<EntryOccupancy>,
    /// The occupancy with other amounts of shared memory per block, in bytes, static and dynamic together.
    pub by_shared_bytes: Vec<Step>,
    /// The occupancy with other numbers of registers per thread.
    pub by_registers: Vec<Step>,
    /// The driver's figures for the entry, on a GPU of this architecture.
    pub driver: Option<Resident>,
    /// The limits of the architecture.
    #[serde(skip)]
    pub limits: &'static Limits,
}

impl RungOccupancy {
    /// Returns the occupancy of a rung's launch on `problem`, on an architecture such as `sm_90`.
    ///
    /// # Errors
    /// Returns [`Error`] when [`usage`] fails for an entry of the rung: without `ptxas`, or if `ptxas` does not know
    /// the architecture or the entry.
    pub fn new(
        kernels: &'static Kernels,
        ladder: &'static Ladder,
        rung: &'static Rung,
        problem: &dyn Problem,
        launch: &Launch,
        arch: &str,
    ) -> Result<Self, Error> {
        let limits = Limits::named(arch)?;
        let usage = usage(kernels, launch, arch)?;
        let mut by_block = Vec::new();
        for block in ladder.blocks_of(rung, problem) {
            // A block's resources do not depend on the grid, so they do not depend on the number of multiprocessors
            // either.
            match ladder.launch(rung, problem, Some(block), DeviceProperties::default()) {
                Ok(launch) => by_block.push(EntryOccupancy::new(kernels, &launch, arch)?),
                // No device can launch the rung with this block.
                Err(engine::Error::TooMuchShared { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let occupancy = EntryOccupancy::with_usage(usage, launch, limits);
        Ok(Self { ladder: ladder.name, ..Self::of(rung.name.to_owned(), occupancy, usage, by_block, (arch, limits)) })
    }

    /// Returns the occupancy of a kernel's launch with the usage that `ptxas` reports, along with the occupancy with
    /// other block sizes.
    pub fn of(
        name: String,
        launch: EntryOccupancy,
        usage: Usage,
        by_block: Vec<EntryOccupancy>,
        (arch, limits): (&str, &'static Limits),
    ) -> Self {
        let block =
            Geometry { grid: [1; 3], block: launch.block, shared_bytes: launch.dynamic_shared_bytes }.block_load();
        let threads = Block { dynamic_shared: 0, ..block };
        let with_shared = |shared_bytes| {
            let usage = Usage { shared_bytes, ..usage };
            of(limits, usage, threads)
        };
        let with_registers = |registers| of(limits, Usage { registers, ..usage }, block);
        Self {
            ladder: "",
            rung: name,
            arch: arch.to_owned(),
            launch,
            by_block,
            by_shared_bytes: steps(0, limits.shared_opt_in, limits.shared_unit, with_shared),
            by_registers: steps(1, limits.registers_per_thread, 1, with_registers),
            driver: None,
            limits,
        }
    }
}

/// Returns the occupancy for each amount from `least` to `most` of a resource that is allocated in units of `unit`.
/// Adjacent amounts with the same number of blocks are combined.
fn steps(least: u32, most: u32, unit: u32, with: impl Fn(u32) -> Occupancy) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for amount in (least..=most).step_by(unit as usize) {
        let occupancy = with(amount);
        // An amount between two multiples of the unit is rounded up to the larger multiple.
        let from = steps.last().map_or(least, |last| last.up_to + 1);
        match steps.last_mut() {
            Some(step) if step.occupancy.blocks == occupancy.blocks => step.up_to = amount,
            _ => steps.push(Step { from, up_to: amount, occupancy }),
        }
    }
    steps
}
