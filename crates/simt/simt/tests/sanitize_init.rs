//! Tests of the sanitizer `init`: values that depend on uninitialized memory. Each fault has a correct counterpart.

use simt::{Config, Launch, Module, Simulator};
use simt_check::{Check, Checks, Finding};

fn init() -> Checks {
    "init".parse().unwrap()
}

fn module(before: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{before}\n.entry k(.param .u64 from, .param .u64 to)\n{{\n\
         .reg .b16 %rs<8>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<8>;\n.reg .pred %p<8>;\n\
         ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n\
         add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nshl.b32 %r2, %r1, 2;\n{body}\nret;\n}}\n"
    );
    Module::from_ptx(text).unwrap()
}

/// Returns the findings of a launch of one block of 64 threads. `from` has 64 words, and the host has written the first
/// 32; `to` has 64 uninitialized words.
fn findings(before: &str, body: &str) -> Vec<Finding> {
    let function = module(before, body).function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let from = simulator.uninitialized::<u32>(64).unwrap();
    simulator.write(from, &[7; 32]).unwrap();
    let to = simulator.uninitialized::<u32>(64).unwrap();
    let args = [from.into(), to.into()];
    let launch = Launch::new(&function, [1, 1, 1], [64, 1, 1], &args).with_shared_bytes(256);
    let sanitized = init().launch(&mut simulator, &launch);
    sanitized.result.unwrap();
    sanitized.findings
}

/// Fails if there is any finding.
#[track_caller]
pub(crate) fn none(found: &[Finding], body: &str) {
    assert!(found.is_empty(), "{body}\n{}", found[0]);
}

/// Returns the only finding.
#[track_caller]
pub(crate) fn only(mut found: Vec<Finding>, body: &str) -> Finding {
    assert_eq!(found.len(), 1, "{body}\n{found:?}");
    found.remove(0)
}

#[track_caller]
fn clean(before: &str, body: &str) {
    none(&findings(before, body), body);
}

#[track_caller]
fn one(before: &str, body: &str, what: &str) -> Finding {
    let found = only(findings(before, body), body);
    assert_eq!(found.check, Check::Init);
    assert!(found.what.starts_with(what), "{found}");
    found
}

pub(crate) const STORED: &str = "a value that is stored to device memory depends on uninitialized memory";
const BRANCH: &str = "a branch depends on uninitialized memory";

#[test]
fn uninitialized_memory_is_reported_at_its_use() {
    let found = one("", "ld.global.u32 %r3, [%rd4];\nst.global.u32 [%rd5], %r3;", STORED);
    assert_eq!((found.thread, found.times), ([32, 0, 0], 32));
    assert_eq!(found.place.as_deref(), Some("byte 128 of argument 0's buffer of 256 bytes"));
    let other = found.other.unwrap();
    assert_eq!(
        (other.what.as_str(), other.thread, other.ptx_line),
        ("read of 4 bytes", [32, 0, 0], found.ptx_line - 1)
    );
    // The value is read but not used.
    clean("", "ld.global.u32 %r3, [%rd4];\nadd.s32 %r4, %r3, 1;");
    // Only words that the host has written are read.
    let first = "setp.ge.u32 %p1, %r1, 32;\n@%p1 ret;\n";
    clean("", &format!("{first}ld.global.u32 %r3, [%rd4];\nst.global.u32 [%rd5], %r3;"));
    // Only words that the kernel has written are read.
    clean("", "st.global.u32 [%rd4], %r1;\nld.global.u32 %r3, [%rd4];\nst.global.u32 [%rd5], %r3;");
    let branch = "ld.global.u32 %r3, [%rd4];\nsetp.eq.u32 %p1, %r3, 7;\n@%p1 bra L;\nst.global.u32 [%rd5], 1;\nL:";
    let found = one("", branch, BRANCH);
    assert_eq!((found.thread, found.times), ([32, 0, 0], 32));
    let indirect = "ld.global.u32 %r3, [%rd4];\nand.b32 %r4, %r3, 28;\ncvt.u64.u32 %rd6, %r4;\nadd.s64 %rd7, %rd2, %rd6;\n\
                    st.global.u32 [%rd7], 1;";
    one("", indirect, "an address depends on uninitialized memory");
    // `+=` on uninitialized memory.
    one("", "ld.global.u32 %r3, [%rd5];\nadd.s32 %r3, %r3, 1;\nst.global.u32 [%rd5], %r3;", STORED);
    one("", "red.global.add.u32 [%rd5], 1;", "the result of an atomic depends on uninitialized memory");
    clean("", "st.global.u32 [%rd5], 0;\nred.global.add.u32 [%rd5], 1;");
    one("", "ld.global.u32 %r3, [%rd4];\nred.global.add.u32 [%rd1], %r3;", "an operand of an atomic");
}

