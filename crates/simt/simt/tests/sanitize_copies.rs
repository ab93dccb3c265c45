//! Tests of the sanitizers `init` and `memory` for asynchronous copies: bulk copies, reductions, tensor tiles, and
//! accesses to other blocks of a cluster. Each fault has a correct counterpart.

use simt::{Arg, Config, Launch, LaunchError, Module, Simulator, Swizzle, TensorElement, TensorMap};
use simt_check::{Check, Checks, Finding};

use crate::sanitize_init::{STORED, only};

/// The number of words in a row of the tensor, which has four rows.
const ROW: u64 = 64;

/// One thread arrives at an mbarrier and issues a copy; all threads wait for the copy.
const LOAD: &str = "@!%p1 bra ISSUED;\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], BYTES;\n\
    COPY\nISSUED:\nWAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";

const BULK: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
const TENSOR: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group";
const DONE: &str = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";

/// Returns the code in which all threads wait for the bytes of `copy`.
fn load(copy: &str, bytes: u32) -> String {
    LOAD.replace("COPY", copy).replace("BYTES", &bytes.to_string())
}

/// Returns the findings of a launch of blocks of 32 threads.
///
/// The buffer `from` has four rows of 64 words, and the host has written two of them; `to` has four uninitialized rows.
/// `map` and `next` describe a tensor of `rows` rows at `from` or, if `at_to`, at `to`. `n` is the distance from `from`
/// to `to`. Shared memory has `tile` of 1024 bytes, `bar`, and `other`, 1152 bytes after `tile`.
fn launched(check: &str, body: &str, (blocks, rows, at_to): (u32, u64, bool)) -> (Vec<Finding>, Option<LaunchError>) {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.entry k(.param .u64 from, .param .u64 to, .param .align 64 .b8 map[128], \
         .param .align 64 .b8 next[128], .param .u64 n)\n{{\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .pred %p<8>;\n\
         .shared .align 1024 .b8 tile[1024];\n.shared .align 8 .b64 bar;\n.shared .align 128 .b8 other[256];\n\
         ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nmov.b64 %rd3, map;\ncvta.param.u64 %rd3, %rd3;\n\
         ld.param.u64 %rd4, [n];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd2, %rd5;\n\
         mov.u32 %r2, tile;\nmad.lo.u32 %r3, %r1, 4, %r2;\nsetp.eq.u32 %p1, %r1, 0;\n\
         @%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\nmov.u32 %r9, %cluster_ctarank;\n{body}\nret;\n}}\n"
    );
    let module = Module::from_ptx(text).unwrap_or_else(|error| panic!("{error}"));
    let function = module.function("k").unwrap_or_else(|error| panic!("{error}"));
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let from = simulator.uninitialized::<u32>(4 * ROW as usize).unwrap();
    simulator.write(from, &[7; 2 * ROW as usize]).unwrap();
    let to = simulator.uninitialized::<u32>(4 * ROW as usize).unwrap();
    let map = TensorMap {
        element: TensorElement::U32,
        address: if at_to { to.address() } else { from.address() },
        sizes: vec![ROW, rows],
        strides: vec![4 * ROW],
        tile: vec![32, 2],
        steps: vec![1; 2],
        swizzle: Swizzle::None,
        nan: false,
    };
    let map = Arg::Bytes(map.encode().unwrap().to_vec());
    let distance = Arg::from(to.address() - from.address());
    let args = [from.into(), to.into(), map.clone(), map, distance];
    let cluster = (blocks > 1).then_some([blocks, 1, 1]);
    let launch = Launch::new(&function, [blocks, 1, 1], [32, 1, 1], &args).with_cluster(cluster);
    let sanitized = check.parse::<Checks>().unwrap().launch(&mut simulator, &launch);
    (sanitized.findings, sanitized.result.err())
}

/// The shape of most launches: one block, a tensor of four rows at `from`.
const PLAIN: (u32, u64, bool) = (1, 4, false);
/// The tensor is at `to`.
const AT_TO: (u32, u64, bool) = (1, 4, true);
/// Two blocks of a cluster.
const TWO: (u32, u64, bool) = (2, 4, false);

