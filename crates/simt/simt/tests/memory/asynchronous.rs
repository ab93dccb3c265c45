//! Tests of `mbarrier`, copies that complete when they are waited for, tensor maps, and clusters: faults, and behavior
//! that a GPU does not show. `programs` compares their results with a GPU's.

use super::{PARAMS, bytes, outcome_of, simulator, text};
use simt::{Arg, Config, Launch, LaunchError, Module, Schedule, Simulator, Swizzle, TensorElement, TensorMap};

const BARRIER: &str = ".shared .align 8 .b64 bar;\n.shared .align 128 .b8 tile[4096];";

#[test]
fn copies_are_not_visible_before_the_wait() {
    let body = "mov.u32 %r2, tile;\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r1;\n\
                add.u32 %r2, %r2, %r1;\nst.shared.u32 [%r2], 7;\ncp.async.ca.shared.global [%r2], [%rd5], 4;\n\
                cp.async.commit_group;\nld.shared.u32 %r3, [%r2];\nst.global.u32 [%rd6], %r3;\n\
                cp.async.wait_group 0;\nld.shared.u32 %r3, [%r2];\nst.global.u32 [%rd6+128], %r3;";
    let out = outcome_of(BARRIER, body, &bytes(128), 256).unwrap();
    assert!(out[..128].chunks(4).all(|word| word == [7, 0, 0, 0]));
    assert_eq!(out[128..], bytes(128));
}

#[test]
fn a_random_schedule_chooses_when_copies_are_done() {
    // A loop between the copy and the wait, in which the copy may complete.
    let body = "mov.u32 %r2, tile;\nmov.u32 %r5, 0;\nst.shared.u32 [%r2], 7;\n\
                cp.async.ca.shared.global [%r2], [%rd1], 4;\nLOOP:\nadd.u32 %r5, %r5, 1;\n\
                setp.lt.u32 %p1, %r5, 20;\n@%p1 bra LOOP;\nld.shared.u32 %r3, [%r2];\n\
                st.global.u32 [%rd6], %r3;\ncp.async.wait_all;";
    let head = super::HEAD;
    let text = text(BARRIER, PARAMS, &format!("{head}{body}"));
    let function = Module::from_ptx(text).unwrap().function("k").unwrap();
    let mut seen = Vec::new();
    for seed in 0..24 {
        let schedule = Schedule::Random(seed);
        let config = Config { schedule, ..Config::default() };
        let mut simulator = Simulator::new(config).unwrap();
        let from = simulator.upload(&[99u32]).unwrap();
        let out = simulator.zeroed::<u32>(1).unwrap();
        let args = [from.into(), out.into()];
        let launch = Launch::new(&function, [1, 1, 1], [1, 1, 1], &args);
        simulator.launch(&launch).unwrap();
        seen.push(simulator.read(out).unwrap()[0]);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [7, 99]);
}

#[test]
fn copies_without_a_wait_complete_at_the_end() {
    let body = "mov.u32 %r2, tile;\nmul.lo.u32 %r3, %r1, 4;\nadd.u32 %r3, %r2, %r3;\n\
                ld.global.u32 %r4, [%rd5];\nst.shared.u32 [%r3], %r4;\nbar.sync 0;\n\
                setp.eq.u32 %p1, %r1, 0;\n\
                @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 128;";
    let out = outcome_of(BARRIER, body, &bytes(128), 128).unwrap();
    assert_eq!(out, bytes(128));
}

/// Returns the message of the fault of a kernel with one thread.
fn words_of(body: &str) -> String {
    let body = format!("setp.ne.u32 %p7, %r1, 0;\n@%p7 exit;\n{body}");
    outcome_of(BARRIER, &body, &bytes(256), 256).expect_err(&body).to_string()
}

