//! The CUDA driver, implemented on [`simt`]: what programs call as `cuInit`, `cuLaunchKernel` and so on, with a simulated
//! GPU behind it.
//!
//! [`function`] gives each function that the real driver exports, by its name, with C's calling convention. Two crates use
//! it: `ladder-libcuda` in programs that use cust, and `libcuda-so`, which exports all of them as `libcuda.so.1`.
//!
//! # How it works
//!
//! Each module uses only those before it:
//!
//! - `abi` is what the interface is made of: functions with C's calling convention, result codes, handles, messages.
//! - `code` finds PTX in the images that a program loads, and merges several into one.
//! - `gpu` has the simulated GPUs and all that is on them: devices, contexts, modules, memory, streams, graphs. What a
//!   program asks for becomes an operation (`op`), which a stream enqueues and `queue` does, in a thread of its own.
//! - `calls` has the functions that need objects of several kinds.
//! - `runtime` is what NVIDIA's runtime library asks for besides (`cuGetExportTable`), `symbols` has the functions by their
//!   names and versions (`cuGetProcAddress`), `process_end` is what is done when the process ends, and `simulation` is a side door for programs of this project.
//!
//! # Errors
//!
//! Every function returns the code that the real driver returns, and nothing else reaches the program: no panic, no
//! exit. What there is to say besides (which thread of which kernel, which line of the source) goes to the standard error, or to
//! the file that the environment variable [`LOG`] names. A function that is not implemented returns
//! `CUDA_ERROR_NOT_SUPPORTED`, and is named once.
//!
//! The crate must not know cust, ladders or who links it.

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
