//! From integers.

use super::{check, d, f};
use crate::tests::eval;

#[test]
fn integers_change_their_width() {
    let minus_two = u64::MAX - 1;
    check(&[
        ("cvt.u64.u32", "%r0", 0xffff_fffe, "%rd0", 0xffff_fffe),
        ("cvt.s64.s32", "%r0", 0xffff_fffe, "%rd0", minus_two),
        ("cvt.u64.s32", "%r0", 0xffff_fffe, "%rd0", minus_two),
        ("cvt.s64.u32", "%r0", 0xffff_fffe, "%rd0", 0xffff_fffe),
        (
            "cvt.u32.u64",
            "%rd0",
            0x1234_5678_9abc_def0,
            "%r0",
            0x9abc_def0,
        ),
        ("cvt.u16.u32", "%r0", 0x1234_5678, "%h0", 0x5678),
        ("cvt.u32.u16", "%h0", 0xfffe, "%r0", 0xfffe),
        ("cvt.s32.s16", "%h0", 0xfffe, "%r0", 0xffff_fffe),
        ("cvt.u32.s16", "%h0", 0xfffe, "%r0", 0xffff_fffe),
        ("cvt.s64.s16", "%h0", 0xfffe, "%rd0", minus_two),
        ("cvt.u64.u16", "%h0", 0xfffe, "%rd0", 0xfffe),
        ("cvt.u16.u64", "%rd0", 0x1234_5678_9abc_def0, "%h0", 0xdef0),
        ("cvt.s64.u64", "%rd0", minus_two, "%rd1", minus_two),
        ("cvt.s32.u32", "%r0", 0xffff_fffe, "%r1", 0xffff_fffe),
    ]);
}

#[test]
fn registers_may_be_wider_than_the_types() {
    check(&[
        // The source's lower bits count; the result is extended by its own sign.
        ("cvt.u32.u8", "%r0", 0x1234_56fe, "%r1", 0xfe),
        ("cvt.s32.s8", "%r0", 0x1234_56fe, "%r1", 0xffff_fffe),
        ("cvt.s32.s8", "%h0", 0x00fe, "%r1", 0xffff_fffe),
        ("cvt.u8.u32", "%r0", 0x1234_56fe, "%r1", 0xfe),
        ("cvt.s8.s32", "%r0", 0x1234_56fe, "%r1", 0xffff_fffe),
        ("cvt.s8.u32", "%r0", 0x1234_567e, "%r1", 0x7e),
        ("cvt.u8.s8", "%r0", 0xfe, "%r1", 0xfe),
        ("cvt.s16.s8", "%h0", 0xfe, "%h1", 0xfffe),
        ("cvt.s8.s64", "%rd0", 0xfe, "%h1", 0xfffe),
        ("cvt.u16.u32", "%r0", 0x1234_5678, "%r1", 0x5678),
        ("cvt.s16.u32", "%r0", 0x1234_f678, "%r1", 0xffff_f678),
        (
            "cvt.s16.s32",
            "%r0",
            0x1234_f678,
            "%rd1",
            0xffff_ffff_ffff_f678,
        ),
        ("cvt.u64.u8", "%rd0", 0x1234, "%rd1", 0x34),
        ("cvt.s64.s8", "%rd0", 0x12f4, "%rd1", 0xffff_ffff_ffff_fff4),
        ("cvt.u32.u32", "%rd0", 0x12_3456_789a, "%rd1", 0x3456_789a),
        (
            "cvt.s32.s32",
            "%rd0",
            0x12_8456_789a,
            "%rd1",
            0xffff_ffff_8456_789a,
        ),
        ("cvt.rn.f32.u8", "%r0", 0x1ff, "%f1", f(255.0)),
        ("cvt.rn.f32.s8", "%h0", 0xff, "%f1", f(-1.0)),
        ("cvt.f32.f16", "%r0", 0xffff_3c00, "%f1", f(1.0)),
        ("cvt.rn.f16.f32", "%f0", f(1.0), "%r1", 0x3c00),
        ("cvt.rn.f16.f32", "%f0", f(-1.0), "%rd1", 0xbc00),
        ("cvt.rzi.s8.f32", "%f0", f(-3.0), "%r1", 0xffff_fffd),
        ("cvt.rzi.u8.f32", "%f0", f(300.0), "%r1", 0xff),
        ("cvt.rzi.s16.f32", "%f0", f(-3.0), "%h1", 0xfffd),
        ("cvt.rzi.s16.f32", "%f0", f(-3.0), "%rd1", u64::MAX - 2),
    ]);
}

