//! Values worked out by hand from the ISA's text.

use crate::tests::{State, eval, program};

#[test]
fn signs_and_widths() {
    for (instruction, inputs, wanted) in [
        ("setp.lt.s32 %p0, %r1, 0;", ("%r1", 0xffff_ffff), true),
        ("setp.lt.u32 %p0, %r1, 0;", ("%r1", 0xffff_ffff), false),
        ("setp.hi.u32 %p0, %r1, 0;", ("%r1", 0xffff_ffff), true),
        ("setp.lt.s16 %p0, %h1, 0;", ("%h1", 0xffff), true),
        ("setp.gt.u16 %p0, %h1, 0;", ("%h1", 0xffff), true),
        ("setp.eq.s16 %p0, %h1, -1;", ("%h1", 0xffff), true),
        ("setp.lt.s64 %p0, %rd1, -1;", ("%rd1", 1 << 63), true),
        ("setp.ge.u64 %p0, %rd1, -1;", ("%rd1", u64::MAX), true),
        ("setp.ne.b64 %p0, %rd1, 0;", ("%rd1", 1 << 40), true),
        ("setp.eq.b16 %p0, %h1, 0;", ("%h1", 0), true),
        ("setp.ge.f32 %p0, %f1, 0fBF800000;", ("%f1", 0), true),
        (
            "setp.gt.f64 %p0, %fd1, 0d3FF0000000000000;",
            ("%fd1", 0x3ff8_0000_0000_0000),
            true,
        ),
        // The sign of zero does not matter.
        (
            "setp.eq.f32 %p0, %f1, 0f00000000;",
            ("%f1", 0x8000_0000),
            true,
        ),
    ] {
        let wanted = if wanted { 0xffff_ffff } else { 0 };
        assert_eq!(eval(instruction, &[inputs], "%p0"), wanted, "{instruction}");
    }
}

#[test]
fn two_predicates_and_a_third() {
    let lanes = std::array::from_fn(|lane| lane as u64);
    // The comparison holds in lanes 0 to 15; c in 8 to 23.
    let run = |instruction: &str| {
        let state = State::new().set_lanes("%r1", lanes).set("%p2", 0x00ff_ff00);
        let state = state.run(instruction);
        (state.get("%p0"), state.get("%p1"))
    };
    for (instruction, p, q) in [
        ("setp.lt.s32 %p0|%p1, %r1, 16;", 0x0000_ffff, 0xffff_0000),
        ("setp.lt.s32 %p0, %r1, 16;", 0x0000_ffff, 0),
        ("setp.lt.s32 _|%p1, %r1, 16;", 0, 0xffff_0000),
        (
            "setp.lt.and.s32 %p0|%p1, %r1, 16, %p2;",
            0x0000_ff00,
            0x00ff_0000,
        ),
        (
            "setp.lt.or.s32 %p0|%p1, %r1, 16, %p2;",
            0x00ff_ffff,
            0xffff_ff00,
        ),
        (
            "setp.lt.xor.s32 %p0|%p1, %r1, 16, %p2;",
            0x00ff_00ff,
            0xff00_ff00,
        ),
        ("setp.lt.and.s32 %p0, %r1, 16, !%p2;", 0x0000_00ff, 0),
        ("setp.lt.or.s32 %p0, %r1, 16, !%p2;", 0xff00_ffff, 0),
        ("setp.lt.xor.s32 %p0, %r1, 16, !%p2;", 0xff00_ff00, 0),
        ("setp.gt.and.u32 %p0, 16, %r1, %p2;", 0x0000_ff00, 0),
    ] {
        assert_eq!(run(instruction), (p, q), "{instruction}");
    }
    // NaN makes the comparison false, and its opposite true.
    let state = State::new()
        .set("%f1", 0x7fc0_0000)
        .run("setp.lt.ftz.f32 %p0|%p1, %f1, %f2;");
    assert_eq!((state.get("%p0"), state.get("%p1")), (0, 0xffff_ffff));
}

