//! Sums of 16-bit floating-point numbers, for atomics.
//!
//! They are computed as `f32` and rounded once more, which gives the right result: an `f32` has at least
//! twice as many bits, and two more.

/// A 16-bit format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are PTX's types")]
pub enum Half {
    F16,
    Bf16,
}

/// The NaN of both formats that operations give.
const NAN: u16 = 0x7fff;

impl Half {
    fn infinity(self) -> u16 {
        match self {
            Half::F16 => 0x7c00,
            Half::Bf16 => 0x7f80,
        }
    }

    fn is_nan(self, bits: u16) -> bool {
        bits & 0x7fff > self.infinity()
    }

    fn value(self, bits: u16) -> f32 {
        match self {
            Half::Bf16 => f32::from_bits(u32::from(bits) << 16),
            Half::F16 => {
                let magnitude = u32::from(bits & 0x7fff);
                // Moved into an f32, the fields mean 2^112 times less, whether normal or subnormal.
                let value = if magnitude >= 0x7c00 {
                    f32::from_bits(0x7f80_0000 | magnitude << 13)
                } else {
                    f32::from_bits(magnitude << 13) * 2f32.powi(112)
                };
                if bits >> 15 == 0 { value } else { -value }
            }
        }
    }

    /// To nearest, ties to even.
    fn round(self, value: f32) -> u16 {
        if value.is_nan() {
            return NAN;
        }
        let bits = value.to_bits();
        let sign = (bits >> 16) as u16 & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        let nearest = |shift: u32| {
            let odd = magnitude >> shift & 1;
            (magnitude + (1 << (shift - 1)) - 1 + odd) >> shift
        };
        let rounded = match self {
            Half::Bf16 => nearest(16),
            // Subnormal numbers of f16 are multiples of 2^-24.
            Half::F16 if magnitude < 0x3880_0000 => {
                (f32::from_bits(magnitude) * 2f32.powi(24)).round_ties_even() as u32
            }
            Half::F16 => (nearest(13) - (112 << 10)).min(0x7c00),
        };
        sign | rounded as u16
    }

    pub(super) fn add(self, a: u16, b: u16) -> u16 {
        self.round(self.value(a) + self.value(b))
    }

    /// The lesser; the other one where one is NaN.
    pub(super) fn min(self, a: u16, b: u16) -> u16 {
        self.pick(a, b, false)
    }

    /// The greater; the other one where one is NaN.
    pub(super) fn max(self, a: u16, b: u16) -> u16 {
        self.pick(a, b, true)
    }

    fn pick(self, a: u16, b: u16, greater: bool) -> u16 {
        // Integers in the order of the numbers, -0 below +0.
        let order = |bits: u16| {
            let magnitude = i32::from(bits & 0x7fff);
            if bits >> 15 == 1 {
                -1 - magnitude
            } else {
                magnitude
            }
        };
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => NAN,
            (true, false) => b,
            (false, true) => a,
            (false, false) if (order(a) < order(b)) != greater => a,
            (false, false) => b,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Half;

    #[test]
    fn every_f16_is_its_own_rounded_value() {
        for half in [Half::F16, Half::Bf16] {
            for bits in (0..=u16::MAX).filter(|bits| !half.is_nan(*bits)) {
                assert_eq!(half.round(half.value(bits)), bits, "{half:?} {bits:#x}");
            }
        }
    }

    #[test]
    fn sums_round_to_nearest_even() {
        let f16 = |value: f32| Half::F16.round(value);
        // 2048 + 1 lies halfway between 2048 and 2050; 2048 + 3 between 2050 and 2052.
        assert_eq!(Half::F16.add(f16(2048.0), f16(1.0)), f16(2048.0));
        assert_eq!(Half::F16.add(f16(2048.0), f16(3.0)), f16(2052.0));
        assert_eq!(Half::F16.add(f16(65504.0), f16(15.0)), f16(65504.0));
        assert_eq!(Half::F16.add(f16(65504.0), f16(16.0)), 0x7c00);
        assert_eq!(Half::F16.add(1, 2), 3);
        assert_eq!(Half::F16.add(0x8000, 0x8000), 0x8000);
        assert_eq!(Half::F16.add(0x7c00, 0xfc00), 0x7fff);
        assert_eq!(Half::Bf16.add(0x4380, 0x3f80), 0x4380); // 256 + 1
        assert_eq!(Half::Bf16.add(0x4380, 0x4040), 0x4382); // 256 + 3
        assert_eq!(Half::Bf16.add(0x7f7f, 0x7f7f), 0x7f80);
    }

    #[test]
    fn a_nan_loses_and_zeros_have_an_order() {
        for half in [Half::F16, Half::Bf16] {
            assert_eq!(half.min(0x7fff, 0x1234), 0x1234);
            assert_eq!(half.max(0x1234, 0xffff), 0x1234);
            assert_eq!(half.min(0xffff, 0x7fff), 0x7fff);
            assert_eq!(half.min(0, 0x8000), 0x8000);
            assert_eq!(half.max(0, 0x8000), 0);
            assert_eq!(half.max(0x9234, 0x9235), 0x9234);
        }
    }
}
