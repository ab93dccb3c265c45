//! The systems other than Linux on x86-64.

use crate::console::Result;
use crate::install;
use crate::process::{cargo, root, visibly};

/// Targets of rustc that Ladder supports and that CI's Linux machine does not run.
const TARGETS: [&str; 3] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu", "aarch64-unknown-linux-gnu"];

/// Runs `cargo check` on the whole workspace, tests and benchmarks included, for the other systems.
///
/// # Errors
/// If rustc has no standard library for a target and rustup cannot install it, or if code does not compile.
pub(super) fn check() -> Result<()> {
    for target in TARGETS {
        install::target_library(target)?;
    }
    let mut check = cargo();
    check.args(["check", "--workspace", "--all-targets"]).args(TARGETS.map(|target| format!("--target={target}")));
    // Criterion's dependency alloca contains C code. Nothing is linked here, so no C compiler for the target is needed.
    visibly(check.current_dir(root()).env("TARGET_CC", "true").env("TARGET_AR", "true"))
}
