//! Tests of invalid accesses.

use super::{fault, launch, outcome_of, simulator, text};
use ptx::ast::Space;
use simt::memory::{AccessProblem, CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use simt::{Buffer, Fault, FaultKind, LaunchError};
use simt_check::diagnostic::{Diagnostic, Style};

fn access(fault: &Fault) -> (&simt::memory::AccessFault, &str) {
    match &fault.kind {
        FaultKind::Access { access, near } => (access, near),
        other => panic!("{other}"),
    }
}

#[test]
fn an_overrun_is_reported_by_argument_and_bytes() {
    // The buffer has 4096 bytes, and only thread 7 reads 4 bytes, at byte 4112.
    let body = "setp.eq.u32 %p1, %r1, 7;\n@%p1 ld.global.u32 %r2, [%rd1+4112];";
    let fault = fault(body, &[0; 4096], 4);
    let (access, near) = access(&fault);
    assert_eq!(access.what, AccessProblem::OutOfBounds);
    assert_eq!((access.lane, access.bytes, access.write), (7, 4, false));
    assert_eq!(access.space, Space::Global);
    assert_eq!(near, "16 bytes past the end of argument 0's buffer of 4096 bytes");
    assert_eq!(fault.thread, [7, 0, 0]);
    let text = fault.to_string();
    let expected = format!(
        "out of bounds read of 4 bytes at {:#x}, 16 bytes past the end of argument 0's buffer of 4096 \
         bytes, in kernel `k`, block (0, 0, 0), thread (7, 0, 0), PTX line ",
        access.address
    );
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.ends_with("@%p1 ld.global.u32 %r2, [%rd1+4112];"), "{text}");
}

#[test]
fn each_out_of_bounds_access_is_found() {
    for (body, near) in [
        ("st.global.u32 [%rd2+64], %r1;", "0 bytes past the end of argument 1's buffer of 64 bytes"),
        ("ld.global.u8 %r2, [%rd2+-1];", "1 bytes before argument 1's buffer of 64 bytes"),
        ("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+96];", "at byte 96 of argument 0's buffer of 100 bytes"),
        ("ld.global.v2.u32 {%r2, %r3}, [%rd1+96];", "at byte 96 of argument 0's buffer of 100 bytes"),
        ("ld.global.u64 %rd9, [%rd1+96];", "at byte 96 of argument 0's buffer of 100 bytes"),
        ("atom.global.add.u64 %rd9, [%rd1+96], 1;", "at byte 96 of argument 0's buffer of 100 bytes"),
        ("ld.u32 %r2, [%rd1+100];", "0 bytes past the end of argument 0's buffer of 100 bytes"),
    ] {
        let fault = fault(body, &[0; 100], 64);
        let (access, reported) = access(&fault);
        assert_eq!(access.what, AccessProblem::OutOfBounds, "{body}");
        assert_eq!(reported, near, "{body}");
        assert_eq!(access.lane, 0);
    }
}

#[test]
fn the_lowest_faulting_lane_is_reported() {
    // In lane order, the input's 25 words end before lane 25. In reverse order, lane 0 is the first out of bounds.
    let fault_of = |body: &str| fault(body, &[0; 100], 128);
    let ordered = fault_of("ld.global.u32 %r2, [%rd5];");
    assert_eq!(access(&ordered).0.lane, 25);
    let reversed = fault_of(
        "xor.b32 %r1, %r1, 31;\nmul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd1, %rd4;\n\
         ld.global.u32 %r2, [%rd5];",
    );
    assert_eq!(access(&reversed).0.lane, 0);
    let scattered = fault_of("setp.gt.u32 %p1, %r1, 9;\nselp.b64 %rd9, 16, %rd6, %p1;\nld.global.u32 %r2, [%rd9];");
    assert_eq!(access(&scattered).0.lane, 10);
    assert_eq!(access(&scattered).0.address, 16);
}

