//! Tests of the sanitizer `memory`: accesses outside the object that an address was computed from. Each fault has a
//! correct counterpart.

use simt::{Arg, Config, Launch, Module, Simulator};
use simt_check::{Check, Checks, Finding};

use crate::sanitize_init::{none, only};

fn memory() -> Checks {
    "memory".parse().unwrap()
}

/// Returns a module with the kernel `k`.
fn module(before: &str, params: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{before}\n.entry k({params})\n{{\n.reg .b32 %r<20>;\n\
         .reg .b64 %rd<20>;\n.reg .pred %p<4>;\n{body}\nret;\n}}\n"
    );
    Module::from_ptx(text).unwrap()
}

/// Returns the findings of a launch of one block with 64 bytes of dynamic shared memory. Its arguments are two buffers
/// of 64 bytes and a number.
fn findings(before: &str, body: &str) -> Vec<Finding> {
    findings_of(memory(), before, body)
}

fn findings_of(checks: Checks, before: &str, body: &str) -> Vec<Finding> {
    let params = ".param .u64 a, .param .u64 b, .param .u32 n";
    let body = format!("ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u32 %r1, [n];\n{body}");
    let function = module(before, params, &body).function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let a = simulator.zeroed::<u32>(16).unwrap();
    let b = simulator.zeroed::<u32>(16).unwrap();
    // The distance from the start of `a` to the start of `b`.
    let distance = (b.address() - a.address()) as u32;
    let args = [a.into(), b.into(), distance.into()];
    let launch = Launch::new(&function, [1, 1, 1], [32, 1, 1], &args).with_shared_bytes(64);
    checks.launch(&mut simulator, &launch).findings
}

#[track_caller]
fn clean(before: &str, body: &str) {
    none(&findings(before, body), body);
}

#[track_caller]
fn one(before: &str, body: &str) -> Finding {
    let found = only(findings(before, body), body);
    assert_eq!(found.check, Check::Memory);
    found
}

#[test]
fn an_address_in_another_buffer_is_found() {
    let index = "cvt.u64.u32 %rd3, %r1;\nadd.s64 %rd4, %rd1, %rd3;\n";
    let found = one("", &format!("{index}st.global.u32 [%rd4+12], %r1;"));
    assert_eq!(found.what, "out of bounds write of 4 bytes");
    let place = found.place.as_deref().unwrap();
    assert!(
        place.ends_with(" bytes past the end of argument 0's buffer of 64 bytes, inside of argument 1's buffer"),
        "{place}"
    );
    assert_eq!((found.thread, found.times), ([0, 0, 0], 32));
    assert!(found.address.is_some());
    // The address of the other buffer itself, and an address computed from the distance of the two buffers.
    clean("", &format!("{index}sub.s64 %rd5, %rd4, %rd3;\nst.global.u32 [%rd5], %r1;\nst.global.u32 [%rd2], %r1;"));
    clean("", "sub.s64 %rd3, %rd2, %rd1;\nadd.s64 %rd4, %rd1, %rd3;\nst.global.u32 [%rd4], %r1;");
}

#[test]
fn a_race_in_another_buffer_is_a_consequence() {
    // Lanes 0 and 1 write their elements of `b`, and lane 2 writes the first element of `b` through an address of `a`.
    let body = "cvt.u64.u32 %rd3, %r1;
        add.s64 %rd4, %rd1, %rd3;
        mov.u32 %r2, %tid.x;
        mul.wide.u32 %rd5, %r2, 4;
        add.s64 %rd5, %rd2, %rd5;
        setp.gt.u32 %p1, %r2, 1;
        setp.ne.u32 %p2, %r2, 2;
        @!%p1 st.global.u32 [%rd5], %r2;
        @!%p2 st.global.u32 [%rd4], %r2;";
    let checks = |names: &str| {
        let found = findings_of(names.parse().unwrap(), "", body);
        found.iter().map(|finding| finding.check).collect::<Vec<_>>()
    };
    assert_eq!(checks("race"), [Check::Race]);
    assert_eq!(checks("memory,race"), [Check::Memory]);
    // Lanes 0 and 1 write the same element of `a`; in the same instruction, lane 2 writes outside `a`.
    let body = "cvt.u64.u32 %rd3, %r1;
        mov.u32 %r2, %tid.x;
        setp.eq.u32 %p1, %r2, 2;
        setp.gt.u32 %p2, %r2, 2;
        mov.u64 %rd4, %rd1;
        @%p1 add.s64 %rd4, %rd1, %rd3;
        @!%p2 st.global.u32 [%rd4], %r2;";
    let found = findings_of("memory,race".parse().unwrap(), "", body);
    assert_eq!(
        found.iter().map(|finding| finding.check).collect::<Vec<_>>(),
        [Check::Memory, Check::Race],
        "{found:?}"
    );
}

