//! Exact arithmetic followed by one rounding, for the directed rounding modes and the narrow formats.
//!
//! A number consists of a sign, an integer significand, and an exponent of two. Sums, products, quotients and roots of
//! finite doubles are computed with integers. If any truncated bit is set, the lowest bit is set ("round to odd"); this
//! bit is far below the position at which any format rounds. One function rounds to any format in any mode, so a result
//! is rounded only once.

/// A rounding mode (PTX ISA §9.7.3, `.rn` `.rz` `.rm` `.rp`; `.rna` is only for `cvt`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, with ties to even.
    Nearest,
    /// To nearest, with ties away from zero.
    Away,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
}

/// A binary floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are PTX's types")]
pub enum Format {
    F16,
    Bf16,
    /// A format of 19 bits, which a 32-bit word stores in its upper bits; this module rounds to the 19 bits.
    Tf32,
    F32,
    F64,
}

impl Format {
    /// Returns the number of stored significand bits.
    #[inline(always)]
    pub(in crate::alu) const fn mantissa(self) -> i32 {
        match self {
            Format::F16 | Format::Tf32 => 10,
            Format::Bf16 => 7,
            Format::F32 => 23,
            Format::F64 => 52,
        }
    }

    /// Returns the number of exponent bits.
    #[inline(always)]
    const fn exponent(self) -> i32 {
        match self {
            Format::F16 => 5,
            Format::Bf16 | Format::Tf32 | Format::F32 => 8,
            Format::F64 => 11,
        }
    }

    /// Returns the exponent of the smallest normal number.
    #[inline(always)]
    const fn smallest(self) -> i32 {
        2 - (1 << (self.exponent() - 1))
    }

    /// Returns the bits of plus infinity.
    #[inline(always)]
    pub(in crate::alu) const fn infinity(self) -> u64 {
        ((1 << self.exponent()) - 1) << self.mantissa()
    }

    /// Returns the sign bit.
    #[inline(always)]
    pub(in crate::alu) const fn sign(self) -> u64 {
        1 << (self.exponent() + self.mantissa())
    }

    /// Returns the canonical NaN: all ones except the sign.
    #[inline(always)]
    pub(in crate::alu) const fn nan(self) -> u64 {
        self.sign() - 1
    }

    /// Builds the result from an integer number of quanta. `exponent` is the number's exponent. `rest` describes the
    /// truncated fraction of a quantum: zero, less than a half, a half, or more than a half.
    #[inline(always)]
    fn finish(self, negative: bool, exponent: i32, quanta: u64, rest: Remainder, rounding: Rounding) -> u64 {
        let up = match rounding {
            Rounding::Nearest => rest == Remainder::More || rest == Remainder::Half && quanta & 1 == 1,
            Rounding::Away => rest == Remainder::More || rest == Remainder::Half,
            Rounding::Zero => false,
            Rounding::Down => negative && rest != Remainder::Nothing,
            Rounding::Up => !negative && rest != Remainder::Nothing,
        };
        let quanta = quanta + u64::from(up);
        // A carry out of the significand correctly increments the exponent: infinity follows the largest number, and
        // the smallest normal number follows the largest subnormal number.
        let binade = (exponent - self.smallest()).max(0) as u64;
        let over = binade > 1 << self.exponent();
        let mut bits = if over { self.infinity() } else { (binade << self.mantissa()) + quanta };
        if bits >= self.infinity() {
            let away = match rounding {
                Rounding::Nearest | Rounding::Away => true,
                Rounding::Zero => false,
                Rounding::Down => negative,
                Rounding::Up => !negative,
            };
            bits = self.infinity() - u64::from(!away);
        }
        bits | if negative { self.sign() } else { 0 }
    }

    /// Rounds a double to this format. NaN becomes the canonical NaN.
    #[inline(always)]
    pub(in crate::alu) fn round(self, value: f64, rounding: Rounding) -> u64 {
        let bits = value.to_bits();
        let negative = bits >> 63 == 1;
        let sign = if negative { self.sign() } else { 0 };
        let magnitude = bits & (u64::MAX >> 1);
        if magnitude >= Format::F64.infinity() {
            return if magnitude > Format::F64.infinity() { self.nan() } else { self.infinity() | sign };
        }
        if magnitude == 0 {
            return sign;
        }
        let (significand, low) = split(magnitude);
        // A subnormal double has no leading one, but the number is far below the range of the narrower formats.
        let exponent = (low + 52).max(self.smallest());
        let shift = (exponent - self.mantissa() - low).clamp(0, 63) as u32;
        let quanta = significand >> shift;
        let rest = Remainder::of(u128::from(significand), shift);
        self.finish(negative, low + 52, quanta, rest, rounding)
    }
}

/// The part that a shift truncates, in units of the new lowest bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remainder {
    Nothing,
    Less,
    Half,
    More,
}

impl Remainder {
    #[inline(always)]
    fn of(significand: u128, shift: u32) -> Self {
        if shift == 0 {
            return Remainder::Nothing;
        }
        let cut = significand & ((1 << shift) - 1);
        let half = 1 << (shift - 1);
        if cut == 0 {
            Remainder::Nothing
        } else if cut < half {
            Remainder::Less
        } else if cut == half {
            Remainder::Half
        } else {
            Remainder::More
        }
    }
}

/// Returns the significand of a finite double's magnitude and the exponent of its lowest bit.
#[inline(always)]
fn split(magnitude: u64) -> (u64, i32) {
    let field = (magnitude >> 52) as i32;
    let fraction = magnitude & ((1 << 52) - 1);
    if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) }
}

