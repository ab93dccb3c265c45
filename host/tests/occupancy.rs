//! `ladder occupancy`: what it shows, what it refuses, and the calculation against a driver's.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use crate::common::program::{all_refused, alone, assert_has, has, not_tested, on, on_driver, right};
use crate::kernels::usages;
use analysis::occupancy::{self, EntryOccupancy, check};
use host::launch::Launch;
use host::{KERNELS, Options, ladders};
use serde_json::Value;
use toolkit::Tool;

fn shown(args: &str) -> String {
    on(right, args).printed()
}

#[test]
fn a_rung_in_full() {
    if !has(Tool::Ptxas) {
        return;
    }
    let out = shown("occupancy transpose_vector --arch sm_90");
    let parts = [
        "transpose_vector on sm_90: transpose_vector_512, blocks of 512\n",
        "spills                 none\n",
        "\nBy block\n",
        "\nBy shared memory a block (",
        "\nBy registers a thread (",
        " of the SM's 65536\n",
        " KiB with the driver's 1.0 KiB\n",
        // What is the case is marked, in each of the tables.
        "│ > 512 ┆ ",
        // From the calculator alone: blocks of 16 warps, of which 64 fit.
        "│   227.0 KiB ┆      1 ┆    16 ┆   25 % ###......... ┆ shared memory",
        "│   255 ┆      0 ┆     0 ┆    0 % ............ ┆ registers",
    ];
    assert_has(&out, &parts);
    assert_eq!(out.matches(" > ").count(), 3, "{out}");
    assert!(!out.contains("driver says"));
}

/// What depends on the calculator and not on this version of ptxas.
#[test]
fn the_json_of_a_rung() {
    if !has(Tool::Ptxas) {
        return;
    }
    let args = "occupancy reduce_smem_dyn --json --arch sm_75 --block 256";
    let all = on(right, args).json();
    let [report] = &all.as_array().unwrap()[..] else {
        panic!("{all}");
    };
    assert_eq!(report["ladder"], "reduce");
    assert_eq!(report["entry"], "reduce_smem_dyn_256");
    assert_eq!(report["block"], serde_json::json!([256, 1, 1]));
    assert_eq!(report["dynamic_shared_bytes"], 1024);
    assert_eq!(report["static_shared_bytes"], 0);
    // 8 warps of Turing's 32, for a kernel that takes less than 64 registers.
    assert_eq!([&report["blocks"], &report["warps"]], [4, 32]);
    assert_eq!(report["occupancy"], 1.0);
    assert_eq!(report["limited_by"], serde_json::json!(["warps"]));
    assert_eq!(report["driver"], Value::Null);

    let column = |table: &str, name: &str| -> Vec<Value> {
        let rows = report[table].as_array().unwrap().iter();
        rows.map(|row| row[name].clone()).collect()
    };
    let expected = [64, 128, 256, 512, 1024].map(|block| format!("reduce_smem_dyn_{block}"));
    assert_eq!(column("by_block", "entry"), expected);
    let ends = [16 << 10, 21_760, 32 << 10, 64 << 10];
    assert_eq!(column("by_shared_bytes", "up_to"), ends);
    let begins = [0, (16 << 10) + 1, 21_761, (32 << 10) + 1];
    assert_eq!(column("by_shared_bytes", "from"), begins);
    for limits in column("by_registers", "limited_by") {
        assert!(limits.as_array().is_some_and(|all| !all.is_empty()));
    }
}