#[track_caller]
fn clean(body: &str, shape: (u32, u64, bool)) {
    let (found, error) = launched("memory,init", body, shape);
    assert!(found.is_empty() && error.is_none(), "{body}\n{found:?} {error:?}");
}

/// Returns the only finding of a sanitizer, and its line number in the body.
#[track_caller]
fn one(check: &str, body: &str, shape: (u32, u64, bool)) -> (Finding, u32) {
    let found = only(launched(check, body, shape).0, body);
    assert_eq!(found.check.name(), check);
    // The body begins at line 26 of the PTX.
    let line = found.ptx_line - 25;
    (found, line)
}

/// Returns the number of the first line of a body that contains `words`.
fn line_of(body: &str, words: &str) -> u32 {
    body.lines().position(|line| line.contains(words)).unwrap() as u32 + 1
}

#[test]
fn a_bulk_copy_propagates_uninitialized_bytes() {
    // The host has written the first 64 of these 256 bytes.
    let copy = load(&format!("{BULK} [%r2], [%rd1+448], 256, [bar];"), 256);
    let read = |at: u32| format!("{copy}ld.shared.u32 %r4, [%r3+{at}];\nst.global.u32 [%rd5], %r4;");
    let (found, line) = one("init", &read(0), PLAIN);
    assert_eq!((found.what.as_str(), found.thread, found.times), (STORED, [16, 0, 0], 16));
    assert_eq!(line, line_of(&read(0), "st.global"));
    assert_eq!(found.other.unwrap().ptx_line, found.ptx_line - 1);
    assert_eq!(found.place.as_deref(), Some("byte 64 of variable `tile` of 1024 bytes"));
    let (found, _) = one("init", &read(128), PLAIN);
    assert_eq!((found.thread, found.times), ([0, 0, 0], 32));
    clean(&read(0).replace("448", "256"), PLAIN);
    // Only the lanes with defined values use them.
    clean(&read(0).replace("st.global", "setp.lt.u32 %p3, %r1, 16;\n@%p3 st.global"), PLAIN);
}

#[test]
fn a_bulk_copy_to_device_memory_is_a_store() {
    let fill = |words: u32| format!("setp.lt.u32 %p3, %r1, {words};\n@%p3 st.shared.u32 [%r3], 7;\nbar.sync 0;\n");
    let store = format!("@%p1 {STORE} [%rd2], [%r2], 128;\n{DONE}");
    let (found, line) = one("init", &format!("{}{store}", fill(16)), PLAIN);
    assert_eq!((found.what.as_str(), found.thread, found.times, line), (STORED, [0, 0, 0], 1, 4));
    assert_eq!(found.place.as_deref(), Some("byte 64 of variable `tile` of 1024 bytes"));
    assert_eq!(found.other.unwrap().what, "read of 128 bytes");
    clean(&format!("{}{store}", fill(32)), PLAIN);
    clean(&format!("{}{}", fill(16), store.replace("128", "64")), PLAIN);
    // After the last element, the 16-byte unit has more bytes; they matter only to threads that use them.
    let rounded = format!("{}{}", fill(29), store);
    clean(&rounded, PLAIN);
    clean(&format!("{rounded}ld.global.u32 %r4, [%rd2+112];\nst.global.u32 [%rd5+256], %r4;"), PLAIN);
    let (found, _) =
        one("init", &format!("{rounded}ld.global.u32 %r4, [%rd2+116];\nst.global.u32 [%rd5+256], %r4;"), PLAIN);
    assert_eq!(found.place.as_deref(), Some("byte 116 of argument 1's buffer of 1024 bytes"));
}

