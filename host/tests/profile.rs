//! `ladder profile`: on the simulator, and through a stand-in for Nsight Compute.

use crate::common::program::{Arguments, Ended, all_refused, alone, assert_has, env, on, within};
use crate::common::replay::NCU;
use crate::common::{Fake, Fault};
use host::device::{self, Choice};
use host::{Device, Error, KERNELS};

const REFUSED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ncu_refused.sh");

/// Runs `ladder profile` where there is a GPU, and the simulator as it is.
fn beside_a_gpu(fault: Option<Fault>, args: impl Arguments) -> Ended {
    let open = |choice| -> Result<Box<dyn Device>, Error> {
        match choice {
            Choice::Sim => device::open(Choice::Sim, &KERNELS),
            Choice::Auto | Choice::Gpu => Ok(Box::new(Fake::new(fault))),
        }
    };
    within(&env(&open), ("profile", args))
}

fn profile(args: &str) -> Ended {
    alone(("profile", args))
}

/// What comes before the lines that say where it ran, and when, and who compiled it.
fn before_the_devices(out: &str) -> &str {
    &out[..out.find("\non ").unwrap()]
}

/// Metrics that depend on what a kernel accesses and not on the instructions that a compiler makes of it.
const ACCESSES: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio,\
    smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct,\
    l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum,\
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,\
    shared_wavefronts_ld_per_st.ratio,\
    dram__bytes_read.sum.per_second";

#[test]
fn two_rungs_on_the_simulator() {
    let rungs = "transpose_naive transpose_smem --rows=1024 --cols=1024";
    let out = profile(&format!("{rungs} --metrics {ACCESSES}")).printed();
    // The verdicts' times hang on the compiler's instructions.
    let out = before_the_devices(&out);
    let header = out.find("│ rung ").unwrap();
    let border = out[..header].trim_end().rfind('\n').unwrap() + 1;
    let (tables, verdicts) = out.split_at(border);
    let tables = format!("{tables}{}", &verdicts[verdicts.find("\n\n").unwrap()..]);
    insta::assert_snapshot!(tables);
    assert!(
        verdicts.lines().any(|line| {
            line.starts_with("│ transpose_naive ")
                && line.contains("L2 bandwidth")
                && line.contains("coalescing ┆ transpose_smem ")
        }),
        "{verdicts}"
    );
}

#[test]
fn the_shown_metrics_are_those_of_the_texts() {
    let out = profile("reduce_shfl --n=4k").printed();
    let parts = [
        "PTX instr / warp",
        "PTX uniform",
        "barriers / warp",
        "sectors / load",
        "sectors / store",
        "used ld",
        "used st",
        "loaded",
        "shared ld",
        "shared st",
        "ld : st",
        "PTX: ptxas makes other instructions and branches of it",
        "needs a GPU: loads GB/s, DRAM rd GB/s, DRAM wr GB/s, at barrier, at membar",
    ];
    assert_has(&out, &parts);
}

#[test]
fn what_is_said_of_the_numbers_is_checked() {
    let out = profile("transpose --rows=64 --cols=64 --explain").printed();
    let (_, explained) = out.split_once("--explain says what each column means\n").unwrap();
    insta::assert_snapshot!(before_the_devices(explained));
    let out = profile("reduce --n=64k --explain").printed();
    let lines = [
        "sim: holds (reduce_unroll_warps8 4.00, reduce_unrolling8 10.00)",
        "sim: holds (reduce_interleaved 532.0 KiB, reduce_neighbored_less 2.0 MiB)",
        "executes less than half as many instructions\n    sim: ",
        "equal branch efficiency\n    sim: holds (reduce_interleaved 98.",
    ];
    assert_has(&out, &lines);
}

#[test]
fn rungs_side_by_side_on_both_devices() {
    let line = format!("reduce_neighbored reduce_shfl --n=4k --device=both --metrics {ACCESSES}");
    let out = beside_a_gpu(None, (&*line, ["--ncu", NCU])).printed();
    insta::assert_snapshot!(before_the_devices(&out));
    let devices: Vec<&str> = out.lines().filter(|line| line.starts_with("on ")).collect();
    assert!(devices[0].starts_with("on Test GPU, compute capability 7.5"), "{out}");
    assert!(devices[1].starts_with("on SIMT machine"), "{out}");
}

