//! The commands of the program `ladder`, and what every program with commands needs: arguments, output and exit codes.
//!
//! The input is a command line, the [environment of the program](Env) and the ladders. The output is text on two
//! writers and an exit code. Only this crate knows how results are shown and what an exit code means; it must not know
//! which ladders exist.
//!
//! Each command is a module with a `Command` in the list [`LADDER`]. Commands parse their arguments with `targets` and
//! show their results with `output`. The program `lab` has a separate list of commands, in the crate `lab`.

mod charts;
mod check;
pub mod command;
mod error;
mod html_report;
pub mod isolated;
pub mod launcher;
mod learn;
pub mod list;
pub mod output;
mod program;
mod ptx;
pub mod report;
pub mod run;
pub mod several;
pub mod targets;
mod timing;
mod why;

pub use command::{Env, FindExplain, Program, progress_bar};
pub use error::Error;
pub use html_report::{Changed, Mark, climb, difference};
pub use program::{captured, main, run_process};
pub use report::regime;

/// The program `ladder`.
pub const LADDER: Program = Program {
    name: "ladder",
    about: "Runs ladders of GPU kernels: each rung computes the same thing, a little faster, and teaches why",
    commands: &[&[
        list::LIST,
        run::RUN,
        check::CHECK,
        why::WHY,
        ptx::PTX,
        learn::LEARN,
        html_report::REPORT,
        list::DEVICES,
    ]],
    hidden: &[],
    without_arguments: Some(list::overview),
};
