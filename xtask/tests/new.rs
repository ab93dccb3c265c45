//! Makes additions to a copy of this workspace: a rung and a ladder with `cargo xtask new`, and by hand an instruction,
//! a sanitizer and a metric as in the table of docs/CONTRIBUTING.md. `ladder check` first reports the new ladder as
//! wrong. Then the kernel is filled in, and the rung and the ladder are listed, checked, run, profiled and shown.
//!
//! The copy keeps one ladder, and reuses the crates that these tests were built with. So it builds in seconds, whereas
//! a whole build takes minutes.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The body of the new ladder's first rung.
const PLUS_ONE: &str = "    \
    let i = cuda_std::thread::index_1d();
    if i < n {
        // SAFETY: `i < n`, so element `i` exists in both arrays, and only this thread writes `output[i]`.
        unsafe { *output.add(i as usize) = (*input.add(i as usize)).wrapping_add(1) };
    }
";

/// The ladders that are removed from the copy.
const LEFT_OUT: [&str; 7] = ["attention", "gemm", "histogram", "matmul", "shuffle", "softmax", "transpose"];

/// The packages that differ in the copy.
const CHANGED: [&str; 6] = ["host", "kernels-gpu", "ladder-profile", "simt-check", "simt-isa", "simt-ptx"];

/// A sanitizer that reports every reduction.
const SANITIZER: &str = r#"//! Reports reductions.

use std::sync::Arc;

use simt::observe::{Access, AccessKind, Places, Site, WarpId};
use simt::run::Simulator;

use super::checker::Checker;
use super::facts::LaunchFacts;
use super::finding::{Findings, RawFinding, ThreadAtSite};

pub(super) struct Reductions {
    findings: Findings,
}

impl Reductions {
    pub(super) fn new(_: &mut Simulator, _: Arc<LaunchFacts>) -> Self {
        Self { findings: Findings::default() }
    }
}

impl Checker for Reductions {
    fn located(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, _: &Places<'_>) {
        if access.kind == AccessKind::Reduction {
            let party = ThreadAtSite { site, block: warp_id.block, thread: warp_id.warp * 32 };
            let what = "reduction of memory".to_owned();
            self.findings.add("reduction", site, None, 1, || RawFinding {
                what,
                action: None,
                help: "sum in registers".into(),
                party,
                address: None,
                place: None,
                other: None,
            });
        }
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
"#;

/// A kernel in which every thread of a warp adds `!(6 & 3)`, which is -3.
const NAND: &str = ".version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 to)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [to];
    mov.b32 %r0, 6;
    nand.b32 %r1, %r0, 3;
    red.global.add.s32 [%rd1], %r1;
    ret;
}
";

/// The entry of a metric.
const METRIC: &str = r#"
[[metric]]
name = "ptx_sectors_per_barrier.ratio"
heading = "sectors / barrier"
group = "global"
form = "ratio"
meaning = "sectors loaded from global memory for each barrier"
sim = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum / ptx_barriers.sum"
gpu = { missing = "it counts PTX instructions, which the hardware does not execute" }
"#;

struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// Creates a copy of this workspace, always in the same folder, so that a second build reuses the first one.
    fn copy() -> Self {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
        let copy = Self { root: folder.join("ladder"), target: folder.join("target") };
        synchronize(original, &copy.root);
        // The device's `core` and the macros' dependencies are reused from the original.
        let (from, to) = (copy.shared().join("cuda-builder"), copy.target.join("cuda-builder"));
        if !to.exists() {
            take_over(&from, &to);
        }
        copy.edit("kernels-gpu/src/lib.rs", |text| without(text, &LEFT_OUT));
        copy.edit("host/src/ladders/mod.rs", |text| without(text, &LEFT_OUT));
        // One architecture is enough, because the kernels are compiled twice here.
        copy.edit("host/build.rs", |text| {
            let all = "3] = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90a]";
            text.replace(all, "1] = [NvvmArch::Compute75]")
        });
        copy
    }