#[test]
fn pairs_of_halves() {
    // 1.0 and 2.0, upper half first, against 2.0 and NaN; then of bf16.
    let halves = [("%r1", 0x3c00_4000), ("%r2", 0x4000_7e00)];
    let run = |instruction: &str, inputs: &[(&str, u64)]| {
        let state = inputs
            .iter()
            .fold(State::new(), |state, (name, value)| state.set(name, *value));
        let state = state.set("%p2", 0xf).run(instruction);
        (state.get("%p0"), state.get("%p1"))
    };
    const ALL: u64 = 0xffff_ffff;
    for (instruction, p, q) in [
        ("setp.lt.f16x2 %p0|%p1, %r1, %r2;", 0, ALL),
        ("setp.ltu.f16x2 %p0|%p1, %r1, %r2;", ALL, ALL),
        ("setp.nan.f16x2 %p0|%p1, %r1, %r2;", ALL, 0),
        ("setp.gtu.and.ftz.f16x2 %p0|%p1, %r1, %r2, %p2;", 0xf, 0),
        ("setp.lt.or.f16x2 %p0|%p1, %r1, %r2, %p2;", 0xf, ALL),
    ] {
        assert_eq!(run(instruction, &halves), (p, q), "{instruction}");
    }
    let brains = [("%r1", 0x3f80_0001), ("%r2", 0x4000_0000)];
    assert_eq!(run("setp.lt.bf16x2 %p0|%p1, %r1, %r2;", &brains), (0, ALL));
    for (instruction, wanted) in [
        ("set.lt.f16x2.f16x2 %r0, %r1, %r2;", 0x3c00_0000),
        ("set.nan.f16x2.f16x2 %r0, %r1, %r2;", 0x0000_3c00),
        ("set.lt.u32.f16x2 %r0, %r1, %r2;", 0xffff_0000),
        ("set.ltu.s32.f16x2 %r0, %r1, %r2;", 0xffff_ffff),
        ("set.ltu.xor.u32.f16x2 %r0, %r1, %r2, !%p0;", 0),
    ] {
        assert_eq!(eval(instruction, &halves, "%r0"), wanted, "{instruction}");
    }
    assert_eq!(
        eval("set.lt.bf16x2.bf16x2 %r0, %r1, %r2;", &brains, "%r0"),
        0x3f80_0000
    );
    assert_eq!(
        eval("set.gt.u32.bf16x2 %r0, %r1, %r2;", &brains, "%r0"),
        0x0000_ffff
    );
}

#[test]
fn numbers_for_truth() {
    let inputs = [
        ("%r1", 1),
        ("%r2", 2),
        ("%rd1", 1),
        ("%rd2", 2),
        ("%f1", 0x3f80_0000),
        ("%f2", 0x4000_0000),
        ("%fd1", 0x3ff0_0000_0000_0000),
        ("%fd2", 0x4000_0000_0000_0000),
        ("%h1", 0x3c00),
        ("%h2", 0x4000),
        ("%p1", 0xffff_ffff),
    ];
    for (instruction, to, wanted) in [
        ("set.lt.u32.s32 %r0, %r1, %r2;", "%r0", 0xffff_ffff),
        ("set.gt.u32.s32 %r0, %r1, %r2;", "%r0", 0),
        ("set.lt.s32.u64 %r0, %rd1, %rd2;", "%r0", 0xffff_ffff),
        ("set.lt.f32.s32 %f0, %r1, %r2;", "%f0", 0x3f80_0000),
        ("set.lt.f32.f32 %f0, %f1, %f2;", "%f0", 0x3f80_0000),
        ("set.lt.ftz.u32.f32 %r0, %f1, %f2;", "%r0", 0xffff_ffff),
        ("set.lt.u32.f64 %r0, %fd1, %fd2;", "%r0", 0xffff_ffff),
        (
            "set.lt.and.u32.f64 %r0, %fd1, %fd2, %p1;",
            "%r0",
            0xffff_ffff,
        ),
        ("set.lt.and.u32.f64 %r0, %fd1, %fd2, !%p1;", "%r0", 0),
        ("set.lt.xor.f32.s32 %f0, %r1, %r2, %p1;", "%f0", 0),
        ("set.lt.f16.f16 %h0, %h1, %h2;", "%h0", 0x3c00),
        ("set.lt.f16.s32 %h0, %r1, %r2;", "%h0", 0x3c00),
        ("set.lt.bf16.bf16 %h0, %h1, %h2;", "%h0", 0x3f80),
        ("set.lt.u16.f16 %h0, %h1, %h2;", "%h0", 0xffff),
        ("set.lt.u32.bf16 %r0, %h1, %h2;", "%r0", 0xffff_ffff),
        ("set.eq.u32.b16 %r0, %h1, %h1;", "%r0", 0xffff_ffff),
    ] {
        assert_eq!(eval(instruction, &inputs, to), wanted, "{instruction}");
    }
}

#[test]
fn selections() {
    let state = State::new()
        .set("%p1", 0x0000_ffff)
        .set("%r1", 1).set("%r2", 2)
        .set("%h1", 3).set("%h2", 4)
        .set("%rd1", 5).set("%rd2", 6)
        .set("%fd1", 7).set("%fd2", 8)
        .set("%f1", 9).set("%f2", 10)
        .run(
            "selp.b32 %r0, %r1, %r2, %p1; selp.u16 %h0, %h1, %h2, %p1; selp.s64 %rd0, %rd1, %rd2, %p1;\
             selp.f64 %fd0, %fd1, %fd2, %p1; selp.f32 %f0, %f1, %f2, !%p1; selp.s32 %r3, 1, -1, %p1;\
             selp.b32 %r4, %r1, %r2, 1;",
        );
    for (name, low, high) in [
        ("%r0", 1, 2),
        ("%h0", 3, 4),
        ("%rd0", 5, 6),
        ("%fd0", 7, 8),
        ("%f0", 10, 9),
        ("%r3", 1, 0xffff_ffff),
        ("%r4", 1, 1),
    ] {
        assert_eq!(state.lanes(name)[15], low, "{name}");
        assert_eq!(state.lanes(name)[16], high, "{name}");
    }
}

