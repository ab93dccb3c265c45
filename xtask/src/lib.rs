//! Looking at the kernels' PTX: `cargo xtask ptx`.
//!
//! A library, so that the tests over the real kernels read their PTX with the same code that shows it.

pub mod cli;
pub mod commands;
pub mod failure;
pub mod kernels;
pub mod ptx;
pub mod show;
pub mod style;
pub mod tools;