#[test]
fn faults_name_the_mbarrier() {
    for (body, words) in [
        ("mbarrier.arrive.shared.b64 _, [bar];", "mbarrier at 0x0 of shared memory: it is not initialized"),
        (
            "mbarrier.init.shared.b64 [bar], 2;\nmbarrier.inval.shared.b64 [bar];\n\
             mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;",
            "mbarrier at 0x0 of shared memory: it is not initialized",
        ),
        ("mbarrier.init.shared.b64 [bar], 0;", "mbarrier of 0 arrivals; the number must be 1 to 1048575"),
        (
            "mbarrier.init.shared.b64 [bar], 2;\nmbarrier.arrive.shared.b64 _, [bar], 3;",
            "mbarrier at 0x0 of shared memory: 3 arrivals, but its phase waits for 2 more of 2; initialize",
        ),
        ("mbarrier.init.shared.b64 [bar+4], 1;", "misaligned write of 8 bytes at 0x4"),
        ("mbarrier.init.b64 [%rd2], 1;", "which is not shared memory"),
        (
            "mbarrier.init.shared.b64 [bar], 3;\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n\
             WAIT:\nmbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;",
            "waits for the mbarrier at 0x0 of shared memory, whose phase of parity 0 has 2 of 3 arrivals and 64 \
             bytes of transactions pending",
        ),
        (
            "mbarrier.init.shared.b64 [bar], 1;\nmov.u32 %r2, tile;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 24, [bar];",
            "bulk copy of 24 bytes; the size must be a multiple of 16",
        ),
        (
            "mbarrier.init.shared.b64 [bar], 1;\nmov.u32 %r2, tile;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+8], [%rd1], 32, [bar];",
            "misaligned write of 32 bytes",
        ),
        (
            "mov.u32 %r2, tile;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 32, [bar];",
            "it is not initialized",
        ),
        (
            "mov.u32 %r2, tile;\n\
             cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r1}], [%r2];",
            "simt only reads maps that simt::TensorMap has encoded",
        ),
        ("barrier.cluster.wait;", "barrier: the cluster's: a wait of threads that have not arrived"),
    ] {
        let found = words_of(body);
        assert!(found.contains(words), "{body}: {found}");
    }
}

/// Returns the map of a tensor of 64 × 64 elements.
fn map(tile: [u32; 2], swizzle: Swizzle) -> TensorMap {
    let (element, sizes, strides) = (TensorElement::U16, vec![64; 2], vec![128]);
    TensorMap { element, address: 0, sizes, strides, tile: tile.to_vec(), steps: vec![1; 2], swizzle, nan: false }
}

#[test]
fn bad_tensor_maps() {
    let good = map([16, 4], Swizzle::B32);
    let bad = |change: fn(&mut TensorMap), words: &str| {
        let mut map = good.clone();
        change(&mut map);
        let problem = map.encode().unwrap_err();
        assert!(problem.contains(words), "{problem}");
    };
    bad(|map| map.sizes.clear(), "of 0 dimensions");
    bad(|map| map.strides.clear(), "needs 1 strides");
    bad(|map| map.sizes[1] = 0, "sizes must be 1 to");
    bad(|map| map.address = 8, "multiples of 16");
    bad(|map| map.strides[0] = 100, "multiples of 16");
    bad(|map| map.tile[1] = 257, "1 to 256");
    bad(|map| map.steps[1] = 9, "traversal strides of 1 to 8");
    bad(|map| map.tile[0] = 4, "rows of 8 bytes");
    bad(|map| map.tile[0] = 32, "rows of 64 bytes, but its swizzle allows only 32");
    bad(|map| map.nan = true, "cannot be filled with NaN");
    assert_eq!(TensorMap::decode(&good.encode().unwrap()), Some(good.clone()));
    assert_eq!(TensorMap::decode(&[0; 128]), None);
}

