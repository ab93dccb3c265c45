//! Tests of `cp.async`.

use super::{bytes, fault, outcome_of};
use simt::{FaultKind, memory::AccessProblem};

const SHARED: &str = ".shared .align 16 .b8 s[1024];";

/// Each lane copies `size` bytes to shared memory, whose words are -1 before, and from there to the output.
fn copied(copy: &str, size: u32, operands: &str, input: usize) -> Vec<u8> {
    let body = format!(
        "mul.wide.u32 %rd4, %r1, {size};\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd2, %rd4;\n\
         mul.lo.u32 %r2, %r1, {size};\nmov.b32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nmul.wide.u32 %rd7, %r1, 4;\n\
         mov.b32 %r4, 0;\nLOOP:\nmov.b64 %rd8, {{%r4, 0}};\nst.shared.b32 [%rd8], -1;\n\
         add.u32 %r4, %r4, 4;\nsetp.lt.u32 %p1, %r4, 1024;\n@%p1 bra LOOP;\n\
         and.b32 %r5, %r1, 1;\nsetp.eq.u32 %p2, %r5, 0;\nand.b32 %r5, %r1, 31;\n\
         {copy} [%r2], [%rd5], {size}{operands};\ncp.async.commit_group;\ncp.async.wait_group 0;\n\
         cp.async.wait_all;\nmov.b32 %r4, 0;\nCOPY:\nld.shared.u8 %r6, [%r2];\n\
         st.global.u8 [%rd6], %r6;\nadd.u32 %r2, %r2, 1;\nadd.s64 %rd6, %rd6, 1;\n\
         add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, {size};\n@%p1 bra COPY;"
    );
    let out = outcome_of(SHARED, &body, &bytes(input), size as usize * 32);
    out.unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn whole_words_are_copied() {
    for (copy, size) in [
        ("cp.async.ca.shared.global", 4),
        ("cp.async.ca.shared::cta.global.L2::128B", 8),
        ("cp.async.ca.shared.global", 16),
        ("cp.async.cg.shared.global.L2::256B", 16),
    ] {
        let len = size as usize * 32;
        assert_eq!(copied(copy, size, "", len), bytes(len), "{copy} {size}");
    }
    let hinted = copied("cp.async.cg.shared.global.L2::cache_hint", 16, ", %rd20", 512);
    assert_eq!(hinted, bytes(512));
}

#[test]
fn bytes_that_are_not_read_become_zero() {
    // Lane n reads min(n, 16) bytes; the input ends at the last byte that is read.
    let out = copied("cp.async.cg.shared.global", 16, ", %r5", 512);
    let input = bytes(512);
    for (at, byte) in out.iter().enumerate() {
        let expected = if at % 16 < at / 16 { input[at] } else { 0 };
        assert_eq!(*byte, expected, "byte {at}");
    }
    let short = copied("cp.async.ca.shared.global", 16, ", 3", 31 * 16 + 3);
    assert_eq!(short[31 * 16..][..5], [bytes(512)[496], bytes(512)[497], bytes(512)[498], 0, 0]);
    assert_eq!(copied("cp.async.ca.shared.global", 8, ", 0", 0), [0; 256]);
}

#[test]
fn an_ignored_source_is_not_read() {
    let input = bytes(128);
    for (operand, parity) in [(", %p2", 0), (", !%p2", 1)] {
        let out = copied("cp.async.ca.shared.global", 4, operand, 128);
        for lane in 0..32 {
            let expected = if lane % 2 == parity { &[0; 4] } else { &input[lane * 4..][..4] };
            assert_eq!(&out[lane * 4..][..4], expected, "{operand} lane {lane}");
        }
    }
}

#[test]
fn both_addresses_are_checked() {
    for (body, write, what, bytes) in [
        ("cp.async.ca.shared.global [0], [%rd1+60], 8;", false, AccessProblem::Misaligned, 8),
        ("cp.async.ca.shared.global [0], [%rd1+64], 4;", false, AccessProblem::OutOfBounds, 4),
        ("cp.async.ca.shared.global [0], [%rd1+64], 16, 1;", false, AccessProblem::OutOfBounds, 16),
        ("cp.async.ca.shared.global [0], [%rd1+8], 16, 1;", false, AccessProblem::Misaligned, 16),
        ("cp.async.ca.shared.global [64], [%rd1], 4;", true, AccessProblem::OutOfBounds, 4),
        ("cp.async.cg.shared.global [8], [%rd1], 16;", true, AccessProblem::Misaligned, 16),
    ] {
        let fault = fault(body, &[0; 64], 4);
        let FaultKind::Access { access, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!((access.write, access.what, access.bytes), (write, what, bytes), "{body}");
    }
}
