//! Tests of verdicts and of the utilizations that they are based on, with made-up numbers.

use crate::occupancy::geometry;
use crate::predict::Description;
use crate::profile::next_rung;
use crate::profile::plan;
use ::profile::checklist::Optimization;
use ::profile::counters::Numbers;
use ::profile::model::{self, Estimate};
use ::profile::utilization;
use ::profile::verdict::{Resource, Utilization, verdict};
use engine::DeviceProperties;
use engine::selection::select_with;
use host::{CATALOG, ladder};

/// Rows of utilizations. Each row lists its differences from another row, the bounding resource, and the optimization
/// that helps.
macro_rules! rows {
    ($($base:ident, $($field:ident $share:literal),+ => $bound:ident $($helps:ident)?;)+) => {[$((
        Utilization { $($field: Some($share),)+ ..$base },
        (Resource::$bound, None$(.or(Some(Optimization::$helps)))?),
    ),)+]};
}

#[test]
fn the_bound_is_the_resource_nearest_to_its_limit_or_else_latency() {
    let near =
        Utilization { dram: Some(0.7), l2: Some(0.3), issue: Some(0.65), used: Some(1.0), ..Utilization::default() };
    let found = |shares: &Utilization| {
        let found = verdict(shares).unwrap();
        (found.bound, found.helps)
    };
    assert_eq!(found(&near), (Resource::Dram, None));
    assert!((verdict(&near).unwrap().share - 0.7).abs() < 1e-9);
    let far = Utilization { dram: Some(0.3), l2: Some(0.2), ..Utilization::default() };
    let rows = rows! {
        near, used 0.25 => Dram Coalescing;
        // Data from DRAM also pass through the L2 cache.
        near, l2 0.73 => Dram;
        far, l2 0.45, moved 9.0 => Latency Coarsening;
        near, l2 0.9, used 0.1 => L2 Coalescing;
        near, l2_atomics 0.9 => Atomics Privatization;
        near, l2_atomics 0.9, shared_atomics 0.1 => Atomics Coarsening;
        near, l1 0.99, shared 0.1, used 0.2 => L1 Coalescing;
        near, l1 0.88, shared 0.81 => Shared Tiling;
        near, l2 0.9, moved 9.0 => L2 Tiling;
        near, l2 0.9, moved 1.0 => L2;
        near, shared 0.9, conflicts 0.9 => BankConflicts BankConflicts;
        near, shared 0.9, conflicts 0.2 => Shared Tiling;
        near, l2 0.9, shared 0.8, conflicts 0.9 => L2;
        near, shared 0.9, shared_atomics 0.9 => Shared Privatization;
        near, shared 0.9, conflicts 0.4, shared_atomics 0.6 => Shared Privatization;
        near, shared 0.9 => Shared Tiling;
        near, issue 0.9, lanes 0.5 => Issue Divergence;
        near, issue 0.9, lanes 1.0 => Issue Coarsening;
        near, issue 0.9, fma 0.9 => Fma;
        near, issue 0.9, fma 0.7 => Fma;
        near, issue 0.7, fma 0.9, lanes 0.5 => Fma Divergence;
        near, special 0.9 => Special;
        near, special 0.9, lanes 0.5 => Special Divergence;
        far, lanes 0.5 => Latency Divergence;
        near, tensor 0.9 => Tensor;
        near, tensor 0.88, shared 0.9 => Tensor;
        near, tensor 0.7, shared 0.9 => Shared Tiling;
        near, tensor 0.6 => Dram;
        far, barrier 0.5, warps_active 0.1 => Barriers Coarsening;
        far, warps_active 0.1 => Warps Occupancy;
        far, warps_active 0.1, waves 0.2 => Size;
        far, warps_active 0.1, waves 2.0, warps_possible 0.12 => Warps Occupancy;
        far, warps_active 0.43, warps_possible 1.0 => Warps Coarsening;
        far, warps_active 0.9 => Latency Coarsening;
        far, l1 0.5, moved 200.0 => Latency Tiling;
        far, l1 0.5, used 0.2 => Latency Coalescing;
        far, l1 0.52, shared 0.44, l2 0.48, conflicts 0.9 => BankConflicts BankConflicts;
        far, shared 0.44, conflicts 0.9, barrier 0.3, warps_active 0.1 => BankConflicts BankConflicts;
        far, shared 0.44, conflicts 0.9, barrier 0.5 => Barriers Coarsening;
        far, l1 0.5, shared 0.45, conflicts 0.1 => Latency Coarsening;
    };
    for (shares, expected) in rows {
        assert_eq!(found(&shares), expected, "{shares:?}");
    }
    assert_eq!(verdict(&Utilization::default()), None);
}