#[test]
fn either_of_two_buffers_may_be_accessed() {
    let choice = "setp.ne.u32 %p1, %r1, 0;\nselp.b64 %rd3, %rd1, %rd2, %p1;\n";
    clean("", &format!("{choice}st.global.u32 [%rd3+60], %r1;"));
    let branches = "setp.ne.u32 %p1, %r1, 0;\nmov.u64 %rd3, %rd1;\n@%p1 bra L;\nmov.u64 %rd3, %rd2;\nL:\n";
    clean("", &format!("{branches}ld.global.u32 %r2, [%rd3];"));
}

#[test]
fn pointers_may_advance_to_the_end() {
    let body = "mov.u32 %r2, 0;
        mov.u64 %rd3, %rd1;
        add.s64 %rd4, %rd1, 64;
        L:
        ld.global.u32 %r3, [%rd3];
        add.s64 %rd3, %rd3, 4;
        setp.lt.u64 %p1, %rd3, %rd4;
        @%p1 bra L;
        ld.global.u32 %r4, [%rd4+-4];";
    clean("", body);
    // Both loads are past the end, and the first does not hide the second.
    let found = findings("", &body.replace("%rd1, 64", "%rd1, 68"));
    let lines: Vec<u32> = found.iter().map(|finding| finding.ptx_line).collect();
    assert!(found.iter().all(|finding| finding.what == "out of bounds read of 4 bytes"), "{found:?}");
    assert_eq!((lines.len(), lines[1] - lines[0]), (2, 4));
}

#[test]
fn shared_variables_are_separate_objects() {
    let before =
        ".shared .align 4 .b8 first[64];\n.shared .align 4 .b8 second[64];\n.extern .shared .align 4 .b8 all[];";
    let address = "mov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 2;\nmov.u32 %r4, first;\nadd.s32 %r5, %r4, %r3;\n\
                   mov.u32 %r6, second;\n";
    let found = one(before, &format!("{address}st.shared.u32 [%r5], %r2;"));
    assert_eq!((found.thread, found.times), ([16, 0, 0], 16));
    assert_eq!(
        found.place.as_deref(),
        Some("0 bytes past the end of variable `first` of 64 bytes, inside of variable `second`")
    );
    clean(before, &format!("{address}and.b32 %r7, %r5, 63;\nmov.u32 %r8, first;\nst.shared.u32 [%r8+60], %r7;"));
    // Dynamic shared memory is one object, whatever its names are.
    let dynamic = "mov.u32 %r2, all;\nst.shared.u32 [%r2+60], %r1;\nmov.u32 %r3, second;\nst.shared.u32 [%r3], %r1;\n";
    clean(before, dynamic);
    let found = one(before, &format!("{dynamic}mov.u32 %r9, second;\nst.shared.u32 [%r9+64], %r1;"));
    assert_eq!(
        found.place.as_deref(),
        Some("0 bytes past the end of variable `second` of 64 bytes, inside of dynamic shared memory")
    );
    // The same through generic addresses.
    let generic = "cvta.shared.u64 %rd4, %rd3;\n";
    let found = one(before, &format!("mov.u64 %rd3, first;\n{generic}st.u32 [%rd4+64], %r1;\nmov.u32 %r6, second;"));
    assert!(found.place.unwrap().contains("variable `first`"));
}