#[test]
fn an_uninitialized_shared_tail_is_found() {
    let before = ".shared .align 4 .b8 tile[256];";
    let address = "mov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\n";
    let fill = "setp.lt.u32 %p1, %r1, 48;\n@%p1 st.shared.u32 [%r4], %r1;\nbar.sync 0;\n";
    let found = one(before, &format!("{address}{fill}ld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd5], %r5;"), STORED);
    assert_eq!((found.thread, found.times), ([48, 0, 0], 16));
    assert_eq!(found.place.as_deref(), Some("byte 192 of variable `tile` of 256 bytes"));
    clean(before, &format!("{address}{fill}@%p1 ld.shared.u32 %r5, [%r4];\n@%p1 st.global.u32 [%rd5], %r5;"));
    // All threads read the word, and only threads with a defined word select it.
    let chosen = "ld.shared.u32 %r5, [%r4];\nselp.b32 %r6, %r5, 0, %p1;\nst.global.u32 [%rd5], %r6;";
    clean(before, &format!("{address}{fill}{chosen}"));
    one(before, &format!("{address}{fill}{}", chosen.replace("%r5, 0, %p1", "0, %r5, %p1")), STORED);
    // A histogram whose counters are not cleared.
    let count = "red.shared.add.u32 [%r4], 1;\nbar.sync 0;\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd5], %r5;";
    one(before, &format!("{address}{count}"), STORED);
    clean(before, &format!("{address}st.shared.u32 [%r4], 0;\nbar.sync 0;\n{count}"));
    // Dynamic shared memory, and a copy of uninitialized words.
    let all = ".extern .shared .align 4 .b8 all[];\n.shared .align 4 .b8 tile[256];";
    let copy = "mov.u32 %r3, all;\nadd.s32 %r4, %r3, %r2;\nmov.u32 %r5, tile;\nadd.s32 %r6, %r5, %r2;\n\
                ld.shared.u32 %r7, [%r4];\nst.shared.u32 [%r6], %r7;\nld.shared.u32 %r8, [%r6];\n";
    clean(all, copy);
    let found = one(all, &format!("{copy}st.global.u32 [%rd5], %r8;"), STORED);
    assert!(found.place.unwrap().contains("variable `tile`"));
}

#[test]
fn blocks_begin_with_uninitialized_shared_memory() {
    let before = ".shared .align 4 .b8 tile[256];";
    let body = "mov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\nmov.u32 %r5, %ctaid.x;\nsetp.eq.u32 %p1, %r5, 0;\n\
                @%p1 st.shared.u32 [%r4], %r1;\nld.shared.u32 %r6, [%r4];\nst.global.u32 [%rd5], %r6;";
    let function = module(before, body).function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let to = simulator.zeroed::<u32>(64).unwrap();
    let args = [to.into(), to.into()];
    let launch = Launch::new(&function, [2, 1, 1], [64, 1, 1], &args);
    let found = init().launch(&mut simulator, &launch).findings;
    assert_eq!((found.len(), found[0].block, found[0].times), (1, [1, 0, 0], 64));
}