    fn edit(&self, file: &str, change: impl FnOnce(&str) -> String) {
        let path = self.root.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text, "{file} did not change");
        fs::write(path, changed).unwrap();
    }

    fn xtask(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(arguments.split(' '))
            .env("CARGO_MANIFEST_DIR", self.root.join("xtask"))
            .output()
            .unwrap()
    }

    /// Returns the target folder of the original.
    fn shared(&self) -> &Path {
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
    }

    /// Builds `ladder` with the crates that were compiled for the original. The packages that differ are compiled with
    /// another number of codegen units. Otherwise cargo would overwrite the original's packages, which have the same
    /// names and paths in their workspace.
    fn build(&self) -> Output {
        let config = CHANGED.map(|krate| format!("--config=profile.dev.package.{krate}.codegen-units=31"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            // An example is built too: the tests have examples, and cargo unifies features over all built targets.
            .args(["build", "--quiet", "--bin", "ladder", "--bin", "simt", "--example", "build"])
            .args(config)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_BUILD_BUILD_DIR", self.shared());
        cargo.output().unwrap()
    }

    fn ladder(&self, arguments: &str) -> Output {
        self.program("ladder", arguments)
    }

    fn program(&self, name: &str, arguments: &str) -> Output {
        Command::new(self.target.join("debug").join(name))
            .args(arguments.split(' '))
            .current_dir(&self.root)
            .output()
            .unwrap()
    }
}

fn succeeded(output: Output) -> String {
    let (printed, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{complained}");
    printed
}

fn failed(output: &Output, code: i32) -> String {
    let both = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{both}");
    both
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes `copy` equal to `original`. The files keep the original's times, by which cargo knows what is already
/// compiled.
fn synchronize(original: &Path, copy: &Path) {
    fs::create_dir_all(copy).unwrap();
    let names = |folder: &Path| -> Vec<_> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    for name in names(copy) {
        if !original.join(&name).exists() {
            let extra = copy.join(&name);
            let removed = if extra.is_dir() { fs::remove_dir_all(&extra) } else { fs::remove_file(&extra) };
            removed.unwrap();
        }
    }
    for name in names(original) {
        let (from, to) = (original.join(&name), copy.join(&name));
        // Skips build outputs, and files that no program is built from.
        if ["target", ".git", "docs", "fixtures", "snapshots"].iter().any(|left_out| name == *left_out) {
            continue;
        }
        if from.is_dir() {
            synchronize(&from, &to);
        } else if fs::read(&from).unwrap() != fs::read(&to).unwrap_or_default() {
            copy_file(&from, &to);
        }
    }
}

/// Copies a file with its modification time.
fn copy_file(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
    let time = from.metadata().unwrap().modified().unwrap();
    fs::File::options().write(true).open(to).unwrap().set_modified(time).unwrap();
}

/// Copies third-party crates that cargo has compiled for the device.
fn take_over(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let to = to.join(&name);
        // Skips this workspace's crates, and other architectures and profiles.
        let left_out = ["kernels", "cuda_std", "device", "debug", "sm_80", "sm_90", "sm_100"];
        if left_out.iter().any(|part| name.contains(part)) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            take_over(&entry.path(), &to);
        } else {
            copy_file(&entry.path(), &to);
        }
    }
}

/// Returns the text without the lines that name one of these modules.
fn without(text: &str, modules: &[&str]) -> String {
    let names = |line: &str| {
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let code = !line.trim_start().starts_with("//");
        code && words.into_iter().any(|word| modules.contains(&word))
    };
    let kept: Vec<&str> = text.lines().filter(|line| !names(line)).collect();
    kept.join("\n") + "\n"
}

#[test]
fn additions() {
    let copy = Workspace::copy();
    let isa = "crates/simt/isa/src/instructions.txt";
    copy.edit(isa, |text| text.replace("# Logic\n", "# Logic\nnand .b32   d: type, a: type, b: type\n"));
    let nand = "    \"nand\" Bitwise [Nand32 b32] => (a: T, b: T) -> T { !(a & b) }\n";
    let or = "    \"or\" Bitwise [";
    copy.edit("crates/simt/simt/src/alu/logic/table.rs", |text| text.replace(or, &format!("{nand}{or}")));
    fs::write(copy.root.join("crates/simt/check/src/reductions.rs"), SANITIZER).unwrap();
    copy.edit("crates/simt/check/src/lib.rs", |text| text.replace("mod sync;", "mod reductions;\nmod sync;"));
    copy.edit("crates/simt/check/src/checks.rs", |text| {
        text.replace("sync::Sync;\n", "sync::Sync;\n/// Reductions.\nreductions::Reductions;\n")
    });
    copy.edit("crates/simt/profile/src/metrics.toml", |text| text.to_owned() + METRIC);

    let wrong = failed(&copy.xtask("new rung reduce_new_in_test --after reduce_shlf"), 2);
    assert!(wrong.contains("did you mean `--after reduce_shfl`?"), "{wrong}");
    let taken = failed(&copy.xtask("new rung reduce_smem --after reduce_shfl"), 2);
    assert!(taken.contains("already"), "{taken}");
    let no_name = failed(&copy.xtask("new rung reduce-new --after reduce_shfl"), 2);
    assert!(no_name.contains("not a name"), "{no_name}");

    succeeded(copy.xtask("new rung reduce_new_in_test --after reduce_shfl"));
    failed(&copy.xtask("new rung reduce_new_in_test --after reduce_shfl"), 2);
    succeeded(copy.xtask("new ladder ladder_in_test"));
    let taken = failed(&copy.xtask("new ladder reduce"), 2);
    assert!(taken.contains("already"), "{taken}");
    succeeded(copy.build());
    let list = succeeded(copy.ladder("list all"));
    assert!(list.contains("reduce_new_in_test") && list.contains("ladder_in_test_naive"), "{list}");
    fs::write(copy.root.join("nand.ptx"), NAND).unwrap();
    let run = "run nand.ptx --grid 1 --block 32 --arg i32[1] --print 0 --sanitize";
    let printed = succeeded(copy.program("simt", &format!("{run} race")));
    assert!(printed.contains("-96"), "{printed}");
    let printed = failed(&copy.program("simt", &format!("{run} reductions")), 1);
    assert!(printed.contains("error[reductions]: reduction of memory"), "{printed}");
    let metric = "ptx_sectors_per_barrier.ratio";
    let printed = succeeded(copy.ladder(&format!("why reduce_smem --n 1000 --device sim --counters={metric}")));
    assert!(printed.contains("sectors / barrier"), "{printed}");

    // A new rung is a copy of a correct one; the kernel of a new ladder is empty.
    succeeded(copy.ladder("check reduce_new_in_test --n 1000 --device sim"));
    let printed = failed(&copy.ladder("check ladder_in_test_naive --n 1000 --device sim"), 1);
    assert!(printed.contains("ladder_in_test_naive") && printed.contains("wrong"), "{printed}");

    // A compile error is shown once, whether or not the host's compiler also reports it.
    let kernel = "kernels-gpu/src/reduce/new_in_test.rs";
    let line = "    let i = block_idx * BLOCK + tid;\n";
    for cfg in ["", "#[cfg(target_arch = \"nvptx64\")]\n"] {
        let wrong = format!("{line}{cfg}    let _: u8 = n;\n");
        copy.edit(kernel, |text| text.replace(line, &wrong));
        let printed = failed(&copy.build(), 101);
        assert_eq!(printed.matches("mismatched types").count(), 1, "{printed}");
        copy.edit(kernel, |text| text.replace(&wrong, line));
    }

    let unfilled = "    let _ = (input, output, n);\n";
    copy.edit("kernels-gpu/src/ladder_in_test/naive.rs", |text| text.replace(unfilled, PLUS_ONE));
    succeeded(copy.build());
    for command in [
        "list ladder_in_test",
        "check reduce_new_in_test --n 1000 --device sim",
        "check ladder_in_test --device sim",
        "run reduce_new_in_test --n 1000 --device sim",
        "run ladder_in_test --n 1000 --device sim",
        "why reduce_new_in_test --n 1000 --device sim",
        "why ladder_in_test --n 1000 --device sim",
        "ptx reduce_new_in_test",
        "ptx ladder_in_test_naive",
    ] {
        let printed = succeeded(copy.ladder(command));
        // A check without errors names only the ladder.
        let name = match (command.starts_with("check"), command.contains("ladder_in_test")) {
            (true, true) => "of ladder_in_test: all right",
            (true, false) => "of reduce: all right",
            (false, true) => "ladder_in_test_naive",
            (false, false) => "reduce_new_in_test",
        };
        assert!(printed.contains(name), "{command}: {printed}");
    }
}