#[test]
fn ladders_and_names_without_their_number_are_lines() {
    if !has(Tool::Ptxas) {
        return;
    }
    let out = shown("occupancy shuffle matmul_coarsened --arch sm_80");
    assert!(out.starts_with("shuffle on sm_80\n"), "{out}");
    assert!(out.contains("\nmatmul on sm_80\n"));
    let shuffles = host::ladder("shuffle").unwrap().rungs.len();
    assert_eq!(out.matches("\n│ shuffle_").count(), shuffles, "{out}");
    let names = ["matmul_coarsened".to_owned()];
    let coarsened = host::ladder("matmul").unwrap().named(&names).unwrap().len();
    assert_eq!(out.matches("\n│ matmul_").count(), coarsened, "{out}");
    // Blocks of 16 threads: the blocks end first.
    assert_has(&out, &["│ shuffle_up        ┆ 16    ┆"]);
    assert_has(&out, &["┆     32 ┆    32 ┆   50 % ######...... ┆ blocks"]);

    // A block, and an architecture, that some of them are not compiled for.
    let out = shown("occupancy matmul --arch sm_75 --block 16x16");
    assert_has(&out, &["│ matmul_tiled          ┆ 16x16 ┆"]);
    assert_has(&out, &["left out: matmul_pipelined "]);
    // In JSON there is no place for that.
    let ended = on(right, "occupancy matmul --arch sm_75 --json");
    assert_eq!(ended.code, 0);
    let all: Value = serde_json::from_str(&ended.out).unwrap();
    let err = ended.err;
    let lines: Vec<&str> = err.lines().collect();
    let rungs = host::ladder("matmul").unwrap().rungs.len();
    assert_eq!(all.as_array().unwrap().len() + lines.len(), rungs, "{err}");
    assert!(!lines.is_empty());
    for line in lines {
        assert_has(line, &["needs sm_90 or newer"]);
    }
}

#[test]
fn the_architecture_is_the_gpus() {
    if !has(Tool::Ptxas) {
        return;
    }
    // The test's device is a GPU of 7.5.
    let out = shown("occupancy reduce_shfl");
    assert!(out.starts_with("reduce_shfl on sm_75: "), "{out}");
    let out = alone("occupancy reduce_shfl --device sim").printed();
    assert!(out.starts_with("reduce_shfl on sm_90: "), "{out}");
}

#[test]
fn bad_input_is_one_line_with_a_hint_and_exit_code_2() {
    all_refused(|args| on(right, args), include_str!("data/refused_occupancy.txt"));
    alone("occupancy --check --device sim").refused("--check asks a GPU's driver, and a sim has none");
}

/// An architecture that is in our tables and not among those of this `ptxas` is told with the latter's.
#[test]
fn an_architecture_that_ptxas_does_not_know() {
    let Ok(ptxas) = toolkit::find(Tool::Ptxas) else {
        return not_tested("no ptxas");
    };
    let known = toolkit::ptxas::architectures(&ptxas).unwrap();
    // The suffix is not among our tables' names, and of `sm_75` there is none.
    assert!(!known.contains(&"sm_75a".to_owned()));
    on(right, "occupancy reduce_smem --arch sm_75a").refused("knows no sm_75a; it knows sm_75, sm_80, ");
}