#[test]
fn masked_bits_and_padding_have_no_finding() {
    // One byte of the word is written.
    let byte = "add.s64 %rd8, %rd5, 2;\nst.global.u8 [%rd8], 5;\nld.global.u32 %r3, [%rd5];\n";
    clean("", &format!("{byte}shr.u32 %r4, %r3, 16;\nand.b32 %r5, %r4, 255;\nst.global.u32 [%rd5], %r5;"));
    clean("", &format!("{byte}bfe.u32 %r4, %r3, 16, 8;\nst.global.u32 [%rd5], %r4;"));
    clean("", &format!("{byte}prmt.b32 %r4, %r3, 0, 0x4442;\nst.global.u32 [%rd5], %r4;"));
    clean("", &format!("{byte}bfi.b32 %r4, 0, %r3, 24, 8;\nbfi.b32 %r4, 0, %r4, 0, 16;\nst.global.u32 [%rd5], %r4;"));
    clean(
        "",
        &format!(
            "{byte}shl.b32 %r4, %r3, 8;\ncvt.u16.u32 %rs1, %r3;\nshr.u32 %r4, %r4, 24;\nst.global.u32 [%rd5], %r4;"
        ),
    );
    clean("", &format!("{byte}lop3.b32 %r4, %r3, 0xff0000, 0, 0xc0;\nst.global.u32 [%rd5], %r4;"));
    clean(
        "",
        &format!(
            "{byte}xor.b32 %r4, %r3, %r3;\nsub.s32 %r5, %r3, %r3;\nadd.s32 %r4, %r4, %r5;\nst.global.u32 [%rd5], %r4;"
        ),
    );
    clean(
        "",
        &format!(
            "{byte}mov.b32 {{%rs1, %rs2}}, %r3;\ncvt.u32.u16 %r4, %rs2;\nand.b32 %r4, %r4, 255;\nst.global.u32 [%rd5], %r4;"
        ),
    );
    clean(
        "",
        &format!(
            "{byte}cvt.u64.u32 %rd9, %r3;\nshr.u64 %rd9, %rd9, 16;\nand.b64 %rd9, %rd9, 255;\ncvt.u32.u64 %r4, %rd9;\nst.global.u32 [%rd5], %r4;"
        ),
    );
    // The written byte, 5, decides the first comparison.
    clean("", &format!("{byte}setp.eq.u32 %p1, %r3, 0x070000;\n@%p1 st.global.u32 [%rd5], 1;"));
    one("", &format!("{byte}setp.eq.u32 %p1, %r3, 0x050000;\n@%p1 bra L;\nst.global.u32 [%rd5], 1;\nL:"), BRANCH);
    one("", &format!("{byte}shr.u32 %r4, %r3, 8;\nand.b32 %r5, %r4, 255;\nst.global.u32 [%rd5], %r5;"), STORED);
    // Both operands of a condition; the first is false where the second is undefined.
    let both = "setp.lt.u32 %p1, %r1, 32;\nld.global.u32 %r3, [%rd4];\nsetp.eq.and.u32 %p2, %r3, 7, %p1;\n\
                setp.eq.u32 %p3, %r3, 7;\nand.pred %p4, %p3, %p1;\n@%p2 st.global.u32 [%rd5], 1;\n\
                @%p4 st.global.u32 [%rd5], 2;";
    clean("", both);
    one("", &both.replace("7, %p1", "7, !%p1"), "whether the instruction is executed depends on uninitialized memory");
}

#[test]
fn packing_by_shifts_is_a_copy_and_a_product_is_not() {
    // Three bytes of each word are written.
    let written = "st.global.u16 [%rd5], 5;\nadd.s64 %rd8, %rd5, 2;\nst.global.u8 [%rd8], 5;\n\
                   ld.global.u32 %r3, [%rd5];\n";
    let store = "st.global.u32 [%rd5], %r4;";
    for product in ["shl.b32 %r4, %r3, 1;", "mul.lo.s32 %r4, %r3, 3;", "shl.b32 %r4, %r3, 8;", "shl.b32 %r4, %r3, %r2;"]
    {
        // A shift by 8 bits moves the undefined byte out of the word.
        match product {
            "shl.b32 %r4, %r3, 8;" => clean("", &format!("{written}{product}\n{store}")),
            _ => drop(one("", &format!("{written}{product}\n{store}"), STORED)),
        }
    }
    // An undefined byte as a separate field: storing the byte times 256 is a finding, storing the packed word is a
    // copy.
    let byte = "st.global.u8 [%rd5], 5;\nadd.s64 %rd8, %rd5, 1;\nld.global.u8 %r3, [%rd8];\nshl.b32 %r4, %r3, 8;\n";
    one("", &format!("{byte}{store}"), STORED);
    clean("", &format!("{byte}or.b32 %r4, %r4, 7;\n{store}"));
    clean("", &format!("{byte}or.b32 %r4, %r4, 7;\nshl.b32 %r4, %r4, 8;\nor.b32 %r4, %r4, 9;\n{store}"));
    clean("", &format!("{byte}prmt.b32 %r4, %r4, %r1, 0x5410;\n{store}"));
    // The result of an addition is undefined, and remains so.
    one("", &format!("{byte}add.s32 %r4, %r4, 1;\nor.b32 %r4, %r4, 7;\n{store}"), STORED);
}

