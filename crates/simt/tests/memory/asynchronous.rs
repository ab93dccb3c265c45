//! `mbarrier`, copies that are done when they are waited for, tensor copies, and clusters.

use super::{PARAMS, bytes, fault, machine, outcome, outcome_of, text};
use simt::memory::AccessProblem;
use simt::{Arg, Config, FaultKind, Launch, LaunchError, Machine, Module, Schedule, Swizzle, TensorElement, TensorMap};

const BARRIER: &str = ".shared .align 8 .b64 bar;\n.shared .align 128 .b8 tile[4096];";

#[test]
fn bytes_are_old_before_they_are_waited_for() {
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
    // A loop between the copy and the wait, in which it may be done.
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
        let mut machine = Machine::new(config).unwrap();
        let from = machine.upload(&[99u32]).unwrap();
        let out = machine.zeroed::<u32>(1).unwrap();
        let args = [from.into(), out.into()];
        let launch = Launch::new(&function, [1, 1, 1], [1, 1, 1], &args);
        machine.launch(&launch).unwrap();
        seen.push(machine.read(out).unwrap()[0]);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [7, 99]);
}

#[test]
fn copies_that_nobody_waits_for_are_done_at_the_end() {
    let body = "mov.u32 %r2, tile;\nmul.lo.u32 %r3, %r1, 4;\nadd.u32 %r3, %r2, %r3;\n\
                ld.global.u32 %r4, [%rd5];\nst.shared.u32 [%r3], %r4;\nbar.sync 0;\n\
                setp.eq.u32 %p1, %r1, 0;\n\
                @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 128;";
    let out = outcome_of(BARRIER, body, &bytes(128), 128).unwrap();
    assert_eq!(out, bytes(128));
}

/// The words of the fault that a kernel of one thread ends with.
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
        ("mbarrier.init.shared.b64 [bar], 0;", "mbarrier of 0 arrivals; it takes 1 to 1048575"),
        (
            "mbarrier.init.shared.b64 [bar], 2;\nmbarrier.arrive.shared.b64 _, [bar], 3;",
            "mbarrier at 0x0 of shared memory: 3 arrivals, of which 2 of 2 are pending",
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
            "bulk copy of 24 bytes; the size is a multiple of 16",
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
            "simt reads only those that simt::TensorMap has encoded",
        ),
        ("barrier.cluster.wait;", "barrier: the cluster's: a wait of threads that have not arrived"),
    ] {
        let found = words_of(body);
        assert!(found.contains(words), "{body}: {found}");
    }
}

#[test]
fn pending_arrivals_and_phases() {
    let body = "setp.ne.u32 %p7, %r1, 0;\n@%p7 exit;\nmbarrier.init.shared.b64 [bar], 9;\n\
                mbarrier.arrive.noComplete.shared.b64 %rd8, [bar], 4;\nmbarrier.pending_count.b64 %r2, %rd8;\n\
                mbarrier.arrive.shared.b64 %rd9, [bar], 2;\nmbarrier.pending_count.b64 %r3, %rd9;\n\
                mbarrier.test_wait.shared.b64 %p1, [bar], %rd9;\nselp.u32 %r4, 1, 0, %p1;\n\
                mbarrier.arrive.shared.b64 _, [bar], 3;\n\
                mbarrier.test_wait.shared.b64 %p1, [bar], %rd9;\nselp.u32 %r5, 1, 0, %p1;\n\
                mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1;\nselp.u32 %r6, 1, 0, %p1;\n\
                st.global.v4.u32 [%rd2], {%r2, %r3, %r4, %r5};\nst.global.u32 [%rd2+16], %r6;";
    let out = outcome_of(BARRIER, body, &[], 20).unwrap();
    let words: Vec<u32> = super::words(&out);
    assert_eq!(words, [9, 5, 0, 1, 0]);
}