#[test]
fn the_next_rung_comes_from_the_checklists_pairs() {
    let reduce = ladder("reduce").unwrap();
    let next = |rung, optimization| next_rung(reduce, reduce.rung(rung).unwrap(), optimization);
    use Optimization::{Coarsening, Divergence, Privatization};
    for (rung, helps, expected) in [
        ("reduce_neighbored", Divergence, Some("reduce_neighbored_less")),
        ("reduce_interleaved", Coarsening, Some("reduce_unrolling2")),
        ("reduce_unrolling8", Coarsening, Some("reduce_gmem_unroll4")),
        ("reduce_atomic", Coarsening, None),
        ("reduce_neighbored", Privatization, None),
    ] {
        assert_eq!(next(rung, helps), expected, "{rung}");
    }
}

#[test]
fn shares_of_the_model_and_of_ncu() {
    let selected = select_with(&CATALOG, &["transpose_naive".to_owned()], &[]).unwrap();
    let plan = plan(&selected[0], None, DeviceProperties::default()).unwrap();
    let (_, launch) = &plan.launches()[0];
    let bytes = plan.problem().facts().bytes;
    let warps = (launch.blocks() * launch.threads() / 32) as f64;
    let sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_";
    let used = "smsp__sass_average_data_bytes_per_sector_mem_global_op_";
    let numbers = Numbers::from([
        ("ptx_inst_executed.sum".to_owned(), 30.0 * warps),
        ("smsp__warps_launched.sum".to_owned(), warps),
        (format!("{sectors}ld.sum"), 4.0 * warps),
        (format!("{sectors}st.sum"), 32.0 * warps),
        (format!("{used}ld.pct"), 100.0),
        (format!("{used}st.pct"), 12.5),
    ]);
    let h100 = Description::open("h100").unwrap();
    let estimate = |l2: f64| Estimate {
        us: 100.0,
        alone: vec![
            (model::Resource::Memory, 40.0),
            (model::Resource::L2, l2),
            (model::Resource::Atomics, 10.0),
            (model::Resource::Latency, 30.0),
            (model::Resource::Matrix, 50.0),
        ],
        resident: 2,
        at_barriers: 20.0,
    };
    let of = |l2| Utilization::from_model(&h100, &estimate(l2), &numbers, geometry(launch), bytes);
    let shares = of(95.0);
    assert_eq!((shares.l2, shares.dram), (Some(0.95), Some(0.4)));
    assert_eq!((shares.issue, shares.fma, shares.tensor), (Some(0.0), Some(0.0), Some(0.5)));
    assert_eq!(shares.barrier, Some(0.2));
    // Two blocks of 16 warps each, out of 64 warps.
    assert_eq!(shares.warps_active, Some(0.5));
    for (share, expected) in [(shares.used, 8.0 / 36.0), (shares.moved, 4.5)] {
        assert!((share.unwrap() - expected).abs() < 1e-9, "{shares:?}");
    }
    assert_eq!(shares.predicted_ns, Some(100_000.0));
    let found = verdict(&shares).unwrap();
    assert_eq!(found.bound, Resource::L2);
    assert_eq!(found.helps, Some(Optimization::Coalescing));
    // No resource is near its limit, so the bound is latency.
    assert_eq!(verdict(&of(50.0)).unwrap().bound, Resource::Latency);

    let ncu: Numbers = [
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 92.0),
        ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 3.0),
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
    let ones = |names: &[String]| -> Numbers { names.iter().map(|name| (name.clone(), 1.0)).collect() };
    let mut names: Vec<String> = utilization::metrics().into_iter().collect();
    let numbers = ones(&names);
    let all = Utilization::from_ncu(&numbers, 64);
    // Each counter is 1: 1 % of the bytes are used, two sectors move 64 bytes, and two of three wavefronts are
    // conflicts.
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
        all.tensor,
        all.warps_active,
        all.warps_possible,
    ];
    assert_eq!(shares, [Some(0.01); 10]);
    // The chip lacks the counter of atomics.
    names.retain(|name| !name.contains("op_atom"));
    let lacking = Utilization::from_ncu(&ones(&names), 64);
    assert_eq!([lacking.conflicts, lacking.shared_atomics], [Some(1.0), None]);
}
