//! Tests the longest chain of dependent instructions, and the resources that a kernel uses.

use devices::Latencies;
use simt::{Arg, Config, Launch, Module};
use simt_timing::*;

/// Latencies whose shares of a sum can be distinguished.
const LATENCIES: Latencies = Latencies {
    alu: 5,
    special: 11,
    shuffle: 23,
    shared: 100,
    atomic: 7,
    l1: 1_000,
    l2: 10_000,
    memory: 100_000,
    barrier: 13,
    mma: 33,
    wgmma: 50,
    wgmma_group: 0,
    mbarrier: 3,
    bulk: 600,
    bulk_memory: 700,
    tile_memory: 30_000,
    bulk_store: 0,
    cluster: 0,
};

/// Returns the resource use of a kernel with a buffer of 4096 zeroed words and these instructions.
fn demand(body: &str, grid: u32, block: u32, chosen: Option<&[u64]>) -> ResourceUse {
    demand_of(body, grid, block, chosen, false)
}

/// Like [`demand`]; with `at_once`, all blocks of the launch may run at once.
fn demand_of(body: &str, grid: u32, block: u32, chosen: Option<&[u64]>, at_once: bool) -> ResourceUse {
    let ptx = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[4096];\n.shared .align 8 .b64 full;\n\
         .entry k(.param .u64 p)\n{{\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .f32 %f<40>;\n.reg .pred %p<8>;\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{body}\nret;\n}}\n"
    );
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = simt::Simulator::new(Config::default()).unwrap();
    let words = simulator.zeroed::<u32>(4096).unwrap();
    let args = [Arg::from(words)];
    let range = [(words.address(), 4 * 4096)];
    let path = CriticalPath::new(&function, LATENCIES, 64 << 10, &range).with_concurrent_blocks(at_once);
    simulator
        .launch_observed(&Launch::new(&function, [grid, 1, 1], [block, 1, 1], &args).with_blocks(chosen), path)
        .unwrap()
        .resource_use()
}

fn cycles(body: &str) -> [u64; 2] {
    demand(body, 1, 32, None).cycles
}

#[test]
fn independent_loads_overlap_and_dependent_loads_do_not() {
    let together = cycles(
        "ld.global.u32 %r3, [%rd3];\nld.global.u32 %r4, [%rd3+512];\nadd.s32 %r5, %r3, %r4;\n\
         st.global.u32 [%rd3], %r5;",
    );
    // The second address comes from the first load.
    let in_a_row = cycles(
        "ld.global.u32 %r3, [%rd3];\nmul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd5, %rd3, %rd4;\n\
         ld.global.u32 %r4, [%rd5+512];\nst.global.u32 [%rd3], %r4;",
    );
    assert_eq!(together.map(|cycles| cycles / 10_000), [1, 10]);
    assert_eq!(in_a_row.map(|cycles| cycles / 10_000), [2, 20]);
}

#[test]
fn a_sector_that_the_block_has_loaded_comes_from_the_l1() {
    let body = "ld.global.u32 %r3, [%rd3];\nst.global.u32 [%rd3], %r3;\nbar.sync 0;\n\
                ld.global.u32 %r4, [%rd3];\nst.global.u32 [%rd3+128], %r4;";
    let seen = demand(body, 1, 32, None);
    assert_eq!(seen.cycles[0] / 1_000, 11);
    assert_eq!((seen.l2_reads, seen.l2_writes, seen.tags), (4, 8, 4));
    assert_eq!((seen.read.clone(), seen.written.clone()), (vec![4], vec![8]));
    // `.cg` reads from the L2 each time.
    let uncached = demand(&body.replace("ld.global", "ld.global.cg"), 1, 32, None);
    assert_eq!(uncached.l2_reads, 8);
}

#[test]
fn a_barrier_releases_warps_after_the_last_arrival() {
    // Only the second warp loads from global memory; the first warp's shared load comes after the barrier.
    let seen = demand(
        "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra over;\nld.global.u32 %r3, [%rd3];\nst.global.u32 [%rd3], %r3;\n\
         over: bar.sync 0;\nld.shared.u32 %r4, [tile];\nst.global.u32 [%rd3], %r4;",
        1,
        64,
        None,
    );
    assert!((10_113..10_300).contains(&seen.cycles[0]), "{:?}", seen.cycles);
}

