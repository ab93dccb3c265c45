//! `cargo xtask new project`, as a person uses it: outside this workspace a project is written, and its tests pass without
//! a GPU and fail for a kernel that is wrong, with the test's own line.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn new_project(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(["new", "project"]).arg(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs cargo in the project, with what is compiled of other people's crates for this workspace.
fn cargo(project: &Path, arguments: &[&str]) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).args(["--config", "profile.dev.debug=false"]);
    // Optimizing them takes much longer than these tests.
    for krate in ["simt-ptx", "ladder-driver", "ladder-ptx"] {
        cargo.args(["--config", &format!("profile.dev.package.{krate}.opt-level=0")]);
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    cargo.current_dir(project).env("CARGO_TARGET_DIR", target).env("SIMT_TEST_DEVICE", "sim");
    // This test's own variables are not those of a person.
    for name in ["CARGO_MANIFEST_DIR", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(name);
    }
    cargo.output().unwrap()
}

fn test(project: &Path) -> Output {
    cargo(project, &["test", "--quiet", "--workspace"])
}

/// Returns the kernel and the test of docs/own-kernels.md, and the lines that import what they use.
fn documented() -> [&'static str; 3] {
    let blocks: Vec<&str> = include_str!("../../docs/own-kernels.md")
        .split("```rust,ignore\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0)
        .collect();
    ["pub unsafe fn smooth", "use core::", "#[test]"]
        .map(|part| *blocks.iter().find(|block| block.contains(part)).unwrap())
}

/// Asserts that what is published has no path of this machine. `ladder` is a link, which Git ignores.
fn assert_no_path_of_this_machine(folder: &Path, root: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            assert_no_path_of_this_machine(&path, root);
        } else if !entry.file_type().unwrap().is_symlink() {
            assert!(!fs::read_to_string(&path).unwrap().contains(root), "{}", path.display());
        }
    }
}

#[test]
fn a_project_of_ones_own() {
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("project/vectors");
    let _ = fs::remove_dir_all(&project);
    let made = new_project(&project);
    assert!(made.status.success(), "{}", said(&made));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    assert_no_path_of_this_machine(&project, root.to_str().unwrap());
    let ci = fs::read_to_string(project.join(".github/workflows/test.yml")).unwrap();
    assert!(ci.contains("LADDER_URL: \"\" # FILL IN") == said(&made).contains("fill in LADDER_URL"), "{}", said(&made));
    // The versions that this workspace was built with, so that nothing has to be loaded.
    fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();

    let again = new_project(&project);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("is not empty"), "{}", said(&again));

    let kernels = project.join("kernels/src/lib.rs");
    let written = fs::read_to_string(&kernels).unwrap();
    let [kernel, imports, test_of_kernel] = documented();
    let (before, tests) = written.split_once("#[cfg(test)]").unwrap();
    let tests = tests.trim_end().strip_suffix('}').unwrap();
    let right = format!("{before}{imports}\n{kernel}\n#[cfg(test)]{tests}\n{test_of_kernel}}}\n");
    fs::write(&kernels, &right).unwrap();
    let passed = test(&project);
    assert!(passed.status.success(), "{}", said(&passed));
    assert!(said(&passed).contains("2 passed"), "{}", said(&passed));
    let ptx = fs::read_to_string(project.join("target/kernels.ptx")).unwrap();
    assert!(ptx.contains(".entry add(") && ptx.contains(".entry smooth("), "{ptx}");

    // Other commands compile nothing but the project's own packages.
    for arguments in [["test", "--no-run", "--package=vectors-kernels"], ["build", "--bin", "vectors"]] {
        let built = said(&cargo(&project, &arguments));
        let others: Vec<_> =
            built.lines().filter(|line| line.contains("Compiling ") && !line.contains(" vectors")).collect();
        assert!(built.contains("Finished") && others.is_empty(), "{arguments:?}: {built}");
    }

    fs::write(&kernels, right.replace("a[i] + b[i]", "a[i] - b[i]")).unwrap();
    let failed = test(&project);
    let found = said(&failed);
    assert!(!failed.status.success(), "{found}");
    assert!(found.contains("Error: kernels/src/lib.rs:"), "{found}");
    assert!(found.contains("sim, size 31: element 1 is 0.5, expected is 1.5; 30 of 31 differ"), "{found}");
}

#[test]
fn names_that_cannot_be_a_package_are_refused() {
    for name in ["2fast", "größe", "a b"] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("project").join(name);
        let refused = new_project(&folder);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(said(&refused).contains("is not a name for a project"), "{}", said(&refused));
        assert!(!folder.exists());
    }
}
