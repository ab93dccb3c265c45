//! Developer tasks: `cargo xtask setup`, `doctor`, `ptx`, `run` and `test`.

pub mod cli;
pub mod commands;
pub mod failure;
pub mod setup;
pub mod show;
pub mod style;
pub mod tools;
