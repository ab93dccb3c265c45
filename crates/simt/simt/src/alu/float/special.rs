//! `rcp`, `rsqrt`, `sqrt`, `ex2`, `lg2`, `sin`, `cos`, `tanh` and the approximate divisions, bit-exact with an H200.
//!
//! The GPU's special function unit divides the argument range into 51 to 128 segments and evaluates a quadratic
//! polynomial for each segment (S. Oberman and M. Siu, "A High-Performance Area-Efficient Multifunction Interpolator",
//! ARITH 2005). The square in the polynomial is truncated: partial products below its 15 highest bits are omitted. The
//! coefficients are in special.txt.
//!
//! The results were compared with an H200's for every argument in one period or, for `tanh`, for every argument from
//! 2^-8 to 8. The comparison also covers 2^20 random arguments of any magnitude and, for `f64`, every value of the
//! upper 32 bits within a period.
//!
//! The functions compute arrays of numbers: one number for each lane of a warp, or a single number. They are
//! branch-free, so that their loops become vector instructions.

use std::hint::select_unpredictable as select;

use super::fast::{canonical32, flush32, nan64};
use crate::alu::lanes::each;

/// The coefficients for each segment of a function's argument range: the lower half of C0, the upper half of C0, C1,
/// and C2.
type Segments = [[i32; 128]; 4];

/// The segments of the functions, in the order of special.txt.
static FUNCTIONS: [Segments; 7] = {
    #[allow(clippy::unreadable_literal, reason = "a table")]
    const FUNCTIONS: [&[[i64; 3]]; 7] = include!("special.txt");
    let (mut columns, mut function) = ([[[0; 128]; 4]; 7], 0);
    while function < FUNCTIONS.len() {
        let mut segment = 0;
        while segment < FUNCTIONS[function].len() {
            let [c0, c1, c2] = FUNCTIONS[function][segment];
            let [low, high, linear, square] = &mut columns[function];
            (low[segment], high[segment]) = (c0 as i32, (c0 >> 32) as i32);
            (linear[segment], square[segment]) = (c1 as i32, c2 as i32);
            segment += 1;
        }
        function += 1;
    }
    columns
};

const RCP: usize = 0;
const RSQRT: usize = 1;
const SQRT: usize = 2;
const EX2: usize = 3;
const LG2: usize = 4;
/// The sine in the first quarter of a turn.
const SIN: usize = 5;
const TANH: usize = 6;

/// Returns a polynomial's value: an integer of at most 42 bits, or 2^42. The argument has up to 24 bits: the segment's
/// number, followed by a 17-bit position in the segment.
#[inline(always)]
fn interpolated(function: usize, argument: u32) -> u64 {
    let (segment, t) = ((argument >> 17) as usize % 128, argument % (1 << 17));
    let [low, high, c1, c2] = &FUNCTIONS[function];
    let (low, high, c1, c2) = (low[segment], high[segment], c1[segment], c2[segment]);
    // The square's 15 highest bits. Row `i` of the partial products is bit `i` of `t`, multiplied by twice the higher
    // bits of `t`, plus the square of that bit. Rows from 10 on have no lower bits. Rows below 2 do not reach the 15
    // highest bits.
    let upper = t >> 10;
    let mut square = 2 * upper * (upper + (t >> 9 & 1));
    for i in 2..9 {
        square += t >> (18 - i) & 0u32.wrapping_sub(t >> i & 1);
    }
    let c0 = i64::from(high) << 32 | i64::from(low.cast_unsigned());
    let product = |coefficient: i32, factor: u32| i64::from(coefficient).wrapping_mul(i64::from(factor as i32));
    (c0 << 1).wrapping_add(product(c1, t)).wrapping_add(product(c2, square) << 2).cast_unsigned()
}

/// Returns the significand of a result: 24 bits, or 2^24.
#[inline(always)]
fn significand(function: usize, argument: u32) -> u32 {
    (interpolated(function, argument) >> 18) as u32
}

