//! The ladder scan on the simulator. Every variant is right in any order of blocks. Sums of floats have the same bits
//! in every run where the ladder guarantees it.

use host::KERNELS;
use host::device::{Schedule, Sim};
use host::problem::Verdict;
use host::{Device as _, DeviceProperties, Ladder, Options, Session, ladder};
use proptest::prelude::*;

fn scan() -> &'static Ladder {
    ladder("scan").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_variant_is_right_on_any_size_in_any_order(
        op in prop::sample::select(vec!["sum", "product", "min", "max"]),
        word in prop::sample::select(vec!["i32", "u32", "i64", "f32"]),
        kind in prop::sample::select(vec!["inclusive", "exclusive"]),
        data in prop::sample::select(vec!["random", "uniform", "constant", "sorted", "reversed", "few", "special"]),
        resident in prop_oneof![Just("device".to_owned()), (1u32..4).prop_map(|resident| resident.to_string())],
        n in prop_oneof![0u64..2000, 0u64..60_000],
        seed in any::<u64>(),
    ) {
        let options = Options::default().with("n", n).with("op", op).with("type", word).with("kind", kind);
        let problem = scan().problem(&options.with("data", data).with("resident", resident)).unwrap();
        let mut sim = Sim::open(&KERNELS, 1).unwrap();
        let mut session = Session::new(&mut sim, &*problem, false).unwrap();
        for rung in scan().select(&[], &*problem).unwrap() {
            for block in scan().blocks_of(rung, &*problem) {
                let launch = scan().launch(rung, &*problem, Some(block), DeviceProperties::default()).unwrap();
                // The second launch starts with the words that the first launch wrote.
                for schedule in [Schedule::Fixed, Schedule::Random(seed)] {
                    let verdict = session.check_under(schedule, rung, &launch).unwrap();
                    prop_assert_eq!(verdict, Verdict::Right, "{} at {}", launch, problem.labels().size);
                }
            }
        }
    }
}

/// Returns the output of a rung under this schedule, for floats whose sums are rounded.
fn rounded(rung: &str, schedule: Schedule) -> Vec<u8> {
    let options = Options::default().with("n", 150_001).with("type", "f32").with("data", "uniform").with("resident", 3);
    let (problem, rung) = (scan().problem(&options).unwrap(), scan().rung(rung).unwrap());
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    sim.set_schedule(schedule);
    let launch = scan().launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    let mut session = Session::new(&mut sim, &*problem, false).unwrap();
    let mut written = session.written(rung, &launch).unwrap();
    assert!(problem.check(rung, &launch, &written).is_right(), "{launch} under {schedule:?}");
    written.swap_remove(0)
}

#[test]
fn the_order_of_additions_depends_on_timing_only_with_look_back() {
    let all = |rung| (0..6).map(|seed| rounded(rung, Schedule::Random(seed))).collect::<Vec<_>>();
    let (pipelined, look_back) = (all("scan_pipelined"), all("scan_look_back_warp"));
    assert!(pipelined.iter().all(|output| *output == pipelined[0]));
    assert!(look_back.iter().any(|output| *output != look_back[0]));
}

#[test]
fn a_64_bit_sum_never_mixes_two_states() {
    let options = Options::default().with("n", 120_000).with("type", "i64");
    let (problem, rung) = (scan().problem(&options).unwrap(), scan().rung("scan_look_back_warp").unwrap());
    let launch = scan().launch(rung, &*problem, Some([512, 1, 1]), DeviceProperties::default()).unwrap();
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let mut session = Session::new(&mut sim, &*problem, false).unwrap();
    for seed in 0..12 {
        assert_eq!(session.check_under(Schedule::Random(seed), rung, &launch).unwrap(), Verdict::Right, "{seed}");
    }
}
