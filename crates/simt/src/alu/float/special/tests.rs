//! What an H200 answered (driver 580.159.04, 2026-11-23), kept as a checksum of each function's answers.

use super::*;
use crate::alu::float::{Half, half};
use crate::alu::modifiers::Modifiers;

/// FNV-1a of whole answers.
fn checksum(answers: impl Iterator<Item = u64>) -> u64 {
    answers.fold(0xcbf2_9ce4_8422_2325, |sum, answer| (sum ^ answer).wrapping_mul(0x0100_0000_01b3))
}

/// Of every 257th argument of a period or of whatever is not trivial; the tables come from all of them.
#[test]
fn functions_of_f32_have_the_recorded_bits() {
    let is = |name: &str, function: &dyn Fn(u32) -> u32, arguments: std::ops::Range<u32>, recorded: u64| {
        assert_eq!(checksum(arguments.step_by(257).map(|a| u64::from(function(a)))), recorded, "{name}");
    };
    is("rcp", &|a| rcp(a, true), 0x3f80_0000..0x4000_0000, 0xa129_cabc_341c_6a4f);
    is("rsqrt", &|a| rsqrt(a, true), 0x3f80_0000..0x4080_0000, 0x035b_4b56_5806_d272);
    is("sqrt", &|a| sqrt(a, true), 0x3f80_0000..0x4080_0000, 0xef82_9271_97d6_6331);
    is("ex2", &|a| ex2(a, true), 0x3f00_0000..0x4000_0000, 0xc312_311c_ed26_cc58);
    is("lg2", &|a| lg2(a, true), 0x3f00_0000..0x4000_0000, 0x007e_8255_9814_65a9);
    is("sin", &|a| sine(a, false), 0x3f00_0000..0x4080_0000, 0x15ef_1d6e_2ce5_9f0e);
    is("cos", &|a| sine(a, true), 0x3f00_0000..0x4080_0000, 0x9960_2c0c_a523_9484);
    is("tanh", &tanh, 0x3b80_0000..0x4100_0000, 0x6db7_c2e4_f3b7_07b8);
}

/// Of every argument.
#[test]
fn functions_of_16_bits_have_the_recorded_bits() {
    let brain = Modifiers::BRAIN;
    for (op, modifiers, recorded) in [
        (Half::Ex2, Modifiers::NONE, 0x8072_9ac6_ad55_e21a),
        (Half::Tanh, Modifiers::NONE, 0xad1f_2540_8717_7b9d),
        (Half::Ex2, brain.and(Modifiers::FTZ), 0x7080_9a4d_ea78_138a),
        (Half::Tanh, brain, 0x0483_e974_75bf_5a09),
    ] {
        let answers = (0..1 << 16).map(|a| u64::from(half::one(op, modifiers, a, 0, 0)));
        assert_eq!(checksum(answers), recorded, "{op:?} {modifiers:?}");
    }
}

/// Of two powers of two.
#[test]
fn functions_of_f64_have_the_recorded_bits() {
    let every = |step: usize| (0x3ff0_0000..0x4010_0000u64).step_by(step).map(|upper| upper << 32);
    assert_eq!(checksum(every(257).map(|a| rcp64(a) >> 32)), 0xf165_9d4b_f3f6_e4ac);
    assert_eq!(checksum(every(257).map(|a| rsqrt64_ftz(a) >> 32)), 0x95e8_2d55_d63e_107d);
    assert_eq!(checksum(every(8 * 257).map(rsqrt64)), 0x25ca_e2f8_4833_2a59);
}
