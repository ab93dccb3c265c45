//! `cvt` on values worked out from the ISA's text.
#![allow(clippy::unwrap_used)]

mod integers;
mod random;
mod refusals;

use crate::tests::{State, eval, program};

fn f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn d(value: f64) -> u64 {
    value.to_bits()
}

const NAN: u64 = 0x7fff_ffff;

/// Each line: instruction, source register and value, destination register and value.
fn check(table: &[(&str, &str, u64, &str, u64)]) {
    for (instruction, from, value, to, expected) in table {
        let found = eval(
            &format!("{instruction} {to}, {from};"),
            &[(from, *value)],
            to,
        );
        assert_eq!(
            found, *expected,
            "{instruction} {to}, {from} of {value:x} is {found:x}, not {expected:x}"
        );
    }
}

#[test]
fn floats_become_integers() {
    for (value, nearest, zero, down, up) in [
        (2.5f32, 2i32, 2, 2, 3),
        (3.5, 4, 3, 3, 4),
        (-2.5, -2, -2, -3, -2),
        (-0.5, 0, 0, -1, 0),
        (0.75, 1, 0, 0, 1),
        (1e-40, 0, 0, 0, 1),
        (7.0, 7, 7, 7, 7),
    ] {
        for (mode, expected) in [("rni", nearest), ("rzi", zero), ("rmi", down), ("rpi", up)] {
            let (single, double) = (f(value), d(f64::from(value)));
            let word = expected as u32;
            let long = i64::from(expected) as u64;
            check(&[
                (
                    &format!("cvt.{mode}.s32.f32"),
                    "%f0",
                    single,
                    "%r0",
                    word.into(),
                ),
                (&format!("cvt.{mode}.s64.f32"), "%f0", single, "%rd0", long),
                (
                    &format!("cvt.{mode}.s32.f64"),
                    "%fd0",
                    double,
                    "%r0",
                    word.into(),
                ),
                (&format!("cvt.{mode}.s64.f64"), "%fd0", double, "%rd0", long),
                (
                    &format!("cvt.{mode}.u32.f64"),
                    "%fd0",
                    double,
                    "%r0",
                    expected.max(0) as u64,
                ),
            ]);
            // The integer as a float keeps the sign of a zero.
            let float = (expected as f32).copysign(value);
            check(&[
                (
                    &format!("cvt.{mode}.f32.f32"),
                    "%f0",
                    single,
                    "%f1",
                    f(float),
                ),
                (
                    &format!("cvt.{mode}.f64.f64"),
                    "%fd0",
                    double,
                    "%fd1",
                    d(float.into()),
                ),
            ]);
        }
    }
    check(&[
        ("cvt.rpi.ftz.s32.f32", "%f0", 1, "%r0", 0),
        ("cvt.rpi.s32.f32", "%f0", 1, "%r0", 1),
        ("cvt.rpi.ftz.f32.f32", "%f0", 1, "%f1", 0),
        (
            "cvt.rmi.ftz.f32.f32",
            "%f0",
            0x8000_0001,
            "%f1",
            0x8000_0000,
        ),
        ("cvt.rni.s32.f16", "%h0", 0x4100, "%r0", 2),
        ("cvt.rpi.s32.bf16", "%h0", 0x3f81, "%r0", 2),
        ("cvt.rni.f16.f16", "%h0", 0x4300, "%h1", 0x4400),
        ("cvt.rzi.bf16.bf16", "%h0", 0xbfc0, "%h1", 0xbf80),
    ]);
}

#[test]
fn out_of_range_saturates_and_nan_has_its_rule() {
    check(&[
        ("cvt.rzi.s32.f32", "%f0", f(3e9), "%r0", 0x7fff_ffff),
        ("cvt.rzi.s32.f32", "%f0", f(-3e9), "%r0", 0x8000_0000),
        ("cvt.rzi.u32.f32", "%f0", f(-1.0), "%r0", 0),
        (
            "cvt.rzi.u32.f32",
            "%f0",
            f(f32::INFINITY),
            "%r0",
            0xffff_ffff,
        ),
        ("cvt.rzi.sat.u32.f32", "%f0", f(5e9), "%r0", 0xffff_ffff),
        ("cvt.rni.u8.f32", "%f0", f(255.5), "%r0", 255),
        ("cvt.rni.s8.f64", "%fd0", d(-129.0), "%r0", 0xffff_ff80),
        ("cvt.rzi.u64.f64", "%fd0", d(1e30), "%rd0", u64::MAX),
        ("cvt.rzi.s64.f64", "%fd0", d(-1e30), "%rd0", 1 << 63),
        ("cvt.rzi.u16.f16", "%h0", 0x7c00, "%h1", 0xffff),
        // Zero where neither the source has 64 bits nor the destination, else the middle one.
        ("cvt.rzi.s32.f32", "%f0", NAN, "%r0", 0),
        ("cvt.rni.s32.f32", "%f0", NAN, "%r0", 0),
        ("cvt.rni.u16.f16", "%h0", 0x7e00, "%h1", 0),
        ("cvt.rzi.s64.f32", "%f0", NAN, "%rd0", 1 << 63),
        ("cvt.rzi.u64.f16", "%h0", 0x7e00, "%rd0", 1 << 63),
        ("cvt.rzi.s32.f64", "%fd0", d(f64::NAN), "%r0", 0x8000_0000),
        ("cvt.rzi.u32.f64", "%fd0", d(f64::NAN), "%r0", 0x8000_0000),
        ("cvt.rzi.u16.f64", "%fd0", d(f64::NAN), "%h0", 0x8000),
    ]);
}