#[test]
fn structs_with_padding_are_copied_through_local_memory() {
    let local = ".local .align 8 .b8 l[16];\n";
    let fields = "st.local.u32 [l], %r1;\nst.local.u8 [l+4], 1;\n";
    let copy = "ld.local.v2.u32 {%r3, %r4}, [l];\nst.local.v2.u32 [l+8], {%r3, %r4};\n";
    let used = "ld.local.u32 %r5, [l+8];\nld.local.u8 %rs1, [l+12];\ncvt.u32.u16 %r6, %rs1;\nadd.s32 %r7, %r5, %r6;\n\
                st.global.u32 [%rd5], %r7;";
    clean("", &format!("{local}{fields}{copy}{used}"));
    let found = one("", &format!("{local}{fields}{copy}{}", used.replace("l+12", "l+13")), STORED);
    assert_eq!(found.place.as_deref(), Some("byte 13 of the thread's local memory"));
    // The parameters of a function are in local memory too.
    let before = ".func (.param .b32 out) twice(.param .align 4 .b8 in[8])
        {
            .reg .b32 %r<4>;
            .reg .b64 %rd<4>;
            mov.b64 %rd1, in;
            ld.local.u32 %r1, [%rd1+4];
            add.s32 %r2, %r1, %r1;
            st.param.b32 [out], %r2;
            ret;
        }";
    let call = "{\n.param .align 4 .b8 in[8];\n.param .b32 out;\nst.param.b32 [in], %r1;\nst.param.b32 [in+4], %r1;\n\
                call (out), twice, (in);\nld.param.b32 %r3, [out];\n}\nst.global.u32 [%rd5], %r3;";
    clean(before, call);
}

#[test]
fn uninitialized_registers_are_found() {
    let found = one("", "add.s32 %r5, %r9, %r1;\nst.global.u32 [%rd5], %r5;", "a value that is stored");
    assert!(found.what.ends_with("depends on an uninitialized register"));
    assert_eq!(found.place.as_deref(), Some("register `%r9`"));
    assert_eq!(found.other.unwrap().what, "first read of `%r9`");
    // The register is written under the same condition as it is read.
    let same = "setp.lt.u32 %p1, %r1, 5;\n@%p1 mov.u32 %r9, 3;\n@%p1 st.global.u32 [%rd5], %r9;";
    clean("", same);
    let found = one("", &same.replace("@%p1 st", "st"), "a value that is stored");
    assert_eq!((found.thread, found.times), ([5, 0, 0], 59));
    // An accumulator that is first written in the first round.
    let sum = "mov.u32 %r3, 0;\nL:\nadd.s32 %r9, %r9, %r3;\nadd.s32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 4;\n@%p1 bra L;\n\
               st.global.u32 [%rd5], %r9;";
    one("", sum, "a value that is stored");
    clean("", &format!("mov.u32 %r9, 0;\n{sum}"));
}

#[test]
fn shuffles_propagate_undefined_values() {
    // In the first warp, half of the lanes have a partner with a defined value.
    let shuffle = "setp.ge.u32 %p1, %r1, 32;\n@%p1 ret;\nadd.s64 %rd6, %rd4, 64;\nld.global.u32 %r3, [%rd6];\n\
                   shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;\n";
    let found = one("", &format!("{shuffle}st.global.u32 [%rd5], %r4;"), STORED);
    assert_eq!((found.thread, found.times), ([0, 0, 0], 16));
    clean("", &format!("{shuffle}setp.ge.u32 %p2, %r1, 16;\n@%p2 st.global.u32 [%rd5], %r4;"));
}

#[test]
fn asynchronous_copies_propagate_undefined_values() {
    let before = ".shared .align 16 .b8 tile[256];";
    let copy = "mov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\ncp.async.ca.shared.global [%r4], [%rd4], 4;\n\
                cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 %r5, [%r4];\n";
    clean(before, copy);
    let found = one(before, &format!("{copy}st.global.u32 [%rd5], %r5;"), STORED);
    assert_eq!((found.thread, found.times), ([32, 0, 0], 32));
}