/// The shared memory that a load of a tile leaves, in a tensor of `u16` whose elements count up.
fn tile(map: &TensorMap, at: &[i32]) -> Vec<u16> {
    let elements: Vec<u16> = (0..4096).collect();
    let mut machine = machine(1);
    let tensor = machine.upload(&elements).unwrap();
    let address = match Arg::from(tensor) {
        Arg::Pointer(address) => address,
        other => panic!("{other:?}"),
    };
    let map = TensorMap { address, ..map.clone() };
    let encoded = map.encode().unwrap();
    assert_eq!(TensorMap::decode(&encoded), Some(map));
    let map = machine.upload(&encoded).unwrap();
    let out = machine.zeroed::<u16>(2048).unwrap();
    let coordinates: Vec<String> = at.iter().map(i32::to_string).collect();
    let body = format!(
        "{}mov.u32 %r2, tile;\nsetp.ne.u32 %p7, %r1, 0;\n@%p7 exit;\nmbarrier.init.shared.b64 [bar], 1;\n\
         cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], \
         [%rd1, {{{}}}], [bar];\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], %r6;\nWAIT:\n\
         mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\n\
         mov.u32 %r3, 0;\nCOPY:\nld.shared.u32 %r4, [%r2];\nst.global.u32 [%rd2], %r4;\n\
         add.u32 %r2, %r2, 4;\nadd.s64 %rd2, %rd2, 4;\nadd.u32 %r3, %r3, 4;\nsetp.lt.u32 %p1, %r3, 4096;\n\
         @%p1 bra COPY;",
        super::HEAD,
        at.len(),
        coordinates.join(", ")
    );
    let bytes: u32 = elements_of(&machine, map);
    let body = body.replace("%r6", &bytes.to_string());
    let text = text(BARRIER, PARAMS, &body);
    super::launch(&mut machine, &text, 1, 32, &[map.into(), out.into()]).unwrap();
    machine.read(out).unwrap()
}

/// The bytes of a map's tile.
fn elements_of(machine: &Machine, map: simt::Buffer<u8>) -> u32 {
    let encoded: [u8; 128] = machine.read(map).unwrap().try_into().unwrap();
    let map = TensorMap::decode(&encoded).unwrap();
    let sides = map.tile.iter().zip(&map.steps);
    let first = map.tile[0];
    let outer: u32 = sides.skip(1).map(|(side, step)| side.div_ceil(*step)).product();
    first * outer * map.element.bytes()
}

fn map(sizes: &[u64], tile: &[u32], swizzle: Swizzle) -> TensorMap {
    let mut strides = vec![sizes[0] * 2];
    for size in &sizes[1..] {
        strides.push(strides[strides.len() - 1] * size);
    }
    strides.truncate(sizes.len() - 1);
    TensorMap {
        element: TensorElement::U16,
        address: 0,
        sizes: sizes.to_vec(),
        strides,
        tile: tile.to_vec(),
        steps: vec![1; sizes.len()],
        swizzle,
        nan: false,
    }
}

#[test]
fn tiles_of_one_to_five_dimensions() {
    for sizes in [&[4096][..], &[64, 64], &[32, 8, 16], &[16, 8, 4, 8], &[16, 4, 4, 4, 4]] {
        let rank = sizes.len();
        let sides: Vec<u32> = [16, 3, 2, 2, 2][..rank].to_vec();
        for shift in [0i32, 1, -1] {
            let at: Vec<i32> = [8, 2, 1, -1, 1][..rank].iter().map(|at| at * shift).collect();
            let found = tile(&map(sizes, &sides, Swizzle::None), &at);
            let count: u32 = sides.iter().product();
            for index in 0..2048u32 {
                let (mut left, mut stride, mut inside, mut element) = (index, 1i64, true, 0);
                for axis in 0..rank {
                    let place = i64::from(at[axis]) + i64::from(left % sides[axis]);
                    left /= sides[axis];
                    inside &= (0..sizes[axis] as i64).contains(&place);
                    element += place * stride;
                    stride *= sizes[axis] as i64;
                }
                let expected = if inside && index < count { element as u16 } else { 0 };
                assert_eq!(found[index as usize], expected, "{sizes:?} at {at:?}: {index}");
            }
        }
    }
}

