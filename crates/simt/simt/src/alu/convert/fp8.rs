//! Conversions between pairs of 8-bit numbers (`.e4m3`, `.e5m2`) and pairs of 16-bit or 32-bit numbers (PTX ISA
//! §9.7.9.21).

use crate::alu::float::exact::{Format, Rounding};
use crate::alu::float::{canonical32, from_f16};
use crate::alu::lanes::each;
use crate::regs::{R32, Regs};

/// A conversion of a pair of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the fields are the instruction's operands and types")]
pub struct Fp8 {
    pub to: R32,
    pub from: [R32; 2],
    pub way: Direction,
    /// Whether the format is `.e5m2`.
    pub wide_range: bool,
    pub relu: bool,
}

/// The direction of the conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From two `f32` registers, the upper number first.
    FromF32,
    /// From `f16x2`.
    FromF16x2,
    /// To `f16x2`.
    ToF16x2,
}

/// The 8-bit result for a NaN of either sign, in both formats.
const NAN: u8 = 0x7f;

/// Rounds a number to the nearest 8-bit number, ties to even. A value that is too large becomes the largest finite
/// number.
fn narrow(value: f32, wide_range: bool, relu: bool) -> u8 {
    let (digits, least, most) = match wide_range {
        true => (2, -14, 57344.0),
        false => (3, -6, 448.0),
    };
    if value.is_nan() {
        return NAN;
    }
    let sign = match value.is_sign_negative() {
        true if relu => return 0,
        true => 0x80,
        false => 0,
    };
    let size = f64::from(value.abs()).min(most);
    // The exponent of the number, but at least the exponent of the smallest normal number, because subnormal numbers
    // are multiples of the same unit as that number.
    let power = (((size.to_bits() >> 52) as i32) - 1023).max(least);
    let unit = f64::from(power - digits).exp2();
    let steps = (size / unit).round_ties_even().min(most / unit) as i32;
    // A carry increments the exponent.
    sign | (steps + ((power - least) << digits)) as u8
}

/// Converts a number to `f16`, which represents every 8-bit number exactly.
fn widen(bits: u8, wide_range: bool, relu: bool) -> u32 {
    let half = u32::from(bits) << 8;
    let (sign, rest) = (half & 0x8000, half & 0x7f00);
    let is_nan = match wide_range {
        true => rest > 0x7c00,
        false => rest == 0x7f00,
    };
    match () {
        () if is_nan => 0x7fff,
        () if relu && sign != 0 => 0,
        () if wide_range => half,
        // The `.e4m3` exponent is one bit shorter than that of `f16`, and its bias differs by 8, so the value is scaled
        // by 2^8.
        () => {
            let value = from_f16(rest >> 1);
            let scaled = f64::from(f32::from_bits(canonical32(value))) * 256.0;
            sign | Format::F16.round(scaled, Rounding::Nearest) as u32
        }
    }
}

impl Fp8 {
    /// Runs the conversion on the lanes of `mask`.
    #[inline(never)]
    pub(super) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        let [upper, lower] = self.from.map(|reg| *regs.get32(reg));
        let half = |bits: u32| f32::from_bits(canonical32(from_f16(bits & 0xffff)));
        let narrow = |value| u32::from(narrow(value, self.wide_range, self.relu));
        let widen = |bits: u32| widen(bits as u8, self.wide_range, self.relu);
        let values = each(|lane| {
            let (upper, lower) = (upper[lane], lower[lane]);
            match self.way {
                Direction::FromF32 => narrow(f32::from_bits(upper)) << 8 | narrow(f32::from_bits(lower)),
                Direction::FromF16x2 => narrow(half(upper >> 16)) << 8 | narrow(half(upper)),
                Direction::ToF16x2 => widen(upper >> 8) << 16 | widen(upper),
            }
        });
        regs.set32(self.to, mask, &values);
    }
}
