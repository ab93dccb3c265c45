//! Every rung on the simulator: the kernels' PTX, run and checked on any CPU.

use std::collections::BTreeSet;

use host::KERNELS;
use host::device::{BufferId, LaunchResult, Sim};
use host::launch::{Arg, Code, Launch};
use host::problem::Verdict;
use host::{Device as _, DeviceProperties, Effort, Entries, Error, Options, Rung, Session, ladder, ladders};
use proptest::prelude::*;

use crate::common::{all_right, counted_on, once};

/// Checks rungs of the reduction on one size, with each block for which `selects` is true.
fn check(n: u64, selects: impl Fn(&Rung, [u32; 3]) -> bool) {
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    let options = Options::default().with("n", n);
    all_right(&mut sim, ladder("reduce").unwrap(), &options, selects);
}

fn launched(sim: &mut Sim, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
    // SAFETY: the simulator checks each access, so a wrong launch is an error.
    unsafe { sim.launch(launch, bound) }
}

#[test]
fn every_rung_of_every_ladder_is_right_on_its_edge_cases_with_every_block() {
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    for ladder in ladders() {
        let mut checked = BTreeSet::new();
        for options in (ladder.sweep)(Effort::Least) {
            checked.append(&mut all_right(&mut sim, ladder, &options, |_, _| true));
        }
        let rungs = ladder.rungs.iter();
        let all: BTreeSet<String> = rungs.flat_map(|rung| rung.entry_names()).collect();
        let name = ladder.name;
        assert_eq!(checked, all, "the sweep of {name} does not run all kernels");
    }
}

#[test]
fn every_rung_is_right_on_a_prime_size_with_every_block() {
    check((1 << 17) - 1, |_, _| true);
}

