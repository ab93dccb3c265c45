//! Running ladders on a fake device: which launches and restores happen, and how their results are reported.

use crate::common::{Fake, Fault};
use host::problem::Verdict;
use host::run::{self, Plan, Report, WARM_UP};
use host::{DeviceProperties, Error, Options, Session, ladder};

fn plan(rungs: &[String], n: u64, runs: Option<u32>) -> Result<Plan, Error> {
    Plan::new(
        ladder("reduce").unwrap(),
        rungs,
        &Options::default().with("n", n),
        None,
        runs,
        DeviceProperties::default(),
    )
}

fn run(device: &mut Fake, n: u64, runs: Option<u32>) -> Result<Report, Error> {
    run::run(device, plan(&[], n, runs)?, |_| {})
}

#[test]
fn writes_past_the_outputs_and_a_dirty_workspace_are_wrong() {
    for (fault, name, expected) in [
        (Fault::OneTooMany("reduce_smem"), "reduce_smem", "byte 160 was written, beyond the 160 bytes of the output"),
        (
            Fault::DirtyWorkspace("reduce_one_launch"),
            "reduce_one_launch",
            "byte 192 of the workspace is not 0 after the launch, and the next launch relies on that",
        ),
    ] {
        let report = run(&mut Fake::new(Some(fault)), 5000, None).unwrap();
        for outcome in &report.outcomes {
            let verdict = match outcome.rung.name == name {
                true => Verdict::Wrong(expected.to_owned()),
                false => Verdict::Right,
            };
            assert_eq!(outcome.verdict, verdict, "{}", outcome.launch);
        }
    }
}

#[test]
fn a_check_launches_once_and_restores_only_overwritten_inputs() {
    let mut device = Fake::new(None);
    let log = device.log();
    run(&mut device, 1000, None).unwrap();
    let log = log.borrow();
    let rungs = ladder("reduce").unwrap().rungs;
    let launches = log.iter().filter(|line| line.contains("<<<")).count();
    assert_eq!(launches, rungs.len());
    assert_eq!(log.iter().filter(|line| *line == "upload").count(), 1);
    // The session keeps one copy of the input, and copies it back after each in-place rung, except after the last rung.
    let destroyed = rungs[..rungs.len() - 1].iter().filter(|rung| rung.in_place);
    let copies = log.iter().filter(|line| *line == "copy").count();
    assert_eq!(copies, 1 + destroyed.count());
}

#[test]
fn each_timed_launch_has_restored_inputs_outside_the_cache() {
    let mut device = Fake::new(None);
    let log = device.log();
    let report = run(&mut device, 1000, Some(5)).unwrap();
    assert_eq!(device.allocated(), 0, "a session frees its buffers");
    // 4000 bytes: 17 sets are four times the size of the cache, 16 KiB.
    assert_eq!(report.sets, 17);
    let log = log.borrow();
    assert_eq!(log.iter().filter(|line| *line == "upload").count(), 1);
    let launches: Vec<usize> = (0..log.len()).filter(|&at| log[at].contains("<<<")).collect();
    let rungs = ladder("reduce").unwrap().rungs.len();
    assert_eq!(launches.len(), rungs * (1 + WARM_UP as usize + 5));
    let mut is_soiled = true;
    let mut held_launches = 0;
    for (nth, &at) in launches.iter().enumerate() {
        let checked = nth % (1 + WARM_UP as usize + 5) == 0;
        let before = &log[nth.checked_sub(1).map_or(0, |nth| launches[nth] + 1)..at];
        let copied = before.iter().any(|line| line == "copy");
        let read = before.iter().any(|line| line == "read");
        if !checked {
            assert_eq!(before.last().unwrap(), "hold 30000");
            assert_eq!(read, is_soiled || copied, "{}", log[at]);
            is_soiled = false;
            held_launches += 1;
        }
        let rung = ladder("reduce").unwrap().rungs[nth / (1 + WARM_UP as usize + 5)];
        is_soiled |= rung.in_place || (checked && copied);
    }
    assert_eq!(held_launches, rungs * (WARM_UP as usize + 5));
    for outcome in &report.outcomes {
        assert_eq!(outcome.samples.as_ref().unwrap().sorted().len(), 5);
    }
}

#[test]
fn problems_larger_than_the_cache_have_one_set_and_little_memory_means_fewer_sets() {
    let reduce = ladder("reduce").unwrap();
    let sets = |n: u64, free: u64| {
        let problem = reduce.problem(&Options::default().with("n", n)).unwrap();
        let mut device = Fake::new(None).with_free(free);
        Session::timed(&mut device, &*problem).unwrap().sets()
    };
    assert_eq!(sets(1 << 14, 1 << 30), 1);
    assert_eq!(sets(1 << 12, 1 << 30), 4);
    assert_eq!(sets(1, 1 << 30), 64);
    // A set has 17476 bytes with its guards, which is more than half of the free memory.
    assert_eq!(sets(1 << 12, (64 << 20) + 33_900), 1);
}

