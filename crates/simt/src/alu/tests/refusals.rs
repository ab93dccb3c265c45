//! Opcodes that do not exist, and operands that do not fit one.

use crate::tests::program;

fn refusal(instruction: &str) -> String {
    let refused = program(instruction).expect_err(instruction);
    refused.message
}

#[test]
fn what_does_not_fit_is_named() {
    for (instruction, message) in [
        ("add.s32 %r0, %r1;", "`add.s32` takes 3 operands, not 2"),
        (
            "add.s32 %r0, %r1, %r2, %r3;",
            "`add.s32` takes 3 operands, not 4",
        ),
        (
            "add.cc.u32 %r0, %r1;",
            "`add.cc.u32` takes 3 operands, not 2",
        ),
        (
            "add.s32 %r0, %r1, %rd2;",
            "register `%rd2` has 64 bits, and the instruction's type 32",
        ),
        (
            "add.s64 %rd0, %r1, %rd2;",
            "register `%r1` has 32 bits, and the instruction's type 64",
        ),
        (
            "add.s32 %p0, %r1, %r2;",
            "`%p0` is a predicate, and a register of 32 bits belongs here",
        ),
        (
            "popc.b64 %rd0, %rd1;",
            "register `%rd0` has 64 bits, and the instruction's type 32",
        ),
        (
            "add.s32 {%r0, %r1}, %r1, %r2;",
            "a register is expected here",
        ),
        (
            "add.sat.u32 %r0, %r1, %r2;",
            "instruction `add.sat.u32` is not supported",
        ),
        (
            "mul.s32 %r0, %r1, %r2;",
            "instruction `mul.s32` is not supported",
        ),
        (
            "mad.lo.sat.s32 %r0, %r1, %r2, %r3;",
            "instruction `mad.lo.sat.s32` is not supported",
        ),
        (
            "addc.u16 %h0, %h1, %h2;",
            "instruction `addc.u16` is not supported",
        ),
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
        ("and.b32 %r0, %r1;", "`and.b32` takes 3 operands, not 2"),
        ("and.pred %p0, %p1;", "`and.pred` takes 3 operands, not 2"),
        (
            "not.pred %p0, %p1, %p2;",
            "`not.pred` takes 2 operands, not 3",
        ),
        (
            "and.pred %p0, %p1, %r2;",
            "a register of 32 bits stands where a predicate belongs",
        ),
        (
            "and.u32 %r0, %r1, %r2;",
            "instruction `and.u32` is not supported",
        ),
        (
            "shl.b64 %rd0, %rd1, %rd2;",
            "register `%rd2` has 64 bits, and the instruction's type 32",
        ),
        (
            "lop3.b32 %r0, %r1, %r2, %r3;",
            "`lop3.b32` takes 5 operands, not 4",
        ),
        (
            "lop3.b32 %r0, %r1, %r2, %r3, %r4;",
            "a constant is expected here",
        ),
        (
            "lop3.b32 %r0|%p0, %r1, %r2, %r3, 1;",
            "a register is expected here",
        ),
        (
            "lop3.or.b32 %r0, %r1, %r2, %r3, 1, %p0;",
            "`lop3.or.b32` writes a register and a predicate: `d|p`",
        ),
        (
            "lop3.xor.b32 %r0|%p0, %r1, %r2, %r3, 1, %p0;",
            "instruction `lop3.xor.b32` is not supported",
        ),
        (
            "prmt.b32.xyz %r0, %r1, %r2, %r3;",
            "instruction `prmt.b32.xyz` is not supported",
        ),
        ("mov.u64 %rd1, %ctaid.y;", "`%ctaid.y` has 16 or 32 bits"),
        ("mov.u16 %h1, %laneid;", "`%laneid` has 32 bits"),
        (
            "mov.f32 %f1, %tid.x;",
            "`%tid.x` is no floating-point number",
        ),
        ("mov.u32 %r1, %clock64;", "`%clock64` has 64 bits"),
    ] {
        assert_eq!(refusal(instruction), message, "{instruction}");
    }
    for (instruction, words) in [
        ("add.f32 %f0, %f1;", "3 operands"),
        ("fma.rn.f32 %f0, %f1, %f2;", "4 operands"),
        ("add.f32 %f0, %f1, %f2, %f3;", "3 operands"),
        ("add.f32 %h0, %f1, %f2;", "16 bits"),
        ("add.f32 %f0, %fd1, %f2;", "64 bits"),
        ("add.f64 %fd0, %f1, %fd2;", "32 bits"),
        ("add.f16 %h0, %h1, %r2;", "32 bits"),
        ("add.f16x2 %r0, %h1, %r2;", "16 bits"),
        ("testp.finite.f64 %p0, %f1;", "32 bits"),
        ("testp.finite.f32 %r0, %f1;", "predicate"),
        ("abs.f32 %f0, %p1;", "predicate"),
        ("cvt.u64.u32 %rd0;", "takes 2 operands"),
        ("cvt.u64.u32 %rd0, %r0, %r1;", "takes 2 operands"),
        ("cvt.u64.u32 %r0, %r1;", "32 bits"),
        ("cvt.u32.u64 %r0, %r1;", "32 bits"),
        ("cvt.u32.u16 %h0, %h1;", "16 bits"),
        ("cvt.u32.u32 %r0, %h1;", "16 bits"),
        ("cvt.u32.u32 %p0, %r1;", "predicate"),
        ("cvt.u32.u32 %r0, %p1;", "predicate"),
        ("cvt.s32.f32 %r0, %f1;", "needs .rni"),
        ("cvt.rz.s32.f32 %r0, %f1;", "needs .rni"),
        ("cvt.f32.f64 %f0, %fd1;", "rounding modifier"),
        ("cvt.ftz.f32.s64 %f0, %rd0;", "rounding modifier"),
        ("cvt.s32.u32 %r0, 1.5;", "floating-point number"),
        ("cvt.rn.f32.s32 %f0, %f1;", "declared .f32"),
        ("cvt.rn.f16x2.f32 %r0, %f1;", "takes 3 operands"),
        ("cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2;", "takes 4 operands"),
        ("cvt.pack.sat.u16.s32 %h0, %r1, %r2;", "16 bits"),
        ("mov.b128 %rd1, %rd2;", "registers of 128 bits"),
        ("mov.b32.x %r1, %r2;", "not supported"),
        ("mov.b32 %r1;", "takes 2 operands"),
        ("mov.u16 %h1, %r2;", "has 32 bits"),
        ("mov.u32 %r1, %rd2;", "has 64 bits"),
        ("mov.u32 %r1, %p2;", "predicate"),
        ("mov.b64 %rd1, {%r1, %r2, %r3};", "3 parts"),
        ("mov.u64 %rd1, {%r1, %r2};", "type .b16"),
        ("mov.b64 {%h1, %h2}, %rd1;", "has 16 bits"),
        ("mov.b64 {%r1, %r2}, {%r3, %r4};", "one operand in braces"),
        ("mov.u64 %rd1, k;", "address of function"),
        ("mov.u32 %r1, nothing;", "nothing"),
    ] {
        let message = refusal(instruction);
        assert!(message.contains(words), "{instruction}: {message}");
    }
}

