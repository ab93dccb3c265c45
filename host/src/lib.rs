//! Climbs ladders of GPU kernels: runs each rung, checks it against the CPU, times it, and shows it.
//!
//! The kernels are Rust (`kernels-gpu`), compiled to PTX when this crate is built and embedded in
//! [`KERNELS_PTX`]. A [`Ladder`] is a list of [`Rung`]s that compute the same thing; it makes a
//! [`Problem`], and a rung and a problem give a [`Launch`](launch::Launch) that any [`Device`] runs.
//!
//! ```no_run
//! use host::{Options, Session, device, ladder};
//!
//! # fn main() -> Result<(), host::Error> {
//! let mut gpu = device::open(device::Choice::Gpu)?;
//! let reduce = ladder("reduce")?;
//! let problem = reduce.problem(&Options::default().with("n", 1 << 24))?;
//!
//! let mut session = Session::timed(&mut *gpu, &*problem)?;
//! for rung in reduce.rungs {
//!     let launch = reduce.launch(rung, &*problem, None)?;
//!     let verdict = session.check(rung, &launch)?;
//!     if let Some(times) = session.time(rung, &launch, 20)? {
//!         println!("{launch}: {verdict:?}, {:.1} µs", times.median() / 1e3);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What needs no GPU works without one: the registry, the geometry, the references.
//!
//! ```
//! let reduce = host::ladder("reduce").unwrap();
//! let problem = reduce.problem(&host::Options::default().with("n", 1_000_003)).unwrap();
//! let shfl = reduce.launch(reduce.rung("reduce_shfl").unwrap(), &*problem, None).unwrap();
//! assert_eq!(shfl.to_string(), "reduce_shfl_128<<<7813, 128, 0>>>");
//! ```

pub mod agree;
pub mod checklist;
mod chosen;
pub mod cli;
pub mod device;
pub mod dram;
mod error;
pub mod ladders;
pub mod launch;
mod names;
pub mod occupancy;
pub mod options;
pub mod peer;
pub mod predict;
pub mod problem;
pub mod profile;
mod ptx;
mod registry;
pub mod report;
pub mod run;
mod session;
mod size;
pub mod stats;

pub use self::ptx::Ptx;
pub use chosen::{Chosen, chosen};
pub use device::Device;
pub use error::Error;
pub use options::Options;
pub use problem::Problem;
pub use registry::{Choose, Effort, Entries, Ladder, Rung, Seed, Shared, ladder, ladders};
pub use run::Session;
pub use size::{dims, parse_block, parse_size};

/// The PTX of all kernels, for each architecture that they are compiled for, oldest first. Kernels that need
/// instructions of a newer one are in those from there on.
pub static KERNELS_PTX: &[Ptx] = &EMBEDDED;

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The newest PTX of [`KERNELS_PTX`] that a device of this compute capability runs; for `None`, which is no
/// device's, the newest of all.
pub fn kernels_for(capability: Option<(u32, u32)>) -> Option<&'static Ptx> {
    Ptx::newest(KERNELS_PTX, capability)
}

/// The compilers behind this program: the host's, and what the PTX for a device says of its own.
pub fn toolchain(device: &device::DeviceInfo) -> String {
    format!(
        "host code by {}, device code by {}",
        env!("LADDER_HOST_RUSTC"),
        kernels_for(device.compute_capability).map_or(String::new(), |ptx| ptx.outline().header())
    )
}