/// Launches a kernel in clusters.
fn clusters(head: &str, body: &str, grid: u32, cluster: Option<[u32; 3]>) -> Result<Vec<u32>, String> {
    let text = text(BARRIER, PARAMS, &format!("{}{body}", super::HEAD));
    let text = text.replacen(")\n{", &format!(") {head}\n{{"), 1);
    let function = Module::from_ptx(text).unwrap().function("k");
    let function = function.unwrap_or_else(|error| panic!("{error}"));
    let mut simulator = simulator(2);
    let out = simulator.zeroed::<u32>(64).unwrap();
    let args = [out.into(), out.into()];
    let launch = Launch::new(&function, [grid, 1, 1], [32, 1, 1], &args);
    match simulator.launch(&launch.with_cluster(cluster)) {
        Ok(()) => Ok(simulator.read(out).unwrap()),
        Err(error @ (LaunchError::Geometry { .. } | LaunchError::Fault(_))) => Err(error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn launches_in_clusters() {
    let body = "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %cluster_ctarank;\nmov.u32 %r4, %clusterid.x;\n\
                mad.lo.u32 %r3, %r4, 100, %r3;\nmul.wide.u32 %rd7, %r2, 4;\nadd.s64 %rd7, %rd2, %rd7;\n\
                st.global.u32 [%rd7], %r3;";
    let found = clusters("", body, 6, Some([3, 1, 1])).unwrap();
    assert_eq!(found[..6], [0, 1, 2, 100, 101, 102]);
    assert_eq!(clusters("", body, 3, None).unwrap()[..3], [0, 100, 200]);
    for (head, grid, cluster, words) in [
        ("", 5, Some([2, 1, 1]), "a grid of (5, 1, 1) is not divisible into clusters of (2, 1, 1)"),
        ("", 17, Some([17, 1, 1]), "a cluster of 17 blocks; at most 16 fit"),
        ("", 4, Some([0, 1, 1]), "a cluster of (0, 1, 1) has no blocks"),
        (".explicitcluster", 4, None, "compiled for clusters (.explicitcluster), launched without a cluster size"),
        (
            ".reqnctapercluster 2, 1, 1",
            4,
            Some([4, 1, 1]),
            "compiled for clusters of (2, 1, 1) (.reqnctapercluster), launched with (4, 1, 1)",
        ),
    ] {
        let found = clusters(head, body, grid, cluster).unwrap_err();
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn shared_memory_of_an_exited_block_is_a_fault() {
    // Block 0 exits at once; block 1 loops for a while first.
    let body = "mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 exit;\nmov.u32 %r3, 0;\nLOOP:\n\
                add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 100;\n@%p2 bra LOOP;\nmov.u32 %r4, tile;\n\
                mapa.shared::cluster.u32 %r4, %r4, 0;\nld.shared::cluster.u32 %r5, [%r4];";
    let found = clusters("", body, 2, Some([2, 1, 1])).unwrap_err();
    assert!(found.contains("access to the shared memory of block 0 of the cluster, which has exited"), "{found}");
    assert!(found.contains("block (1, 0, 0)"), "{found}");
}

#[test]
fn a_cluster_that_waits_forever() {
    let body = "mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra FIRST;\nbar.sync 1, 64;\nFIRST:\n\
                barrier.cluster.arrive;\nbarrier.cluster.wait;";
    let found = clusters("", body, 2, Some([2, 1, 1])).unwrap_err();
    for words in [
        "warp 0 of block 0 of the cluster waits at the cluster's barrier",
        "warp 0 of block 1 of the cluster waits at barrier 1",
    ] {
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn invalid_tile_coordinates() {
    let mut simulator = simulator(1);
    let tensor = simulator.upload(&[5u16; 64 * 64]).unwrap();
    let map = TensorMap { address: tensor.address(), ..map([16, 2], Swizzle::None) };
    let params = ".param .u64 out, .param .align 64 .b8 map[128]";
    for ([x, y], words) in [
        ([8, -1], "at coordinate -1, outside of the tensor"),
        ([12, 0], "whose offset in bytes is not a multiple of 16"),
    ] {
        let body = format!(
            "mov.b64 %rd3, map;\ncvta.param.u64 %rd3, %rd3;\nmov.u32 %r2, tile;\n\
             cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {{{x}, {y}}}], [%r2];"
        );
        let args = [tensor.into(), Arg::Bytes(map.encode().unwrap().to_vec())];
        let text = text(BARRIER, params, &body);
        let error = super::launch(&mut simulator, &text, 1, 1, &args).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