#[test]
fn floats_become_wider_exactly() {
    check(&[
        ("cvt.f64.f32", "%f0", f(-1.5), "%fd0", d(-1.5)),
        ("cvt.f64.f32", "%f0", 1, "%fd0", d(2f64.powi(-149))),
        ("cvt.ftz.f64.f32", "%f0", 0x8000_0001, "%fd0", d(-0.0)),
        (
            "cvt.f64.f32",
            "%f0",
            f(f32::NEG_INFINITY),
            "%fd0",
            d(f64::NEG_INFINITY),
        ),
        (
            "cvt.f64.f32",
            "%f0",
            0xff80_0001,
            "%fd0",
            0xfff8_0000_2000_0000,
        ),
        ("cvt.f32.f16", "%h0", 0x0001, "%f0", f(2f32.powi(-24))),
        (
            "cvt.f32.f16",
            "%h0",
            0x83ff,
            "%f0",
            f(-1023.0 * 2f32.powi(-24)),
        ),
        ("cvt.f32.f16", "%h0", 0x7bff, "%f0", f(65504.0)),
        ("cvt.f32.f16", "%h0", 0xfc00, "%f0", f(f32::NEG_INFINITY)),
        ("cvt.f32.f16", "%h0", 0x7c01, "%f0", NAN),
        ("cvt.f32.f16", "%h0", 0x8000, "%f0", 0x8000_0000),
        ("cvt.ftz.f32.f16", "%h0", 0x0001, "%f0", f(2f32.powi(-24))),
        ("cvt.f64.f16", "%h0", 0x3e00, "%fd0", d(1.5)),
        ("cvt.f32.bf16", "%h0", 0x3fc0, "%f0", f(1.5)),
        ("cvt.f32.bf16", "%h0", 0x0001, "%f0", 0x0001_0000),
        ("cvt.ftz.f32.bf16", "%h0", 0x0001, "%f0", 0),
        ("cvt.f64.bf16", "%h0", 0xbfc0, "%fd0", d(-1.5)),
    ]);
}