/// The number of fraction bits of an `f32`.
const F32: u32 = 23;
/// The number of fraction bits in the upper half of an `f64`, treated as a 32-bit float.
const UPPER: u32 = 20;

/// Returns the bits of a format's infinity.
const fn infinity(format: u32) -> u32 {
    SIGN - (1 << format)
}

/// Returns a normal number's exponent and its fraction, scaled to 23 bits.
#[inline(always)]
fn parts<const FORMAT: u32>(bits: u32) -> (i32, u32) {
    let (bias, fraction) = (infinity(FORMAT) >> (FORMAT + 1), bits & ((1 << FORMAT) - 1));
    (((bits & !SIGN) >> FORMAT) as i32 - bias as i32, fraction << (F32 - FORMAT))
}

/// Returns the number with this sign, exponent, and significand from 2^23 to 2^24, truncated. A subnormal result
/// becomes zero.
#[inline(always)]
fn packed<const FORMAT: u32>(sign: u32, exponent: i32, significand: u32) -> u32 {
    let infinity = infinity(FORMAT);
    let (carry, fraction) = ((significand >> 24) as i32, significand % (1 << 23));
    let biased = exponent.wrapping_add(carry).wrapping_add((infinity >> (FORMAT + 1)) as i32);
    let number = (biased as u32) << FORMAT | fraction >> (F32 - FORMAT);
    let number = select(biased >= (infinity >> FORMAT) as i32, infinity, number);
    sign | select(biased <= 0, 0, number)
}

/// Returns `size` / 2^`point`, truncated. `size` has up to 52 bits.
#[inline(always)]
fn fixed(sign: u32, size: u64, point: i32) -> u32 {
    // The lowest bits of 2^52 + `size` are `size`. Subtracting 2^52 normalizes it.
    const POWER: f64 = (1u64 << 52) as f64;
    let double = (f64::from_bits(size | POWER.to_bits()) - POWER).to_bits();
    let exponent = (double >> 52) as i32 - 1023 - point;
    packed::<F32>(sign, exponent, (double >> 29) as u32 & 0x7f_ffff | 1 << 23)
}

/// Returns `number` × 2^`exponent`, truncated to an integer, modulo 2^32.
#[inline(always)]
fn shifted(number: u32, exponent: i32) -> u32 {
    let right = number.unbounded_shr(exponent.wrapping_neg() as u32);
    select(exponent < 0, right, number.unbounded_shl(exponent as u32))
}

const INFINITY: u32 = infinity(F32);
const SIGN: u32 = 1 << 31;
const NAN: u32 = 0x7fff_ffff;
const ONE: u32 = 0x3f80_0000;

/// Computes all arguments of a polynomial, and then all results. If a single loop computed both, the compiler would
/// compute the arguments lane by lane, because they index the coefficients.
///
/// `argument` and `result` are inlined functions. The compiler might not inline a large closure, which would prevent
/// vectorization.
#[inline(always)]
fn lanes<const N: usize>(a: &[u32; N], argument: impl Fn(u32) -> u32, result: impl Fn(u32, u32) -> u32) -> [u32; N] {
    let (mut arguments, mut results) = ([0; N], [0; N]);
    for lane in 0..N {
        arguments[lane] = argument(a[lane]);
    }
    for lane in 0..N {
        results[lane] = result(a[lane], arguments[lane]);
    }
    results
}

/// Returns 1 / a.
#[inline(always)]
fn reciprocal<const FORMAT: u32, const N: usize>(a: &[u32; N]) -> [u32; N] {
    #[inline(always)]
    fn result<const FORMAT: u32>(bits: u32, argument: u32) -> u32 {
        let (infinity, sign, magnitude) = (infinity(FORMAT), bits & SIGN, bits & !SIGN);
        let number = packed::<FORMAT>(sign, -1 - parts::<FORMAT>(bits).0, significand(RCP, argument));
        let number = select(magnitude < 1 << FORMAT, sign | infinity, number);
        let number = select(magnitude == infinity, sign, number);
        select(magnitude > infinity, NAN, number)
    }
    lanes(a, |bits| parts::<FORMAT>(bits).1 << 1, result::<FORMAT>)
}

