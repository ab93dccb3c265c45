//! The matrix product on the simulator: any shape is right, and the counters show the effect of each rung.

use host::KERNELS;
use host::device::Sim;
use host::run::RungResult;

use crate::common::{self, all_right, counter_of, once};
use host::{Ladder, Options, ladder};
use proptest::prelude::*;

fn matmul() -> &'static Ladder {
    ladder("matmul").unwrap()
}

fn sides(m: u32, n: u32, k: u32) -> Options {
    Options::default().with("m", m).with("n", n).with("k", k)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_shape_is_right(
        m in 1u32..70,
        n in 1u32..300,
        k in 1u32..70,
    ) {
        let mut sim = Sim::open(&KERNELS, 1).unwrap();
        all_right(&mut sim, matmul(), &sides(m, n, k), |_, _| true);
    }
}

/// Returns the results of a product of 128 × 256 × 64, with tiles of 32.
fn counted() -> Vec<RungResult> {
    let report = common::counted(once("matmul", &sides(128, 256, 64)));
    assert_eq!(report.flops, Some(2 * 128 * 256 * 64));
    report.outcomes
}

#[test]
fn tiles_read_a_32nd_and_coarsening_reads_less_of_the_first_matrix() {
    let outcomes = counted();
    let counter = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
    let requests = |rung: &str| counter_of(&outcomes, rung, counter);
    let naive = requests("matmul_naive");
    // A warp computes 32 elements of the product, and each element takes 2 × 64 loads.
    assert_eq!(naive, 2.0 * 64.0 * 128.0 * 256.0 / 32.0);
    assert_eq!(requests("matmul_uncoalesced"), naive);
    for rung in ["matmul_tiled", "matmul_corner_turning", "matmul_coarsened1"] {
        assert_eq!(requests(rung) * 32.0, naive, "{rung}");
    }
    let second = naive / 32.0 / 2.0;
    for coarse in [2, 4, 8] {
        let rung = format!("matmul_coarsened{coarse}");
        let expected = second + second / f64::from(coarse);
        assert_eq!(requests(&rung), expected, "{rung}");
    }
}

#[test]
fn turning_the_corner_is_coalesced_and_free_of_conflicts() {
    for outcome in &counted() {
        let name = outcome.rung.name;
        let sectors = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
        // In half of the naive rungs' loads, all lanes load the same element.
        let expected = match name {
            "matmul_naive" => 2.5,
            "matmul_uncoalesced" => 16.5,
            // Rows of 32 bytes of the first matrix, and of 512 bytes of the second.
            "matmul_register_tile" => 4.0,
            // 2 rows of 64 bytes of the first matrix, and 16 bytes per lane of the second: 8 copies of 4 sectors and 4
            // of 16.
            "matmul_vector_copies" | "matmul_pipelined" => 8.0,
            // The same 8 copies of the first matrix, and 2 of the second.
            "matmul_sliced" => 6.4,
            _ => 4.0,
        };
        assert_eq!(outcome.counter(sectors), Some(expected), "{name}");
        for op in ["ld", "st"] {
            let conflicts = format!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum");
            assert_eq!(outcome.counter(&conflicts), Some(0.0), "{name}, {op}");
        }
    }
}