#[test]
fn waiting_for_a_group_completes_its_copies() {
    let copy = "mov.u32 %r8, tile;\ncp.async.ca.shared.global [%r8], [%rd3], 4;\ncp.async.commit_group;";
    let waited =
        cycles(&format!("{copy}\ncp.async.wait_group 0;\nld.shared.u32 %r4, [tile];\nst.global.u32 [%rd3], %r4;"));
    let not_waited =
        cycles(&format!("{copy}\ncp.async.wait_group 1;\nld.shared.u32 %r4, [tile];\nst.global.u32 [%rd3], %r4;"));
    assert_eq!(waited[1] / 100_000, 1);
    assert_eq!(not_waited[1] / 100_000, 0);
}

#[test]
fn waiting_for_an_mbarrier_completes_bulk_copies() {
    let copy = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra over;\nmov.u32 %r8, full;\nmov.u32 %r9, tile;\n\
                mbarrier.init.shared::cta.b64 [%r8], 1;\nfence.proxy.async;\n\
                mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 1024;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd1], 1024, [%r8];\n\
                look: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r8], 0;\n@!%p2 bra look;\nover:";
    let seen = demand(copy, 1, 32, None);
    assert!((10_603..10_640).contains(&seen.cycles[0]), "{:?}", seen.cycles);
    assert!((100_703..100_740).contains(&seen.cycles[1]), "{:?}", seen.cycles);
    assert_eq!((seen.l2_reads, seen.engine_bytes, seen.copy_groups_in_flight), (32, 1024.0, 1));
    assert_eq!(seen.read, [32]);
}

#[test]
fn global_loads_move_up_to_barriers_and_stores() {
    // The value of the first load is stored to shared memory before the second load begins.
    let loads = |between: &str| {
        cycles(&format!(
            "ld.global.u32 %r3, [%rd3];\nst.shared.u32 [tile], %r3;\n{between}ld.global.u32 %r4, [%rd3+512];\n\
             st.shared.u32 [tile+4], %r4;"
        ))[0]
            / 10_000
    };
    assert_eq!(loads(""), 1);
    assert_eq!(loads("bar.sync 0;\n"), 2);
    assert_eq!(loads("st.global.u32 [%rd3+1024], %r3;\n"), 2);
    // `ptxas` predicates a branch around a few instructions, wherever they are, but not a branch around many.
    let add = "add.s32 %r3, %r3, 1;\n";
    for (between, alone) in [
        (format!("setp.eq.u32 %p1, %r1, 99;\n@%p1 bra over;\n{add}over:\n"), 1),
        (format!("setp.eq.u32 %p1, %r1, 1;\n@%p1 bra some;\nbra.uni over;\nsome:\n{add}over:\n"), 1),
        (format!("setp.eq.u32 %p1, %r1, 99;\n@%p1 bra over;\n{}over:\n", add.repeat(8)), 2),
        ("setp.eq.u32 %p1, %r1, 99;\n@!%p1 bra over;\nfor_ever: bra.uni for_ever;\nover:\n".to_owned(), 2),
        ("setp.eq.u32 %p1, %r1, 99;\n@%p1 bra over;\nmembar.gl;\nover:\n".to_owned(), 2),
        ("setp.eq.u32 %p1, %r1, 99;\n@%p1 bra over;\natom.shared.add.u32 %r5, [tile], 1;\nover:\n".to_owned(), 2),
        ("mov.u32 %r5, 0;\nagain:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 2;\n@%p1 bra again;\n".to_owned(), 2),
    ] {
        assert_eq!(loads(&between), alone, "{between}");
    }
}

#[test]
fn address_computations_move_with_their_loads() {
    let loads = |address: &str| {
        let after_first = "ld.global.u32 %r3, [%rd3];\nst.shared.u32 [tile], %r3;\n";
        cycles(&format!("{after_first}{address}ld.global.u32 %r4, [%rd4+512];\nst.shared.u32 [tile+4], %r4;"))[0]
            / 10_000
    };
    assert_eq!(loads("add.s32 %r5, %r1, 128;\nmul.wide.u32 %rd5, %r5, 4;\nadd.s64 %rd4, %rd1, %rd5;\n"), 1);
    assert_eq!(loads("mul.wide.u32 %rd5, %r3, 4;\nadd.s64 %rd4, %rd3, %rd5;\n"), 2);
}

