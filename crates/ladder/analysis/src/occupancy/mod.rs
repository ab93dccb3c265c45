//! Occupancy: how many blocks of a kernel a multiprocessor holds at once, and the resource that limits this number.
//!
//! [`Limits`] holds the resources of a multiprocessor, [`Usage`] the resources that a kernel uses according to `ptxas`,
//! and [`Block`] the resources that a launch adds. [`of`] computes the number of blocks. A [`RungOccupancy`] is the
//! occupancy of a rung, together with its dependence on the block, the shared memory and the registers. [`check`]
//! compares the calculated occupancy with the driver's.
//!
//! ```
//! use analysis::occupancy::{self, Block, Limits};
//! use toolkit::Usage;
//!
//! let hopper = Limits::named("sm_90").unwrap();
//! let kernel = Usage { registers: 40, barriers: 1, ..Usage::default() };
//! let block = Block { threads: 256, dynamic_shared: 0 };
//! let found = occupancy::of(hopper, kernel, block);
//! assert_eq!((found.blocks, found.warps), (6, 48));
//! assert_eq!(found.limited_by, [occupancy::Limiter::Registers]);
//! ```

pub mod check;
mod report;
mod resources;

pub use devices::Limits;
pub use devices::occupancy::{Block, Limiter, Occupancy};
use engine::launch::Launch;
pub use report::{EntryOccupancy, RungOccupancy, Step};
pub use resources::{source, usage, usage_of};
use toolkit::Usage;

/// Returns the number of blocks of a kernel that a multiprocessor holds at once ([`devices::occupancy::of`]).
pub fn of(limits: &Limits, usage: Usage, block: Block) -> Occupancy {
    devices::occupancy::of(limits, counted(usage), block)
}

/// Returns the part of a kernel's `ptxas` report that affects the occupancy.
pub fn counted(usage: Usage) -> devices::occupancy::Usage {
    let Usage { registers, shared_bytes, barriers, .. } = usage;
    devices::occupancy::Usage { registers, shared_bytes, barriers }
}

/// Returns the resources that a launch adds for each of its blocks.
fn block_of(launch: &Launch) -> Block {
    // `Device::launch` opts in to more shared memory if necessary.
    geometry(launch).block_load()
}

/// Returns the grid and the block of a launch.
pub fn geometry(launch: &Launch) -> profile::Geometry {
    profile::Geometry { grid: launch.grid, block: launch.block, shared_bytes: launch.shared_bytes }
}
