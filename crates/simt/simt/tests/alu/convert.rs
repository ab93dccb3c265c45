//! Tests all 16-bit numbers; the GPU recording covers only a sample.

use super::registers::State;
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

const NAN: u64 = 0x7fff_ffff;

#[test]
fn every_f16_round_trips_through_f32() {
    // Convert four registers at a time.
    let body = [0, 1, 2, 3].map(|h| {
        let [f, bf, back, brain] = [h, h + 4, h + 4, h + 8];
        format!("cvt.f32.f16 %f{f}, %h{h}; cvt.rn.f16.f32 %h{back}, %f{f}; cvt.f32.bf16 %f{bf}, %h{h}; cvt.rn.bf16.f32 %h{brain}, %f{bf};")
    });
    for start in (0..0x1_0000).step_by(128) {
        let lanes = |part: u64| std::array::from_fn(|lane| start + part * 32 + lane as u64);
        let state = (0..4).fold(State::new(), |state, part| state.set_lanes(&format!("%h{part}"), lanes(part)));
        let state = state.run(&body.concat());
        for (index, bits) in (start..start + 128).enumerate() {
            let (part, lane) = (index / 32, index % 32);
            let found = |file: &str, at: usize| state.lanes(&format!("%{file}{}", at + part))[lane];
            let half = Half::from_bits(bits.into());
            let single: Single = half.convert(&mut false).value;
            let wide = if half.is_nan() { NAN } else { single.to_bits() as u64 };
            assert_eq!(found("f", 0), wide, "{bits:x}");
            let back = if half.is_nan() { 0x7fff } else { bits };
            assert_eq!(found("h", 4), back, "{bits:x}");
            assert_eq!(found("f", 4), bits << 16);
            let brain_nan = bits & 0x7fff > 0x7f80;
            assert_eq!(found("h", 8), if brain_nan { 0x7fff } else { bits });
        }
    }
}
