//! Lets one program use `cust` on machines with and without an NVIDIA driver.
//!
//! # The two problems that it solves
//!
//! cust calls the CUDA driver, a library that comes with NVIDIA's kernel module: `libcuda.so.1` on Linux,
//! `nvcuda.dll` on Windows. It links that library in the ordinary way. So, first, cust *builds* only where a
//! CUDA installation is found, because the linker needs something to link against. And second, the program
//! *starts* only where the driver is installed, because the system's loader resolves a program's libraries
//! before its first instruction: on a laptop without a GPU there is no error to catch, and no `main`.
//!
//! Programs that are to start anywhere leave the driver out of their list of libraries and open it
//! themselves, with `dlopen`. NVIDIA's own runtime does. This crate does it for cust, which stays as it is:
//!
//! - **To build**, cust's build script asks the crate `find_cuda_helper` for an installation to link against. Ours, of
//!   the same name, asks for nothing.
//! - **To link**, this crate defines the functions that cust calls, `cuInit` and some hundred others, under
//!   their own names.
//! - **To run**, the first call chooses the driver, once: the real one where it finds a GPU, else the simulated one, which
//!   runs the same kernels on the CPU. From then on each of our functions is a jump through a table.
//!
//! [`CHOICE`], an environment variable, says which one: `gpu`, `sim`, or `auto` as without it. With `gpu` and no real driver,
//! each function returns `CUDA_ERROR_NO_DEVICE`, and `cust::init` is an `Err` like any other.
//!
//! # Using it
//!
//! In the `Cargo.toml` of the workspace, two crates take the place of the registry's. The second brings this one with it:
//!
//! ```toml
//! [patch.crates-io]
//! find_cuda_helper = { path = "crates/simt/cust/find_cuda_helper" }
//! cust_core = { path = "crates/simt/cust/core" }
//! ```
//!
//! The sources of programs that use cust stay as they are. Who depends on this crate too can ask it with [`status`]
//! what was found:
//!
//! ```
//! use cust::CudaFlags;
//! use cust::error::CudaError;
//!
//! match cust::init(CudaFlags::empty()) {
//!     // "CUDA driver libcuda.so.1", or "simulated CUDA driver"
//!     Ok(()) => println!("ready: {}", libcuda::status()),
//!     // "no CUDA driver on this machine (looked for libcuda.so.1, libcuda.so)"
//!     Err(CudaError::NoDevice) if !libcuda::status().is_loaded() => println!("{}", libcuda::status()),
//!     // A driver, but no GPU, or none that it can use.
//!     Err(error) => println!("{}: {error}", libcuda::status()),
//! }
//! ```
//!
//! [`OVERRIDE`], an environment variable, names another library to open: a driver in an unusual place, one
//! that logs its calls, a stand-in for a test.
//!
//! # Why the linker finds these functions
//!
//! cust depends on `cust_core`, which names this crate; so it is a part of every program that uses cust. rustc tells the
//! linker to take each `#[no_mangle]` function of each crate of a program. A driver function that is not in this
//! crate's list (`src/table.rs`), should cust come to need another, is an `undefined symbol` there.
//!
//! An executable does not export these functions, so the real driver, and other libraries that open it,
//! never meet them.
//!
//! # How errors are checked
//!
//! The compiler compares each signature here with the one in cust's bindings. A result that those bindings
//! do not know, from a driver newer than they are, arrives as `CudaError::UnknownError`; unchecked, it would
//! be an impossible value of a Rust enum. A driver that lacks a function answers `CudaError::NotSupported`
//! when it is called. An error always has a text, since cust's `Display` asks the driver for it.

pub use driver::{DEFAULT_DEVICE, Kernel, Resources, Simulation, launch_with};
pub use extra::{addresses, allow_shared, compiler_log, encode_tiled};
pub use peer::{Link, SideStream, carry_context, copy_peer, enable_peer, link};

mod codes;
mod extra;
mod load;
mod peer;
mod table;

use std::fmt;

/// The environment variable that chooses the driver: `gpu` for the real one, `sim` for the simulated one, `auto` for the
/// real one where it finds a GPU and else the simulated one.
pub const CHOICE: &str = "LADDER_DRIVER";

/// The environment variable that names the driver's library. When it is set, and not empty, no other is
/// looked for. A value without a slash is a name for the system's loader to find.
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
    /// The driver is there, and cust's calls reach it.
    Loaded {
        /// The library as it was opened: a name that the system's loader found, or what [`OVERRIDE`] says.
        path: String,
        /// The functions that this driver lacks. Calling one gives `CudaError::NotSupported`.
        missing: Vec<&'static str>,
    },
    /// The simulated driver takes cust's calls, and kernels run on the CPU.
    Simulated {
        /// Each library that was looked for before, and why it would not do, in one line. Empty when the simulated driver
        /// was asked for.
        tried: Vec<(String, String)>,
    },
    /// [`CHOICE`] has a value that it cannot have, and each of cust's calls gives `CudaError::NoDevice`.
    UnknownChoice(String),
    /// There is no driver, and each of cust's calls gives `CudaError::NoDevice`.
    NotFound {
        /// Each library that was looked for, and why it would not do, in one line.
        tried: Vec<(String, String)>,
        /// Whether [`OVERRIDE`] named the library; then the usual ones were not looked for.
        overridden: bool,
    },
}

impl Status {
    /// Whether there is a real driver. That says nothing about a GPU: `cust::init` does.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        matches!(self, Status::Loaded { .. })
    }

    /// Why there is no real driver, in one line; `None` when there is one.
    #[must_use]
    pub fn no_driver(&self) -> Option<String> {
        match self {
            Status::Loaded { .. } => None,
            Status::Simulated { tried } if tried.is_empty() => Some(format!("{CHOICE} asks for the simulated driver")),
            Status::Simulated { tried } => {
                Some(Status::NotFound { tried: tried.clone(), overridden: false }.to_string())
            }
            other => Some(other.to_string()),
        }
    }

    /// Whether kernels run on the CPU.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        matches!(self, Status::Simulated { .. })
    }
}

/// One line, without a full stop.
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
            Status::Simulated { .. } => f.write_str("simulated CUDA driver"),
            Status::UnknownChoice(choice) => {
                write!(f, "no CUDA driver: {CHOICE} is `{choice}`, and may be gpu, sim or auto")
            }
            // The user named this one library, so its error is reported.
            Status::NotFound { tried, overridden: true } => {
                write!(f, "no CUDA driver where {OVERRIDE} says")?;
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

/// The result of looking for the driver. The first call of this function, or of any driver function, looks for it; the
/// result stays the same until the process ends.
#[must_use]
pub fn status() -> &'static Status {
    &table::found().status
}
