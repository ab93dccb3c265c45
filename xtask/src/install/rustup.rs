//! The components that rustup can fetch for the pinned toolchain.

use std::process::Command;

use locate::device::TARGET;

use crate::console::status;
use crate::process::{output, root};

/// Asks rustup for the parts of the pinned toolchain that kernels are built with. Not every machine's rustup
/// can fetch, and there are other ways: a refusal is reported and no more.
pub(super) fn install() {
    if locate::on_path("rustup").is_empty() {
        return;
    }
    add("component", "llvm-tools");
    // With the target comes a compiled `core`; with the sources it is compiled here.
    if !add("target", TARGET) {
        add("component", "rust-src");
    }
}

pub(super) fn add(kind: &str, name: &str) -> bool {
    status("Running", format_args!("rustup {kind} add {name}"));
    // From the root, where rust-toolchain.toml says which toolchain.
    let mut rustup = Command::new("rustup");
    let added = output(rustup.args([kind, "add", name]).current_dir(root()));
    if let Err(failure) = &added {
        let mut lines = failure.message.lines();
        let reason = lines.find(|line| line.contains("error:"));
        let reason = reason.unwrap_or(&failure.message).trim_start_matches("error: ");
        status("Refused", format_args!("by rustup: {reason}"));
    }
    added.is_ok()
}