/// Returns 1 / √a, or √a.
#[inline(always)]
fn root<const FORMAT: u32, const INVERSE: bool, const N: usize>(a: &[u32; N]) -> [u32; N] {
    /// Returns the position in two binades: one for even exponents, one for odd exponents.
    #[inline(always)]
    fn argument<const FORMAT: u32>(bits: u32) -> u32 {
        let (exponent, fraction) = parts::<FORMAT>(bits);
        (exponent as u32 & 1) << 23 | fraction
    }
    #[inline(always)]
    fn result<const FORMAT: u32, const INVERSE: bool>(bits: u32, argument: u32) -> u32 {
        let (half, sign, infinity) = (parts::<FORMAT>(bits).0 >> 1, bits & SIGN, infinity(FORMAT));
        let [of_zero, of_infinity] = if INVERSE { [infinity, 0] } else { [0, infinity] };
        let number = if INVERSE {
            packed::<FORMAT>(0, -1 - half, select(argument == 0, 1 << 24, significand(RSQRT, argument)))
        } else {
            packed::<FORMAT>(0, half, significand(SQRT, argument))
        };
        let number = select(bits == infinity, of_infinity, number);
        let number = select(bits > infinity, NAN, number);
        select(bits & !SIGN < 1 << FORMAT, sign | of_zero, number)
    }
    lanes(a, argument::<FORMAT>, result::<FORMAT, INVERSE>)
}

/// Returns 2 to the power of `a`.
#[inline(always)]
fn power<const N: usize>(a: &[u32; N]) -> [u32; N] {
    /// Returns `a` as a fixed-point number with 23 fraction bits. A negative number is represented by the complement of
    /// its magnitude, which is one unit less than the number unless the number is an integer. From a magnitude of 128
    /// on, the result is infinite or 0.
    #[inline(always)]
    fn argument(bits: u32) -> u32 {
        let (exponent, fraction) = parts::<F32>((bits & !SIGN).min(0x4300_0000));
        let size = shifted(fraction | 1 << 23, exponent);
        let whole = u32::from(size.is_multiple_of(1 << 23));
        select(bits & SIGN == 0, size, (!size).wrapping_add(whole))
    }
    #[inline(always)]
    fn result(bits: u32, argument: u32) -> u32 {
        let number = packed::<F32>(0, argument.cast_signed() >> 23, significand(EX2, argument % (1 << 23)));
        select(bits & !SIGN > INFINITY, NAN, number)
    }
    lanes(a, argument, result)
}

/// Returns the base-2 logarithm of `a`.
#[inline(always)]
fn logarithm<const N: usize>(a: &[u32; N]) -> [u32; N] {
    /// The fixed-point sum has 36 fraction bits. A negative sum is replaced by its complement, which is one unit less
    /// than its magnitude.
    #[inline(always)]
    fn result(bits: u32, argument: u32) -> u32 {
        let exponent = i64::from(parts::<F32>(bits).0) << 36;
        let sum = exponent.wrapping_add((interpolated(LG2, argument) >> 6).cast_signed());
        let number = fixed((sum >> 63) as u32 & SIGN, (sum ^ sum >> 63).cast_unsigned(), 36);
        let number = select(bits == ONE, 0, number);
        let number = select(bits == INFINITY, INFINITY, number);
        let number = select(bits > INFINITY, NAN, number);
        select(is_subnormal(bits), SIGN | INFINITY, number)
    }
    lanes(a, |bits| parts::<F32>(bits).1, result)
}