#[test]
fn floats_become_narrower_by_the_mode() {
    let third = d(1.0 / 3.0);
    check(&[
        ("cvt.rn.f32.f64", "%fd0", third, "%f0", 0x3eaa_aaab),
        ("cvt.rz.f32.f64", "%fd0", third, "%f0", 0x3eaa_aaaa),
        ("cvt.rm.f32.f64", "%fd0", third, "%f0", 0x3eaa_aaaa),
        ("cvt.rp.f32.f64", "%fd0", third, "%f0", 0x3eaa_aaab),
        (
            "cvt.rm.f32.f64",
            "%fd0",
            third | 1 << 63,
            "%f0",
            0xbeaa_aaab,
        ),
        ("cvt.rn.f32.f64", "%fd0", d(1e300), "%f0", f(f32::INFINITY)),
        ("cvt.rz.f32.f64", "%fd0", d(1e300), "%f0", f(f32::MAX)),
        ("cvt.rn.f32.f64", "%fd0", d(1e-40), "%f0", f(1e-40)),
        ("cvt.rn.ftz.f32.f64", "%fd0", d(-1e-40), "%f0", 0x8000_0000),
        ("cvt.rp.f32.f64", "%fd0", d(1e-300), "%f0", 1),
        // A NaN keeps its sign and the upper part of its payload, as an H100 has it.
        (
            "cvt.rn.f32.f64",
            "%fd0",
            0xfff0_0000_0000_0001,
            "%f0",
            0xffc0_0000,
        ),
        (
            "cvt.rm.f32.f64",
            "%fd0",
            0x7ffc_9cd9_b435_b93b,
            "%f0",
            0x7fe4_e6cd,
        ),
        (
            "cvt.rz.f16.f64",
            "%fd0",
            0xfff1_d607_e06e_4d37,
            "%h0",
            0xfe75,
        ),
        ("cvt.f64.f16", "%h0", 0x7ff7, "%fd0", 0x7fff_dc00_0000_0000),
        ("cvt.rn.f16.f32", "%f0", f(65519.996), "%h0", 0x7bff),
        ("cvt.rn.f16.f32", "%f0", f(65520.0), "%h0", 0x7c00),
        ("cvt.rz.f16.f32", "%f0", f(1e9), "%h0", 0x7bff),
        ("cvt.rn.f16.f32", "%f0", f(2f32.powi(-25)), "%h0", 0),
        ("cvt.rn.f16.f32", "%f0", f(2f32.powi(-25)) + 1, "%h0", 1),
        ("cvt.rp.f16.f32", "%f0", 1, "%h0", 1),
        ("cvt.rp.ftz.f16.f32", "%f0", 1, "%h0", 0),
        ("cvt.rn.f16.f32", "%f0", NAN, "%h0", 0x7fff),
        // By way of f32 this would be a tie: 1 + 2^-11 + 2^-40.
        (
            "cvt.rn.f16.f64",
            "%fd0",
            d(1.0 + 2f64.powi(-11) + 2f64.powi(-40)),
            "%h0",
            0x3c01,
        ),
        ("cvt.rn.bf16.f32", "%f0", 0x3f80_8000, "%h0", 0x3f80),
        ("cvt.rn.bf16.f32", "%f0", 0x3f81_8000, "%h0", 0x3f82),
        ("cvt.rz.bf16.f32", "%f0", 0x3f80_ffff, "%h0", 0x3f80),
        ("cvt.rn.bf16.f32", "%f0", 0x7f80_0001, "%h0", 0x7fff),
        ("cvt.rn.bf16.f32", "%f0", f(f32::MAX), "%h0", 0x7f80),
        (
            "cvt.rn.satfinite.bf16.f32",
            "%f0",
            f(f32::MAX),
            "%h0",
            0x7f7f,
        ),
        ("cvt.rn.bf16.f16", "%h0", 0x3c01, "%h1", 0x3f80),
        ("cvt.rn.f16.bf16", "%h0", 0x7f7f, "%h1", 0x7c00),
        ("cvt.rn.relu.f16.f32", "%f0", f(-2.0), "%h0", 0),
        ("cvt.rn.relu.f16.f32", "%f0", f(2.0), "%h0", 0x4000),
        ("cvt.rn.relu.f16.f32", "%f0", 0xffff_ffff, "%h0", 0x7fff),
        ("cvt.rn.satfinite.f16.f32", "%f0", f(-1e9), "%h0", 0xfbff),
        ("cvt.rn.sat.f16.f32", "%f0", f(3.0), "%h0", 0x3c00),
        ("cvt.sat.f32.f32", "%f0", f(-3.0), "%f1", 0),
        ("cvt.sat.f32.f32", "%f0", NAN, "%f1", 0),
        ("cvt.sat.f32.f32", "%f0", 0x8000_0000, "%f1", 0),
        ("cvt.sat.f64.f64", "%fd0", d(0.3), "%fd1", d(0.3)),
        ("cvt.sat.f64.f64", "%fd0", d(3.0), "%fd1", d(1.0)),
        ("cvt.ftz.f32.f32", "%f0", 0x8000_0001, "%f1", 0x8000_0000),
        ("cvt.f32.f32", "%f0", 0x7f80_0001, "%f1", 0x7f80_0001),
        ("cvt.rni.f32.f32", "%f0", 0xff80_0001, "%f1", NAN),
        (
            "cvt.rni.f64.f64",
            "%fd0",
            0xfff0_0000_0000_0001,
            "%fd1",
            0xfff8_0000_0000_0001,
        ),
        ("cvt.rna.tf32.f32", "%f0", 0x3f80_1000, "%r0", 0x3f80_2000),
        ("cvt.rn.tf32.f32", "%f0", 0x3f80_1000, "%r0", 0x3f80_0000),
        ("cvt.rna.tf32.f32", "%f0", 0xbf80_0fff, "%r0", 0xbf80_0000),
        ("cvt.rna.tf32.f32", "%f0", 0xff80_0001, "%r0", NAN),
        ("cvt.rn.relu.tf32.f32", "%f0", f(-1.0), "%r0", 0),
    ]);
}

#[test]
fn two_become_a_pair() {
    let run = |instruction: &str, a: f32, b: f32| {
        let text = format!("{instruction} %r0, %f1, %f2;");
        eval(&text, &[("%f1", f(a)), ("%f2", f(b))], "%r0")
    };
    assert_eq!(run("cvt.rn.f16x2.f32", 1.0, -2.0), 0x3c00_c000);
    assert_eq!(run("cvt.rz.f16x2.f32", 1e9, 0.0), 0x7bff_0000);
    assert_eq!(run("cvt.rn.relu.f16x2.f32", -1.0, 2.0), 0x0000_4000);
    assert_eq!(run("cvt.rn.bf16x2.f32", 1.0, -2.0), 0x3f80_c000);
    assert_eq!(
        run("cvt.rn.satfinite.bf16x2.f32", f32::MAX, f32::NAN),
        0x7f7f_7fff
    );
}

#[test]
fn immediates_and_special_registers() {
    assert_eq!(eval("cvt.u64.u32 %rd0, 7;", &[], "%rd0"), 7);
    assert_eq!(eval("cvt.rn.f32.s32 %f0, -7;", &[], "%f0"), f(-7.0));
    assert!(program("cvt.u64.u32 %rd0, %tid.x;").is_ok());
    assert!(program("cvt.u32.u32 _, %r1;").is_err());
    let state = State::new()
        .set("%r0", 9)
        .run_on("cvt.u64.u32 %rd0, %r0;", 2);
    assert_eq!(state.lanes("%rd0")[..3], [0, 9, 0]);
}
