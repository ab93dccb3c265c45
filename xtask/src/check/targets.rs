//! Checks systems other than Linux on x86-64.

use crate::console::{Result, status};
use crate::install::{self, aarch64};
use crate::process::{cargo, root, run_showing_output};

/// Targets of rustc that Ladder supports and that CI's Linux machine does not run.
const TARGETS: [&str; 3] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu", AARCH64];

const AARCH64: &str = "aarch64-unknown-linux-gnu";

/// Runs `cargo check` on the whole workspace, including tests and benchmarks, for the other systems.
///
/// # Errors
/// Returns a failure when rustc has no standard library for a target and rustup cannot install it, or when code does
/// not compile.
pub(super) fn check() -> Result<()> {
    for target in TARGETS {
        install::target_library(target)?;
    }
    let mut check = cargo();
    check.args(["check", "--workspace", "--all-targets"]).args(TARGETS.map(|target| format!("--target={target}")));
    // Criterion's dependency alloca contains C code. Nothing is linked here, so no C compiler for the target is needed.
    run_showing_output(check.current_dir(root()).env("TARGET_CC", "true").env("TARGET_AR", "true"))
}

/// Runs the simulator's tests for Linux on aarch64 in an emulator. Skips them if the emulator cannot be installed.
///
/// # Errors
/// Returns a failure when rustc has no standard library for the target and rustup cannot install it, or when a test
/// fails.
pub(super) fn emulate() -> Result<()> {
    if let Err(failure) = aarch64::install_if_missing() {
        status("Skipping", format_args!("the simulator's tests on aarch64: {failure}"));
        return Ok(());
    }
    install::target_library(AARCH64)?;
    let mut test = cargo();
    test.args(["test", "--no-fail-fast", "--target", AARCH64])
        .args(["-p", "ladder-ptx", "-p", "ptx-tests", "-p", "simt-isa"])
        .args(["-p", "simt-ptx", "-p", "simt-tests", "-p", "simt-cli"])
        // The first test starts a program for aarch64, which the kernel does not run. The second takes three minutes in
        // the emulator, and its result does not depend on the system. The third starts thousands of processes from two
        // threads, and the emulator's `fork` can deadlock there; ptxas is a program for x86-64 in any case.
        .args(["--", "--skip", "the_process_exits_with_the_code", "--skip", "the_document_matches_the_decoder"])
        .args(["--skip", "ptxas::"])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", aarch64::LINKER)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{} -L /usr/aarch64-linux-gnu", aarch64::EMULATOR),
        );
    run_showing_output(test.current_dir(root()))
}
