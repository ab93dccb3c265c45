//! The ladder softmax on the simulator. Every variant is right in any order of blocks, and a rung gives the same bits
//! in every run.

use host::KERNELS;
use host::device::{Schedule, Sim};
use host::problem::Verdict;
use host::{Device as _, DeviceProperties, Ladder, Options, Session, ladder};
use proptest::prelude::*;

fn softmax() -> &'static Ladder {
    ladder("softmax").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_variant_is_right_on_any_shape_in_any_order(
        op in prop::sample::select(vec!["softmax", "rmsnorm"]),
        word in prop::sample::select(vec!["bf16", "f16", "f32"]),
        data in prop::sample::select(vec!["random", "constant", "special", "masked"]),
        resident in prop_oneof![Just("device".to_owned()), (1u32..20).prop_map(|resident| resident.to_string())],
        (m, n) in prop_oneof![(0u64..40, 0u64..300), (0u64..5, 0u64..6000), (1u64..3, (0u64..3000).prop_map(|n| 8 * n))],
        seed in any::<u64>(),
    ) {
        let options = Options::default().with("m", m).with("n", n).with("op", op).with("type", word);
        let problem = softmax().problem(&options.with("data", data).with("resident", resident)).unwrap();
        let mut sim = Sim::open(&KERNELS, 1).unwrap();
        let mut session = Session::new(&mut sim, &*problem, false).unwrap();
        for rung in softmax().select(&[], &*problem).unwrap() {
            let Ok(launch) = softmax().launch(rung, &*problem, None, DeviceProperties::default()) else { continue };
            for schedule in [Schedule::Fixed, Schedule::Random(seed)] {
                let verdict = session.check_under(schedule, rung, &launch).unwrap();
                prop_assert_eq!(verdict, Verdict::Right, "{} at {}", launch, problem.labels().size);
            }
        }
    }
}

#[test]
fn a_rung_gives_the_same_bits_under_every_schedule() {
    let options = Options::default().with("m", 9).with("n", 3000).with("type", "f32").with("resident", 16);
    let problem = softmax().problem(&options).unwrap();
    for rung in softmax().select(&[], &*problem).unwrap() {
        let Ok(launch) = softmax().launch(rung, &*problem, None, DeviceProperties::default()) else { continue };
        let written = [Schedule::Fixed, Schedule::Random(1), Schedule::Random(2)].map(|schedule| {
            let mut sim = Sim::open(&KERNELS, 1).unwrap();
            sim.set_schedule(schedule);
            Session::new(&mut sim, &*problem, false).unwrap().written(rung, &launch).unwrap()
        });
        assert!(written.iter().all(|output| *output == written[0]), "{}", rung.name);
    }
}
