//! Explains launches: what a kernel did, how long a GPU would take, which resource bounds the launch, and which
//! optimization helps.
//!
//! A launch is a [`simt::Launch`] on a simulator. It can come from a PTX file, a test, a program that uses simt's
//! driver, or a rung of a ladder. [`record`] runs the launch once and returns a [`LaunchProfile`]:
//!
//! - its counters, under Nsight Compute's names: [`metrics`];
//! - its time on a [`Description`](devices::Description) of a device, from the analytic [`model`];
//! - the [`verdict`]: the resource that bounds it, and the optimization of the [`checklist`] that addresses this bound;
//! - [`figures`] of what a warp and its block do, and of what each source line costs.
//!
//! ```
//! use devices::Description;
//! use profile::{Watch, record};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let copy = simt::Module::from_ptx(include_str!("../tests/strided.ptx"))?.function("strided")?;
//! let mut simulator = simt::Simulator::new(simt::Config::default())?;
//! let (from, to) = (simulator.zeroed::<f32>(32 * 1024)?, simulator.zeroed::<f32>(1024)?);
//! let args = [from.into(), to.into()];
//! let launch = simt::Launch::new(&copy, [4, 1, 1], [256, 1, 1], &args);
//! let profile = record(&mut simulator, &launch, Watch::new(Description::open("h100")?))?;
//! // Each lane loads from a different sector.
//! assert_eq!(profile.metric("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"), Some(32.0));
//! # Ok(())
//! # }
//! ```
//!
//! This crate must not know about ladders, drivers, or how its numbers are shown.

pub mod checklist;
pub mod counters;
pub mod dram;
mod error;
mod expected;
pub mod figures;
mod geometry;
mod launch;
pub mod metrics;
pub mod model;
pub mod roofline;
pub mod sample;
pub mod utilization;
pub mod verdict;
mod watch;

pub use error::Error;
pub use expected::{CostliestLine, CountedLaunch, Counter};
pub use figures::Recording;
pub use geometry::Geometry;
pub use launch::{LaunchProfile, Recorder, record};
pub use watch::Watch;