#[test]
fn tiles_are_swizzled() {
    for (swizzle, row) in [(Swizzle::B32, 16), (Swizzle::B64, 32), (Swizzle::B128, 64)] {
        let found = tile(&map(&[64, 64], &[row, 16], swizzle), &[0, 4]);
        // PTX ISA §5.5.4: 16 bytes of a row are at the place of their number, exclusive or that of a row of banks.
        let chunks = u64::from(row) * 2 / 16;
        for (index, value) in found[..row as usize * 16].iter().enumerate() {
            let at = index as u64 * 2;
            let from = at ^ ((at / 128 % chunks) * 16);
            let (line, column) = (from / (u64::from(row) * 2), from % (u64::from(row) * 2) / 2);
            assert_eq!(u64::from(*value), (line + 4) * 64 + column, "{swizzle:?} {index}");
        }
    }
}

#[test]
fn every_nth_row_of_a_tile() {
    let own = TensorMap { steps: vec![1, 3], ..map(&[64, 64], &[8, 9], Swizzle::None) };
    let found = tile(&own, &[8, 5]);
    for row in 0..3 {
        let expected: Vec<u16> = (0..8).map(|column| (5 + row * 3) * 64 + 8 + column).collect();
        assert_eq!(found[usize::from(row) * 8..][..8], expected);
    }
}

#[test]
fn tiles_go_to_tensors_and_change_them() {
    // The map is the kernel's parameter. A tile of 16 by 2 at (56, 63) is half outside on the right, and its second row too.
    let mut machine = machine(1);
    let tensor = machine.upload(&[5u32; 64 * 64]).unwrap();
    let own = TensorMap {
        element: TensorElement::U32,
        address: tensor.address(),
        strides: vec![256],
        ..map(&[64, 64], &[16, 2], Swizzle::None)
    };
    let body = "ld.param.u64 %rd1, [out];\nmov.b64 %rd3, map;\ncvta.param.u64 %rd3, %rd3;\nmov.u32 %r1, %tid.x;\n\
                mov.u32 %r2, tile;\nmul.lo.u32 %r3, %r1, 4;\nadd.u32 %r3, %r3, %r2;\nadd.u32 %r4, %r1, 100;\n\
                st.shared.u32 [%r3], %r4;\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 exit;\n\
                mov.u32 %r5, 56;\nmov.u32 %r6, 63;\n\
                cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r5, %r6}], [%r2];\n\
                cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nmov.u32 %r5, 8;\nmov.u32 %r6, 0;\n\
                cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd3, {%r5, %r6}], [%r2];\n\
                cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;";
    let params = ".param .u64 out, .param .align 64 .b8 map[128]";
    let text = text(BARRIER, params, body);
    let args = [tensor.into(), Arg::Bytes(own.encode().unwrap().to_vec())];
    super::launch(&mut machine, &text, 1, 32, &args).unwrap();
    let found = machine.read(tensor).unwrap();
    for (index, value) in found.iter().enumerate() {
        let (x, y) = (index as u32 % 64, index as u32 / 64);
        let expected = match (x, y) {
            (56..64, 63) => 100 + x - 56,
            (8..24, 0..2) => 5 + 100 + y * 16 + x - 8,
            _ => 5,
        };
        assert_eq!(*value, expected, "({x}, {y})");
    }
}

#[test]
fn what_lies_outside_is_not_a_number() {
    let own = TensorMap { element: TensorElement::F16, nan: true, ..map(&[64, 64], &[16, 2], Swizzle::None) };
    let found = tile(&own, &[-8, 0]);
    assert_eq!(found[..12], [0x7ff7, 0x7ff7, 0x7ff7, 0x7ff7, 0x7ff7, 0x7ff7, 0x7ff7, 0x7ff7, 0, 1, 2, 3]);
}

