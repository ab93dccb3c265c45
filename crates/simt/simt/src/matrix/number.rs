//! The elements of matrices: their formats, and the sums of products that tensor cores compute.

use std::array::from_fn;

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are PTX's types")]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    /// `s4`, `s8` or `s32`, with the number of bits.
    Signed(u32),
    /// `u4` or `u8`, with the number of bits.
    Unsigned(u32),
    /// 32 single-bit elements.
    Bits,
}

impl Element {
    /// Returns the element type with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "s32" => Self::Signed(32),
            "s8" => Self::Signed(8),
            "s4" => Self::Signed(4),
            "u8" => Self::Unsigned(8),
            "u4" => Self::Unsigned(4),
            "b1" => Self::Bits,
            _ => return None,
        })
    }

    /// Returns the number of bits of an element in a register and in memory.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Tf32 | Self::Bits => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 => 8,
            Self::Signed(bits) | Self::Unsigned(bits) => bits,
        }
    }

    /// Returns the value of an integer.
    pub(super) fn integer(self, bits: u64) -> i64 {
        match self {
            Self::Signed(width) => (bits << (64 - width)).cast_signed() >> (64 - width),
            _ => bits.cast_signed(),
        }
    }

    /// Returns the number of exponent bits, of fraction bits, and of lower bits that tensor cores ignore.
    fn format(self) -> (u32, u32, u32) {
        match self {
            Self::F16 => (5, 10, 0),
            Self::Bf16 => (8, 7, 0),
            Self::Tf32 => (8, 10, 13),
            Self::E4m3 => (4, 3, 0),
            Self::E5m2 => (5, 2, 0),
            _ => (8, 23, 0),
        }
    }

    /// Returns the number of fraction bits.
    fn fraction(self) -> u32 {
        self.format().1
    }

    /// Returns the parts of an 8-bit number after conversion to `f16`, the format in which `mma.sync` multiplies 8-bit
    /// numbers. The smallest `e4m3` numbers are subnormal in `e4m3` but normal in `f16`.
    pub(super) fn number_as_half(self, bits: u64) -> Number {
        match self {
            Self::E4m3 => self.number(bits).normalized(self.fraction()),
            _ => self.number(bits),
        }
    }

    /// Returns the parts of a floating-point number of up to 32 bits.
    #[inline(always)]
    pub(super) fn number(self, bits: u64) -> Number {
        let (exponent, fraction, ignored) = self.format();
        let bits = bits >> ignored;
        let magnitude = (bits & ((1 << fraction) - 1)) as i32;
        let raw = (bits >> fraction & ((1 << exponent) - 1)) as i32;
        let most = (1 << exponent) - 1;
        let (significand, exponent) = match self {
            Self::E4m3 if raw == most && magnitude == 7 => (1, NAN),
            Self::E4m3 => (magnitude | i32::from(raw > 0) << 3, raw.max(1) - 7),
            _ if raw == most && magnitude == 0 => (1, INFINITY),
            _ if raw == most => (1, NAN),
            _ => (magnitude | i32::from(raw > 0) << fraction, raw.max(1) - most / 2),
        };
        let is_negative = bits >> (self.bits() - ignored - 1) & 1 != 0;
        Number {
            significand: if is_negative { -significand } else { significand },
            exponent: if significand == 0 { ZERO } else { exponent },
        }
    }

    /// Returns the value of a number of this type, `f16` or `f32`.
    pub(super) fn float(self, bits: u64) -> f32 {
        match self {
            Self::F16 => half::f16::from_bits(bits as u16).into(),
            _ => f32::from_bits(bits as u32),
        }
    }

    /// Returns the bits of a number in this type, `f16` or `f32`, rounded to nearest with ties to even.
    pub(super) fn bits_of(self, number: f32) -> u64 {
        match self {
            _ if number.is_nan() => u64::MAX >> (65 - self.bits()),
            Self::F16 => half::f16::from_f32(number).to_bits().into(),
            _ => number.to_bits().into(),
        }
    }

    /// Returns the bits of a sum in this type. An `f16` is rounded to nearest with ties to even; an `f32` is rounded
    /// toward zero.
    pub(super) fn rounded(self, sum: Sum) -> u64 {
        let (exponent_bits, fraction, _) = self.format();
        let infinity = ((1 << exponent_bits) - 1) << fraction;
        let sign = |is_negative| u64::from(is_negative) << (exponent_bits + fraction);
        let (total, unit) = match sum {
            Sum::Nan => return u64::MAX >> (65 - self.bits()),
            Sum::Infinity { is_negative } => return infinity | sign(is_negative),
            Sum::Finite { total: 0, .. } => return 0,
            Sum::Finite { total, unit } => (total, unit),
        };
        let magnitude = total.unsigned_abs();
        let bias = (1 << (exponent_bits - 1)) - 1;
        let exponent = (magnitude.ilog2() as i32 + unit).max(1 - bias);
        // The sum in units of its last place.
        let cut = exponent - fraction as i32 - unit;
        let mut whole = match cut {
            ..=0 => magnitude << -cut,
            1..64 => magnitude >> cut,
            _ => 0,
        };
        if self == Self::F16 && (1..64).contains(&cut) {
            let rest = magnitude & ((1 << cut) - 1);
            let half = 1 << (cut - 1);
            whole += u64::from(rest > half || rest == half && whole & 1 == 1);
        }
        if whole == 0 {
            // Zero is positive, even if a negative sum is rounded to zero.
            return 0;
        }
        // If rounding lengthens the significand by a bit, the carry increments the exponent.
        let encoded = match whole >> fraction {
            0 => whole,
            _ => (((exponent + bias - 1) as u64) << fraction) + whole,
        };
        encoded.min(infinity) | sign(total < 0)
    }
}

