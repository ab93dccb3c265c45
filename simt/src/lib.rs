//! A SIMT machine: takes PTX text and runs it warp by warp on the CPU.
//!
//! Three rooms, as in a small compiler with an interpreter: [`parse`] (text to AST), [`lower`] (AST to flat
//! [`code`] over numbered registers, with the place where each branch's ways meet), and [`run`] (warps of
//! 32 lanes, structure-of-arrays registers, a reconvergence stack, blocks spread over the host's cores).

pub mod alu;
pub mod cli;
pub mod code;
mod control;
pub mod counters;
mod isa;
pub mod lower;
pub mod memory;
mod module;
pub mod observe;
pub mod parse;
pub mod regs;
pub mod run;
#[cfg(test)]
mod testing;
pub mod warp;

pub use counters::Counters;
pub use module::{Function, LoadError, Module};
pub use run::{Arg, Buffer, Config, Element, Fault, FaultKind, LaunchError, Machine};
