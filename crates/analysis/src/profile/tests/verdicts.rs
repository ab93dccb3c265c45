//! The verdicts and what they come from, on made-up numbers.

use crate::checklist::Optimization;
use crate::counters::Numbers;
use crate::predict::Description;
use crate::predict::model::{self, Estimate};
use crate::profile::verdict::{Resource, Utilization, next_rung, verdict};
use crate::profile::{bounds, plan};
use engine::selection::select_with;
use host::{CATALOG, ladder};

#[test]
fn the_resource_nearest_to_its_limit_bounds_or_else_latency() {
    let near = Utilization {
        dram: Some(0.7),
        l2: Some(0.3),
        issue: Some(0.65),
        used: Some(1.0),
        ..Utilization::default()
    };
    let found = |shares: &Utilization| {
        let found = verdict(shares).unwrap();
        (found.bound, found.helps)
    };
    use Optimization as O;
    use Resource as R;
    assert_eq!(found(&near), (R::Dram, None));
    assert!((verdict(&near).unwrap().share - 0.7).abs() < 1e-9);
    let far = Utilization {
        dram: Some(0.3),
        l2: Some(0.2),
        ..Utilization::default()
    };
    for (shares, expected) in [
        (
            Utilization {
                used: Some(0.25),
                ..near
            },
            (R::Dram, Some(O::Coalescing)),
        ),
        // What comes from DRAM passes the L2 as well.
        (
            Utilization {
                l2: Some(0.73),
                ..near
            },
            (R::Dram, None),
        ),
        (
            Utilization {
                l2: Some(0.45),
                moved: Some(9.0),
                ..far
            },
            (R::Latency, Some(O::Coarsening)),
        ),
        (
            Utilization {
                l2: Some(0.9),
                used: Some(0.1),
                ..near
            },
            (R::L2, Some(O::Coalescing)),
        ),
        (
            Utilization {
                l2_atomics: Some(0.9),
                ..near
            },
            (R::Atomics, Some(O::Privatization)),
        ),
        (
            Utilization {
                l2_atomics: Some(0.9),
                shared_atomics: Some(0.1),
                ..near
            },
            (R::Atomics, Some(O::Coarsening)),
        ),
        (
            Utilization {
                l1: Some(0.99),
                shared: Some(0.1),
                used: Some(0.2),
                ..near
            },
            (R::L1, Some(O::Coalescing)),
        ),
        (
            Utilization {
                l1: Some(0.88),
                shared: Some(0.81),
                ..near
            },
            (R::Shared, Some(O::Tiling)),
        ),
        (
            Utilization {
                l2: Some(0.9),
                moved: Some(9.0),
                ..near
            },
            (R::L2, Some(O::Tiling)),
        ),
        (
            Utilization {
                l2: Some(0.9),
                moved: Some(1.0),
                ..near
            },
            (R::L2, None),
        ),
        (
            Utilization {
                shared: Some(0.9),
                conflicts: Some(0.9),
                ..near
            },
            (R::Shared, Some(O::Coalescing)),
        ),
        (
            Utilization {
                shared: Some(0.9),
                shared_atomics: Some(0.9),
                ..near
            },
            (R::Shared, Some(O::Privatization)),
        ),
        (
            Utilization {
                shared: Some(0.9),
                ..near
            },
            (R::Shared, Some(O::Tiling)),
        ),
        (
            Utilization {
                issue: Some(0.9),
                lanes: Some(0.5),
                ..near
            },
            (R::Issue, Some(O::Divergence)),
        ),
        (
            Utilization {
                issue: Some(0.9),
                lanes: Some(1.0),
                ..near
            },
            (R::Issue, Some(O::Coarsening)),
        ),
        (
            Utilization {
                issue: Some(0.9),
                fma: Some(0.9),
                ..near
            },
            (R::Fma, None),
        ),
        (
            Utilization {
                issue: Some(0.9),
                fma: Some(0.7),
                ..near
            },
            (R::Fma, None),
        ),
        (
            Utilization {
                barrier: Some(0.5),
                warps_active: Some(0.1),
                ..far
            },
            (R::Barriers, Some(O::Coarsening)),
        ),
        (
            Utilization {
                warps_active: Some(0.1),
                ..far
            },
            (R::Warps, Some(O::Occupancy)),
        ),
        (
            Utilization {
                warps_active: Some(0.1),
                waves: Some(0.2),
                ..far
            },
            (R::Size, None),
        ),
        (
            Utilization {
                warps_active: Some(0.1),
                waves: Some(2.0),
                warps_possible: Some(0.12),
                ..far
            },
            (R::Warps, Some(O::Occupancy)),
        ),
        (
            Utilization {
                warps_active: Some(0.43),
                warps_possible: Some(1.0),
                ..far
            },
            (R::Warps, Some(O::Coarsening)),
        ),
        (
            Utilization {
                warps_active: Some(0.9),
                ..far
            },
            (R::Latency, Some(O::Coarsening)),
        ),
        (
            Utilization {
                l1: Some(0.5),
                moved: Some(200.0),
                ..far
            },
            (R::Latency, Some(O::Tiling)),
        ),
        (
            Utilization {
                l1: Some(0.5),
                used: Some(0.2),
                ..far
            },
            (R::Latency, Some(O::Coalescing)),
        ),
        (
            Utilization {
                l1: Some(0.52),
                shared: Some(0.44),
                l2: Some(0.48),
                conflicts: Some(0.9),
                ..far
            },
            (R::Latency, Some(O::Coalescing)),
        ),
        (
            Utilization {
                l1: Some(0.5),
                shared: Some(0.45),
                conflicts: Some(0.1),
                ..far
            },
            (R::Latency, Some(O::Coarsening)),
        ),
    ] {
        assert_eq!(found(&shares), expected, "{shares:?}");
    }
    assert_eq!(verdict(&Utilization::default()), None);
}