#[test]
fn misaligned_accesses_of_every_size_are_reported() {
    for (access_of, size) in [
        ("ld.global.u16 %r2, [%rd1+", 2),
        ("ld.global.u32 %r2, [%rd1+", 4),
        ("ld.global.u64 %rd9, [%rd1+", 8),
        ("ld.global.v2.u16 {%r2, %r3}, [%rd1+", 4),
        ("ld.global.v2.u32 {%r2, %r3}, [%rd1+", 8),
        ("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+", 16),
        ("ld.global.v2.u64 {%rd8, %rd9}, [%rd1+", 16),
        ("ld.global.v4.u64 {%rd8, %rd9, %rd10, %rd11}, [%rd1+", 32),
    ] {
        for at in [1, size / 2, size - 1] {
            let fault = fault(&format!("{access_of}{at}];"), &[0; 256], 4);
            let (access, near) = access(&fault);
            assert_eq!(access.what, AccessProblem::Misaligned, "{access_of}{at}");
            assert_eq!(access.bytes, size);
            assert_eq!(near, format!("at byte {at} of argument 0's buffer of 256 bytes"));
        }
        let aligned = format!("{access_of}{size}];");
        assert!(outcome_of("", &aligned, &[0; 256], 4).is_ok(), "{aligned}");
    }
}

#[test]
fn other_spaces_have_bounds() {
    let module = ".const .align 4 .b32 c[2] = {1, 2};\n.shared .align 4 .b8 s[32];";
    // 64 bytes of dynamic shared memory follow the 32 static bytes.
    for (body, space, near) in [
        ("ld.shared.u32 %r2, [s+96];", Space::Shared, "0 bytes past the end of the block's shared memory of 96 bytes"),
        (
            "mov.b32 %r2, s;\nst.shared.u32 [4294967292], 1;",
            Space::Shared,
            "4294967196 bytes past the end of the block's shared memory of 96 bytes",
        ),
        (
            "mov.b32 %r2, s;\nld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [88];",
            Space::Shared,
            "at byte 88 of the block's shared memory of 96 bytes",
        ),
        ("ld.const.u32 %r2, [c+8];", Space::Const, "0 bytes past the end of the module's constants of 8 bytes"),
        ("ld.param.u32 %r2, [in+16];", Space::Param, "0 bytes past the end of the parameters of 16 bytes"),
        (
            ".local .align 8 .b8 l[16];\nld.local.u64 %rd9, [l+16];",
            Space::Local,
            "0 bytes past the end of the thread's local memory of 16 bytes",
        ),
        (
            ".local .align 8 .b8 l[16];\nst.local.u64 [l+-8], 1;",
            Space::Local,
            "4294967272 bytes past the end of the thread's local memory of 16 bytes",
        ),
    ] {
        let fault = *outcome_of(module, body, &[], 4).expect_err(body);
        let (access, reported) = access(&fault);
        assert_eq!(access.space, space, "{body}");
        let misaligned = body.contains("[88]");
        let what = if misaligned { AccessProblem::Misaligned } else { AccessProblem::OutOfBounds };
        assert_eq!(access.what, what, "{body}");
        assert_eq!(reported, near, "{body}");
    }
}

#[test]
fn generic_stores_to_read_only_spaces_are_faults() {
    for (name, window, space) in [("const", CONST_WINDOW, Space::Const), ("param", PARAM_WINDOW, Space::Param)] {
        for store in ["st.u32 [%rd9], %r1;", "red.add.u32 [%rd9], 1;"] {
            let body = format!("mov.b64 %rd9, 0;\ncvta.{name}.u64 %rd9, %rd9;\n{store}");
            let module = ".const .b32 c = 1;\n";
            let fault = *outcome_of(module, &body, &[], 4).expect_err(&body);
            let (access, _) = access(&fault);
            assert_eq!(access.what, AccessProblem::ReadOnly);
            assert_eq!((access.address, access.space), (window, space));
            assert!(access.write);
        }
    }
}