#[test]
fn a_bulk_reduction_reads_its_destination() {
    let fill = |words: u32| format!("setp.lt.u32 %p3, %r1, {words};\n@%p3 st.shared.u32 [%r3], 7;\nbar.sync 0;\n");
    let add = |to: &str| {
        format!("@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [{to}], [%r2], 128;\n{DONE}")
    };
    clean(&format!("{}{}", fill(32), add("%rd1")), PLAIN);
    let (found, line) = one("init", &format!("{}{}", fill(32), add("%rd2")), PLAIN);
    assert_eq!(found.what, "the result of an atomic depends on uninitialized memory");
    assert_eq!((found.place.as_deref(), line), (Some("byte 0 of argument 1's buffer of 1024 bytes"), 4));
    let (found, _) = one("init", &format!("{}{}", fill(31), add("%rd1")), PLAIN);
    assert_eq!(found.what, "an operand of an atomic depends on uninitialized memory");
    assert_eq!(found.place.as_deref(), Some("byte 124 of variable `tile` of 1024 bytes"));
}

#[test]
fn tensor_tiles_propagate_uninitialized_bytes() {
    // Rows 0 and 1 are written; rows after row 3 read as zeros.
    let tile = |x: i32, y: i32, at: u32| {
        let copy = load(&format!("{TENSOR} [%r2], [%rd3, {{{x}, {y}}}], [bar];"), 256);
        format!("{copy}ld.shared.u32 %r4, [%r3+{at}];\nst.global.u32 [%rd5], %r4;")
    };
    clean(&tile(0, 0, 128), PLAIN);
    clean(&tile(0, 1, 0), PLAIN);
    clean(&tile(0, 3, 128), PLAIN);
    clean(&tile(-32, 2, 0), PLAIN);
    let (found, _) = one("init", &tile(0, 1, 128), PLAIN);
    assert_eq!((found.what.as_str(), found.thread, found.times), (STORED, [0, 0, 0], 32));
    assert_eq!(found.place.as_deref(), Some("byte 128 of variable `tile` of 1024 bytes"));
    // Half of the tile lies outside the tensor.
    let (found, _) = one("init", &tile(48, 2, 0), PLAIN);
    assert_eq!((found.thread, found.times), ([0, 0, 0], 16));
    // In the other direction, the second row of the tile is not written.
    let store = |y: u32| {
        format!(
            "st.shared.u32 [%r3], 7;\nbar.sync 0;\n\
             @%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {{0, {y}}}], [%r2];\n{DONE}"
        )
    };
    let (found, line) = one("init", &store(0), AT_TO);
    assert_eq!((found.what.as_str(), found.times, line), (STORED, 1, 3));
    assert_eq!(found.place.as_deref(), Some("byte 128 of variable `tile` of 1024 bytes"));
    // The second row of the tile lies outside the tensor.
    clean(&store(3), AT_TO);
    clean(&store(0).replace("bar.sync", "st.shared.u32 [%r3+128], 8;\nbar.sync"), AT_TO);
}

#[test]
fn writes_across_a_cluster_are_tracked() {
    let meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
    let rank = "setp.eq.u32 %p4, %r9, 0;\nand.pred %p5, %p1, %p4;\nmapa.shared::cluster.u32 %r5, %r2, 1;\n";
    let read = "ld.shared.u32 %r4, [%r2];\n@!%p4 st.global.u32 [%rd5], %r4;\n";
    let store = format!("{rank}{meet}@%p5 st.shared::cluster.u32 [%r5], 7;\n{meet}{read}");
    clean(&store, TWO);
    let (found, _) = one("init", &store.replace("[%r5], 7", "[%r5+4], 7"), TWO);
    assert_eq!((found.what.as_str(), found.block, found.times), (STORED, [1, 0, 0], 32));
    // A block reads words that another block has not written.
    let fetch = |at: u32| {
        format!(
            "{rank}@!%p4 st.shared.u32 [%r3], 7;\n{meet}ld.shared::cluster.u32 %r4, [%r5+{at}];\n\
             @%p4 st.global.u32 [%rd5], %r4;\n{meet}"
        )
    };
    clean(&fetch(124), TWO);
    let (found, _) = one("init", &fetch(128), TWO);
    assert_eq!((found.block, found.times), ([0, 0, 0], 32));
    // `st.async` sends two registers, and the other block reads one of them.
    let send = |from: u32, read: u32| {
        format!(
            "{rank}mov.u32 %r6, bar;\nmapa.shared::cluster.u32 %r6, %r6, 1;\n{meet}ld.global.u32 %r7, [%rd1+{from}];\n\
             mov.u32 %r8, 3;\n@%p5 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r5], {{%r8, %r7}}, [%r6];\n\
             @%p4 bra SENT;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;\n\
             WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n\
             ld.shared.u32 %r4, [%r2+{read}];\nst.global.u32 [%rd5], %r4;\nSENT:\n{meet}"
        )
    };
    clean(&send(0, 4), TWO);
    clean(&send(512, 0), TWO);
    let (found, _) = one("init", &send(512, 4), TWO);
    assert_eq!((found.what.as_str(), found.block, found.times), (STORED, [1, 0, 0], 32));
    assert_eq!(found.place.as_deref(), Some("byte 4 of variable `tile` of 1024 bytes"));
    // A copy to both blocks.
    let both = |from: u32| {
        let copy = BULK.to_owned() + ".multicast::cluster";
        format!(
            "{rank}@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n{meet}\
             @%p5 {copy} [%r2], [%rd1+{from}], 128, [bar], 3;\n\
             WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n\
             ld.shared.u32 %r4, [%r3];\nst.global.u32 [%rd5], %r4;\n{meet}"
        )
    };
    clean(&both(384), TWO);
    let (found, _) = one("init", &both(448), TWO);
    assert_eq!((found.what.as_str(), found.thread, found.times), (STORED, [16, 0, 0], 32));
}

