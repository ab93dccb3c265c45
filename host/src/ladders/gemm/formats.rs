//! Floating-point formats of elements, with their ranges and rounding.

use engine::launch::TensorElement;
use half::f16;

/// The formats of the factors, as the option names them.
pub(in crate::ladders) const TYPES: &[&str] = &["bf16", "f16", "tf32"];

/// A binary floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ladders) enum Format {
    /// The upper half of an f32.
    Bf16,
    /// IEEE 754's binary16.
    F16,
    /// An f32 whose 13 lowest bits are zero.
    Tf32,
    /// IEEE 754's binary32.
    F32,
}

/// Returns 2^`exponent`, which must be a normal f64.
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The bits of the NaN that every conversion to a 16-bit format returns (PTX ISA, `cvt`).
pub(in crate::ladders) const NAN: u16 = 0x7fff;

impl Format {
    /// Returns the format named `name`, one of [`TYPES`].
    pub(in crate::ladders) fn named(name: &str) -> Self {
        match name {
            "f16" => Self::F16,
            "tf32" => Self::Tf32,
            _ => Self::Bf16,
        }
    }

    /// Returns the number of bytes of an element.
    pub(in crate::ladders) fn bytes(self) -> u64 {
        match self {
            Self::Bf16 | Self::F16 => 2,
            Self::Tf32 | Self::F32 => 4,
        }
    }

    /// Returns the element type for tensor copies.
    pub(in crate::ladders) fn in_tensors(self) -> TensorElement {
        match self {
            Self::Bf16 => TensorElement::Bf16,
            Self::F16 => TensorElement::F16,
            Self::Tf32 | Self::F32 => TensorElement::F32,
        }
    }

    /// Returns the number of bits of the significand.
    pub(in crate::ladders) fn digits(self) -> i32 {
        match self {
            Self::Bf16 => 8,
            Self::F16 | Self::Tf32 => 11,
            Self::F32 => 24,
        }
    }

    /// Returns the exponents of the smallest and the largest normal numbers.
    fn exponents(self) -> (i32, i32) {
        if self == Self::F16 { (-14, 15) } else { (-126, 127) }
    }

    /// Returns the smallest positive number.
    pub(in crate::ladders) fn least(self) -> f64 {
        power(self.exponents().0 + 1 - self.digits())
    }

    /// Returns the smallest positive normal number.
    pub(in crate::ladders) fn least_normal(self) -> f64 {
        power(self.exponents().0)
    }

    /// Returns the largest finite number.
    pub(in crate::ladders) fn largest(self) -> f64 {
        (2.0 - power(1 - self.digits())) * power(self.exponents().1)
    }

    /// Rounds to the nearest number of the format, ties to even. Numbers beyond the largest become infinity (IEEE 754,
    /// §4.3.1).
    pub(in crate::ladders) fn round(self, value: f64) -> f32 {
        if !value.is_finite() || value == 0.0 {
            return value as f32;
        }
        let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let unit = exponent.max(self.exponents().0) + 1 - self.digits();
        // Such a value exceeds the range of all formats, and `power` cannot return its unit as a normal f64.
        if unit > 200 {
            return f32::INFINITY.copysign(value as f32);
        }
        let rounded = (value * power(-unit)).round_ties_even() * power(unit);
        if rounded.abs() > self.largest() { f32::INFINITY.copysign(value as f32) } else { rounded as f32 }
    }

    /// Returns the bits of a number in a 16-bit format.
    pub(in crate::ladders) fn encode(self, value: f32) -> u16 {
        match self {
            _ if value.is_nan() => NAN,
            Self::F16 => f16::from_f32(value).to_bits(),
            _ => (value.to_bits() >> 16) as u16,
        }
    }

    /// Returns the number with these bits in a 16-bit format.
    pub(in crate::ladders) fn decode(self, bits: u16) -> f32 {
        match self {
            Self::F16 => f16::from_bits(bits).to_f32(),
            _ => f32::from_bits(u32::from(bits) << 16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    #[test]
    fn every_number_of_16_bits_reads_back() {
        for bits in 0..=u16::MAX {
            for format in [Format::Bf16, Format::F16] {
                let value = format.decode(bits);
                if !value.is_nan() {
                    assert_eq!(format.encode(value), bits, "{format:?}");
                    assert_eq!(format.round(value.into()).to_bits(), value.to_bits(), "{format:?}");
                }
            }
            let (decoded, right) = (Format::Bf16.decode(bits), bf16::from_bits(bits).to_f32());
            assert!(decoded == right || decoded.is_nan() && right.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn numbers_are_rounded_as_the_hardware_rounds_them() {
        // Every eleventh f32 of a few binades, including halfway cases, subnormals and overflows.
        for bits in (0..=u32::MAX).step_by(0x1_0001 * 11) {
            let value = f32::from_bits(bits);
            if value.is_nan() {
                continue;
            }
            for tie in [value, f32::from_bits(bits & 0xffff_8000), f32::from_bits(bits & 0xffff_f000)] {
                let rounded = [Format::Bf16, Format::F16, Format::F32].map(|format| format.round(tie.into()).to_bits());
                let right = [bf16::from_f32(tie).to_f32(), f16::from_f32(tie).to_f32(), tie].map(f32::to_bits);
                assert_eq!(rounded, right, "{tie:e}");
            }
        }
        let past_tie = 1.0 + power(-8) + power(-40);
        assert_eq!(Format::Bf16.round(past_tie), 1.007_812_5);
        assert_eq!(Format::Bf16.round(1.0 + power(-8)), 1.0);
        assert_eq!(Format::F32.round(1e300), f32::INFINITY);
        assert_eq!(Format::F16.round(-65_520.0), f32::NEG_INFINITY);
        assert_eq!(Format::F16.round(65_519.9), 65_504.0);
        assert_eq!(Format::F16.least(), f16::from_bits(1).to_f64());
        assert_eq!(Format::F32.largest(), f64::from(f32::MAX));
    }
}