#[test]
fn variables_of_other_spaces_are_separate_objects() {
    let before = ".const .align 4 .b32 c[2] = {1, 2};\n.const .align 4 .b32 d[2] = {3, 4};\n\
                  .global .align 4 .b32 g[4];\n.global .align 4 .b32 h[4];";
    let both = "ld.const.u32 %r2, [c];\nld.const.u32 %r2, [d];\nst.global.u32 [g+12], %r1;\nst.global.u32 [h], %r1;\n";
    clean(before, both);
    let found = one(before, &format!("{both}ld.const.u32 %r3, [c+8];"));
    assert_eq!(found.place.as_deref(), Some("0 bytes past the end of variable `c` of 8 bytes, inside of variable `d`"));
    let found = one(before, &format!("{both}mov.u64 %rd3, d;\nld.const.u32 %r3, [%rd3+-4];"));
    assert_eq!(
        found.place.as_deref(),
        Some("4 bytes before the start of variable `d` of 8 bytes, inside of variable `c`")
    );
    let distance = "mov.u64 %rd3, g;\nmov.u64 %rd4, h;\nsub.s64 %rd5, %rd4, %rd3;\ncvt.u32.u64 %r4, %rd5;\n\
                    st.local.u32 [l], %r4;\nld.local.u32 %r5, [l];\ncvt.u64.u32 %rd6, %r5;\nadd.s64 %rd7, %rd3, %rd6;\n";
    let local = ".local .align 8 .b8 l[8];\n.local .align 8 .b8 m[8];\nst.local.u32 [m], %r1;\n";
    let found = one(before, &format!("{local}{distance}st.global.u32 [%rd7], %r1;"));
    assert!(found.place.unwrap().ends_with("inside of variable `h`"));
    let found = one(before, &format!("{local}ld.local.u32 %r5, [m+-4];"));
    assert_eq!(found.place.as_deref(), Some("4 bytes before the start of variable `m` of 8 bytes"));
    let found = one(before, &format!("{both}mov.b64 %rd3, a;\nld.param.u64 %rd4, [%rd3+8];"));
    assert_eq!(found.place.as_deref(), Some("0 bytes past the end of parameter `a` of 8 bytes"));
}

#[test]
fn a_pointer_in_a_struct_is_reported_by_its_offset() {
    let body = "ld.param.u64 %rd1, [s+8];\nld.param.u32 %r1, [s+16];\ncvt.u64.u32 %rd2, %r1;\n\
                add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], 7;";
    let function = module("", ".param .align 8 .b8 s[24]", body).function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let (a, b) = (simulator.zeroed::<u32>(16).unwrap(), simulator.zeroed::<u32>(16).unwrap());
    let mut run = |offset: u64| {
        let bytes = [b.address(), a.address(), offset].map(u64::to_le_bytes).concat();
        let args = [Arg::Bytes(bytes)];
        let launch = Launch::new(&function, [1, 1, 1], [1, 1, 1], &args);
        memory().launch(&mut simulator, &launch).findings
    };
    assert!(run(60).is_empty());
    let found = run(b.address() - a.address());
    assert!(found[0].place.as_ref().unwrap().contains("the buffer at byte 8 of argument 0"), "{}", found[0]);
}

#[test]
fn arguments_of_functions_come_from_their_callers() {
    let before = ".func write(.param .b64 to, .param .b32 at)
        {
            .reg .b64 %rd<4>;
            .reg .b32 %r<2>;
            ld.param.b64 %rd1, [to];
            ld.param.b32 %r1, [at];
            cvt.u64.u32 %rd2, %r1;
            add.s64 %rd3, %rd1, %rd2;
            st.global.u32 [%rd3], %r1;
            ret;
        }";
    let call = |pointer: &str, at: &str| {
        format!(
            "{{\n.param .b64 to;\n.param .b32 at;\nst.param.b64 [to], {pointer};\nst.param.b32 [at], {at};\n\
             call write, (to, at);\n}}\n"
        )
    };
    clean(before, &format!("mov.u32 %r2, 60;\n{}{}", call("%rd1", "%r2"), call("%rd2", "%r2")));
    let found = one(before, &call("%rd1", "%r1"));
    assert!(found.place.unwrap().ends_with("inside of argument 1's buffer"));
}

#[test]
fn an_address_from_memory_has_no_finding() {
    // The address of the other buffer goes through memory, whole and in halves, as in code without optimization.
    let local = ".local .align 8 .b8 l[16];\n";
    let through = "st.local.u64 [l], %rd2;\nld.local.u64 %rd3, [l];\nst.global.u32 [%rd3], 1;";
    clean("", &format!("{local}{through}"));
    let halves = "st.local.u64 [l], %rd2;\nld.local.v2.u32 {%r2, %r3}, [l];\nmov.b64 %rd3, {%r2, %r3};\n\
                  setp.eq.u32 %p1, %r1, 0;\nselp.b64 %rd4, %rd1, %rd3, %p1;\nst.global.u32 [%rd4], 1;";
    clean("", &format!("{local}{halves}"));
    let narrow = "mov.u32 %r2, second;\nst.local.u32 [l], %r2;\nld.local.u32 %r3, [l];\nmov.u32 %r4, first;\n\
                  setp.eq.u32 %p1, %r1, 0;\nselp.b32 %r5, %r4, %r3, %p1;\nst.shared.u32 [%r5], 1;";
    clean(".shared .align 4 .b8 first[4];\n.shared .align 4 .b8 second[4];", &format!("{local}{narrow}"));
}

