//! Tests whether a ladder's checks detect wrong kernels. This crate changes the PTX of each rung in one place and runs
//! the ladder's check with the changed kernel on the simulator.
//!
//! The input is a [catalog](engine::Catalog) and a list of [reasons](reasons::Reason) for changes that no check can
//! detect. The output is a [`MutantResult`] for each change: what caught the mutant, or why nothing did.
//!
//! - [`mutations`] is the table of mutations, and creates the mutated texts of a kernel.
//! - `problems` selects the problem sizes that a kernel runs on, `trace` records what a launch does, and `trial` runs
//!   the mutants and returns a [`MutantVerdict`] for each.
//! - [`run`] distributes the mutants over threads, and `finished` saves the verdicts in a file for the next run.
//! - [`reasons`] lists the mutants that are known to survive, each with the reason.
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
