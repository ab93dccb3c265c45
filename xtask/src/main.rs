//! `cargo xtask`: see the library for what it does.

use std::process::ExitCode;

use clap::Parser;
use xtask::cli::Cli;
use xtask::commands;
use xtask::style::{BAD, BOLD, paint};

fn main() -> ExitCode {
    let cli = Cli::parse();
    commands::perform(&cli.task).unwrap_or_else(|failure| {
        anstream::eprintln!("{}: {}", paint(BAD.bold(), "error"), failure.message);
        if let Some(hint) = &failure.hint {
            anstream::eprintln!("{}: {hint}", paint(BOLD, "hint"));
        }
        failure.exit_code()
    })
}
