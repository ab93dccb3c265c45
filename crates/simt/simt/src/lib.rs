#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! A kernel goes through these modules, each of which uses only those before it:
//!
//! - [`ptx`], a crate of its own, has the text as a syntax tree and knows PTX's opcodes.
//! - [`regs`], [`alu`], [`warp`] and [`memory`] are the operations on registers and memory, and execute them.
//!   Beside them, `vectors` asks questions about the addresses of a warp's lanes, and `traffic` says what an
//!   access costs.
//! - [`code`] is what a kernel is lowered to: instructions in a row, over numbered registers, each branch with
//!   the place where the lanes that it separates run together again.
//! - `decode` turns an instruction of the syntax tree into an operation; `layout` places variables; [`lower`]
//!   turns whole functions into code; [`Module`] holds the kernels of a text. `names` finds them.
//! - `host_simd` compiles the hot parts for the instruction sets of the host's CPU.
//! - [`run`] executes blocks of warps with a reconvergence stack, spread over the host's threads, and tells
//!   an observer ([`observe`]) what happens. [`counters`] is such an observer. The crates `simt-check`, with the
//!   sanitizers, and `simt-timing` have others.
//!
//! The crate must not know of ladders, rungs or problems, of real GPUs and their drivers, or of how many
//! multiprocessors or how much bandwidth a GPU has: it measures kernels, and a model of a device elsewhere combines
//! its numbers with the GPU's.

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