#[test]
fn selections_by_sign() {
    for (value, wanted) in [
        (0, 1),
        (5, 1),
        (0x7fff_ffff, 1),
        (0x8000_0000, 2),
        (0xffff_ffff, 2),
    ] {
        let inputs = [
            ("%r1", 1),
            ("%r2", 2),
            ("%rd1", 1),
            ("%rd2", 2),
            ("%r3", value),
        ];
        assert_eq!(
            eval("slct.u32.s32 %r0, %r1, %r2, %r3;", &inputs, "%r0"),
            wanted,
            "{value:x}"
        );
        assert_eq!(
            eval("slct.b64.s32 %rd0, %rd1, %rd2, %r3;", &inputs, "%rd0"),
            wanted,
            "{value:x}"
        );
    }
    for (value, plain, flushed) in [
        (0, 1, 1),
        (0x8000_0000, 1, 1),
        (0x3f80_0000, 1, 1),
        (0xbf80_0000, 2, 2),
        (0x7f80_0000, 1, 1),
        (0x7fc0_0000, 2, 2),
        (0xffc0_0000, 2, 2),
        // A negative subnormal number counts as zero.
        (0x8000_0001, 2, 1),
    ] {
        let inputs = [
            ("%fd1", 1),
            ("%fd2", 2),
            ("%h1", 1),
            ("%h2", 2),
            ("%f3", value),
        ];
        assert_eq!(
            eval("slct.f64.f32 %fd0, %fd1, %fd2, %f3;", &inputs, "%fd0"),
            plain,
            "{value:x}"
        );
        assert_eq!(
            eval("slct.b16.f32 %h0, %h1, %h2, %f3;", &inputs, "%h0"),
            plain,
            "{value:x}"
        );
        assert_eq!(
            eval("slct.ftz.f64.f32 %fd0, %fd1, %fd2, %f3;", &inputs, "%fd0"),
            flushed,
            "{value:x}"
        );
    }
}

#[test]
fn only_active_lanes_are_written() {
    let state = State::new().set("%p0", 0xffff_0000).set("%r0", 9).run_on(
        "setp.eq.s32 %p0, 0, 0; set.eq.u32.u32 %r0, 0, 0; selp.b32 %r1, 4, 5, %p0;",
        0x0000_00f0,
    );
    assert_eq!(state.get("%p0"), 0xffff_00f0);
    assert_eq!(state.lanes("%r0")[3..5], [9, 0xffff_ffff]);
    assert_eq!(state.lanes("%r1")[3..5], [0, 4]);
}

#[test]
fn what_is_no_instruction_is_refused() {
    for (instruction, message) in [
        (
            "setp.lt.s32 %p0, %r1;",
            "`setp.lt.s32` takes 3 operands, not 2",
        ),
        (
            "setp.lt.s32 %p0, %r1, %r2, %p1;",
            "`setp.lt.s32` takes 3 operands, not 4",
        ),
        (
            "setp.lt.and.s32 %p0, %r1, %r2;",
            "`setp.lt.and.s32` takes 4 operands, not 3",
        ),
        (
            "setp.lt.s32 %r0, %r1, %r2;",
            "a register of 32 bits stands where a predicate belongs",
        ),
        (
            "setp.lt.s32 %p0, %rd1, %r2;",
            "register `%rd1` has 64 bits, and the instruction's type 32",
        ),
        (
            "setp.lt.b32 %p0, %r1, %r2;",
            "instruction `setp.lt.b32` is not supported",
        ),
        (
            "setp.lo.s32 %p0, %r1, %r2;",
            "instruction `setp.lo.s32` is not supported",
        ),
        (
            "setp.ltu.s32 %p0, %r1, %r2;",
            "instruction `setp.ltu.s32` is not supported",
        ),
        (
            "setp.lt.ftz.f64 %p0, %fd1, %fd2;",
            "instruction `setp.lt.ftz.f64` is not supported",
        ),
        (
            "setp.lt.nor.s32 %p0, %r1, %r2, %p1;",
            "instruction `setp.lt.nor.s32` is not supported",
        ),
        (
            "set.lt.u16.s32 %h0, %r1, %r2;",
            "instruction `set.lt.u16.s32` is not supported",
        ),
        (
            "set.lt.u32.s32 %r0|%r3, %r1, %r2;",
            "a register is expected here",
        ),
        (
            "selp.b32 %r0, %r1, %r2;",
            "`selp.b32` takes 4 operands, not 3",
        ),
        (
            "selp.pred %p0, %p1, %p2, %p3;",
            "instruction `selp.pred` is not supported",
        ),
        (
            "slct.b32.u32 %r0, %r1, %r2, %r3;",
            "instruction `slct.b32.u32` is not supported",
        ),
        (
            "slct.b32.s32 %r0, %r1, %r2;",
            "`slct.b32.s32` takes 4 operands, not 3",
        ),
    ] {
        let refusal = program(instruction).expect_err(instruction);
        assert_eq!(refusal.message, message, "{instruction}");
    }
}