/// A number: (−1)^negative × significand × 2^exponent. If nonzero bits were truncated, the lowest bit is one.
#[derive(Debug, Clone, Copy)]
pub(in crate::alu) struct Exact {
    pub(in crate::alu) negative: bool,
    pub(in crate::alu) significand: u128,
    pub(in crate::alu) exponent: i32,
}

impl Exact {
    fn new(value: f64) -> Self {
        let bits = value.to_bits();
        let (significand, exponent) = split(bits & (u64::MAX >> 1));
        Exact { negative: bits >> 63 == 1, significand: u128::from(significand), exponent }
    }

    /// Converts an integer to an exact number.
    pub(in crate::alu) fn integer(value: i128) -> Self {
        Exact { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 }
    }

    /// Normalizes the number so that the leading one is at bit 125. The significand must not be zero.
    fn normal(self) -> Self {
        let shift = self.significand.leading_zeros() as i32 - 2;
        debug_assert!(shift >= 0, "products have 106 bits");
        Exact { significand: self.significand << shift, exponent: self.exponent - shift, ..self }
    }

    /// Rounds to a format and returns the bits.
    pub(in crate::alu) fn round(self, format: Format, rounding: Rounding) -> u64 {
        if self.significand == 0 {
            return if self.negative { format.sign() } else { 0 };
        }
        let exponent = self.exponent + 127 - self.significand.leading_zeros() as i32;
        let quantum = exponent.max(format.smallest()) - format.mantissa();
        let shift = quantum - self.exponent;
        if shift <= 0 {
            // The number has fewer bits than the format, so the shifted significand fits.
            let quanta = (self.significand << -shift) as u64;
            return format.finish(self.negative, exponent, quanta, Remainder::Nothing, rounding);
        }
        let (quanta, rest) = if shift > 127 {
            (0, Remainder::Less)
        } else {
            let shift = shift as u32;
            ((self.significand >> shift) as u64, Remainder::of(self.significand, shift))
        };
        format.finish(self.negative, exponent, quanta, rest, rounding)
    }
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// `a × b + c`, rounded once. A NaN result is the format's canonical NaN.
pub(in crate::alu) fn fma(a: f64, b: f64, c: f64, format: Format, rounding: Rounding) -> u64 {
    if !finite(&[a, b, c]) {
        return format.round(a.mul_add(b, c), rounding);
    }
    let product = {
        let (a, b) = (Exact::new(a), Exact::new(b));
        Exact {
            negative: a.negative != b.negative,
            significand: a.significand * b.significand,
            exponent: a.exponent + b.exponent,
        }
    };
    let c = Exact::new(c);
    let zero = |negative| if negative { format.sign() } else { 0 };
    match (product.significand, c.significand) {
        (0, 0) if product.negative == c.negative => return zero(c.negative),
        (0, 0) => return zero(rounding == Rounding::Down),
        (0, _) => return c.round(format, rounding),
        (_, 0) => return product.round(format, rounding),
        _ => {}
    }
    let (product, c) = (product.normal(), c.normal());
    let (big, small) = if product.exponent >= c.exponent { (product, c) } else { (c, product) };
    let distance = (big.exponent - small.exponent).min(127) as u32;
    // The lowest bit represents all truncated bits. Bits are truncated only if the distance is 20 or more, because a
    // product uses 106 of the 126 bits. At such distances, cancellation removes at most one leading bit.
    let moved = small.significand >> distance;
    let lost = small.significand & ((1 << distance) - 1) != 0;
    let small_significand = moved | u128::from(lost);
    let (negative, significand) = if big.negative == small.negative {
        (big.negative, big.significand + small_significand)
    } else if big.significand >= small_significand {
        (big.negative, big.significand - small_significand)
    } else {
        (small.negative, small_significand - big.significand)
    };
    if significand == 0 {
        return zero(rounding == Rounding::Down);
    }
    Exact { negative, significand, exponent: big.exponent }.round(format, rounding)
}

/// `a ÷ b`, rounded once.
pub(in crate::alu) fn div(a: f64, b: f64, format: Format, rounding: Rounding) -> u64 {
    if !finite(&[a, b]) || a == 0.0 || b == 0.0 {
        return format.round(a / b, rounding);
    }
    let (a, b) = (Exact::new(a).normal(), Exact::new(b));
    // 126 bits divided by at most 53 bits: the quotient has at least 73 bits.
    let quotient = a.significand / b.significand;
    let rest = !a.significand.is_multiple_of(b.significand);
    Exact {
        negative: a.negative != b.negative,
        significand: quotient << 1 | u128::from(rest),
        exponent: a.exponent - b.exponent - 1,
    }
    .round(format, rounding)
}

/// Returns the square root, rounded once.
pub(in crate::alu) fn sqrt(a: f64, format: Format, rounding: Rounding) -> u64 {
    if !a.is_finite() || a <= 0.0 {
        return format.round(a.sqrt(), rounding);
    }
    let mut a = Exact::new(a).normal();
    if a.exponent % 2 != 0 {
        a.significand <<= 1;
        a.exponent -= 1;
    }
    let root = a.significand.isqrt();
    let rest = root * root != a.significand;
    Exact { negative: false, significand: root << 1 | u128::from(rest), exponent: a.exponent / 2 - 1 }
        .round(format, rounding)
}

/// Returns `a + b` as a double that is exact or has its lowest bit set ("round to odd"). This double can be rounded
/// correctly to any format of at most 50 bits. The sum must neither overflow nor lose bits to underflow.
#[inline(always)]
pub(in crate::alu) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum computes the rounding error.
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    let bits = sum.to_bits();
    if !sum.is_finite() || error == 0.0 || bits & 1 == 1 {
        return sum;
    }
    f64::from_bits(if error.is_sign_negative() == sum.is_sign_negative() { bits + 1 } else { bits - 1 })
}
