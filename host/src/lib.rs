//! The host side of every ladder: its inputs, its CPU reference and its check, with the kernels' PTX.
//!
//! The kernels are written in Rust (`kernels-gpu`) and compiled to PTX, [`KERNELS`], when this crate is built. The
//! crate [`engine`], which this crate re-exports, provides devices, sessions and everything else that all ladders
//! share.
//!
//! This is the only crate that knows which ladders exist: [`CATALOG`]. The crate must not know how results are
//! displayed.
//!
//! ```no_run
//! use host::{KERNELS, Options, Session, device, ladder};
//!
//! # fn main() -> Result<(), host::Error> {
//! let mut gpu = device::open(device::Choice::Gpu, &KERNELS)?;
//! let reduce = ladder("reduce")?;
//! let problem = reduce.problem(&Options::default().with("n", 1 << 24))?;
//! let properties = gpu.info().properties();
//!
//! let mut session = Session::timed(&mut *gpu, &*problem)?;
//! for rung in reduce.rungs {
//!     let launch = reduce.launch(rung, &*problem, None, properties)?;
//!     let verdict = session.check(rung, &launch)?;
//!     if let Some(times) = session.time(rung, &launch, 20)? {
//!         println!("{launch}: {verdict:?}, {:.1} µs", times.median() / 1e3);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The registry, the geometry and the references need no GPU.
//!
//! ```
//! let reduce = host::ladder("reduce").unwrap();
//! let problem = reduce.problem(&host::Options::default().with("n", 1_000_003)).unwrap();
//! let shfl = reduce.launch(reduce.rung("reduce_shfl").unwrap(), &*problem, None, host::DeviceProperties::default()).unwrap();
//! assert_eq!(shfl.to_string(), "reduce_shfl_128<<<7813, 128, 0>>>");
//! ```

pub mod data;
#[cfg(not(any(target_family = "wasm", feature = "every-architecture")))]
mod device_code;
pub mod ladders;

pub use engine::*;

/// The PTX of all kernels, with one module for each architecture that they are compiled for.
pub static KERNELS: Kernels = Kernels {
    modules: &MODULES,
    host_compiler: env!("LADDER_HOST_RUSTC"),
    build_folder: env!("OUT_DIR"),
    package_folder: env!("CARGO_MANIFEST_DIR"),
};

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Compiles the kernels for an architecture that the build script left out.
#[cfg(not(any(target_family = "wasm", feature = "every-architecture")))]
fn compile(arch: cuda_builder::NvvmArch) -> Result<String, String> {
    use std::fs::File;
    use std::path::Path;

    let (package, folder) = (Path::new(KERNELS.package_folder), Path::new(KERNELS.build_folder));
    // Tests start several programs at once. Each program waits here until another program has completely written the
    // file.
    let path = folder.join(format!("{arch}.lock"));
    let lock = File::create(&path).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|error| format!("cannot lock {}: {error}", path.display()))?;
    let file = device_code::builder(package, folder, arch).build().map_err(|error| error.to_string())?;
    std::fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// All ladders and pitfalls, and their kernels.
pub static CATALOG: Catalog =
    Catalog { ladders: ladders::ALL, pitfalls: kernels_gpu::pitfalls::PITFALLS, kernels: &KERNELS };

/// The ladders whose problems can be divided among several devices.
pub static SHARED_LADDERS: &[ranks::SharedLadder] = ladders::SHARED;

/// Returns all ladders, in the order in which they are taught.
pub fn ladders() -> &'static [Ladder] {
    CATALOG.ladders
}

/// Returns the ladder with this name.
///
/// # Errors
/// Returns [`Error::UnknownName`] with the nearest name when no ladder has this name.
pub fn ladder(name: &str) -> Result<&'static Ladder, Error> {
    CATALOG.ladder(name)
}