#[test]
fn what_does_not_exist_is_refused() {
    for instruction in [
        "add.rna.f32 %f0, %f1, %f2;",
        "add.rn.rz.f32 %f0, %f1, %f2;",
        "add.sat.f64 %fd0, %fd1, %fd2;",
        "add.ftz.f64 %fd0, %fd1, %fd2;",
        "add.f32x2 %rd0, %rd1, %rd2;",
        "fma.f32 %f0, %f1, %f2, %f3;",
        "fma.rn.f32x2 %rd0, %rd1, %rd2, %rd3;",
        "div.f32 %f0, %f1, %f2;",
        "div.rn.sat.f32 %f0, %f1, %f2;",
        "div.approx.full.f32 %f0, %f1, %f2;",
        "rsqrt.rn.f32 %f0, %f1;",
        "sqrt.approx.f64 %fd0, %fd1;",
        "rcp.approx.f64 %fd0, %fd1;",
        "tanh.approx.ftz.f32 %f0, %f1;",
        "ex2.f32 %f0, %f1;",
        "sin.approx.f64 %fd0, %fd1;",
        "min.xorsign.f32 %f0, %f1, %f2;",
        "min.xorsign.abs.f32 %f0, %f1, %f2, %f3;",
        "min.NaN.f64 %fd0, %fd1, %fd2;",
        "copysign.ftz.f32 %f0, %f1, %f2;",
        "testp.finite.f16 %p0, %h1;",
        "testp.odd.f32 %p0, %f1;",
        "mul.ftz.bf16 %h0, %h1, %h2;",
        "fma.rn.sat.relu.f16 %h0, %h1, %h2, %h3;",
        "add.rz.f16 %h0, %h1, %h2;",
        "add.rn.f32.f16 %f0, %h1, %f2;",
        "cvt.rn.e4m3x2.f32 %h0, %f0, %f1;",
        "cvt.rn.f16x2.e2m1x2 %r0, %h0;",
        "cvt.rs.f16x2.f32 %r0, %f0, %f1, %r1;",
        "cvt.rn.f16x2.f64 %r0, %fd0, %fd1;",
        "cvt.rn.u32.u64 %r0, %rd0;",
        "cvt.rzi.u32.u64 %r0, %rd0;",
        "cvt.rzi.f32.f64 %f0, %fd0;",
        "cvt.rn.rz.f32.f64 %f0, %fd0;",
        "cvt.rn.ftz.f64.s64 %fd0, %rd0;",
        "cvt.ftz.u64.u32 %rd0, %r0;",
        "cvt.rn.relu.f32.f64 %f0, %fd0;",
        "cvt.rna.f32.f64 %f0, %fd0;",
        "cvt.rm.tf32.f32 %r0, %f0;",
        "cvt.rna.tf32.f64 %r0, %fd0;",
        "cvt.f32.tf32 %f0, %r0;",
        "cvt.rn.tf32.s32 %r0, %r1;",
        "cvt.u32 %r0, %r1;",
        "cvt %r0, %r1;",
        "cvt.pack.sat.u32.s32 %r0, %r1, %r2;",
        "cvt.pack.u16.s32 %r0, %r1, %r2;",
    ] {
        let message = refusal(instruction);
        assert!(
            message.contains("not supported"),
            "{instruction}: {message}"
        );
    }
}
