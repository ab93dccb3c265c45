//! Asks whether the checks of a ladder would notice a wrong kernel: the PTX of each rung is changed in one place, and the
//! ladder's check runs the changed kernel on the simulator.
//!
//! The input is a [catalog](engine::Catalog), and a list of [reasons](reasons::Reason) for changes that no check can
//! notice. The output is an [`MutantResult`] for each change: by what it was caught, or why not.
//!
//! - [`mutations`] is the table of what is changed, and makes the changed texts of a kernel.
//! - `problems` are the sizes that a kernel runs on, `trace` records what a launch did, and `trial` runs the changed
//!   kernels and comes to a [`MutantVerdict`].
//! - [`run`] spreads them over threads, and `finished` keeps the verdicts in a file for the next run.
//! - [`reasons`] are the changes that are known to remain unnoticed, with the reason of each.
//!
//! The crate must not know which ladders exist, or how results are shown.

mod error;
mod finished;
mod kernel;
pub mod mutations;
mod problems;
pub mod reasons;
pub mod run;
mod trace;
mod trial;
mod verdict;

pub use error::Error;
pub use kernel::{Kernel, Mutant};
pub use run::{MutantResult, Plan};
pub use verdict::{Caught, MutantVerdict};