#[test]
fn products_of_matrices_follow_rows_and_columns() {
    // Row 1 of A has an uninitialized element.
    let body = "setp.eq.u32 %p1, %r1, 4;\nmov.b32 %r3, 0;\nmov.b32 %r4, 0;\nmov.b32 %r5, 0;\nmov.b32 %r6, 0;\n\
                @%p1 ld.global.u32 %r3, [%rd5];\nmov.b32 %r7, 0;\nmov.b32 %r8, 0;\n\
                mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n\
                mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r3, %r4, %r5, %r6}, \
                {%r7, %r8}, {%f0, %f1, %f2, %f3};\nshr.u32 %r9, %r1, 2;\nsetp.eq.u32 %p2, %r9, 1;\n";
    clean("", &format!("{body}@!%p2 st.global.f32 [%rd5], %f0;\nst.global.f32 [%rd5], %f2;"));
    let found = one("", &format!("{body}st.global.f32 [%rd5], %f0;"), STORED);
    assert_eq!((found.thread, found.times), ([4, 0, 0], 4));
}

#[test]
fn launches_without_checks_count_as_writes() {
    let function = module("", "ld.global.u32 %r3, [%rd4];\nst.global.u32 [%rd5], %r3;").function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let from = simulator.uninitialized::<u32>(64).unwrap();
    let to = simulator.uninitialized::<u32>(64).unwrap();
    let args = [from.into(), to.into()];
    let launch = Launch::new(&function, [1, 1, 1], [64, 1, 1], &args);
    // The launch stores uninitialized values, which is reported once.
    assert_eq!(init().launch(&mut simulator, &launch).findings.len(), 1);
    let second_args = [to.into(), to.into()];
    let second = Launch { args: &second_args, ..launch };
    assert!(init().launch(&mut simulator, &second).findings.is_empty());
    assert_eq!(init().launch(&mut simulator, &launch).findings.len(), 1);
    simulator.launch(&launch).unwrap();
    assert!(init().launch(&mut simulator, &launch).findings.is_empty());
}

#[test]
fn inactive_lanes_of_a_shuffle_give_undefined_values() {
    let shuffle = |mask: &str, select: &str| {
        format!(
            "setp.gt.u32 %p1, %r1, 39;\n@%p1 ret;\nshfl.sync.down.b32 %r3, %r1, 16, 31, {mask};\nadd.u32 %r4, %r1, 16;\n\
             setp.lt.u32 %p2, %r4, 40;\n{select}\nst.global.u32 [%rd5], %r3;"
        )
    };
    // The second warp has eight lanes left.
    let what =
        "a value that is stored to device memory depends on what a shuffle reads from a lane that does not execute it";
    let found = one("", &shuffle("-1", ""), what);
    assert_eq!((found.thread, found.times), ([32, 0, 0], 8));
    assert!(found.other.is_some_and(|other| other.what == "shuffle from a lane that does not execute it"));
    clean("", &shuffle("-1", "selp.b32 %r3, %r3, 0, %p2;"));
    // These lanes exist, but the mask does not name them.
    let half = |clamp: u32| {
        format!(
            "and.b32 %r5, %r1, 31;\nsetp.gt.u32 %p1, %r5, 15;\n@%p1 bra DONE;\n\
             shfl.sync.down.b32 %r3, %r1, 8, {clamp}, 0xffff;\nst.global.u32 [%rd5], %r3;\nDONE:"
        )
    };
    assert_eq!(one("", &half(31), what).times, 16);
    // In segments of 16, the lanes keep their values.
    clean("", &half(0x100f));
}

#[test]
fn a_write_defines_an_undefined_register() {
    // Threads 32 to 63 load words that the host has not written.
    for (define, decide) in [
        ("activemask.b32 %r3;", "setp.ne.u32 %p1, %r3, 0;"),
        ("elect.sync %r3|%p2, -1;", "setp.ne.u32 %p1, %r3, 99;"),
        ("mov.u32 %r3, %clock;", "setp.ne.u32 %p1, %r3, 0;"),
    ] {
        let body = |define: &str| {
            format!("ld.global.u32 %r3, [%rd4];\n{define}\n{decide}\n@%p1 bra done;\nst.global.u32 [%rd5], 1;\ndone:")
        };
        clean("", &body(define));
        one("", &body(""), "a branch depends");
    }
}
