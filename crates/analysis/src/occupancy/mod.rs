//! Occupancy: how many blocks of a kernel a multiprocessor holds at once, and which of its resources ends
//! that.
//!
//! [`Limits`] are what a multiprocessor has, [`Resources`] what a kernel takes of it as `ptxas` says,
//! [`Block`] is what a launch adds; [`of`] divides. [`report`] shows it for a rung, and how it changes with
//! the block, the shared memory and the registers; [`check`] holds it against the driver's own answer.
//!
//! ```
//! use host::occupancy::{self, Block, Limits, Resources};
//!
//! let hopper = Limits::named("sm_90").unwrap();
//! let kernel = Resources { registers: 40, static_shared: 0, barriers: 1 };
//! let block = Block { threads: 256, dynamic_shared: 0 };
//! let found = occupancy::of(hopper, kernel, block);
//! assert_eq!((found.blocks, found.warps), (6, 48));
//! assert_eq!(found.limiters().collect::<Vec<_>>(), [occupancy::Limiter::Registers]);
//! ```

mod calculator;
pub mod check;
mod error;
mod limits;
pub mod resources;
pub mod words;

pub use calculator::{Block, Limiter, Occupancy, Resources, of};
pub use error::OccupancyError;
pub use limits::Limits;
pub use resources::usage;