#[test]
fn bad_tensor_maps() {
    let good = map(&[64, 64], &[16, 4], Swizzle::B32);
    let bad = |change: fn(&mut TensorMap), words: &str| {
        let mut map = good.clone();
        change(&mut map);
        let problem = map.encode().unwrap_err();
        assert!(problem.contains(words), "{problem}");
    };
    bad(|map| map.sizes.clear(), "of 0 dimensions");
    bad(|map| map.strides.clear(), "takes 1 strides");
    bad(|map| map.sizes[1] = 0, "sizes are 1 to");
    bad(|map| map.address = 8, "multiples of 16");
    bad(|map| map.strides[0] = 100, "multiples of 16");
    bad(|map| map.tile[1] = 257, "1 to 256");
    bad(|map| map.steps[1] = 9, "steps of 1 to 8");
    bad(|map| map.tile[0] = 4, "rows of 8 bytes");
    bad(|map| map.tile[0] = 32, "more than the 32 of its swizzle");
    bad(|map| map.nan = true, "cannot be filled with NaN");
    assert_eq!(TensorMap::decode(&[0; 128]), None);
}

/// Launches a kernel in clusters.
fn clusters(head: &str, body: &str, grid: u32, cluster: Option<[u32; 3]>) -> Result<Vec<u32>, String> {
    let text = text(BARRIER, PARAMS, &format!("{}{body}", super::HEAD));
    let text = text.replacen(")\n{", &format!(") {head}\n{{"), 1);
    let function = Module::from_ptx(text).unwrap().function("k");
    let function = function.unwrap_or_else(|error| panic!("{error}"));
    let mut machine = machine(2);
    let out = machine.zeroed::<u32>(64).unwrap();
    let args = [out.into(), out.into()];
    let launch = Launch::new(&function, [grid, 1, 1], [32, 1, 1], &args);
    match machine.launch(&launch.with_cluster(cluster)) {
        Ok(()) => Ok(machine.read(out).unwrap()),
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
        ("", 5, Some([2, 1, 1]), "a grid of (5, 1, 1) is not made of clusters of (2, 1, 1)"),
        ("", 17, Some([17, 1, 1]), "a cluster of 17 blocks; at most 16 fit"),
        ("", 4, Some([0, 1, 1]), "a cluster of (0, 1, 1) has no blocks"),
        (".explicitcluster", 4, None, "compiled for clusters (.explicitcluster), launched without"),
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
fn blocks_that_have_exited_are_out_of_reach() {
    // Block 0 exits at once; block 1 waits in vain for a while.
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
fn faults_of_accesses_are_as_before() {
    let fault = fault("ld.shared.u32 %r2, [16777216];", &[], 4);
    let FaultKind::Access { access, .. } = fault.kind else { panic!("{fault}") };
    assert_eq!(access.what, AccessProblem::OutOfBounds);
    assert_eq!(outcome("st.global.u32 [%rd6], %r1;", &[], 128).len(), 128);
}

#[test]
fn where_tiles_cannot_begin() {
    let mut machine = machine(1);
    let tensor = machine.upload(&[5u16; 64 * 64]).unwrap();
    let own = TensorMap { address: tensor.address(), ..map(&[64, 64], &[16, 2], Swizzle::None) };
    let params = ".param .u64 out, .param .align 64 .b8 map[128]";
    for ([x, y], words) in [([8, -1], "from -1 on, before the tensor"), ([12, 0], "no multiple of 16 bytes")] {
        let body = format!(
            "mov.b64 %rd3, map;\ncvta.param.u64 %rd3, %rd3;\nmov.u32 %r2, tile;\n\
             cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {{{x}, {y}}}], [%r2];"
        );
        let args = [tensor.into(), Arg::Bytes(own.encode().unwrap().to_vec())];
        let text = text(BARRIER, params, &body);
        let error = super::launch(&mut machine, &text, 1, 1, &args).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
