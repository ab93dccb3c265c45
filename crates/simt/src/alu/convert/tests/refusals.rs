//! Opcodes that are not a valid `cvt`, and operands that do not fit one.

use crate::tests::program;

#[test]
fn what_does_not_exist_is_refused() {
    for body in [
        "cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1;",
        "cvt.rn.f16x2.e4m3x2 %r0, %h0;",
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
        let message = program(body).unwrap_err().message;
        assert!(message.contains("not supported"), "{body}: {message}");
    }
    for (body, words) in [
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
    ] {
        let message = program(body).unwrap_err().message;
        assert!(message.contains(words), "{body}: {message}");
    }
}
