//! The CUDA driver, implemented on [`simt`]: the functions that programs call, such as `cuInit` and `cuLaunchKernel`,
//! operating on the device `sim`.
//!
//! [`function`] returns the function that the real driver exports under a name, with C's calling convention. Two crates
//! use it: `ladder-libcuda` in programs that use cust, and `libcuda-so`, which exports all functions as `libcuda.so.1`.
//!
//! # How it works
//!
//! Each module uses only the modules listed before it:
//!
//! - `abi` holds the building blocks of the interface: C functions, result codes, handles, messages.
//! - `code` finds PTX in the images that a program loads, and merges several PTX modules into one.
//! - `gpu` holds the devices and everything that programs create on them: contexts, modules, memory, streams, graphs.
//!   Each request of a program becomes an operation (`op`). A stream enqueues the operation, and `queue` runs it on a
//!   separate thread.
//! - `calls` holds the functions that need objects of several kinds.
//! - `runtime` holds the private function tables of NVIDIA's runtime library (`cuGetExportTable`).
//! - `symbols` finds functions by name and version (`cuGetProcAddress`).
//! - `process_end` runs at the end of the process.
//! - `simulation` is an entry point for programs of this project.
//!
//! # Errors
//!
//! Every function returns the code that the real driver returns, and nothing else reaches the program: no panic, no
//! exit. Details, such as the thread of a kernel and the source line, go to standard error, or to the file named by the
//! environment variable [`LOG`]. A function that is not implemented returns `CUDA_ERROR_NOT_SUPPORTED`, and the log
//! names it once.
//!
//! This crate must not depend on cust, on ladders or on the crates that link it.

mod abi;
mod calls;
mod code;
mod gpu;
mod process_end;
mod runtime;
mod simulation;
mod symbols;

pub use abi::call::Function;
pub use abi::report::{LOG, tell};
pub use abi::watch::{Watcher, watch};
pub use code::image::DRIVER_VERSION;
pub use gpu::device::{DEFAULT_DEVICE, DEVICE, DEVICES, description};
pub use gpu::sanitize::{SANITIZE, SANITIZE_EXIT, SCHEDULES};
pub use gpu::state::is_inside;
pub use simulation::{Kernel, Resources, Simulation, launch_with};
pub use symbols::function;

/// The functions of all modules.
const ALL: &[&[&[abi::call::Entry]]] =
    &[gpu::FUNCTIONS, calls::FUNCTIONS, &[abi::error::FUNCTIONS, runtime::FUNCTIONS, symbols::FUNCTIONS]];
