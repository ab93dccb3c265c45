//! All 16-bit numbers, where the recording of a GPU has a sample.

use super::registers::State;
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

const NAN: u64 = 0x7fff_ffff;

#[test]
fn every_f16_goes_to_f32_and_back() {
    for start in (0..0x1_0000).step_by(32) {
        let lanes = std::array::from_fn(|lane| start + lane as u64);
        let state = State::new()
            .set_lanes("%h0", lanes)
            .run("cvt.f32.f16 %f0, %h0; cvt.rn.f16.f32 %h1, %f0; cvt.f32.bf16 %f1, %h0; cvt.rn.bf16.f32 %h2, %f1;");
        for (lane, bits) in lanes.into_iter().enumerate() {
            let half = Half::from_bits(bits.into());
            let single: Single = half.convert(&mut false).value;
            let wide = if half.is_nan() { NAN } else { single.to_bits() as u64 };
            assert_eq!(state.lanes("%f0")[lane], wide, "{bits:x}");
            let back = if half.is_nan() { 0x7fff } else { bits };
            assert_eq!(state.lanes("%h1")[lane], back, "{bits:x}");
            assert_eq!(state.lanes("%f1")[lane], bits << 16);
            let brain_nan = bits & 0x7fff > 0x7f80;
            assert_eq!(state.lanes("%h2")[lane], if brain_nan { 0x7fff } else { bits });
        }
    }
}