/// Returns the sine or the cosine of `a`.
#[inline(always)]
pub(super) fn sine<const COSINE: bool, const N: usize>(a: &[u32; N]) -> [u32; N] {
    /// Returns the angle reduced to the first quarter of a turn, in units of 2^-25 turns; bit 31 is the sine's sign.
    /// ptxas encodes the factor 1 / 2π as 0xa2f983 × 2^-26, and the product is truncated to 24 bits.
    #[inline(always)]
    fn argument<const COSINE: bool>(bits: u32) -> u32 {
        let (exponent, fraction) = parts::<F32>(bits);
        let product = u64::from(fraction | 1 << 23) * 0xa2_f983;
        let carry = (product >> 47) as i32;
        let turns = shifted(select(carry == 0, product >> 23, product >> 24) as u32, exponent + carry - 1);
        let turns = if COSINE { turns.wrapping_add(1 << 23) } else { turns };
        // Mirror the angle in every second quarter.
        let angle = turns ^ 0u32.wrapping_sub(turns >> 23 & 1);
        angle & 0x7f_ffff | (turns >> 24) << 31
    }
    #[inline(always)]
    fn result<const COSINE: bool>(bits: u32, argument: u32) -> u32 {
        let sign = if COSINE { 0 } else { bits & SIGN } ^ argument & SIGN;
        let number = fixed(sign, interpolated(SIN, argument) >> 2, 40);
        select(bits & !SIGN >= INFINITY, NAN, number)
    }
    lanes(a, argument::<COSINE>, result::<COSINE>)
}

/// Returns the hyperbolic tangent of `a`. Below 2^-8 the result is `a`; from 8 on it is 1.
#[inline(always)]
pub(super) fn tanh<const N: usize>(a: &[u32; N]) -> [u32; N] {
    /// For each binade from 2^-8 to 8: its first segment, and the number of fraction bits that are dropped. A binade
    /// has 1 to 16 segments.
    const POWERS: [(u32, u32); 16] = {
        let (halved, mut powers) = ([0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3], [(0, 0); 16]);
        let (mut power, mut first) = (0, 0);
        while power < halved.len() {
            powers[power] = (first << 17, 6 - halved[power]);
            first += 1 << halved[power];
            power += 1;
        }
        powers
    };
    #[inline(always)]
    fn argument(bits: u32) -> u32 {
        let (exponent, fraction) = parts::<F32>(bits);
        let (first, cut) = POWERS[exponent.wrapping_add(8) as usize % 16];
        first.wrapping_add(fraction >> cut)
    }
    #[inline(always)]
    fn result(bits: u32, argument: u32) -> u32 {
        let (sign, (exponent, _)) = (bits & SIGN, parts::<F32>(bits));
        let number = fixed(sign, interpolated(TANH, argument), 41);
        let number = select(exponent < -8, bits, number);
        let number = select(exponent >= 3, sign | ONE, number);
        select(bits & !SIGN > INFINITY, NAN, number)
    }
    lanes(a, argument, result)
}

#[inline(always)]
fn times(a: u32, factor: f32) -> u32 {
    (f32::from_bits(a) * factor).to_bits()
}

#[inline(always)]
fn is_subnormal(bits: u32) -> bool {
    bits & !SIGN < 1 << 23
}

/// The reciprocals of larger numbers are flushed to zero.
const LARGE: u32 = 0x7e80_0000;

/// A factor that makes every subnormal number normal.
const UP: f32 = 16_777_216.0;

/// Returns a factor that keeps the reciprocal of `divisor` normal. `small` enables this factor for subnormal divisors,
/// and `large` for divisors above [`LARGE`].
#[inline(always)]
fn scale(divisor: u32, small: bool, large: bool) -> f32 {
    let scale = select(large & (divisor & !SIGN > LARGE), 0.25f32.to_bits(), ONE);
    f32::from_bits(select(small & is_subnormal(divisor), UP.to_bits(), scale))
}

/// `rcp.approx`. Without `.ftz`, small and very large numbers are scaled before and after the approximation. The
/// following functions scale their arguments and results in the same way.
#[inline(always)]
pub(super) fn rcp<const N: usize>(a: &[u32; N], ftz: bool) -> [u32; N] {
    let scale = |bits| scale(bits, !ftz, !ftz);
    let numbers = reciprocal::<F32, N>(&each(|lane| times(a[lane], scale(a[lane]))));
    each(|lane| canonical32(f32::from_bits(numbers[lane]) * scale(a[lane])))
}