#[test]
fn each_address_of_a_bulk_copy_has_its_object() {
    let copy = |to: &str, from: &str, barrier: &str| load(&format!("{BULK} [{to}], [{from}], 128, [{barrier}];"), 128);
    clean(&copy("%r2+896", "%rd1+128", "bar"), PLAIN);
    let to = copy("%r2+960", "%rd1", "bar");
    let (found, line) = one("memory", &to, PLAIN);
    assert_eq!((found.what.as_str(), found.times), ("out of bounds write of 128 bytes", 1));
    assert_eq!((found.thread, line), ([0, 0, 0], line_of(&to, BULK)));
    let place = "64 of them past the end of variable `tile` of 1024 bytes, inside of variable `tile`";
    assert_eq!(found.place.as_deref(), Some(place));
    // An address computed from `from` reaches `to`, which is a finding; the address of `to` is not.
    let from = |pointer: &str| format!("add.s64 %rd6, {pointer}, %rd4;\n{}", copy("%r2", "%rd6", "bar"));
    let (found, _) = one("memory", &from("%rd1"), PLAIN);
    assert_eq!(found.what, "out of bounds read of 128 bytes");
    let place = found.place.unwrap();
    assert!(
        place.ends_with("past the end of argument 0's buffer of 1024 bytes, inside of argument 1's buffer"),
        "{place}"
    );
    clean(&copy("%r2", "%rd2", "bar"), PLAIN);
    // The mbarrier is in another variable.
    let other = "@%p1 mbarrier.init.shared.b64 [other], 1;\nbar.sync 0;\n";
    let (found, _) =
        one("memory", &format!("{other}{}", copy("%r2", "%rd1", "bar+128").replace("[bar]", "[other]")), PLAIN);
    assert_eq!(found.what, "out of bounds write of 8 bytes");
    let place = "120 bytes past the end of variable `bar` of 8 bytes, inside of variable `other`";
    assert_eq!(found.place.as_deref(), Some(place));
    clean(&format!("{other}{}", copy("%r2", "%rd1", "other").replace("[bar]", "[other]")), PLAIN);
    // Copies to device memory, as a store and as a reduction.
    let store = |op: &str, pointer: &str| {
        format!("st.shared.u32 [%r3], 1;\nadd.s64 %rd6, {pointer};\nbar.sync 0;\n@%p1 {op} [%rd6], [%r2], 128;\n{DONE}")
    };
    let reduce = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32";
    for op in [STORE, reduce] {
        assert_eq!(one("memory", &store(op, "%rd1, %rd4"), PLAIN).0.what, "out of bounds write of 128 bytes");
        clean(&store(op, "%rd1, 128"), PLAIN);
    }
}

