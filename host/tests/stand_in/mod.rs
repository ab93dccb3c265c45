//! Stand-ins for NVIDIA's libraries. A test of this crate or of `benches` compiles them when it needs them.

pub mod clocked;

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use host::launch::Arg;
use host::{DeviceProperties, Options};

/// A stand-in for the CUDA driver that supports the kernels of the reduction.
pub static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| built("host/tests/stand_in/driver.rs"));

/// Compiles a file to a shared library. The path is relative to the root of the repository.
pub fn built(source: &str) -> PathBuf {
    // This path works from the folders of both crates.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(source);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = folder.join(source.file_name().unwrap()).with_extension("so");
    // The library is compiled in a separate folder, because rustc gives its object files the same names in both
    // programs that compile it. Other tests may have the old library open, so it is replaced and not overwritten.
    let folder_for_build = tempfile::tempdir_in(folder).unwrap();
    let new = folder_for_build.path().join("new.so");
    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-Copt-level=1", "-o"])
        .args([&new, &source])
        .env("LADDER_STAND_IN_KERNELS", kernels())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(new, &library).unwrap();
    library
}

/// Returns one line for each entry and block of the reduction's rungs. A line has the entry, the block, the elements
/// that a block processes, the shared memory of the launch, the index of n among the parameters, and whether the entry
/// writes a single result for all elements.
fn kernels() -> String {
    let reduce = host::ladder("reduce").unwrap();
    let problem = reduce.problem(&Options::default()).unwrap();
    let mut text = String::new();
    for rung in reduce.select(&[], &*problem).unwrap() {
        for block in reduce.blocks_of(rung, &*problem) {
            let launch = reduce.launch(rung, &*problem, Some(block), DeviceProperties::default()).unwrap();
            let is_number = |arg: &Arg| matches!(arg, Arg::U32(_));
            let n = launch.args.iter().position(is_number).unwrap();
            let (entry, shared, [threads, ..]) = (&launch.entry, launch.shared_bytes, block);
            let elements = launch.threads() * u64::from(rung.items_per_thread);
            let whole = rung.single_pass;
            writeln!(text, "{entry} {threads} {elements} {shared} {n} {whole}").unwrap();
        }
    }
    text
}
