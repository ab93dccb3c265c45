//! Uses `cuda_std` as a crate of kernels does. Checks upstream's names, the messages about mistakes, and printing,
//! panics, `alloc` and floats on simt.
//!
//! Most tests need a device compiler. Without one they fail and print how to install it.
#![allow(clippy::unwrap_used)]

mod kernels;
mod misuse;
mod names;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Writes a crate that uses `cuda_std`, and also `cuda_builder` if `has_builder` is set.
fn krate(name: &str, has_builder: bool, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let nvptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let builder = format!("cuda_builder = {{ path = {:?} }}\n", nvptx.join("cuda_builder"));
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         cuda_std = {{ path = {:?}, features = [\"vek\"] }}\n{}\n[workspace]\n",
        nvptx.join("cuda_std"),
        if has_builder { &builder } else { "" },
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/lib.rs"), source).unwrap();
    // The crate uses the same dependency versions as this workspace, so that the compiled dependencies are reused.
    std::fs::copy(nvptx.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

/// Runs `cargo check` with these arguments on a crate. Third-party crates that were compiled for this workspace are
/// reused.
fn check(krate: &Path, arguments: &[&str]) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--config=profile.dev.debug=false", "--target-dir"])
        .arg(target)
        .args(arguments)
        .current_dir(krate)
        .output()
        .unwrap()
}