/// A GPU's behavior depends on what its compiler knows about the address.
#[test]
fn local_memory_has_no_atomics() {
    for atomic in [
        "atom.add.u32 %r2, [%rd9+4], 7;",
        "atom.exch.b64 %rd8, [%rd9+8], %rd8;",
        "atom.cas.b32 %r2, [%rd9+4], 5, 7;",
        "atom.cas.b16 %h1, [%rd9+4], %h1, %h1;",
        "atom.add.noftz.f16 %h1, [%rd9+4], %h1;",
        "atom.inc.u32 %r2, [%rd9+4], 7;",
        "red.min.s32 [%rd9+4], 7;",
        "red.add.f64 [%rd9+8], %fd1;",
        // In lane 3 only.
        "setp.ne.u32 %p1, %r1, 3;\n@%p1 cvta.shared.u64 %rd9, 0;\nred.relaxed.gpu.or.b32 [%rd9+4], 7;",
    ] {
        let body =
            format!(".local .align 16 .b8 array[16];\nmov.b64 %rd9, array;\ncvta.local.u64 %rd9, %rd9;\n{atomic}");
        let fault = *outcome_of(".shared .b64 s[2];\n", &body, &[], 4).expect_err(&body);
        let (access, near) = access(&fault);
        assert_eq!((&access.what, access.space), (&AccessProblem::NotAtomic, Space::Local), "{body}");
        assert_eq!(access.lane, if body.contains("%p1") { 3 } else { 0 });
        assert!(near.ends_with("of the thread's local memory of 16 bytes"), "{near}");
        let text = Diagnostic::of_fault(&fault).text(Style::default());
        assert!(text.contains("bytes on local memory, which does not support atomics"), "{text}");
        assert!(text.contains("help: use a plain load and store for local memory"), "{text}");
    }
    // The same addresses in shared memory support atomics.
    let shared = "mov.b64 %rd9, s;\ncvta.shared.u64 %rd9, %rd9;\nred.add.u32 [%rd9], 7;";
    assert!(outcome_of(".shared .b64 s[2];\n", shared, &[], 4).is_ok());
}

#[test]
fn generic_addresses_are_reported_unchanged() {
    for (window, space) in [(SHARED_WINDOW, Space::Shared), (LOCAL_WINDOW, Space::Local)] {
        let body = format!("mov.b64 %rd9, {};\nld.u32 %r2, [%rd9+12];", window + 2000);
        let fault = fault(&body, &[], 4);
        let (access, _) = access(&fault);
        assert_eq!(access.address, window + 2012);
        assert_eq!((access.offset, access.space), (2012, space));
        assert_eq!(access.what, AccessProblem::OutOfBounds);
    }
}

#[test]
fn nothing_is_stored_by_an_instruction_that_faults() {
    let text = text(
        "",
        ".param .u64 out",
        "ld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 4;\n\
         add.s64 %rd6, %rd2, %rd4;\nst.global.u32 [%rd2], 7;\nst.global.u32 [%rd6], 9;",
    );
    let mut simulator = simulator(1);
    let out: Buffer<u32> = simulator.zeroed(20).unwrap();
    let error = launch(&mut simulator, &text, 1, 32, &[out.into()]).unwrap_err();
    let LaunchError::Fault(fault) = error else { panic!("{error}") };
    assert_eq!(access(&fault).0.lane, 20);
    let mut expected = [0; 20];
    expected[0] = 7;
    assert_eq!(simulator.read(out).unwrap(), expected);
}

#[test]
fn lanes_in_several_spaces_are_all_checked_before_one_stores() {
    // Lane 3 stores past the end of shared memory, the other lanes into the output.
    let body =
        format!("setp.eq.u32 %p1, %r1, 3;\nselp.b64 %rd9, {}, %rd6, %p1;\nst.u32 [%rd9], 9;", SHARED_WINDOW + 64);
    let fault = fault(&body, &[], 128);
    let (access, near) = access(&fault);
    assert_eq!(access.lane, 3);
    assert_eq!(near, "0 bytes past the end of the block's shared memory of 64 bytes");
}

#[test]
fn a_freed_buffer_is_not_accessible() {
    let text = text("", ".param .u64 in", "ld.param.u64 %rd1, [in];\nld.global.u32 %r1, [%rd1];");
    let mut simulator = simulator(1);
    let buffer: Buffer<u32> = simulator.zeroed(4).unwrap();
    assert!(launch(&mut simulator, &text, 1, 1, &[buffer.into()]).is_ok());
    simulator.free(buffer).unwrap();
    let error = launch(&mut simulator, &text, 1, 1, &[buffer.into()]).unwrap_err();
    assert!(matches!(error, LaunchError::Fault(_)), "{error}");
}