#[test]
fn a_device_without_a_clock_is_checked_and_not_timed() {
    let report = run(&mut Fake::new(None).without_clock(), 1000, Some(5)).unwrap();
    assert!(report.all_right());
    assert!(report.outcomes.iter().all(|outcome| outcome.samples.is_none()));
    assert_eq!(report.speedup_vs_first(&report.outcomes[1]), None);
}

#[test]
fn without_a_copy_on_the_device_the_input_is_uploaded_again() {
    let reduce = ladder("reduce").unwrap();
    let problem = reduce.problem(&Options::default().with("n", 1000)).unwrap();
    let mut device = Fake::new(None);
    let log = device.log();
    let mut session = Session::new(&mut device, &*problem, false).unwrap();
    let rung = reduce.rung("reduce_neighbored").unwrap();
    let launch = reduce.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    for _ in 0..2 {
        assert_eq!(session.check(rung, &launch).unwrap(), Verdict::Right);
    }
    assert!(session.once(rung, &launch).unwrap().time_ns.is_some());
    drop(session);
    assert_eq!(log.borrow().iter().filter(|line| *line == "upload").count(), 3);
}

#[test]
fn a_problem_that_does_not_fit_reports_the_free_memory_and_a_size_that_fits() {
    let mut device = Fake::new(None).with_free(65 << 20);
    let log = device.log();
    let error = run(&mut device, 1 << 28, Some(1)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "n = 268435456 needs 2.0 GiB of the device's memory, which has 65.0 MiB free; --n 100000 fits"
        ),
        "{text}"
    );
    assert!(!error.is_failure());
    assert!(log.borrow().is_empty(), "nothing is uploaded before the size is checked");
    assert!(run(&mut device, 100_000, None).is_ok());

    let text = run(&mut Fake::new(None).with_free(1 << 20), 1 << 28, None).unwrap_err().to_string();
    assert!(text.ends_with("free some of its memory first"), "{text}");
}

#[test]
fn speedups_are_over_the_first_rung_and_the_preceding_rung() {
    let report = run(&mut Fake::new(None), 1 << 14, Some(3)).unwrap();
    let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
    assert!(close(report.speedup_vs_first(&report.outcomes[0]), 1.0));
    assert!(close(report.speedup_vs_first(&report.outcomes[4]), 2.0));
    assert!(close(report.speedup_vs_before(4), 2.0 / 1.75));
    assert_eq!(report.speedup_vs_before(0), None);
    // 2^16 bytes in half a millisecond.
    assert!(close(report.bytes_per_s(&report.outcomes[4]), 65_536.0 / 0.5e-3));

    let two = ["reduce_shfl".into(), "reduce_smem".into()];
    let plan = plan(&two, 1000, Some(1)).unwrap();
    let report = run::run(&mut Fake::new(None), plan, |_| {}).unwrap();
    let names: Vec<_> = report.outcomes.iter().map(|outcome| outcome.rung.name).collect();
    assert_eq!(names, ["reduce_smem", "reduce_shfl"], "the ladder's order");
    assert_eq!(report.speedup_vs_first(&report.outcomes[1]), None);
    assert!(report.speedup_over(&report.outcomes[1], "reduce_smem").unwrap() > 1.0);
}

#[test]
fn a_rung_that_was_not_compiled_for_a_block_is_left_out() {
    let options = Options::default().with("n", 1000).with("op", "max").with("type", "f32");
    let large =
        Plan::new(ladder("reduce").unwrap(), &[], &options, Some([1024, 1, 1]), None, DeviceProperties::default())
            .unwrap();
    let names: Vec<_> = large.rungs().iter().map(|rung| rung.name).collect();
    assert_eq!(names, ["reduce_any"]);
    let mut sim = host::device::Sim::open(&host::KERNELS, 1).unwrap();
    let report = run::run(&mut sim, large, |_| {}).unwrap();
    assert!(report.all_right());
    assert_eq!(report.left_out, [""; 0]);

    let plan = |rungs: &[String]| {
        let options = Options::default().with("n", 1000);
        let ladder = ladder("reduce").unwrap();
        Plan::new(ladder, rungs, &options, Some([128, 1, 1]), None, DeviceProperties::default())
    };
    let report = run::run(&mut sim, plan(&[]).unwrap(), |_| {}).unwrap();
    assert_eq!(report.left_out, ["reduce_any was not compiled for a block of 128, only for 512, 1024"]);
    assert!(plan(&["reduce_any".into()]).is_err(), "a named rung is not left out");
}
