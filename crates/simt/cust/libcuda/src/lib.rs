//! Lets the same program use `cust` on machines with and without an NVIDIA driver.
//!
//! # The two problems that this crate solves
//!
//! cust calls the CUDA driver, a library that comes with NVIDIA's kernel module: `libcuda.so.1` on Linux, `nvcuda.dll`
//! on Windows. cust links that library in the ordinary way, which has two consequences. cust *builds* only if a CUDA
//! installation is found, because the linker needs a library to link against. And the program *starts* only if the
//! driver is installed, because the system's loader resolves a program's libraries before its first instruction. On a
//! laptop without a GPU, there is no error to catch and `main` never runs.
//!
//! Programs that must start anywhere leave the driver out of their list of libraries and open it with `dlopen`, as
//! NVIDIA's runtime does. This crate does the same for an unmodified cust:
//!
//! - **To build**, cust's build script calls the crate `find_cuda_helper` to find an installation to link against. Our
//!   crate with the same name looks for nothing.
//! - **To link**, this crate defines the functions that cust calls (`cuInit` and about a hundred others) under the same
//!   names.
//! - **To run**, the first call selects the driver, once: the real driver if it finds a GPU, else simt's driver, which
//!   runs the same kernels on the CPU. From then on, each of our functions is a jump through a table.
//!
//! The environment variable [`CHOICE`] selects the driver: `gpu`, `sim`, or `auto`, which is the default. With `gpu`
//! and no real driver, each function returns `CUDA_ERROR_NO_DEVICE`, and `cust::init` returns an ordinary `Err`.
//!
//! # Using it
//!
//! In the `Cargo.toml` of the workspace, two crates replace the registry's. The second crate depends on this one:
//!
//! ```toml
//! [patch.crates-io]
//! find_cuda_helper = { path = "crates/simt/cust/find_cuda_helper" }
//! cust_core = { path = "crates/simt/cust/core" }
//! ```
//!
//! The sources of programs that use cust do not change. A program that also depends on this crate can call [`status`]
//! to find out which driver was found:
//!
//! ```
//! use cust::CudaFlags;
//! use cust::error::CudaError;
//!
//! match cust::init(CudaFlags::empty()) {
//!     // "CUDA driver libcuda.so.1", or "simt's CUDA driver"
//!     Ok(()) => println!("ready: {}", libcuda::status()),
//!     // "no CUDA driver on this machine (looked for libcuda.so.1, libcuda.so)"
//!     Err(CudaError::NoDevice) if !libcuda::status().is_loaded() => println!("{}", libcuda::status()),
//!     // The driver found no GPU, or none that it can use.
//!     Err(error) => println!("{}: {error}", libcuda::status()),
//! }
//! ```
//!
//! The environment variable [`OVERRIDE`] names another library to open, such as a driver in an unusual place, a driver
//! that logs its calls, or a stand-in for a test.
//!
//! # Why the linker finds these functions
//!
//! cust depends on `cust_core`, which depends on this crate, so this crate is part of every program that uses cust.
//! rustc tells the linker to keep each `#[no_mangle]` function of each crate of a program. If a future cust needs a
//! function that is not in this crate's list (`src/table.rs`), the linker reports an `undefined symbol`.
//!
//! An executable does not export these functions, so they never interfere with the real driver or with other libraries
//! that open it.
//!
//! # How errors are checked
//!
//! The compiler compares each signature in this crate with the one in cust's bindings. If a newer driver returns a
//! result that the bindings do not know, cust gets `CudaError::UnknownError`. Without this check, the result would be
//! an invalid value of a Rust enum. If the driver lacks a function, calling it returns `CudaError::NotSupported`. Every
//! error has a text, because cust's `Display` calls the driver to get it.

pub use driver::{DEFAULT_DEVICE, Kernel, Resources, Simulation, launch_with};
pub use extra::{addresses, allow_shared, compiler_log, encode_tiled};
pub use peer::{Link, SideStream, carry_context, copy_peer, enable_peer, link};

