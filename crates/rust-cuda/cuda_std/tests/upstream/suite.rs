//! `cuda_std` as a kernels crate uses it: upstream's names, the messages about mistakes, and what printing, panics, `alloc`
//! and the floats do on simt.
//!
//! Most of it needs a device compiler; without one it fails and says how to get it.
#![allow(clippy::unwrap_used)]

mod kernels;
mod misuse;
mod names;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Writes a crate that uses `cuda_std` and `cuda_builder`, or only the first.
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
    // The versions that this workspace is built with, so that what is compiled for it serves the crate too.
    std::fs::copy(nvptx.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

/// Runs `cargo check` with these arguments on a crate, with what is compiled of other people's crates for this workspace.
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
