//! Compares the counters with those of an H100 and with their definitions.

use std::collections::BTreeSet;

use proptest::prelude::*;

use ptx::ast::Space;
use simt::Module;
use simt::counters::{Counters, METRICS, Value};
use simt::observe::{Access, AccessKind, BarrierArrival, Observer, Site, WarpId};
use simt::regs::LANES;
use simt::{Function, Launch, Simulator};

/// The counters of an H100, by address pattern.
const PATTERNS: &str = include_str!("fixtures/ncu/patterns.txt");

/// Returns the counters of a kernel for this target with these instructions, before the kernel runs.
fn counters_of(target: &str, body: &str) -> Counters {
    Counters::new(&kernel(target, body))
}

fn kernel(target: &str, body: &str) -> Function {
    let text = format!(
        ".version 8.0\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n\
         .reg .b64 %rd<9>;\n.reg .pred %p<3>;\n{body}\nret;\n}}\n"
    );
    Module::from_ptx(text).unwrap().function("k").unwrap()
}

fn counters() -> Counters {
    counters_of("sm_80", "@%p1 bra END;\nbra END;\nEND:")
}

fn count(counters: &Counters, name: &str) -> u64 {
    match counters.get(name) {
        Some(Value::Count(count)) => count,
        other => panic!("{name}: {other:?}"),
    }
}

fn ratio(counters: &Counters, name: &str) -> Option<f64> {
    match counters.get(name) {
        Some(Value::Ratio(ratio)) => ratio,
        other => panic!("{name}: {other:?}"),
    }
}

fn access(counters: &mut Counters, space: Space, kind: AccessKind, bytes: u32, mask: u32, addresses: &[u64; LANES]) {
    let access = Access { space, kind, bytes, mask, rank: None, stored: Default::default(), addresses, patterns: None };
    counters.access(Site { function: 0, pc: 0 }, WarpId::default(), &access);
}

fn site(pc: u32) -> Site {
    Site { function: 0, pc }
}

const LD: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";

