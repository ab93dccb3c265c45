//! Portable random numbers from SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
//! 2014), and operands that are made from the numbers.

use crate::forms::Ty;

/// A random number generator.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, which must be above 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// Returns one of these values.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Returns an operand of this type: an edge case, a small number, or any value.
    pub fn operand(&mut self, ty: Ty) -> u64 {
        let bits = match ty {
            Ty::Pred => self.below(2),
            Ty::F32 => u64::from(self.float(23, 8) as u32),
            Ty::F64 => self.float(52, 11),
            Ty::F16 => self.float(10, 5),
            Ty::Bf16 => self.float(7, 8),
            Ty::F16x2 => self.float(10, 5) | self.float(10, 5) << 16,
            Ty::Bf16x2 => self.float(7, 8) | self.float(7, 8) << 16,
            Ty::B16x2 => self.integer(16) & 0xffff | self.integer(16) << 16,
            Ty::Table => self.bits(),
            Ty::Shift => match self.below(4) {
                0 => self.one(&[0, 1, 31, 32, 33, 63, 64, 65, 255, 256, u64::from(u32::MAX)]),
                1 => self.below(32),
                _ => self.below(70),
            },
            Ty::B16 | Ty::B32 | Ty::B64 => self.integer(ty.bits()),
        };
        bits & ty.mask()
    }

    fn integer(&mut self, width: u32) -> u64 {
        let top = 1u64 << (width - 1);
        match self.below(8) {
            0 => self.one(&[0, 1, u64::MAX, top, top - 1, top + 1, 2, 0x7f, 0x80, 0xff, 0x100]),
            1 => self.below(100) >> self.below(6),
            2 => (self.below(100) >> self.below(6)).wrapping_neg(),
            // A power of two.
            3 => 1 << self.below(u64::from(width)),
            4 => self.bits() >> self.below(64),
            _ => self.bits(),
        }
    }

    /// Returns the bits of a float with `mantissa` mantissa bits and `exponent` exponent bits.
    fn float(&mut self, mantissa: u32, exponent: u32) -> u64 {
        let sign = self.below(2) << (mantissa + exponent);
        // Random bits, or random upper bits followed by zeros or by ones: ties and their neighbors.
        let any = self.bits() & ((1 << mantissa) - 1);
        let cut = u64::MAX << self.below(mantissa.into());
        let fraction = match self.below(8) {
            0 => any & cut,
            1 => (any | !cut) & ((1 << mantissa) - 1),
            _ => any,
        };
        let largest = (1u64 << exponent) - 1;
        let bias = largest / 2;
        // Exponents at the limits of integers and of narrower formats.
        let edges = [-150, -149, -127, -126, -25, -24, -15, -14, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128];
        match self.below(11) {
            // Zero, infinity, one, a denormal, a NaN.
            0 => sign,
            1 => sign | largest << mantissa,
            2 => sign | bias << mantissa,
            3 => sign | fraction,
            4 => sign | largest << mantissa | fraction | 1,
            // Values near one, where additions cancel and conversions have fractions.
            5..=7 => sign | (bias + self.below(24)).saturating_sub(8).min(largest - 1) << mantissa | fraction,
            // A small integer plus one half.
            8 => {
                sign | (bias + self.below(5)).min(largest - 1) << mantissa
                    | fraction >> (mantissa - 3) << (mantissa - 3)
            }
            9 => {
                let exponent = bias.saturating_add_signed(self.one(&edges));
                sign | exponent.min(largest - 1) << mantissa | fraction
            }
            _ => sign | self.below(largest) << mantissa | fraction,
        }
    }
}
