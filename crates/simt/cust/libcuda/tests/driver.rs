//! Runs one program with and without a driver: the example `devices` runs as a separate process with stand-in drivers
//! that are compiled here.

#![allow(clippy::unwrap_used)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Returns the example's executable. Cargo puts examples in a folder next to the folder of the tests' executables.
fn devices() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let path = folder.join(format!("devices{}", env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "{} is not there; `cargo build -p ladder-libcuda --examples` builds it", path.display());
    path
}

/// Compiles a Rust file to a library in `folder` and returns the library's path.
fn library(folder: &TempDir, source: &Path, cfgs: &[&str]) -> PathBuf {
    let library = folder.path().join("stand_in.so");
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-o"]);
    command.args([&library, source]);
    command.args(cfgs.iter().flat_map(|cfg| ["--cfg", cfg]));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    library
}

/// Compiles the stand-in driver of the tests in `host`.
fn stand_in(folder: &TempDir, cfgs: &[&str]) -> PathBuf {
    let source = "../../../../host/tests/stand_in/driver.rs";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    library(folder, &source, cfgs)
}

/// cust's error when there is no driver.
const NO_DRIVER: &str = r#"NoDevice: "no CUDA driver on this machine""#;

/// Runs the example with a value of `LADDER_LIBCUDA` and a fault of the stand-in. Returns the exit code and the output
/// lines.
fn run(library: Option<&Path>, fault: &str) -> (Option<i32>, Vec<String>) {
    let mut command = Command::new(devices());
    command.env("LADDER_STAND_IN", fault).env_remove(libcuda::CHOICE);
    match library {
        Some(path) => command.env(libcuda::OVERRIDE, path),
        None => command.env_remove(libcuda::OVERRIDE),
    };
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "", "the example writes only to stdout");
    let out = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), out.lines().map(str::to_owned).collect())
}

/// Checks that the example fails with this library: the first line contains `words`, and cust finds no driver.
#[track_caller]
fn no_driver(library: &Path, words: &str) {
    let (code, lines) = run(Some(library), "");
    let start = format!("no CUDA driver at the path in LADDER_LIBCUDA ({}: ", library.display());
    assert!(lines[0].starts_with(&start), "{lines:?}");
    assert!(lines[0].contains(words), "{lines:?}");
    assert_eq!(lines[1..], [NO_DRIVER]);
    assert_eq!(code, Some(1));
}

#[test]
fn starts_with_and_without_a_gpu() {
    let (code, lines) = run(None, "");
    let first = lines.first().unwrap();
    // A GPU, or the device `sim` in its place: there is a device in both cases.
    assert!(first.starts_with("CUDA driver ") || first == "simt's CUDA driver", "{lines:?}");
    assert!(lines.len() >= 3, "{lines:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn sim_can_be_selected() {
    let output = Command::new(devices()).env(libcuda::CHOICE, "sim").output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "simt's CUDA driver");
    assert!(lines[1].contains("(simulated), "), "{lines:?}");
}

#[test]
fn an_invalid_choice_is_reported() {
    let output = Command::new(devices()).env(libcuda::CHOICE, "cpu").output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let first = out.lines().next().unwrap();
    assert_eq!(first, "no CUDA driver: LADDER_DRIVER is `cpu`, but must be gpu, sim or auto");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_library_that_is_not_a_driver_is_rejected() {
    let folder = TempDir::new().unwrap();
    no_driver(&folder.path().join("libnothing.so"), "");

    let text = folder.path().join("libtext.so");
    let words = "This is not a library, however long it may be. ";
    std::fs::write(&text, words.repeat(50)).unwrap();
    // The loader's error message differs between systems; this is glibc's message.
    let reason = match cfg!(all(target_os = "linux", target_env = "gnu")) {
        true => "invalid ELF header",
        false => "",
    };
    no_driver(&text, reason);

    let source = folder.path().join("other.rs");
    std::fs::write(&source, "#[unsafe(no_mangle)] pub extern \"C\" fn other() {}").unwrap();
    let other = library(&folder, &source, &[]);
    no_driver(&other, "the library is not a CUDA driver: it has no cuInit");
}

#[test]
fn uses_the_driver_that_is_named() {
    let folder = TempDir::new().unwrap();
    let library = stand_in(&folder, &[]);
    let (code, lines) = run(Some(&library), "");
    let start = format!("CUDA driver {}", library.display());
    assert!(lines[0].starts_with(&start), "{lines:?}");
    assert_eq!(lines[1..], ["Stand-in, 2048 MiB", "  7 multiprocessors"]);
    assert_eq!(code, Some(0));
}

#[test]
fn the_error_text_is_the_drivers() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = run(Some(&stand_in(&folder, &[])), "no_device");
    assert_eq!(lines[1..], [r#"NoDevice: "the stand-in has no device""#]);
    assert_eq!(code, Some(1));
}

#[test]
fn a_missing_function_is_an_error() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = run(Some(&stand_in(&folder, &["lacks_name"])), "");
    assert!(lines[0].contains("cuDeviceGetName"), "the status lists it: {lines:?}");
    // The driver has no cuGetErrorString either, so the text is ours.
    assert_eq!(lines[1..], [r#"NotSupported: "CUDA_ERROR_NOT_SUPPORTED""#]);
    assert_eq!(code, Some(1));
}

#[test]
fn a_newer_result_is_an_unknown_error() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = run(Some(&stand_in(&folder, &[])), "new_code");
    // The stand-in's cuGetErrorString does not know 999, so the text is ours again.
    assert_eq!(lines[1..], ["Stand-in, 2048 MiB", r#"UnknownError: "CUDA_ERROR_UNKNOWN""#]);
    assert_eq!(code, Some(1));
}
