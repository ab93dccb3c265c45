//! Tests installations on machines without some tools: `PATH` has only fake programs.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "../../crates/rust-cuda/locate/tests/script/mod.rs"]
mod script;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// The error of a task when `rustc` has no library sources.
const MISSING: &str = "\
error: no device compiler (rustc with library sources, and LLVM's opt and llc) on this machine
note: the active toolchain: 1.95.0 has no library sources
";

struct Machine(TempDir);

impl Machine {
    /// Creates a machine that has rustc without library sources, and LLVM's tools.
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        // xtask also looks for NVIDIA's tools next to its executable. Another process writes the copy; see
        // `script::write`.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_xtask")).arg(machine.path("xtask")).status();
        assert!(copied.unwrap().success());
        let sysroot = machine.path("sysroot");
        let rustc =
            format!("[ $1 = -vV ] && echo 'release: 1.95.0\nLLVM version: 22.1.2' || echo {}", sysroot.display());
        machine.add("rustc", &rustc);
        for tool in ["opt", "llc"] {
            machine.add(tool, "echo 'LLVM version 22.1.2 nvptx64'");
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Adds a program that is a shell script.
    fn add(&self, name: &str, script: &str) {
        fs::create_dir_all(self.path("bin")).unwrap();
        script::write(&self.path("bin").join(name), &format!("#!/bin/sh\n{script}\n"));
    }

    /// Runs a task and returns its exit code and its standard error.
    fn xtask(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(self.path("xtask"))
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.0.path())
            .env("CUDA_BUILDER_LLVM", self.path("bin"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn help_suggests_missing_rustup() {
    let (code, printed) = Machine::new().xtask(&["run"]);
    assert_eq!(code, Some(2));
    let help = printed.strip_prefix(MISSING).unwrap();
    assert!(help.starts_with("help: install rustup (https://rustup.rs)") && help.lines().count() == 1, "{printed}");
}

#[test]
fn rustup_errors_are_shown() {
    let machine = Machine::new();
    machine.add("rustup", "echo 'error: the toolchain is custom' >&2; exit 1");
    let (code, printed) = machine.xtask(&["run"]);
    assert_eq!(code, Some(2));
    let shown = "  Installing with rustup: rust-src llvm-tools\nerror: the toolchain is custom\n";
    assert_eq!(printed, format!("{shown}{MISSING}help: `rustup component add rust-src llvm-tools`\n"));
}

#[test]
fn rustup_installs_missing_components() {
    let machine = Machine::new();
    let core = machine.path("sysroot/lib/rustlib/src/rust/library/core");
    let install = format!(
        "[ \"$*\" = 'component add rust-src llvm-tools' ] && /bin/mkdir -p {0} && : > {0}/Cargo.toml",
        core.display()
    );
    machine.add("rustup", &install);
    let (code, printed) = machine.xtask(&["setup"]);
    assert!(code == Some(0) && printed.contains("Ready rustc 1.95.0"), "{printed}");
}

#[test]
fn an_interrupted_installation_is_repeated() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("sysroot/lib/rustlib/src/rust/library/core")).unwrap();
    fs::write(machine.path("sysroot/lib/rustlib/src/rust/library/core/Cargo.toml"), "").unwrap();
    // `--target FOLDER` are pip's eighth and ninth arguments.
    let pip =
        |install: &str| format!("[ $3 = --version ] && exit\nbin=$8/nvidia/cu13/bin\n/bin/mkdir -p $bin\n{install}");
    let setup = || machine.xtask(&["setup", "--nvidia"]);

    machine.add("python3", &pip("echo 'ERROR: No space left on device' >&2; exit 1"));
    let (code, printed) = setup();
    assert!(code == Some(1) && printed.contains("ERROR: No space left on device\nerror: pip could not"), "{printed}");

    machine.add("python3", &pip("kill -9 $PPID"));
    assert_eq!(setup().0, None);
    assert!(machine.path("target/nvidia/partial").exists());

    let tools = "for tool in ptxas nvcc cuobjdump nvdisasm; do\n\
                 echo '#!/bin/sh\necho release 13.5, V13.5.0' > $bin/$tool; /bin/chmod +x $bin/$tool\ndone";
    machine.add("python3", &pip(tools));
    let (code, printed) = setup();
    assert!(code == Some(0) && printed.contains("Ready"), "{printed}");
    assert!(!machine.path("target/nvidia/partial").exists());
    assert!(!setup().1.contains("Installing"));
}
