//! The 16-bit formats.

use crate::tests::{State, eval};

/// `instruction` with `%h1`, `%h2`, `%h3` and the result in `%h0`.
fn h(instruction: &str, inputs: &[u64]) -> u64 {
    let names = ["%h1", "%h2", "%h3"];
    let text = format!("{instruction} %h0, {};", names[..inputs.len()].join(", "));
    let inputs: Vec<_> = names.into_iter().zip(inputs.iter().copied()).collect();
    eval(&text, &inputs, "%h0")
}

const ONE: u64 = 0x3c00;
const INF: u64 = 0x7c00;
const NAN: u64 = 0x7fff;
const MOST: u64 = 0x7bff;
const MINUS: u64 = 0x8000;

#[test]
fn f16() {
    for (instruction, inputs, expected) in [
        ("add.f16", [ONE, ONE], 0x4000),
        ("add.rn.f16", [MOST, MOST], INF),
        // 2048 + 1 is a tie, and 2048 the even one; 2050 + 1 is one too, and 2052 is.
        ("add.f16", [0x6800, ONE], 0x6800),
        ("add.f16", [0x6801, ONE], 0x6802),
        ("add.f16", [1, 1], 2),
        ("add.ftz.f16", [0x3ff, 0x3ff], 0),
        ("add.ftz.f16", [0x83ff, 0x83ff], MINUS),
        ("add.f16", [INF, INF | MINUS], NAN),
        ("add.sat.f16", [ONE, ONE], ONE),
        ("add.sat.f16", [0xfc01, ONE], 0),
        ("sub.f16", [ONE, ONE], 0),
        ("sub.f16", [ONE, 0x4000], 0xbc00),
        ("mul.f16", [0x4200, 0x3800], 0x3e00),
        ("mul.f16", [MINUS, ONE], MINUS),
        ("mul.f16", [1, 0x3800], 0),
        ("mul.f16", [3, 0x3800], 2),
        ("mul.f16", [INF, 0], NAN),
        ("min.f16", [0, MINUS], MINUS),
        ("max.f16", [0, MINUS], 0),
        ("min.f16", [0xbc00, 0xc000], 0xc000),
        ("min.f16", [0x7c01, ONE], ONE),
        ("max.f16", [ONE, 0xfe00], ONE),
        ("max.f16", [0xfe00, 0xfe00], NAN),
        ("max.NaN.f16", [ONE, 0xfe00], NAN),
        ("max.ftz.f16", [1, MINUS], 0),
        ("min.xorsign.abs.f16", [0xc000, ONE], 0xbc00),
    ] {
        assert_eq!(
            h(instruction, &inputs),
            expected,
            "{instruction} {inputs:x?}"
        );
    }
    assert_eq!(h("neg.f16", &[ONE]), 0xbc00);
    assert_eq!(h("neg.f16", &[0xfe01]), NAN);
    assert_eq!(h("neg.ftz.f16", &[1]), MINUS);
    assert_eq!(h("abs.f16", &[0xbc00]), ONE);
    assert_eq!(h("ex2.approx.f16", &[0x4000]), 0x4400);
    assert_eq!(h("ex2.approx.f16", &[0xfc00]), 0);
    assert_eq!(h("tanh.approx.f16", &[0xfc00]), 0xbc00);
    assert_eq!(h("tanh.approx.f16", &[NAN]), NAN);
}

#[test]
fn fused_once_rounded() {
    // (1 + 2^-10)² − (1 + 2^-9) is 2^-20.
    assert_eq!(h("fma.rn.f16", &[0x3c01, 0x3c01, 0xbc02]), 0x0010);
    assert_eq!(h("fma.rn.f16", &[MOST, 0x4000, 0xfbff]), MOST);
    assert_eq!(h("fma.rn.relu.f16", &[ONE, ONE, 0xc000]), 0);
    assert_eq!(h("fma.rn.relu.f16", &[ONE, MINUS, MINUS]), 0);
    assert_eq!(h("fma.rn.relu.f16", &[NAN, ONE, ONE]), NAN);
    assert_eq!(h("fma.rn.sat.f16", &[ONE, ONE, ONE]), ONE);
    // 1.5 × (1 + 2^-7) is half-way between two numbers of bf16; 2^-100 decides, though a double does not
    // hold the sum.
    assert_eq!(h("fma.rn.bf16", &[0x3fc0, 0x3f81, 0]), 0x3fc2);
    assert_eq!(h("fma.rn.bf16", &[0x3fc0, 0x3f81, 0x0d80]), 0x3fc2);
    assert_eq!(h("fma.rn.bf16", &[0x3fc0, 0x3f81, 0x8d80]), 0x3fc1);
}

#[test]
fn bf16() {
    for (instruction, inputs, expected) in [
        ("add.bf16", [0x3f80, 0x3f80], 0x4000),
        ("sub.rn.bf16", [0x3f80, 0x4000], 0xbf80),
        ("mul.bf16", [0x4040, 0x3f00], 0x3fc0),
        ("add.bf16", [0x7f7f, 0x7f7f], 0x7f80),
        ("add.bf16", [1, 1], 2),
        ("mul.bf16", [0x7f80, 0], 0x7fff),
        ("min.bf16", [0x3f80, 0xff81], 0x3f80),
        ("max.NaN.bf16", [0x3f80, 0xff81], 0x7fff),
        ("max.xorsign.abs.bf16", [0xbf80, 0xc000], 0x4000),
    ] {
        assert_eq!(
            h(instruction, &inputs),
            expected,
            "{instruction} {inputs:x?}"
        );
    }
    assert_eq!(h("neg.bf16", &[0x3f80]), 0xbf80);
    assert_eq!(h("abs.bf16", &[0xffff]), 0x7fff);
    assert_eq!(h("ex2.approx.ftz.bf16", &[0xbf80]), 0x3f00);
    assert_eq!(h("ex2.approx.ftz.bf16", &[1]), 0x3f80);
    assert_eq!(h("tanh.approx.bf16", &[0x7f80]), 0x3f80);
}

#[test]
fn pairs_are_two_of_each() {
    let state = State::new()
        .set("%r1", 0xbc00_3c00)
        .set("%r2", 0x3c00_4000)
        .set("%r3", 0x0000_3c00)
        .set("%r4", 0xbf80_3f80)
        .run(
            "add.f16x2 %r5, %r1, %r2; fma.rn.f16x2 %r6, %r1, %r2, %r3; neg.f16x2 %r7, %r1;\n\
             max.f16x2 %r8, %r1, %r2; mul.bf16x2 %r9, %r4, %r4; abs.bf16x2 %r10, %r4;\n\
             tanh.approx.f16x2 %r11, %r3; fma.rn.relu.bf16x2 %r12, %r4, %r4, %r4;\n\
             ex2.approx.ftz.bf16x2 %r13, %r4; sub.sat.f16x2 %r14, %r2, %r1; min.f16x2 %r15, %r1, %r2;",
        );
    for (name, expected) in [
        ("%r5", 0x0000_4200),
        ("%r6", 0xbc00_4200),
        ("%r7", 0x3c00_bc00),
        ("%r8", 0x3c00_4000),
        ("%r9", 0x3f80_3f80),
        ("%r10", 0x3f80_3f80),
        ("%r11", 0x0000_3a18),
        ("%r12", 0x0000_4000),
        ("%r13", 0x3f00_4000),
        ("%r14", 0x3c00_3c00),
        ("%r15", 0xbc00_3c00),
    ] {
        assert_eq!(state.get(name), expected, "{name}: {:x}", state.get(name));
    }
}
