//! The histogram ladder on the simulator: exact counts for any bytes, and counters that show the effect of each rung.

use std::io::Write as _;

use host::KERNELS;
use host::device::Sim;
use host::problem::Verdict;
use host::run::RungResult;

use crate::common::{counted_on, counter_of, once};
use host::{DeviceProperties, Ladder, Options, Session, ladder};
use proptest::prelude::*;

fn histogram() -> &'static Ladder {
    ladder("histogram").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_bytes_of_any_file_are_counted(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20_000),
            prop::collection::vec(3u8..6, 0..20_000),
        ],
        block in prop::sample::select(histogram().blocks),
    ) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let data = Options::default().with("data", file.path().display());
        let problem = histogram().problem(&data).unwrap();
        let mut sim = Sim::open(&KERNELS, 1).unwrap();
        let mut session = Session::new(&mut sim, &*problem, false).unwrap();
        for rung in histogram().rungs {
            let launch = histogram().launch(rung, &*problem, Some(block), DeviceProperties::default()).unwrap();
            // The second launch must also start from zero.
            for _ in 0..2 {
                let verdict = session.check(rung, &launch).unwrap();
                prop_assert_eq!(verdict, Verdict::Right, "{}", launch);
            }
        }
    }
}

const N: u64 = 1 << 16;

fn counted(data: &str) -> Vec<RungResult> {
    counted_as(data, None)
}

/// Counts on a GPU of this compute capability, or on the newest one that there are kernels for.
fn counted_as(data: &str, capability: Option<(u32, u32)>) -> Vec<RungResult> {
    let options = Options::default().with("n", N).with("data", data);
    let mut sim = match capability {
        Some(_) => Sim::open_as(&KERNELS, 0, capability).unwrap(),
        None => Sim::open(&KERNELS, 0).unwrap(),
    };
    counted_on(&mut sim, once("histogram", &options)).outcomes
}

#[test]
fn interleaving_coalesces_and_coarsening_writes_fewer_copies() {
    let outcomes = counted("uniform");
    let sectors = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
    let value = |rung: &str, counter: &str| counter_of(&outcomes, rung, counter);
    assert_eq!(value("histogram_private_coarsened_contiguous", sectors), 16.0);
    assert_eq!(value("histogram_private_coarsened", sectors), 1.0);
    let atomics = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum";
    let fine = value("histogram_private", atomics);
    assert_eq!(value("histogram_global", atomics), (N / 32) as f64);
    assert_eq!(fine, (N / 256 * 8) as f64, "256 counters per block");
    assert_eq!(value("histogram_private_coarsened", atomics) * 16.0, fine);
}

#[test]
fn aggregation_removes_serialization_of_additions_to_one_counter() {
    let waves = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum";
    let wavefronts = |outcomes: &[RungResult], rung: &str| counter_of(outcomes, rung, waves);
    let old = counted_as("constant", Some((7, 5)));
    assert_eq!(wavefronts(&old, "histogram_private_coarsened"), N as f64, "one by one");
    assert_eq!(wavefronts(&old, "histogram_aggregated"), (N / 16) as f64);
    // From compute capability 8.0 on, the additions of 1 by several lanes to a word are combined. Aggregated additions
    // are not additions of 1.
    let new = counted("constant");
    assert_eq!(wavefronts(&new, "histogram_private_coarsened"), (N / 32) as f64);
    assert_eq!(wavefronts(&new, "histogram_aggregated"), (N / 16) as f64);
}

#[test]
fn lanes_with_private_copies_are_never_serialized() {
    let waves = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum";
    for data in ["uniform", "skewed", "constant"] {
        let found = counter_of(&counted(data), "histogram_lanes", waves);
        assert_eq!(found, (N / 32) as f64, "{data}: one wavefront per 32 bytes");
    }
    let sectors = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
    assert_eq!(counter_of(&counted("uniform"), "histogram_lanes", sectors), 16.0);
}