#[test]
fn asynchronous_copies_have_two_objects() {
    let before = ".shared .align 16 .b8 first[16];\n.shared .align 16 .b8 second[16];";
    let base = "mov.u32 %r2, first;\nmov.u32 %r3, second;\n";
    let end = "\ncp.async.commit_group;\ncp.async.wait_group 0;";
    clean(before, &format!("{base}cp.async.cg.shared.global [%r2], [%rd1+48], 16;{end}"));
    let found = one(before, &format!("{base}cp.async.cg.shared.global [%r2+16], [%rd1], 16;{end}"));
    assert_eq!(found.what, "out of bounds write of 16 bytes");
    let from = "cvt.u64.u32 %rd3, %r1;\nadd.s64 %rd4, %rd1, %rd3;\n";
    let found = one(before, &format!("{base}{from}cp.async.cg.shared.global [%r2], [%rd4], 16;{end}"));
    assert_eq!(found.what, "out of bounds read of 16 bytes");
}

#[test]
fn faults_are_findings_with_their_place() {
    let found = one("", "st.global.u32 [%rd2+64], 7;");
    assert_eq!(found.what, "out of bounds write of 4 bytes");
    assert_eq!(found.place.as_deref(), Some("0 bytes past the end of argument 1's buffer of 64 bytes"));
    let found = one("", "ld.global.u32 %r2, [%rd1+2];");
    assert_eq!(found.what, "misaligned read of 4 bytes, whose address has to be a multiple of 4");
    assert_eq!(found.place.as_deref(), Some("at byte 2 of argument 0's buffer of 64 bytes"));
    for (address, place) in [
        (0, "a null pointer"),
        (1 << 20, "1048576 bytes from a null pointer"),
        (0xffff_ffff_ffff_fffc, "4 bytes before a null pointer"),
    ] {
        let found = one("", &format!("mov.u64 %rd3, {address};\nld.global.u32 %r2, [%rd3];"));
        assert_eq!(found.place.as_deref(), Some(place));
        assert_eq!(found.address, Some(address));
    }
    let constant = ".const .align 4 .b32 c[2] = {1, 2};";
    let found = one(constant, "mov.u64 %rd3, c;\ncvta.const.u64 %rd4, %rd3;\nst.u32 [%rd4+4], 1;");
    assert_eq!(found.what, "read-only memory: write of 4 bytes");
    assert_eq!(found.place.as_deref(), Some("byte 4 of constant `c` of 8 bytes"));
    let found = one("", "mov.b64 %rd3, b;\ncvta.param.u64 %rd4, %rd3;\nst.u32 [%rd4], 1;");
    assert_eq!(found.place.as_deref(), Some("byte 0 of parameter `b` of 8 bytes"));
}

#[test]
fn freed_memory_is_reported() {
    let function =
        module("", ".param .u64 a", "ld.param.u64 %rd1, [a];\nld.global.u32 %r1, [%rd1+12];").function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let a = simulator.zeroed::<u32>(16).unwrap();
    let args = [a.into()];
    let launch = Launch::new(&function, [1, 1, 1], [1, 1, 1], &args);
    assert!(memory().launch(&mut simulator, &launch).findings.is_empty());
    simulator.free(a).unwrap();
    let found = memory().launch(&mut simulator, &launch).findings;
    assert_eq!(found[0].place.as_deref(), Some("12 bytes into an allocation of 64 bytes that was freed"));
}

#[test]
fn a_malloc_block_is_an_object_until_it_is_freed() {
    let before = ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);";
    let allocate = "mov.u32 %r9, %tid.x;\nsetp.ne.u32 %p1, %r9, 0;\n@%p1 exit;\n{\n.param .b64 p;\n.param .b64 q;\nst.param.b64 [p], 32;\n\
                    call (q), malloc, (p);\nld.param.b64 %rd5, [q];\n}\n";
    let free = "{\n.param .b64 p;\nst.param.b64 [p], %rd5;\ncall free, (p);\n}\n";
    clean(before, &format!("{allocate}st.global.u32 [%rd5+28], 7;\n{free}"));
    let found = one(before, &format!("{allocate}st.global.u32 [%rd5+32], 7;\n{free}"));
    assert_eq!(found.what, "out of bounds write of 4 bytes");
    let found = one(before, &format!("{allocate}{free}ld.global.u32 %r3, [%rd5];\n"));
    assert_eq!(
        found.place.as_deref(),
        Some("in the heap, outside all memory that malloc has returned and that is not freed")
    );
}