#[test]
fn every_rung_is_right_with_more_blocks_than_16_bits_can_count() {
    check((1 << 22) + 1, |_, block| block == [64, 1, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_rung_is_right_on_any_size(
        rung in prop::sample::select(ladder("reduce").unwrap().rungs),
        n in prop_oneof![0u64..5000, 0u64..200_000],
        block in prop::sample::select(ladder("reduce").unwrap().blocks),
    ) {
        prop_assume!(!matches!(rung.entries, Entries::PerVariant(_)) || block[0] >= 512);
        check(n, |candidate, candidate_block| (candidate.name, candidate_block) == (rung.name, block));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_operation_of_any_type_is_right_on_any_size(
        op in prop::sample::select(vec!["sum", "product", "min", "max"]),
        word in prop::sample::select(vec!["i32", "u32", "i64", "f32", "f64"]),
        n in prop_oneof![0u64..2000, 0u64..100_000],
    ) {
        let reduce = ladder("reduce").unwrap();
        let options = Options::default().with("n", n).with("op", op).with("type", word);
        let problem = reduce.problem(&options).unwrap();
        let mut sim = Sim::open(&KERNELS, 1).unwrap();
        let mut session = Session::new(&mut sim, &*problem, true).unwrap();
        for rung in reduce.select(&[], &*problem).unwrap() {
            let launch = reduce.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
            let verdict = session.check(rung, &launch).unwrap();
            prop_assert_eq!(verdict, Verdict::Right, "{} at {}", launch, problem.labels().size);
        }
    }
}

#[test]
fn counters_do_not_depend_on_the_hosts_threads() {
    let options = Options::default().with("n", 100_003);
    let counted = |threads| {
        let mut sim = Sim::open(&KERNELS, threads).unwrap();
        let report = counted_on(&mut sim, once("reduce", &options));
        assert!(report.counted() && report.runs.is_none());
        let counters = report.outcomes.into_iter().map(|outcome| outcome.counters);
        counters.collect::<Vec<_>>()
    };
    let single_threaded = counted(1);
    assert_eq!(single_threaded, counted(3));
    assert_eq!(single_threaded.len(), ladder("reduce").unwrap().rungs.len());
}

/// Returns a launch of the interleaved reduction of `n` elements.
fn interleaved(blocks: u32, n: u32) -> Launch {
    Launch {
        code: Code::Kernels,
        entry: "reduce_interleaved".into(),
        grid: [blocks, 1, 1],
        block: [128, 1, 1],
        shared_bytes: 0,
        args: vec![Arg::Buffer(0), Arg::Buffer(1), Arg::U32(n)],
    }
}

#[test]
fn a_fault_names_the_access_and_the_line_of_rust() {
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let input = sim.alloc(4096).unwrap();
    let output = sim.alloc(64).unwrap();
    let launch = interleaved(9, 9 * 128);
    let error = launched(&mut sim, &launch, &[input, output]).unwrap_err();
    let text = error.to_string();
    for part in [
        "reduce_interleaved<<<9, 128, 0>>> failed: out of bounds read of 4 bytes",
        "past the end of argument 0's buffer of 4096 bytes",
        "block (8, 0, 0), thread (",
        "reduce",
        ".rs:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!((error.is_failure(), text.lines().count()), (true, 1));
}

#[test]
fn mistakes_are_errors() {
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let buffer = sim.alloc(8).unwrap();
    let other = sim.alloc(0).unwrap();
    assert!(sim.upload(buffer, &[0; 7]).is_err());
    assert!(sim.download(buffer, &mut [0; 9]).is_err());
    assert!(sim.copy(buffer, other).is_err());
    let error = sim.alloc(1 << 60).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the device failed while allocating a buffer: cannot allocate 1152921504606846976 bytes"));
    assert_eq!((error.is_failure(), text.lines().count()), (true, 1));
    sim.fill(buffer, 7).unwrap();
    sim.fill(other, 7).unwrap();
    let mut bytes = [0; 5];
    sim.download(buffer, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 5]);
    sim.free(buffer);
    sim.free(buffer);
    assert!(matches!(sim.fill(buffer, 0), Err(Error::Device { .. })));

    let mut launch = interleaved(1, 0);
    let mut refused = |launch: &Launch, bound: &[_], expected| {
        let error = launched(&mut sim, launch, bound).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(&launch, &[other], "buffer 1 is an argument, but the number of bound buffers is 1");
    launch.args.pop();
    refused(&launch, &[other; 2], "the kernel's parameters have [8, 8, 4] bytes, the arguments [8, 8]");
    launch.entry = "reduce_nothing".into();
    refused(&launch, &[other; 2], "the PTX has no such entry");
}

/// Loads and runs the PTX from nvcc that `tests/cut.rs` also tests.
#[test]
fn loaded_code_has_separate_entries() {
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let several = sim.load(include_str!("data/several.ptx").into()).unwrap();
    let broken = sim.load(".version 7.0\n.entry plain() {".into()).unwrap();
    assert_ne!(several, broken);
    let out = sim.alloc(4).unwrap();
    let launch = |code, entry: &str, args| Launch {
        code,
        entry: entry.into(),
        grid: [1, 1, 1],
        block: [1, 1, 1],
        shared_bytes: 0,
        args,
    };
    let read = |sim: &mut Sim| {
        let mut bytes = [0; 4];
        sim.download(out, &mut bytes).unwrap();
        u32::from_ne_bytes(bytes)
    };

    // A half and a quarter of 8, through functions and a table.
    let one = vec![Arg::Buffer(0)];
    sim.upload(out, &8f32.to_ne_bytes()).unwrap();
    let functions = launch(several, "through_functions", one.clone());
    launched(&mut sim, &functions, &[out]).unwrap();
    assert_eq!(f32::from_bits(read(&mut sim)), 6.0);

    // This entry cannot be extracted, so the whole module is loaded.
    launched(&mut sim, &launch(several, "arrives", one), &[out]).unwrap();
    assert_eq!(read(&mut sim), 0);

    for (code, entry, why) in [
        (Code::Kernels, "arrives", "the PTX has no such entry"),
        (several, "reduce_interleaved", "the PTX has no such entry"),
        (broken, "plain", "plain<<<1, 1, 0>>> failed"),
        (Code::Loaded(7), "plain", "Loaded(7) was not loaded"),
    ] {
        let error = launched(&mut sim, &launch(code, entry, vec![]), &[]).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.is_failure());
    }
}
