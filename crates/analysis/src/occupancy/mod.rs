//! Occupancy: how many blocks of a kernel a multiprocessor holds at once, and which of its resources ends
//! that.
//!
//! [`Limits`] are what a multiprocessor has, [`Usage`](toolkit::Usage) what a kernel takes of it as `ptxas` says,
//! [`Block`] is what a launch adds; [`of`] divides. A [`RungOccupancy`] is that for a rung, and how it changes with
//! the block, the shared memory and the registers; [`check`] compares it with the driver's own answer.
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

mod calculator;
pub mod check;
mod limits;
mod report;
mod resources;

pub use calculator::{Block, Limiter, Occupancy, of};
pub use limits::Limits;
pub use report::{EntryOccupancy, RungOccupancy, Step};
pub use resources::{source, usage};
