//! The commands of the program `lab`, for those who maintain Ladder: whether the simulator and the model agree with GPUs,
//! whether the checks find faults, how rungs scale, and the documents that record all of it.
//!
//! Like those of `ladder`, the commands take their arguments, devices and output from `cli`. This crate must not know
//! which ladders exist. The program itself is in `benches`, which adds the comparison with CUDA C++ and NVIDIA's libraries.

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

/// The program `lab`. It also runs the commands of `ladder`, for its processes and its records.
pub const LAB: Program = Program {
    name: "lab",
    about: "Measures how well Ladder itself works: the simulator, the model, the checks, several GPUs",
    commands: &[COMMANDS],
    hidden: LADDER.commands,
    without_arguments: None,
};