impl Number {
    pub(super) const ZERO: Self = Self { significand: 0, exponent: ZERO };

    /// Normalizes a subnormal number with `fraction` fraction bits, for a format that can represent the number's
    /// exponent.
    pub(super) fn normalized(self, fraction: u32) -> Self {
        match self.significand.unsigned_abs().checked_ilog2() {
            Some(highest) if highest < fraction => {
                let up = fraction - highest;
                Self { significand: self.significand << up, exponent: self.exponent - up as i32 }
            }
            _ => self,
        }
    }
}

/// A floating-point number: `significand` units in the last place. The exponent is that of the format's leading
/// significand bit, even if the number is subnormal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Number {
    pub(super) significand: i32,
    exponent: i32,
}

/// The exponent of zero: even after another exponent is added, it stays below the exponent of any other number.
const ZERO: i32 = -1 << 16;
const INFINITY: i32 = 1 << 20;
const NAN: i32 = 1 << 24;

/// The kind of numbers that a row or column contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// All numbers are zero, for example beyond the end of an operand within a tile.
    Zero,
    Finite,
    /// At least one number is infinite or NaN.
    Special,
}

impl Line {
    pub(super) fn of(numbers: &[Number]) -> Self {
        match numbers.iter().map(|number| number.exponent).max() {
            None | Some(ZERO) => Self::Zero,
            Some(most) if most > INFINITY / 2 => Self::Special,
            Some(_) => Self::Finite,
        }
    }

    /// Returns whether all products of the numbers in both lines are zero.
    pub(super) fn is_zero_with(self, other: Self) -> bool {
        (self == Self::Zero && other != Self::Special) || (other == Self::Zero && self != Self::Special)
    }
}

/// A sum before rounding.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sum {
    Nan,
    Infinity {
        is_negative: bool,
    },
    /// `total` times two to the power of `unit`.
    Finite {
        total: i64,
        unit: i32,
    },
}

/// The types of a product's operands and of the sum, and the number of fraction bits that each term keeps.
///
/// Measured on an H200 (driver 580.159): one step adds all of its products and the accumulator together. Each product
/// is exact. Let E be the largest exponent of all terms, where a product's exponent is the sum of its factors'
/// exponents. The magnitude of each term is truncated to a multiple of 2^(E - `places`), and the truncated terms are
/// added exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Adder {
    pub(super) a: Element,
    pub(super) b: Element,
    pub(super) c: Element,
    pub(super) places: u32,
}

/// The number of terms that are added in parallel by vector instructions.
const LANES: usize = 8;

impl Adder {
    /// Returns the sum of `c` and the products of `a` and `b`.
    ///
    /// The sum cannot overflow: a product of significands, including its fraction bits, has `places` + 2 bits. This
    /// number is at most 27. A lane adds at most 16 products. The code uses wrapping operations because vector
    /// instructions do not check for overflow.
    #[inline(always)]
    pub(super) fn sum(&self, a: &[Number], b: &[Number], c: Number) -> Sum {
        let exponent = |a: Number, b: Number| a.exponent.wrapping_add(b.exponent);
        let mut most = c.exponent;
        for (a, b) in a.iter().zip(b) {
            most = most.max(exponent(*a, *b));
        }
        if most > INFINITY / 2 {
            return special(a, b, c);
        }
        if most < ZERO / 2 {
            return Sum::Finite { total: 0, unit: 0 };
        }
        let up = self.places - self.a.fraction() - self.b.fraction();
        let term = |a: Number, b: Number| {
            let product = a.significand.wrapping_mul(b.significand).wrapping_shl(up);
            let (sign, down) = (product >> 31, most.wrapping_sub(exponent(a, b)).min(31));
            let magnitude = (product ^ sign).wrapping_sub(sign);
            (magnitude.wrapping_shr(down.cast_unsigned()) ^ sign).wrapping_sub(sign)
        };
        let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut totals = [0_i32; LANES];
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            totals = from_fn(|lane| totals[lane].wrapping_add(term(a[lane], b[lane])));
        }
        let mut total: i64 = totals.into_iter().map(i64::from).sum();
        for (a, b) in a_rest.iter().zip(b_rest) {
            total += i64::from(term(*a, *b));
        }
        let accumulator = i64::from(c.significand) << self.places;
        let shift = (most - c.exponent + self.c.fraction() as i32).min(63);
        Sum::Finite { total: total + cut(accumulator, shift), unit: most - self.places as i32 }
    }
}

/// Divides a number by a power of two, rounding toward zero.
#[inline(always)]
fn cut(number: i64, shift: i32) -> i64 {
    let sign = number >> 63;
    (((number ^ sign) - sign) >> shift ^ sign) - sign
}

/// Returns the sum if a factor is infinite or NaN.
#[cold]
fn special(a: &[Number], b: &[Number], c: Number) -> Sum {
    let mut infinities = [false; 2];
    let one = Number { significand: 1, exponent: 0 };
    for (a, b) in a.iter().zip(b).chain([(&c, &one)]) {
        let is_special = a.exponent.max(b.exponent) > INFINITY / 2;
        if !is_special {
            continue;
        }
        let is_zero = a.significand == 0 || b.significand == 0;
        if is_zero || a.exponent.max(b.exponent) > NAN / 2 {
            return Sum::Nan;
        }
        infinities[usize::from((a.significand < 0) != (b.significand < 0))] = true;
    }
    match infinities {
        [true, true] => Sum::Nan,
        [_, is_negative] => Sum::Infinity { is_negative },
    }
}
