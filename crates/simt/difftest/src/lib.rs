//! Differential testing of [`simt`] against a GPU, instruction by instruction.
//!
//! A seed determines random instances: an instruction in one of its forms (types, rounding, modifiers, immediates), and
//! operands for 32 lanes, including edge cases. [`generate`] writes the instances into PTX kernels. A GPU and `simt`
//! run the same text. [`compare`] requires equal bits, also for approximate functions.
//!
//! The GPU's answers are recorded once ([`record::Record`]), so that any machine can repeat the comparison.

pub mod compare;
pub mod forms;
pub mod generate;
pub mod gpu;
pub mod plan;
pub mod random;
pub mod record;
pub mod sim;
pub mod tiles;
