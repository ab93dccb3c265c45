//! One program, with and without a driver: the example `devices` is run as a process of its own, against
//! stand-in drivers that are compiled here.

#![allow(clippy::unwrap_used)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The example's executable. Cargo puts examples beside the folder of the tests' own executables.
fn devices() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let path = folder.join(format!("devices{}", env::consts::EXE_SUFFIX));
    assert!(
        path.is_file(),
        "{} is not there; `cargo build -p libcuda --examples` builds it",
        path.display()
    );
    path
}

/// Compiles `tests/stand_in/driver.rs`, and gives the library's path.
fn stand_in(folder: &TempDir, cfgs: &[&str]) -> PathBuf {
    let library = folder.path().join("stand_in.so");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/driver.rs");
    let mut command = Command::new(rustc);
    command
        .args([
            "--edition=2024",
            "--crate-type=cdylib",
            "-Cpanic=abort",
            "-o",
        ])
        .arg(&library)
        .arg(source);
    command.args(cfgs.iter().flat_map(|cfg| ["--cfg", cfg]));
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    library
}

/// Runs the example with `LADDER_LIBCUDA` set so: its exit status, and the lines it printed.
fn run(library: Option<&Path>) -> (Option<i32>, Vec<String>) {
    let mut command = Command::new(devices());
    match library {
        Some(path) => command.env(libcuda::OVERRIDE, path),
        None => command.env_remove(libcuda::OVERRIDE),
    };
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&stderr),
        "",
        "the example writes to stdout alone"
    );
    (
        status.code(),
        String::from_utf8(stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn starts_on_this_machine_whatever_it_has() {
    let (code, lines) = run(None);
    let first = lines.first().unwrap();
    if first.starts_with("CUDA driver ") {
        // A driver, and perhaps a GPU: what cust says then is the machine's affair.
        assert!(code.is_some(), "ended by a signal: {lines:?}");
    } else {
        assert!(
            first.starts_with("no CUDA driver on this machine (looked for "),
            "{lines:?}"
        );
        assert_eq!(
            lines[1..],
            [r#"NoDevice: "no CUDA driver on this machine""#]
        );
        assert_eq!(code, Some(1));
    }
}

#[test]
fn a_path_that_names_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("libnothing.so");
    let (code, lines) = run(Some(&path));
    let start = format!(
        "no CUDA driver where LADDER_LIBCUDA says ({}: ",
        path.display()
    );
    assert!(lines[0].starts_with(&start), "{lines:?}");
    assert_eq!(
        lines[1..],
        [r#"NoDevice: "no CUDA driver on this machine""#]
    );
    assert_eq!(code, Some(1));
}

#[test]
fn a_file_that_is_no_library() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("libtext.so");
    std::fs::write(
        &path,
        "This is no library, however long it may be. ".repeat(50),
    )
    .unwrap();
    let (code, lines) = run(Some(&path));
    assert!(
        lines[0].starts_with("no CUDA driver where LADDER_LIBCUDA says ("),
        "{lines:?}"
    );
    // The loader's reason differs between systems; this is glibc's.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    assert!(lines[0].contains("invalid ELF header"), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_library_that_is_no_driver() {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("other.rs");
    std::fs::write(
        &source,
        "#[unsafe(no_mangle)] pub extern \"C\" fn other() {}",
    )
    .unwrap();
    let path = folder.path().join("libother.so");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command
        .args(["--edition=2024", "--crate-type=cdylib", "-o"])
        .arg(&path)
        .arg(source);
    assert!(command.status().unwrap().success());
    let (code, lines) = run(Some(&path));
    assert!(
        lines[0].contains("a library, but no CUDA driver: it has no cuInit"),
        "{lines:?}"
    );
    assert_eq!(code, Some(1));
}

#[test]
fn a_driver_is_used() {
    let folder = TempDir::new().unwrap();
    let library = stand_in(&folder, &[]);
    let (code, lines) = run(Some(&library));
    assert!(
        lines[0].starts_with(&format!("CUDA driver {}", library.display())),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["Stand-in 40, 3 MiB", "  7 multiprocessors"]);
    assert_eq!(code, Some(0));
}

#[test]
fn a_driver_without_a_device_has_the_word() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = run(Some(&stand_in(&folder, &["no_device"])));
    assert_eq!(lines[1..], [r#"NoDevice: "the stand-in has no device""#]);
    assert_eq!(code, Some(1));
}

#[test]
fn a_function_that_the_driver_lacks_is_an_error() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = run(Some(&stand_in(&folder, &["lacks_name"])));
    assert!(
        lines[0].contains("cuDeviceGetName"),
        "the status lists it: {lines:?}"
    );
    // The driver has no cuGetErrorString either, so the text is ours.
    assert_eq!(lines[1..], [r#"NotSupported: "CUDA_ERROR_NOT_SUPPORTED""#]);
    assert_eq!(code, Some(1));
}

#[test]
fn a_result_newer_than_the_bindings_is_an_unknown_error() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = run(Some(&stand_in(&folder, &["new_code"])));
    // The stand-in has a cuGetErrorString, which does not know 999: the text is ours again.
    assert_eq!(
        lines[1..],
        [
            "Stand-in 40, 3 MiB",
            r#"UnknownError: "CUDA_ERROR_UNKNOWN""#
        ]
    );
    assert_eq!(code, Some(1));
}