mod codes;
mod extra;
mod load;
mod peer;
mod table;

use std::fmt;

/// The environment variable that selects the driver: `gpu` for the real driver, `sim` for simt's driver, `auto` for the
/// real driver if it finds a GPU and simt's driver otherwise.
pub const CHOICE: &str = "LADDER_DRIVER";

/// The environment variable that names the driver's library. If it is set and not empty, no other library is tried. The
/// system's loader searches for a value without a slash.
pub const OVERRIDE: &str = "LADDER_LIBCUDA";

/// The result of looking for the CUDA driver.
///
/// ```
/// let tried = vec![("libcuda.so.1".to_owned(), "no such file".to_owned())];
/// let status = libcuda::Status::NotFound { tried, overridden: false };
/// assert_eq!(status.to_string(), "no CUDA driver on this machine (looked for libcuda.so.1)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// A driver was found, and cust's calls reach it.
    Loaded {
        /// The name or path with which the library was opened: a name that the system's loader found, or the value of
        /// [`OVERRIDE`].
        path: String,
        /// The functions that this driver lacks. Calling one returns `CudaError::NotSupported`.
        missing: Vec<&'static str>,
    },
    /// cust's calls reach simt's driver, and kernels run on the CPU.
    Simulated {
        /// Each library that was tried first, and why it was rejected, in one line. Empty if [`CHOICE`] selects simt's
        /// driver.
        tried: Vec<(String, String)>,
    },
    /// [`CHOICE`] has an invalid value, and each of cust's calls returns `CudaError::NoDevice`.
    UnknownChoice(String),
    /// There is no driver, and each of cust's calls returns `CudaError::NoDevice`.
    NotFound {
        /// Each library that was tried, and why it was rejected, in one line.
        tried: Vec<(String, String)>,
        /// Whether [`OVERRIDE`] named the library. If so, the usual libraries were not tried.
        overridden: bool,
    },
}

impl Status {
    /// Returns whether there is a real driver. A driver does not imply a GPU; call `cust::init` to find out.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        matches!(self, Status::Loaded { .. })
    }

    /// Returns the reason why there is no real driver, in one line; `None` if there is one.
    #[must_use]
    pub fn no_driver(&self) -> Option<String> {
        match self {
            Status::Loaded { .. } => None,
            Status::Simulated { tried } if tried.is_empty() => Some(format!("{CHOICE} selects simt's CUDA driver")),
            Status::Simulated { tried } => {
                Some(Status::NotFound { tried: tried.clone(), overridden: false }.to_string())
            }
            other => Some(other.to_string()),
        }
    }

    /// Returns whether kernels run on the CPU.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        matches!(self, Status::Simulated { .. })
    }
}

/// Writes one line without a period.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Loaded { path, missing } => {
                write!(f, "CUDA driver {path}")?;
                if !missing.is_empty() {
                    write!(f, " (without {})", missing.join(", "))?;
                }
                Ok(())
            }
            Status::Simulated { .. } => f.write_str("simt's CUDA driver"),
            Status::UnknownChoice(choice) => {
                write!(f, "no CUDA driver: {CHOICE} is `{choice}`, but must be gpu, sim or auto")
            }
            // The user named exactly one library, so report its error.
            Status::NotFound { tried, overridden: true } => {
                write!(f, "no CUDA driver at the path in {OVERRIDE}")?;
                tried.iter().try_for_each(|(path, reason)| write!(f, " ({path}: {reason})"))
            }
            Status::NotFound { tried, overridden: false } => {
                let paths: Vec<&str> = tried.iter().map(|(path, _)| path.as_str()).collect();
                let paths = paths.join(", ");
                write!(f, "no CUDA driver on this machine (looked for {paths})")
            }
        }
    }
}

/// Returns the result of looking for the driver. The first call of this function, or of any driver function, looks for
/// the driver. The result stays the same until the process ends.
#[must_use]
pub fn status() -> &'static Status {
    &table::found().status
}