#[test]
fn null_freed_and_misaligned_addresses_of_copies_are_reported() {
    let copy = |from: &str| load(&format!("{BULK} [%r2], [{from}], 128, [bar];"), 128);
    let null = format!("mov.u64 %rd6, 0;\n{}", copy("%rd6"));
    let (found, line) = one("memory", &null, PLAIN);
    assert_eq!((found.place.as_deref(), line), (Some("a null pointer"), line_of(&null, BULK)));
    let (found, _) = one("memory", &copy("%rd1+8"), PLAIN);
    assert_eq!(found.what, "misaligned read of 128 bytes, whose address has to be a multiple of 16");
    let (found, _) = one("memory", &copy("%rd1+1024"), PLAIN);
    assert_eq!(found.what, "out of bounds read of 128 bytes");
    assert_eq!(found.place.as_deref(), Some("0 bytes past the end of argument 0's buffer of 1024 bytes"));

    let text = ".version 8.6\n.target sm_90\n.address_size 64\n.entry k(.param .u64 to)\n{\n.reg .b64 %rd<4>;\n\
                .shared .align 16 .b8 tile[64];\nld.param.u64 %rd1, [to];\nmov.u64 %rd2, tile;\n\
                cp.async.bulk.global.shared::cta.bulk_group [%rd1+16], [%rd2], 16;\nret;\n}\n";
    let function = Module::from_ptx(text).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let to = simulator.zeroed::<u32>(16).unwrap();
    let args = [to.into()];
    let launch = Launch::new(&function, [1, 1, 1], [1, 1, 1], &args);
    assert!(Checks::NONE.with(Check::Memory).launch(&mut simulator, &launch).findings.is_empty());
    simulator.free(to).unwrap();
    let found = Checks::NONE.with(Check::Memory).launch(&mut simulator, &launch).findings;
    assert_eq!((found.len(), found[0].ptx_line), (1, 10));
    assert_eq!(found[0].place.as_deref(), Some("16 bytes into an allocation of 64 bytes that was freed"));
}

#[test]
fn tensor_tiles_stay_in_the_buffer_of_the_map() {
    // From row 260 on, the map with 300 rows reaches into the other buffer.
    let shape = (1, 300, false);
    let tile = |to: &str, map: &str, y: i32| load(&format!("{TENSOR} [{to}], [{map}, {{0, {y}}}], [bar];"), 256);
    clean(&tile("%r2", "%rd3", 2), shape);
    let (found, line) = one("memory", &tile("%r2", "%rd3", 260), shape);
    assert_eq!((found.what.as_str(), found.times), ("out of bounds read of 128 bytes", 2));
    assert_eq!(line, line_of(&tile("%r2", "%rd3", 260), TENSOR));
    let place = "65536 bytes past the end of argument 0's buffer, to which the tensor map points, of 1024 bytes, inside \
                 of argument 1's buffer";
    assert_eq!(found.place.as_deref(), Some(place));
    // There is no allocation at this row.
    let (found, _) = one("memory", &tile("%r2", "%rd3", 4), shape);
    assert_eq!(found.what, "out of bounds read of 128 bytes");
    // The tile extends past its variable.
    let (found, _) = one("memory", &tile("%r2+896", "%rd3", 0), PLAIN);
    assert_eq!((found.what.as_str(), found.times), ("out of bounds write of 128 bytes", 1));
    let place = "0 bytes past the end of variable `tile` of 1024 bytes, inside of variable `bar`";
    assert_eq!(found.place.as_deref(), Some(place));
    // The address reaches the map of another parameter.
    let offset_map = |map: &str| format!("add.s64 %rd6, %rd3, {map};\n{}", tile("%r2", "%rd6", 0));
    clean(&offset_map("0"), PLAIN);
    let (found, _) = one("memory", &offset_map("128"), PLAIN);
    assert_eq!(found.what, "out of bounds read of 128 bytes");
    assert_eq!(found.place.as_deref(), Some("0 bytes past the end of parameter `map` of 128 bytes"));
}
