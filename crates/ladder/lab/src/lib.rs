//! The commands of the program `lab`, for maintainers of Ladder. They check whether the simulator and the model agree
//! with GPUs, whether the sanitizers find bugs, and how rungs scale. They also record the results in documents.
//!
//! Like the commands of `ladder`, these commands use `cli` for arguments, devices and output. This crate must not know
//! which ladders exist. The program itself is in `benches`, which adds the comparison with CUDA C++ and NVIDIA's
//! libraries.

mod agree;
mod basics;
mod launch;
mod mutate;
mod occupancy;
mod pitfalls;
mod predict;
mod record;
mod scaling;

use cli::command::Command;
use cli::{LADDER, Program};

/// The commands of this crate.
pub const COMMANDS: &[Command] = &[
    agree::AGREE,
    basics::BASICS,
    occupancy::OCCUPANCY,
    predict::PREDICT,
    mutate::MUTATE,
    pitfalls::PITFALLS,
    scaling::SCALING,
    launch::LAUNCH,
    record::RECORD,
];

/// The program `lab`. `lab` also runs the commands of `ladder`, in child processes and to record their results.
pub const LAB: Program = Program {
    name: "lab",
    about: "Measures the quality of Ladder itself: the simulator, the model, the checks and multi-GPU runs",
    commands: &[COMMANDS],
    hidden: LADDER.commands,
    without_arguments: None,
};