/// `sqrt.approx` or `rsqrt.approx`.
#[inline(always)]
pub(super) fn sqrt<const INVERSE: bool, const N: usize>(a: &[u32; N], ftz: bool) -> [u32; N] {
    let back = if INVERSE { 4096.0 } else { 1.0 / 4096.0 };
    let is_scaled = |bits| !ftz & is_subnormal(bits);
    let numbers = root::<F32, INVERSE, N>(&each(|lane| select(is_scaled(a[lane]), times(a[lane], UP), a[lane])));
    each(|lane| {
        let scaled = canonical32(f32::from_bits(numbers[lane]) * back);
        select(is_scaled(a[lane]), scaled, numbers[lane])
    })
}

/// `ex2.approx`.
#[inline(always)]
pub(super) fn ex2<const N: usize>(a: &[u32; N], ftz: bool) -> [u32; N] {
    let is_halved = |bits| !ftz & (f32::from_bits(bits) < -126.0);
    let numbers: [u32; N] = power(&each(|lane| select(is_halved(a[lane]), times(a[lane], 0.5), a[lane])));
    each(|lane| {
        let number = numbers[lane];
        select(is_halved(a[lane]), times(number, f32::from_bits(number)), number)
    })
}

/// `lg2.approx`.
#[inline(always)]
pub(super) fn lg2<const N: usize>(a: &[u32; N], ftz: bool) -> [u32; N] {
    let is_scaled = |bits| !ftz & is_subnormal(bits);
    let numbers: [u32; N] = logarithm(&each(|lane| select(is_scaled(a[lane]), times(a[lane], UP), a[lane])));
    each(|lane| {
        let scaled = canonical32(f32::from_bits(numbers[lane]) - 24.0);
        select(is_scaled(a[lane]), scaled, numbers[lane])
    })
}

/// `div.approx` or `div.full`; `div.full` also scales very large divisors.
#[inline(always)]
pub(super) fn div<const N: usize>(a: &[u32; N], b: &[u32; N], full: bool, ftz: bool) -> [u32; N] {
    let flush = |bits| select(ftz, flush32(bits), bits);
    let scaled = |bits, divisor| flush(times(flush(bits), scale(divisor, !ftz, full)));
    let numbers = reciprocal::<F32, N>(&each(|lane| scaled(b[lane], b[lane])));
    each(|lane| {
        let dividend = f32::from_bits(scaled(a[lane], b[lane]));
        flush(canonical32(dividend * f32::from_bits(numbers[lane])))
    })
}

/// `rcp.approx.ftz.f64`: uses only the upper 32 bits and flushes subnormal numbers.
#[inline(always)]
pub(super) fn rcp64(bits: u64) -> u64 {
    u64::from(reciprocal::<UPPER, 1>(&[(bits >> 32) as u32])[0]) << 32
}

/// `rsqrt.approx.ftz.f64`: uses only the upper 32 bits and flushes subnormal numbers.
#[inline(always)]
pub(super) fn rsqrt64_ftz(bits: u64) -> u64 {
    u64::from(root::<UPPER, true, 1>(&[(bits >> 32) as u32])[0]) << 32
}

/// `rsqrt.approx.f64` as ptxas implements it: the approximation and one refinement step. Small numbers are scaled
/// before and after.
pub(super) fn rsqrt64(bits: u64) -> u64 {
    const SMALL: f64 = (1u64 << 27) as f64;
    let a = f64::from_bits(bits);
    if a.is_nan() || a <= 0.0 || a == f64::INFINITY {
        return nan64(1.0 / a.sqrt(), a, 0.0, 0.0);
    }
    let scale = if a < f64::MIN_POSITIVE { SMALL } else { 1.0 };
    let a = a * scale * scale;
    let rough = f64::from_bits(rsqrt64_ftz(a.to_bits()));
    let error = a.mul_add(-(rough * rough), 1.0);
    let factor = error.mul_add(0.375, 0.5);
    (factor.mul_add(rough * error, rough) * scale).to_bits()
}
