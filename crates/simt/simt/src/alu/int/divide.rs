//! Division of 16-bit and 32-bit integers, done in `f64`: CPUs have vector division for `f64` but not for integers.
//!
//! Division by zero returns all ones: see the family's documentation.

/// Adding this constant to a smaller number yields a float whose low bits are that number, rounded to an integer.
const ROUND: f64 = (1u64 << 52) as f64;

/// `a / b`, rounded down.
#[inline(always)]
pub(super) fn quotient(a: u32, b: u32) -> u32 {
    // The quotient of two integers below 2^32 is below 2^32. The exact quotient is an integer or differs from every
    // integer by at least 2^-32. The `f64` is therefore an integer only if the exact quotient is the same integer.
    let exact = f64::from(a) / f64::from(b);
    let nearest = (exact + ROUND) - ROUND;
    let floor = if nearest > exact { nearest - 1.0 } else { nearest };
    let quotient = (floor + ROUND).to_bits() as u32;
    if b == 0 { u32::MAX } else { quotient }
}

/// `a` modulo `b`.
#[inline(always)]
pub(super) fn remainder(a: u32, b: u32) -> u32 {
    let remainder = a.wrapping_sub(quotient(a, b).wrapping_mul(b));
    if b == 0 { u32::MAX } else { remainder }
}

/// `a / b`, rounded toward zero. The smallest integer divided by -1 is the smallest integer.
#[inline(always)]
pub(super) fn quotient_s(a: i32, b: i32) -> i32 {
    let quotient = quotient(a.unsigned_abs(), b.unsigned_abs()).cast_signed();
    let quotient = if (a ^ b) < 0 { quotient.wrapping_neg() } else { quotient };
    if b == 0 { -1 } else { quotient }
}

/// Returns the remainder of `a / b` rounded toward zero; it has the sign of `a`.
#[inline(always)]
pub(super) fn remainder_s(a: i32, b: i32) -> i32 {
    let remainder = remainder(a.unsigned_abs(), b.unsigned_abs()).cast_signed();
    let remainder = if a < 0 { remainder.wrapping_neg() } else { remainder };
    if b == 0 { -1 } else { remainder }
}