/// The program somewhere else, on a machine without NVIDIA's tools.
#[test]
fn without_ptxas_it_is_said_how_to_get_it() {
    if std::path::Path::new("/usr/local/cuda/bin/ptxas").exists() {
        // Nothing is wrong with that: this machine cannot be without.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("ladder");
    // By another process: a program that this one writes is busy while any other test of it forks.
    let copied =
        Command::new("cp").args([env!("CARGO_BIN_EXE_ladder").as_ref(), program.as_os_str()]).status().unwrap();
    assert!(copied.success());
    let mut command = Command::new(&program);
    for variable in ["CARGO_TARGET_DIR", "CUDA_PATH", "CUDA_HOME", "PATH"] {
        command.env_remove(variable);
    }
    let output =
        command.args(["occupancy", "reduce_smem"]).env(libcuda::OVERRIDE, "no/such/libcuda.so").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert_eq!(err, "error: no ptxas was found; `cargo xtask setup --nvidia` installs NVIDIA's tools\n");
    assert!(output.stdout.is_empty());
}

/// What an entry takes alone is what it takes among all of them, and the shared memory is what its rung says.
#[test]
fn each_entry_is_assembled_alone() {
    if !has(Tool::Ptxas) {
        return;
    }
    let whole = usages("sm_90");
    for ladder in ladders() {
        let problem = ladder.problem(&Options::default()).unwrap();
        for rung in ladder.rungs {
            let launch = ladder.launch(rung, &*problem, None).unwrap();
            let alone = occupancy::usage(&KERNELS, &launch, "sm_90").unwrap();
            assert_eq!(alone, whole[&launch.entry], "{}", rung.name);
            let own = EntryOccupancy::new(&KERNELS, &launch, "sm_90").unwrap();
            let bytes = rung.shared.bytes(launch.block);
            assert_eq!(own.shared_bytes(), bytes, "{}", rung.name);
            assert!(own.registers > 0, "{}", rung.name);
            assert!(own.occupancy.blocks > 0, "{}", rung.name);
        }
    }
}

#[test]
fn every_entry_is_checked() {
    for ladder in ladders() {
        for rung in ladder.rungs {
            let launches = check::launches(ladder, rung).unwrap().into_iter();
            let launched: BTreeSet<String> = launches.map(|launch| launch.entry).collect();
            let all: BTreeSet<String> = rung.entry_names().into_iter().collect();
            assert_eq!(launched, all, "{}", rung.name);
        }
    }
}

#[test]
fn an_entry_is_assembled_once_in_a_process() {
    if !has(Tool::Ptxas) {
        return;
    }
    let ladder = host::ladder("reduce").unwrap();
    let problem = ladder.problem(&Options::default()).unwrap();
    let rung = ladder.rung("reduce_vector").unwrap();
    let launch = ladder.launch(rung, &*problem, None).unwrap();
    let usage = occupancy::usage(&KERNELS, &launch, "sm_80").unwrap();
    // However busy this machine is, the fastest look-up is faster than the fastest start of a process.
    let fastest = |work: &dyn Fn()| {
        let times = (0..100).map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        });
        times.min().unwrap()
    };
    let known = fastest(&|| {
        assert_eq!(occupancy::usage(&KERNELS, &launch, "sm_80").unwrap(), usage);
    });
    let ptxas = toolkit::find(Tool::Ptxas).unwrap();
    let started = fastest(&|| {
        let mut command = Command::new(&ptxas.path);
        assert!(command.arg("--version").output().unwrap().status.success());
    });
    assert!(known < started, "{known:?}, {started:?}");
    let other = Launch { entry: "reduce_vector_1".to_owned(), ..launch };
    let error = occupancy::usage(&KERNELS, &other, "sm_80").unwrap_err();
    let why = "reduce_vector_1 is no entry of this program's kernels";
    assert_eq!(error.to_string(), why);
}

#[test]
fn every_entry_is_held_against_the_driver() {
    let out = on_driver("", "occupancy --check").printed();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), ladders().len() + 1, "{out}");
    let right = " entries and blocks, all as the driver says";
    for (line, ladder) in lines.iter().zip(ladders()) {
        assert!(line.starts_with(&format!("{}: ", ladder.name)), "{line}");
        assert!(line.ends_with(right), "{line}");
    }
    let device = "on Stand-in, compute capability 9.0";
    assert!(lines[ladders().len()].starts_with(device), "{out}");

    let all = on_driver("", "occupancy matmul_pipelined --check --json").json();
    let own = &all[0];
    // More than 48 KiB of dynamic shared memory, which the driver is asked for before.
    assert!(own["dynamic_shared"].as_u64().unwrap() > 48 << 10, "{own}");
    assert_eq!([&own["calculated"], &own["driver"]["blocks"]], [3, 3]);
}

#[test]
fn a_driver_that_says_otherwise_is_told_of() {
    let out = on_driver("crowded", "occupancy --check reduce transpose_smem").ended_with(1);
    assert_has(&out, &["\ntranspose: 3 entries and blocks, 3 NOT as the driver says\n"]);
    let line = "  reduce_smem_128 with blocks of 128: 12 blocks an SM calculated, 11 by the driver (40 registers, 512 \
                bytes static and 0 dynamic)\n";
    assert_has(&out, &[line]);
    assert!(!out.contains("reduce_gmem"), "it has no shared memory: {out}");
}

#[test]
fn a_rung_on_a_gpu_shows_the_drivers_answer() {
    if !has(Tool::Ptxas) {
        return;
    }
    // Few registers or 40: of 512 threads there are 4 blocks or 3.
    let out = on_driver("", "occupancy reduce_gmem").printed();
    assert!(out.starts_with("reduce_gmem on sm_90: "), "{out}");
    let line = "the driver says        3 blocks an SM, NOT as calculated; 40 registers, 0 B static, 8 bytes of local \
                memory\n";
    assert_has(&out, &[line]);
    // Of another architecture the driver knows nothing.
    let out = on_driver("", "occupancy reduce_gmem --arch sm_80 --device gpu").printed();
    assert!(!out.contains("the driver says"), "{out}");
}