#[test]
fn the_next_rung_is_the_checklists_or_the_next_of_its_pairs() {
    let reduce = ladder("reduce").unwrap();
    let next = |rung, optimization| next_rung(reduce, reduce.rung(rung).unwrap(), optimization);
    assert_eq!(
        next("reduce_neighbored", Optimization::Divergence),
        Some("reduce_neighbored_less")
    );
    assert_eq!(
        next("reduce_interleaved", Optimization::Coarsening),
        Some("reduce_unrolling2")
    );
    assert_eq!(
        next("reduce_unrolling8", Optimization::Coarsening),
        Some("reduce_gmem_unroll4")
    );
    assert_eq!(next("reduce_atomic", Optimization::Coarsening), None);
    assert_eq!(next("reduce_neighbored", Optimization::Privatization), None);
}

#[test]
fn shares_of_the_model_and_of_ncu() {
    let selected = select_with(&CATALOG, &["transpose_naive".to_owned()], &[]).unwrap();
    let plan = plan(&selected[0], None).unwrap();
    let (_, launch) = &plan.launches()[0];
    let bytes = plan.problem().bytes();
    let warps = (launch.blocks() * launch.threads() / 32) as f64;
    let sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_";
    let numbers: Numbers = [
        ("ptx_inst_executed.sum".to_owned(), 30.0 * warps),
        ("smsp__warps_launched.sum".to_owned(), warps),
        (format!("{sectors}ld.sum"), 4.0 * warps),
        (format!("{sectors}st.sum"), 32.0 * warps),
        (
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct".to_owned(),
            100.0,
        ),
        (
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct".to_owned(),
            12.5,
        ),
    ]
    .into_iter()
    .collect();
    let h100 = Description::open("h100").unwrap();
    let estimate = |l2: f64| Estimate {
        us: 100.0,
        alone: vec![
            (model::Resource::Memory, 40.0),
            (model::Resource::L2, l2),
            (model::Resource::Atomics, 10.0),
            (model::Resource::Latency, 30.0),
        ],
        resident: 2,
    };
    let of = |l2| Utilization::from_model(&h100, &estimate(l2), &numbers, launch, bytes);
    let shares = of(95.0);
    assert_eq!((shares.l2, shares.dram), (Some(0.95), Some(0.4)));
    assert_eq!((shares.issue, shares.fma), (Some(0.0), Some(0.0)));
    // Two blocks of 16 warps, of 64.
    assert_eq!(shares.warps_active, Some(0.5));
    assert!(
        (shares.used.unwrap() - 8.0 / 36.0).abs() < 1e-9,
        "{shares:?}"
    );
    assert!((shares.moved.unwrap() - 4.5).abs() < 1e-9, "{shares:?}");
    assert_eq!(shares.predicted_ns, Some(100_000.0));
    assert_eq!(verdict(&shares).unwrap().bound, Resource::L2);
    // Nothing is near its limit: it is the latency.
    assert_eq!(verdict(&of(50.0)).unwrap().bound, Resource::Latency);
    assert_eq!(
        verdict(&shares).unwrap().helps,
        Some(Optimization::Coalescing)
    );

    let ncu: Numbers = [
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 92.0),
        (
            "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
            3.0,
        ),
        ("smsp__average_warp_latency_per_inst_issued.ratio", 12.0),
        ("sm__warps_active.avg.pct_of_peak_sustained_active", 80.0),
    ]
    .map(|(name, number)| (name.to_owned(), number))
    .into();
    let shares = Utilization::from_ncu(&ncu, bytes);
    assert_eq!((shares.dram, shares.barrier), (Some(0.92), Some(0.25)));
    assert_eq!((shares.warps_active, shares.l2), (Some(0.8), None));
    assert_eq!(shares.predicted_ns, None);
}

#[test]
fn every_field_is_computed_from_counters_that_are_collected() {
    let numbers: Numbers = bounds::metrics()
        .into_iter()
        .map(|name| (name, 1.0))
        .collect();
    let all = Utilization::from_ncu(&numbers, 64);
    // One of two sectors' hundredths, two sectors for 64 bytes, two conflicts in three wavefronts.
    let expected = Utilization {
        used: Some(0.01),
        moved: Some(1.0),
        conflicts: Some(2.0 / 3.0),
        shared_atomics: Some(1.0 / 3.0),
        waves: Some(1.0),
        barrier: Some(1.0),
        lanes: Some(1.0 / 32.0),
        ..all
    };
    assert_eq!(all, expected);
    let shares = [
        all.dram,
        all.l2,
        all.l2_atomics,
        all.l1,
        all.shared,
        all.issue,
        all.fma,
        all.warps_active,
        all.warps_possible,
    ];
    assert_eq!(shares, [Some(0.01); 9]);
    // A chip that lacks the counter of atomics.
    let mut lacking = Numbers::default();
    for name in bounds::metrics()
        .iter()
        .filter(|name| !name.contains("op_atom"))
    {
        lacking.insert(name.clone(), 1.0);
    }
    let lacking = Utilization::from_ncu(&lacking, 64);
    assert_eq!(
        (lacking.conflicts, lacking.shared_atomics),
        (Some(1.0), None)
    );
}
