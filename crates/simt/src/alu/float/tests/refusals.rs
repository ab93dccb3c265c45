//! Opcodes that are not valid instructions, and operands that do not fit one.

use crate::tests::program;

#[test]
fn what_does_not_exist_is_refused() {
    for body in [
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
    ] {
        let message = program(body).unwrap_err().message;
        assert!(message.contains("not supported"), "{body}: {message}");
    }
    for (body, words) in [
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
    ] {
        let message = program(body).unwrap_err().message;
        assert!(message.contains(words), "{body}: {message}");
    }
}
