//! Random values against Rust's casts, and all 16-bit ones against apfloat.

use proptest::prelude::*;

use super::{NAN, check, d, f};
use crate::tests::State;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn integers_are_cast_as_rust_does(value in any::<u64>(), shift in 0u32..64) {
        let value = (value as i64 >> shift) as u64;
        check(&[
            ("cvt.u32.s8", "%rd0", value, "%r0", u64::from(value as i8 as u32)),
            ("cvt.s16.u8", "%rd0", value, "%r0", u64::from(value as u8)),
            ("cvt.u16.s32", "%rd0", value, "%r0", u64::from(value as u16)),
            ("cvt.s8.s64", "%rd0", value, "%rd1", value as i8 as u64),
            ("cvt.s64.s32", "%rd0", value, "%rd1", value as i32 as u64),
            ("cvt.s16.s32", "%r0", value & 0xffff_ffff, "%r1", u64::from(value as i16 as u32)),
            ("cvt.u16.s8", "%r0", value & 0xffff_ffff, "%r1", u64::from(value as i8 as u16)),
            ("cvt.rn.f32.s64", "%rd0", value, "%f0", f(value as i64 as f32)),
            ("cvt.rn.f32.u64", "%rd0", value, "%f0", f(value as f32)),
            ("cvt.rn.f64.s64", "%rd0", value, "%fd0", d(value as i64 as f64)),
            ("cvt.rn.f64.u64", "%rd0", value, "%fd0", d(value as f64)),
            ("cvt.rn.f32.s32", "%r0", value & 0xffff_ffff, "%f0", f(value as i32 as f32)),
            ("cvt.rn.f32.u32", "%r0", value & 0xffff_ffff, "%f0", f(value as u32 as f32)),
        ]);
    }

    #[test]
    fn floats_are_cast_as_rust_does(bits in any::<u32>(), exponent in 90u32..200) {
        // Exponents about those of integers.
        let value = f32::from_bits(bits & 0x807f_ffff | exponent << 23);
        let double = f64::from(value) * 1.000_000_1;
        check(&[
            ("cvt.rzi.s32.f32", "%f0", f(value), "%r0", u64::from(value as i32 as u32)),
            ("cvt.rzi.u32.f32", "%f0", f(value), "%r0", u64::from(value as u32)),
            ("cvt.rzi.s64.f32", "%f0", f(value), "%rd0", value as i64 as u64),
            ("cvt.rzi.u8.f32", "%f0", f(value), "%r0", u64::from(value as u8)),
            ("cvt.rzi.s16.f64", "%fd0", d(double), "%r0", u64::from(double as i16 as u32)),
            ("cvt.rni.s64.f64", "%fd0", d(double), "%rd0", double.round_ties_even() as i64 as u64),
            ("cvt.rmi.s32.f64", "%fd0", d(double), "%r0", u64::from(double.floor() as i32 as u32)),
            ("cvt.rpi.u64.f64", "%fd0", d(double), "%rd0", double.ceil() as u64),
            ("cvt.rn.f32.f64", "%fd0", d(double), "%f0", f(double as f32)),
            ("cvt.f64.f32", "%f0", f(value), "%fd0", d(f64::from(value))),
            ("cvt.rni.f32.f32", "%f0", f(value), "%f1", f(value.round_ties_even())),
            ("cvt.rpi.f64.f64", "%fd0", d(double), "%fd1", d(double.ceil())),
        ]);
    }
}

#[test]
fn every_f16_goes_to_f32_and_back() {
    use rustc_apfloat::ieee::{Half, Single};
    use rustc_apfloat::{Float, FloatConvert};
    for start in (0..0x1_0000).step_by(32) {
        let lanes = std::array::from_fn(|lane| start + lane as u64);
        let state = State::new().set_lanes("%h0", lanes).run(
            "cvt.f32.f16 %f0, %h0; cvt.rn.f16.f32 %h1, %f0; cvt.f32.bf16 %f1, %h0; cvt.rn.bf16.f32 %h2, %f1;",
        );
        for (lane, bits) in lanes.into_iter().enumerate() {
            let half = Half::from_bits(bits.into());
            let single: Single = half.convert(&mut false).value;
            let wide = if half.is_nan() {
                NAN
            } else {
                single.to_bits() as u64
            };
            assert_eq!(state.lanes("%f0")[lane], wide, "{bits:x}");
            let back = if half.is_nan() { 0x7fff } else { bits };
            assert_eq!(state.lanes("%h1")[lane], back, "{bits:x}");
            assert_eq!(state.lanes("%f1")[lane], bits << 16);
            let brain_nan = bits & 0x7fff > 0x7f80;
            assert_eq!(
                state.lanes("%h2")[lane],
                if brain_nan { 0x7fff } else { bits }
            );
        }
    }
}
