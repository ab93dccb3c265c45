//! Differential testing of [`simt`] against a GPU, instruction by instruction.
//!
//! From a seed come random instances: an instruction in one of its forms (types, rounding, modifiers,
//! immediates) and operands for 32 lanes, edge values among them. [`generate`] writes them into PTX
//! kernels; a GPU and `simt` run the same text; [`compare`] asks for the same bits, and of the
//! approximate functions for the error that the PTX ISA allows.
//!
//! The GPU's answers are recorded once ([`record::Record`]), so that any machine repeats the comparison.

pub mod compare;
pub mod forms;
pub mod generate;
pub mod gpu;
pub mod plan;
pub mod random;
pub mod record;
pub mod sim;
pub mod tiles;