/// For each first word of a pattern's line, the counters that its two numbers stand for.
#[rustfmt::skip]
const ACCESSES: [(&str, Space, AccessKind, &[&str]); 11] = {
    use AccessKind::{AsyncCopy, Atomic, Load, Reduction, Store};
    use Space::{Global, Local, Shared};
    const SHARED_ATOMICS: &[&str] = &["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"];
    const ATOMICS: &[&str] = &[
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    ];
    [
        ("lds", Shared, Load, &[WAVES, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]),
        ("sts", Shared, Store, &[
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        ]),
        ("ldg", Global, Load, &[LD, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"]),
        ("stg", Global, Store, &[
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
        ]),
        ("atomg", Global, Atomic, ATOMICS),
        ("casg", Global, Atomic, ATOMICS),
        ("redg", Global, Reduction, &[
            "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        ]),
        ("atoms", Shared, Atomic, SHARED_ATOMICS),
        ("atomsinc", Shared, Atomic, SHARED_ATOMICS),
        ("cpasync", Global, AsyncCopy, &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", LD]),
        ("local", Local, Load, &[
            "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        ]),
    ]
};

#[test]
fn counters_match_a_gpu_for_every_pattern() {
    let mut checked = 0;
    for line in PATTERNS.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [kind, bytes, mask, first, second, offsets @ ..] = &words[..] else {
            panic!("{line}");
        };
        let bytes: u32 = bytes.parse().unwrap();
        let mask = u32::from_str_radix(mask, 16).unwrap();
        // A buffer's address, at which cache lines and banks begin.
        let mut addresses = [0u64; LANES];
        for (address, offset) in addresses.iter_mut().zip(offsets) {
            *address = offset.parse::<u64>().unwrap() * u64::from(bytes);
        }
        let mut rows = ACCESSES.iter();
        let (_, space, access_kind, names) = rows.find(|row| row.0 == *kind).expect(line);
        let mut counters = match *kind {
            // The first instruction only counts.
            "atomsinc" => counters_of("sm_80", "red.shared.add.u32 [%r1], 1;"),
            _ => counters(),
        };
        access(&mut counters, *space, *access_kind, bytes, mask, &addresses);
        for (name, expected) in names.iter().zip([first, second]) {
            let found = counters.get(name).unwrap().number().unwrap();
            let expected: f64 = expected.parse().unwrap();
            // ncu prints two decimal places.
            assert!((found - expected).abs() <= 0.005, "{name} is {found}: {line}");
        }
        checked += 1;
    }
    assert_eq!(checked, 663);
}

/// Targets and instructions. `ptxas` 13.5 compiles the first instruction as a pure count: it adds 1, and no instruction
/// reads the old value.
const COUNTING: &str = "
sm_80 atom.shared.add.u32 %r5, [%r3], 1;
sm_90a atom.shared.add.u32 %r5, [%r3], 1;
sm_90 atom.relaxed.cta.shared.add.u32 %r5, [%r3+64], 1;
sm_90 @%p1 atom.shared.add.u32 %r5, [%r3], 1;
sm_90 atom.shared.add.u32 _, [%r3], 1;
sm_90 red.shared.add.u32 [%r3], 1;
sm_90 atom.shared.inc.u32 %r5, [%r3], -1;
sm_90 atom.shared.add.u32 %r5, [%r3], 1; atom.shared.add.u32 %r5, [%r3], 1;
";

const NOT_COUNTING: &str = "
sm_75 atom.shared.add.u32 %r5, [%r3], 1;
sm_90 atom.shared.inc.u32 %r5, [%r3], 9;
sm_90 atom.shared.add.s32 %r5, [%r3], 1;
sm_90 atom.shared.add.u32 %r5, [%r3], 2;
sm_90 atom.shared.add.u32 %r5, [%r3], -1;
sm_90 atom.shared.add.u32 %r5, [%r3], %r4;
sm_90 atom.shared.add.u64 %rd5, [%r3], 1;
sm_90 atom.global.add.u32 %r5, [%rd3], 1;
sm_90 atom.add.u32 %r5, [%rd3], 1;
sm_90 atom.shared.add.u32 %r5, [%r3], 1; @%p1 bra END; { st.shared.u32 [%r3], %r5; } END:
";

#[test]
fn counting_atomics_add_one_and_have_no_reader() {
    for (table, expected) in [(COUNTING, true), (NOT_COUNTING, false)] {
        for row in table.lines().skip(1) {
            let (target, body) = row.split_once(' ').unwrap();
            // Counting lanes update one word in a single wavefront; the lanes of other atomics update it one by one.
            let mut counters = counters_of(target, body);
            access(&mut counters, Space::Shared, AccessKind::Atomic, 4, 0xff, &[0; LANES]);
            let wavefronts = count(&counters, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum");
            assert_eq!(wavefronts == 1, expected, "{row}: {wavefronts}");
        }
    }
}

#[test]
fn instructions_of_a_block_are_counted_one_by_one() {
    let mut counters = counters();
    counters.block(0, 2, 40);
    for active in [u32::MAX, 0xff] {
        counters.executed(site(0), 2, active);
        counters.executed(site(3), 1, active);
    }
    counters.executed(site(1), 1, 1);
    assert_eq!(counters.executed_at(site(0)), Some((2, 40)));
    assert_eq!(counters.executed_at(site(1)), Some((3, 41)));
    assert_eq!(counters.executed_at(site(2)), Some((0, 0)));
    assert_eq!(counters.executed_at(site(3)), Some((2, 40)));
    assert_eq!(counters.executed_at(site(4)), None);
    assert_eq!(count(&counters, "ptx_inst_executed.sum"), 7);
    assert_eq!(count(&counters, "ptx_thread_inst_executed.sum"), 121);
    assert_eq!(ratio(&counters, "ptx_inst_executed_per_warp.ratio"), Some(3.5));
}

#[test]
fn branch_targets_are_uniform_or_divergent() {
    let mut counters = counters();
    // `@%p bra` at 0, `bra` at 1.
    for (active, taken) in [(u32::MAX, 0), (u32::MAX, u32::MAX), (0xf, 0x3), (1, 1)] {
        counters.executed(site(0), 1, active);
        counters.branch(site(0), active, taken);
    }
    counters.executed(site(1), 1, u32::MAX);
    counters.branch(site(1), u32::MAX, u32::MAX);
    assert_eq!(count(&counters, "smsp__sass_branch_targets.sum"), 4);
    assert_eq!(count(&counters, "smsp__sass_branch_targets_threads_uniform.sum"), 3);
    assert_eq!(count(&counters, "smsp__sass_branch_targets_threads_divergent.sum"), 1);
    assert_eq!(ratio(&counters, "smsp__sass_average_branch_targets_threads_uniform.pct"), Some(75.0));
}

#[test]
fn an_indexed_branch_with_different_targets_is_divergent() {
    let module = Module::from_ptx(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 bits)\n{\n\
         .reg .b32 %r<4>;\nld.param.u32 %r1, [bits];\nmov.u32 %r2, %tid.x;\nand.b32 %r3, %r1, %r2;\n\
         TARGETS: .branchtargets A, B;\nbrx.idx %r3, TARGETS;\nA:\nret;\nB:\nret;\n}\n",
    )
    .unwrap();
    let kernel = module.function("k").unwrap();
    let mut simulator = Simulator::new(simt::Config::default()).unwrap();
    for (bits, divergent) in [(1u32, 2), (0, 0)] {
        let counters = simulator.launch_counted(&Launch::new(&kernel, [1, 1, 1], [64, 1, 1], &[bits.into()])).unwrap();
        assert_eq!(count(&counters, "smsp__sass_branch_targets.sum"), 2);
        assert_eq!(count(&counters, "smsp__sass_branch_targets_threads_divergent.sum"), divergent);
        let classes: u64 = METRICS
            .iter()
            .filter(|metric| {
                let rest = metric.name.strip_prefix("ptx_inst_executed_");
                rest.is_some_and(|rest| rest.ends_with(".sum"))
            })
            .map(|metric| count(&counters, metric.name))
            .sum();
        assert_eq!(classes, count(&counters, "ptx_inst_executed.sum"));
    }
}

#[test]
fn a_ratio_without_counts_is_absent() {
    let counters = counters();
    for metric in counters.metrics() {
        match metric.value {
            Value::Count(count) => assert_eq!(count, 0, "{}", metric.name),
            Value::Ratio(ratio) => assert_eq!(ratio, None, "{}", metric.name),
        }
    }
    assert_eq!(counters.get("no such metric"), None);
}

#[test]
fn names_are_unique_and_end_in_their_kind() {
    let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let ends = |name: &str| [".sum", ".ratio", ".pct"].iter().any(|end| name.ends_with(end));
    assert!(names.iter().all(|name| ends(name)));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), METRICS.len());
}

#[test]
fn a_fork_counts_from_zero_and_merges() {
    let arrival =
        BarrierArrival { site: site(0), warp_id: WarpId::default(), id: 0, count: None, lanes: u32::MAX, waits: true };
    let mut all = counters();
    all.executed(site(0), 2, 3);
    all.barrier(&arrival);
    let mut fork = all.fork();
    assert_eq!(count(&fork, "ptx_inst_executed.sum"), 0);
    fork.executed(site(1), 1, 1);
    fork.barrier(&arrival);
    access(&mut fork, Space::Shared, AccessKind::Load, 4, 1, &[0; LANES]);
    all.merge(fork);
    assert_eq!(all.executed_at(site(1)), Some((2, 3)));
    assert_eq!(count(&all, "ptx_barriers.sum"), 2);
    assert_eq!(count(&all, WAVES), 1);
}

/// Returns the addresses of lanes: consecutive, in pairs, strided, equal in both halves, ascending or arbitrary.
fn addresses(shape: u8, base: u64, numbers: &[u64; LANES], bytes: u32) -> [u64; LANES] {
    let index = |lane: usize| match shape {
        0 => lane as u64,
        1 => lane as u64 / 2,
        2 => lane as u64 * numbers[0],
        3 => (lane as u64 % 16) * numbers[0],
        4 => numbers[..=lane].iter().sum(),
        _ => numbers[lane],
    };
    std::array::from_fn(|lane| (base + index(lane)) * u64::from(bytes))
}

proptest! {
    /// Compares each instruction set's version with the definition, on addresses with and without a pattern.
    #[test]
    fn sectors_and_bytes_by_definition(
        shape in 0u8..6,
        base in 0u64..4096,
        numbers in prop::array::uniform32(0u64..64),
        mask in prop_oneof![Just(u32::MAX), 1u32..],
        log_bytes in 0u32..6,
    ) {
        let bytes = 1u32 << log_bytes;
        let addresses = addresses(shape, base, &numbers, bytes);
        let mut touched = BTreeSet::new();
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
            touched.extend(addresses[lane]..addresses[lane] + u64::from(bytes));
        }
        let sectors: BTreeSet<u64> = touched.iter().map(|byte| byte / 32).collect();
        for mut counters in Counters::of_each_instruction_set(&kernel("sm_80", "")) {
            access(&mut counters, Space::Global, AccessKind::Load, bytes, mask, &addresses);
            prop_assert_eq!(count(&counters, LD), sectors.len() as u64);
            let used = ratio(&counters, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct").unwrap();
            prop_assert_eq!((used / 100.0 * sectors.len() as f64 * 32.0).round(), touched.len() as f64);
        }
    }

    /// Compares each version with the definition for words of shared memory, where each lane's access lies in one bank.
    #[test]
    fn wavefronts_by_definition(
        shape in 0u8..6,
        base in 0u64..64,
        numbers in prop::array::uniform32(0u64..64),
        mask in prop_oneof![Just(u32::MAX), 1u32..],
        log_bytes in 0u32..3,
        store in any::<bool>(),
    ) {
        let bytes = 1u32 << log_bytes;
        let addresses = addresses(shape, base, &numbers, bytes);
        let words: BTreeSet<u64> = (0..LANES)
            .filter(|lane| mask >> lane & 1 == 1)
            .map(|lane| addresses[lane] / 4)
            .collect();
        let mut banks = [0; 32];
        for word in &words {
            banks[*word as usize % 32] += 1;
        }
        let (kind, op) = if store { (AccessKind::Store, "st") } else { (AccessKind::Load, "ld") };
        for mut counters in Counters::of_each_instruction_set(&kernel("sm_80", "")) {
            access(&mut counters, Space::Shared, kind, bytes, mask, &addresses);
            let metric = |what: &str| count(&counters, &format!("l1tex__data_{what}_mem_shared_op_{op}.sum"));
            let wavefronts = metric("pipe_lsu_wavefronts");
            prop_assert_eq!(wavefronts, *banks.iter().max().unwrap());
            prop_assert_eq!(metric("bank_conflicts_pipe_lsu"), wavefronts - 1);
        }
    }
}