#[test]
fn what_ncu_is_run_on_launches_each_kernel_once_and_no_other() {
    let device = std::cell::RefCell::new(None);
    let open = || {
        let fake = Fake::new(None);
        *device.borrow_mut() = Some(fake.log());
        fake
    };
    let rungs = "reduce_neighbored reduce_shfl reduce_atomic";
    let args = format!("run reduce --rung {rungs} --n=4k --no-time --device gpu");
    on(open, &*args).printed();
    let log = device.borrow().as_ref().unwrap().borrow().clone();
    let is_work = |what: &&String| what.contains("<<<") || what.starts_with("hold") || *what == "read";
    let launched: Vec<_> = log.iter().filter(is_work).map(|own| own.as_str()).collect();
    let three = "reduce_neighbored<<<8, 512, 0>>> reduce_shfl_128<<<32, 128, 0>>> reduce_atomic_512<<<1, 512, 0>>>";
    assert_eq!(launched.join(" "), three);
}

#[test]
fn json_has_both_devices_under_nsights_names() {
    let metrics = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,dram__bytes_read.sum.per_second,\
                   smsp__sass_average_branch_targets_threads_uniform.pct,sm__cycles_active.avg";
    let args = ("reduce_shfl --n=4k --json", ["--ncu", NCU, "--metrics", metrics]);
    let all = beside_a_gpu(None, (args, "--device=both")).json();
    assert_eq!(all.as_array().unwrap().len(), 1);
    let names = [&all[0]["ladder"], &all[0]["rung"]];
    assert_eq!(names, ["reduce", "reduce_shfl"]);
    let number = |name: &str, side: &str| all[0]["metrics"][name][side].as_f64();
    let loads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
    for (name, sim) in
        [(loads, Some(128.0)), ("dram__bytes_read.sum.per_second", None), ("sm__cycles_active.avg", None)]
    {
        assert_eq!([number(name, "sim"), number(name, "gpu")], [sim, Some(1001.0)]);
    }
    // ncu had no branches to divide by: nothing, and no zero.
    let uniform = "smsp__sass_average_branch_targets_threads_uniform.pct";
    assert!(number(uniform, "sim").is_some());
    assert_eq!(all[0]["metrics"][uniform]["gpu"], serde_json::Value::Null);
    assert_eq!(all[0]["metrics"].as_object().unwrap().len(), 4);

    // Where there is a GPU it is the one that is meant.
    let all = beside_a_gpu(None, args).json();
    assert_eq!(all[0]["metrics"][loads]["sim"], serde_json::Value::Null);
    assert_eq!(all[0]["metrics"][loads]["gpu"].as_f64(), Some(1001.0));
}

#[test]
fn what_a_gpu_is_too_old_for_is_left_out_unless_it_was_named() {
    let fault = Some(Fault::TooOld("reduce_shfl"));
    let args = |target| (target, ("--n=4k --device=gpu --ncu", [NCU]));
    let out = beside_a_gpu(fault, args("reduce")).printed();
    let why = "reduce_shfl_128 needs compute capability 9.0, the device has 7.5";
    assert_has(&out, &[&format!("left out: {why}")]);
    assert!(!out.contains("│ reduce_shfl "), "{out}");
    beside_a_gpu(fault, args("reduce_shfl")).refused(why);
}

#[test]
fn what_keeps_nsight_compute_from_its_work() {
    for (ncu, part) in [
        (REFUSED, "NVreg_RestrictProfilingToAdminUsers=0"),
        ("no/such/ncu", "cannot start no/such/ncu"),
        ("/bin/true", "cannot read what /bin/true of an unknown version wrote: there is no table in it"),
        ("/bin/false", "/bin/false of an unknown version failed with exit code 1"),
    ] {
        beside_a_gpu(None, ("reduce_shfl --n=4k --device=gpu --ncu", [ncu])).refused(part);
    }
}

#[test]
fn what_cannot_be_profiled() {
    all_refused(profile, include_str!("data/refused_profile.txt"));
}

#[test]
fn every_ladder_has_a_profile() {
    let out = profile("--n=64 --m=32 --k=32 --rows=64 --cols=64 --device=sim").printed();
    for ladder in host::ladders() {
        assert!(out.contains(&format!("\n{}: ", ladder.name)) || out.starts_with(ladder.name));
        for rung in ladder.rungs {
            let row = format!("│ {} ", rung.name);
            assert!(out.contains(&row), "{}: {out}", rung.name);
        }
    }
    assert!(!out.contains("not known"), "{out}");
}
