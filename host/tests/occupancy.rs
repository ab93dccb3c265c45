//! The runs of ptxas for `ladder why --occupancy`. Its output and its errors are in cli/*.txt.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use crate::common::program::{has, not_tested, on, right};
use analysis::occupancy::{self, EntryOccupancy, check};
use host::launch::Launch;
use host::{DeviceProperties, KERNELS, Options, ladders};
use rung::LaunchRequest;
use toolkit::Tool;

/// The error for an architecture that is in our tables but unknown to this `ptxas` lists the architectures that it
/// knows.
#[test]
fn an_architecture_that_ptxas_does_not_know() {
    let Ok(ptxas) = toolkit::find(Tool::Ptxas) else {
        return not_tested("no ptxas");
    };
    let known = toolkit::ptxas::architectures(&ptxas).unwrap();
    // Our tables have no suffixes, and there is no `sm_75a`.
    assert!(!known.contains(&"sm_75a".to_owned()));
    on(right, "why reduce_smem --occupancy --arch sm_75a")
        .refused("does not know sm_75a\nnote: it knows sm_75, sm_80, ");
}

/// Runs a copy of the program in another folder, on a machine without NVIDIA's tools.
#[test]
fn without_ptxas_the_error_explains_how_to_install_it() {
    if std::path::Path::new("/usr/local/cuda/bin/ptxas").exists() {
        // This machine has ptxas in its default place, so the test cannot hide it.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("ladder");
    // Another process copies the program, because a program that this process writes is busy while another test forks.
    let copied =
        Command::new("cp").args([env!("CARGO_BIN_EXE_ladder").as_ref(), program.as_os_str()]).status().unwrap();
    assert!(copied.success());
    let mut command = Command::new(&program);
    for variable in ["CARGO_TARGET_DIR", "CUDA_PATH", "CUDA_HOME", "PATH", libcuda::CHOICE] {
        command.env_remove(variable);
    }
    let output = command
        .args(["why", "reduce_smem", "--occupancy"])
        .env(libcuda::OVERRIDE, "no/such/libcuda.so")
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert_eq!(err, "error: no ptxas was found\nhelp: `cargo xtask setup --nvidia` installs NVIDIA's tools\n");
    assert!(output.stdout.is_empty());
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

/// On the device that the simulator models, for the first variant and the last, which has the largest elements.
#[test]
fn blocks_that_wait_for_each_other_are_resident() {
    if !has(Tool::Ptxas) {
        return;
    }
    let device = DeviceProperties::default();
    for ladder in ladders() {
        let shape = ladder.problem(&Options::default()).unwrap().facts().shape;
        for rung in ladder.rungs.iter().filter(|rung| rung.blocks_wait) {
            let launches = check::launches(ladder, rung).unwrap();
            for launch in [launches.first(), launches.last()].into_iter().flatten() {
                let items_per_thread = rung.items_per_thread;
                let request = LaunchRequest { shape: &shape, block: launch.block, items_per_thread, device };
                let blocks: u32 = (rung.grid)(&request).iter().product();
                let resident = EntryOccupancy::new(&KERNELS, launch, "sm_90a").unwrap().occupancy.blocks;
                assert!(blocks <= resident * device.multiprocessors, "{launch}: {blocks} blocks, {resident} per SM");
            }
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
    let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    let usage = occupancy::usage(&KERNELS, &launch, "sm_80").unwrap();
    // Even on a busy machine, the fastest look-up is faster than the fastest start of a process.
    let fastest = |work: &dyn Fn()| {
        let times = (0..25).map(|_| {
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
    let why = "reduce_vector_1 is not an entry of this program's kernels";
    assert_eq!(error.to_string(), why);
}