#[test]
fn concurrent_blocks_wait_for_memory_when_they_share_a_sector() {
    // The second load reads a sector that this block has loaded, but bypasses the L1.
    let body = "ld.global.cg.u32 %r3, [%rd3];\nst.shared.u32 [tile], %r3;\nbar.sync 0;\n\
                ld.global.cg.u32 %r4, [%rd3];\nst.shared.u32 [tile], %r4;";
    let cycles = |at_once| demand_of(body, 2, 32, None, at_once).longest.map(|cycles| cycles / 10_000);
    assert_eq!(cycles(false), [2, 20]);
    assert_eq!(cycles(true), [14, 23]);
}

#[test]
fn an_address_is_one_instruction_with_its_product() {
    // mul.wide and add.s64 of the preamble count as one; reading tid and ctaid is one each; ret is the last.
    let none = demand("", 1, 32, None).issued;
    assert_eq!(none[Pipe::Fma as usize], 1.0);
    assert_eq!(none[Pipe::Alu as usize], 2.0);
    assert_eq!(none[Pipe::Control as usize], 1.0);
    // A product with another use is issued.
    let used = demand("st.global.u64 [%rd1], %rd2;", 1, 32, None).issued;
    assert_eq!(used[Pipe::Fma as usize], 1.0);
    assert_eq!(used[Pipe::Alu as usize], 4.0);
}

#[test]
fn a_sample_of_equal_blocks_uses_a_proportional_share() {
    let body = "mad.lo.s32 %r3, %r2, 32, %r1;\nmul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd5, %rd1, %rd4;\n\
                ld.global.u32 %r4, [%rd5];\natom.global.add.u32 %r5, [%rd1], 1;\nst.global.u32 [%rd5], %r4;";
    let all = demand(body, 64, 32, None);
    let some = demand(body, 64, 32, Some(&[8, 24, 40, 56]));
    assert_eq!((all.blocks, some.blocks), (64, 4));
    for (whole, part) in [
        (all.tags, some.tags),
        (all.l2_reads, some.l2_reads),
        (all.read[0], some.read[0]),
        (all.cycles[0], some.cycles[0]),
    ] {
        assert_eq!(whole, part * 16);
    }
    assert_eq!([all.atomics, all.hottest], [some.atomics, some.hottest].map(|part| part * 16.0));
    // One lane of each warp adds for all lanes to a word whose address does not depend on the lane.
    assert_eq!([some.atomics, some.hottest], [4.0; 2]);
}

#[test]
fn atomics_on_one_word_are_serialized() {
    let passes = |body: &str| demand(body, 4, 32, None).atomics;
    // The result is used, or the address depends on the lane.
    assert_eq!(passes("atom.global.add.u32 %r5, [%rd1], 1;\nst.global.u32 [%rd3], %r5;"), 128.0);
    assert_eq!(
        passes(
            "and.b32 %r3, %r1, 0;\nmul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd5, %rd1, %rd4;\nred.global.add.u32 [%rd5], 1;"
        ),
        128.0
    );
    // Float additions take longer.
    assert!((passes("red.global.add.f32 [%rd1], 0f3f800000;") / 128.0 - 2.4).abs() < 1e-6);
}

#[test]
fn a_loop_that_ptxas_unrolls_waits_for_four_loads_at_once() {
    let body = |step: &str| {
        format!(
            "mov.u32 %r3, 0;\nmov.u32 %r5, 0;\nmov.u32 %r6, 1;\nagain:\nld.global.u32 %r4, [%rd3];\nadd.s32 %r5, %r5, %r4;\n\
         add.s64 %rd3, %rd3, 1024;\nadd.s32 %r3, %r3, {step};\nsetp.lt.u32 %p1, %r3, 8;\n@%p1 bra again;\n\
         st.global.u32 [%rd1], %r5;"
        )
    };
    let cycles = |step: &str| demand(&body(step), 1, 32, None).cycles[0] / 10_000;
    assert_eq!([cycles("1"), cycles("%r6")], [2, 8]);
}

#[test]
fn bank_conflicts_are_passes() {
    let seen = demand(
        "shl.b32 %r6, %r1, 7;\nand.b32 %r6, %r6, 4095;\nmov.u32 %r7, tile;\nadd.s32 %r7, %r7, %r6;\n\
         ld.shared.u32 %r8, [%r7];\nst.global.u32 [%rd3], %r8;",
        1,
        32,
        None,
    );
    assert_eq!(seen.wavefronts, 32);
    assert_eq!(seen.cycles[0] / 100, 1);
}
