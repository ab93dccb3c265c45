//! `cargo xtask run`.

use std::process::ExitCode;

use cuda_builder::NvvmArch;

use crate::cli::Run;
use crate::failure::{Failure, Result};
use crate::show::list;
use crate::style::status;
use crate::tools::nvidia::{self, Tool};
use crate::tools::{assemble, cargo, gpu};
use crate::{kernels, setup};

pub(super) fn run(options: &Run) -> Result<ExitCode> {
    setup::device()?;
    match gpu::driver() {
        Some(driver) if driver.may_run() => ladder(options),
        _ => without_gpu(),
    }
}

fn ladder(options: &Run) -> Result<ExitCode> {
    let mut command = cargo::cargo();
    command
        .args([
            "run",
            "--release",
            "--package",
            "host",
            "--bin",
            "ladder",
            "--",
            "run",
            "reduce",
        ])
        .args(&options.args);
    status(
        "Running",
        format_args!("ladder run reduce {}", options.args.join(" ")),
    );
    let status = command
        .status()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    // The program has said what was wrong.
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// What can be done without a GPU: everything up to loading the kernels.
fn without_gpu() -> Result<ExitCode> {
    let built = kernels::build(NvvmArch::default())?;
    let [ptxas] = nvidia::need([Tool::Ptxas])?;
    let mut shown = None;
    for arch in assemble::ARCHITECTURES {
        status(
            "Assembling",
            format_args!("for {arch} with ptxas {}", ptxas.version),
        );
        let usages = assemble::usages(&ptxas, &built.ptx, arch)?;
        shown.get_or_insert_with(|| list::rows(&built.module, Some((arch, &usages))));
    }
    let rows = shown.unwrap_or_default();
    anstream::print!("{}", list::text(&rows));
    anstream::println!(
        "\nThere is no GPU on this machine: nothing was run. Instead, {} kernels were built and assembled for {}; \
         the table is for {}.",
        rows.len(),
        assemble::ARCHITECTURES.join(", "),
        assemble::ARCHITECTURES[0],
    );
    Ok(ExitCode::SUCCESS)
}
