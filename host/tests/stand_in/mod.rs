//! Stand-ins for NVIDIA's libraries, compiled when a test of this crate or of `benches` needs them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `tests/stand_in/<name>.rs` to a shared library: the folder that it is removed with, and its path.
pub fn built(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(format!("{name}.so"));
    // From either crate's folder.
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/stand_in");
    let source = here.join(format!("{name}.rs"));
    let built = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args([
            "--edition=2024",
            "--crate-type=cdylib",
            "-Cpanic=abort",
            "-Copt-level=1",
            "-o",
        ])
        .args([&library, &source])
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    (folder, library)
}
