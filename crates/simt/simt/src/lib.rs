#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! A kernel passes through these modules. Each module uses only the ones listed before it:
//!
//! - The separate crate [`ptx`] parses the text into a syntax tree and defines PTX's opcodes.
//! - [`regs`], [`alu`], [`warp`] and [`memory`] define the operations on registers and memory, and execute them.
//!   `vectors` examines the addresses of a warp's lanes, and `traffic` computes the cost of an access.
//! - [`code`] is the form that a kernel is lowered to: a sequence of instructions over numbered registers. Each
//!   branch names the point where its diverged lanes reconverge.
//! - `decode` turns an instruction of the syntax tree into an operation; `layout` places variables; [`lower`]
//!   turns whole functions into code; [`Module`] holds the kernels of a text. `names` finds kernels by name.
//! - `host_simd` compiles the hot parts for the instruction sets of the host's CPU.
//! - [`run`] executes blocks of warps with a reconvergence stack, spread over the host's threads, and reports
//!   each event to an observer ([`observe`]). [`counters`] is such an observer. The crates `simt-check` (the
//!   sanitizers) and `simt-timing` provide others.
//!
//! This crate must not depend on Ladder's concepts (ladders, rungs, problems), on real GPUs and their drivers, or on a
//! GPU's specifications, such as its number of multiprocessors or its bandwidth. The crate measures kernels. A device
//! model in another crate combines these measurements with the specifications of a GPU.

pub mod alu;
pub mod code;
pub mod counters;
mod decode;
mod demangle;
mod error;
mod host_simd;
mod layout;
pub mod lower;
pub mod matrix;
pub mod memory;
mod module;
mod names;
pub mod observe;
pub mod operands;
pub mod params;
pub mod regs;
pub mod run;
mod source_frames;
mod traffic;
mod vectors;
pub mod warp;

pub use counters::Counters;
#[doc(hidden)]
pub mod forms;
pub use demangle::{demangled, variable};
pub use host_simd::execute_alu;
pub use memory::global::{MemoryError, PhysicalMemory};
pub use memory::tensor::{Im2col, Swizzle, TensorElement, TensorMap};
pub use module::{Function, LoadError, Module};
pub use run::{
    Arg, Buffer, Config, Element, Fault, FaultKind, Frame, GeometryLimits, Instance, InstanceError, Launch,
    LaunchError, Observed, Schedule, Simulator,
};
pub use source_frames::library_frames;
