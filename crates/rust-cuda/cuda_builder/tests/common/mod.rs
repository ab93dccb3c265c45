//! Creates small crates of kernels, and compiles them to PTX.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};
use locate::nvidia::{Tool, find};
use simt::Module;

/// Writes a crate's manifest with these dependencies.
pub fn manifest(folder: &Path, name: &str, dependencies: &str) {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependencies}\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The crate uses the same dependency versions as this workspace, so that the crates compiled for its kernels are
    // reused.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(4).unwrap();
    std::fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

/// Returns the dependency on this repository's `cuda_std`, without the features that take long to compile.
pub fn cuda_std() -> String {
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("cuda_std");
    format!("cuda_std = {{ path = {cuda_std:?}, default-features = false }}\n")
}

/// Writes a crate under the target folder, where builds share one compiled `core`. The last part of the path is the
/// crate's name.
pub fn write_crate(path: &str, dependencies: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(path);
    manifest(&folder, path.rsplit('/').next().unwrap(), dependencies);
    std::fs::write(folder.join("src/lib.rs"), source).unwrap();
    folder
}

/// Writes a crate with this library source that uses `cuda_std`.
pub fn krate(path: &str, source: &str) -> PathBuf {
    let source = format!(
        "#![no_std]\n#![allow(unused_features, unused_imports)]\n#![cfg_attr(target_arch = \"nvptx64\", \
         feature(asm_experimental_arch, f128, portable_simd))]\n\
         use core::mem::MaybeUninit;\nuse cuda_std::{{address_space, kernel, shared, thread, warp}};\n{source}"
    );
    write_crate(path, &cuda_std(), &source)
}

/// Returns the PTX of a crate with this library source.
pub fn ptx(name: &str, arch: NvvmArch, source: &str) -> String {
    read_checked(&CudaBuilder::new(krate(name, source)).arch(arch).build().unwrap())
}

/// Reads PTX and checks that simt accepts it, and NVIDIA's assembler too if it is installed.
pub fn read_checked(path: &Path) -> String {
    let ptx = std::fs::read_to_string(path).unwrap();
    Module::from_ptx(ptx.as_str()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let arch = ptx.lines().find_map(|line| line.strip_prefix(".target ")).unwrap().split(',').next().unwrap();
    if let Ok(ptxas) = find(Tool::Ptxas) {
        // `-c` assembles the PTX as one of several objects. For a whole program, ptxas would add up the registers and
        // the stack of all kernels. This takes most of a minute for the suite. simt has already checked that every
        // function is defined.
        let mut command = Command::new(ptxas.path);
        command.args(["-arch", arch, "-O0", "-c", "-o", "/dev/null"]).arg(path);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    }
    ptx
}

/// Returns the error of building a crate with this library source.
pub fn build_error(name: &str, source: &str) -> CudaBuilderError {
    CudaBuilder::new(krate(name, source)).build().unwrap_err()
}

/// Returns the text of one kernel.
pub fn entry<'a>(ptx: &'a str, name: &str) -> &'a str {
    let start = ptx.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no {name} in {ptx}"));
    &ptx[start..start + ptx[start..].find("\n}").unwrap()]
}

/// Checks that a text contains all of these parts.
#[track_caller]
pub fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}