#[test]
fn sat_keeps_integers_within_the_type() {
    check(&[
        ("cvt.sat.u8.s32", "%r0", 0xffff_ffff, "%r1", 0),
        ("cvt.sat.u8.s32", "%r0", 256, "%r1", 255),
        ("cvt.sat.s8.s32", "%r0", 0xffff_ff00, "%r1", 0xffff_ff80),
        ("cvt.sat.s8.u32", "%r0", 0xffff_ff00, "%r1", 0x7f),
        ("cvt.sat.s16.s32", "%r0", 40000, "%h1", 0x7fff),
        ("cvt.sat.u32.s64", "%rd0", u64::MAX, "%r1", 0),
        ("cvt.sat.s32.u64", "%rd0", u64::MAX, "%r1", 0x7fff_ffff),
        ("cvt.sat.u64.s64", "%rd0", u64::MAX, "%rd1", 0),
        ("cvt.sat.s64.u64", "%rd0", u64::MAX, "%rd1", i64::MAX as u64),
        ("cvt.sat.s32.u32", "%r0", 0x8000_0000, "%r1", 0x7fff_ffff),
    ]);
}

#[test]
fn integers_become_floats() {
    // 2^24 + 1 is a tie; 2^24 + 3 as well.
    check(&[
        (
            "cvt.rn.f32.s32",
            "%r0",
            (1 << 24) + 1,
            "%f0",
            f(16_777_216.0),
        ),
        (
            "cvt.rz.f32.s32",
            "%r0",
            (1 << 24) + 3,
            "%f0",
            f(16_777_218.0),
        ),
        (
            "cvt.rn.f32.s32",
            "%r0",
            (1 << 24) + 3,
            "%f0",
            f(16_777_220.0),
        ),
        (
            "cvt.rp.f32.u32",
            "%r0",
            (1 << 24) + 1,
            "%f0",
            f(16_777_218.0),
        ),
        (
            "cvt.rm.f32.s32",
            "%r0",
            (-16_777_217i32) as u32 as u64,
            "%f0",
            f(-16_777_218.0),
        ),
        (
            "cvt.rn.f32.u32",
            "%r0",
            0xffff_ffff,
            "%f0",
            f(4_294_967_296.0),
        ),
        (
            "cvt.rz.f32.u32",
            "%r0",
            0xffff_ffff,
            "%f0",
            f(4_294_967_040.0),
        ),
        (
            "cvt.rn.f32.s32",
            "%r0",
            0x8000_0000,
            "%f0",
            f(-2_147_483_648.0),
        ),
        ("cvt.rn.f32.s32", "%r0", 5, "%f0", f(5.0)),
        ("cvt.rn.f64.s32", "%r0", 0xffff_fffb, "%fd0", d(-5.0)),
        (
            "cvt.rn.f64.u32",
            "%r0",
            0xffff_fffb,
            "%fd0",
            d(4_294_967_291.0),
        ),
        ("cvt.rn.f32.u64", "%rd0", u64::MAX, "%f0", f(2f32.powi(64))),
        (
            "cvt.rz.f64.u64",
            "%rd0",
            u64::MAX,
            "%fd0",
            d(2f64.powi(64)) - 1,
        ),
        (
            "cvt.rp.f64.s64",
            "%rd0",
            (1 << 53) + 1,
            "%fd0",
            d(9_007_199_254_740_994.0),
        ),
        ("cvt.rn.f64.s64", "%rd0", u64::MAX, "%fd0", d(-1.0)),
        ("cvt.rn.f32.s16", "%h0", 0x8000, "%f0", f(-32768.0)),
        ("cvt.rn.f16.s32", "%r0", 65519, "%h0", 0x7bff),
        ("cvt.rn.f16.s32", "%r0", 65520, "%h0", 0x7c00),
        ("cvt.rz.f16.s32", "%r0", 100_000, "%h0", 0x7bff),
        ("cvt.rn.f16.u8", "%h0", 3, "%h1", 0x4200),
        ("cvt.rn.bf16.u64", "%rd0", u64::MAX, "%h0", 0x5f80),
        ("cvt.rn.sat.f32.s32", "%r0", 7, "%f0", f(1.0)),
        ("cvt.rn.f32.s32", "%r0", 0, "%f0", 0),
    ]);
}

#[test]
fn cvt_pack() {
    let run = |instruction: &str, a: i32, b: i32, c: Option<u32>| {
        let third = if c.is_some() { ", %r3" } else { "" };
        let text = format!("{instruction} %r0, %r1, %r2{third};");
        let [a, b] = [a, b].map(|value| u64::from(value as u32));
        let c = u64::from(c.unwrap_or(0));
        eval(&text, &[("%r1", a), ("%r2", b), ("%r3", c)], "%r0")
    };
    assert_eq!(run("cvt.pack.sat.u16.s32", 70_000, -5, None), 0xffff_0000);
    assert_eq!(run("cvt.pack.sat.s16.s32", -70_000, 5, None), 0x8000_0005);
    assert_eq!(
        run("cvt.pack.sat.u8.s32.b32", 300, -1, Some(0x1234_5678)),
        0x5678_ff00
    );
    assert_eq!(
        run("cvt.pack.sat.s8.s32.b32", -300, 7, Some(0xabcd)),
        0xabcd_8007
    );
    assert_eq!(
        run("cvt.pack.sat.u4.s32.b32", 20, 3, Some(0x0012_3456)),
        0x1234_56f3
    );
    assert_eq!(run("cvt.pack.sat.s2.s32.b32", -9, 9, Some(1)), 0x19);
}
