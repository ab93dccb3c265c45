//! `rcp`, `rsqrt`, `sqrt`, `ex2`, `lg2`, `sin`, `cos`, `tanh` and the rough divisions, bit by bit as an H200 computes them.
//!
//! Its unit for special functions has a polynomial of the second degree for each of 51 to 128 segments of the argument (S.
//! Oberman and M. Siu, "A High-Performance Area-Efficient Multifunction Interpolator", ARITH 2005). The square is cut: it
//! has no partial products below its 15 highest bits. The coefficients are in special.txt. Compared with an H200: every
//! argument of a period or, of `tanh`, from 2^-8 to 8; 2^20 random ones of any size; of `f64` every upper half of a period.

use std::sync::LazyLock;

use super::fast::{canonical32, flush32, nan64};

/// A function's polynomials.
struct Polynomials {
    /// Bits of the argument within a segment.
    bits: u32,
    /// For each segment C0, C1 and C2.
    segments: Vec<[i64; 3]>,
}

/// Those of `rcp`, `rsqrt`, `sqrt`, `ex2`, `lg2`, of `sin` in the first quarter of a turn, and of `tanh`.
static FUNCTIONS: LazyLock<Vec<Polynomials>> = LazyLock::new(|| {
    let mut functions = Vec::new();
    for line in include_str!("special.txt").lines().filter(|line| !line.starts_with('#')) {
        let numbers: Vec<i64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        match (numbers[..].try_into(), functions.last_mut()) {
            (Ok(segment), Some(Polynomials { segments, .. })) => segments.push(segment),
            _ => functions.push(Polynomials { bits: numbers[0] as u32, segments: Vec::new() }),
        }
    }
    functions
});

/// Their places in special.txt.
const RCP: usize = 0;
const RSQRT: usize = 1;
const SQRT: usize = 2;
const EX2: usize = 3;
const LG2: usize = 4;
const SIN: usize = 5;
const TANH: usize = 6;

impl Polynomials {
    /// The significand for the argument in steps of its last place.
    fn at(&self, argument: u32) -> i64 {
        self.exact(argument) >> (2 * self.bits + 1)
    }

    /// The same with all of its bits, so many of which are behind the point.
    fn exact(&self, argument: u32) -> i64 {
        let bits = self.bits;
        let [c0, c1, c2] = self.segments[(argument >> bits) as usize];
        let t = i64::from(argument & ((1 << bits) - 1));
        let kept = -1i64 << (2 * bits - 15);
        let products = (0..bits).filter(|bit| t >> bit & 1 == 1);
        let square: i64 = products.map(|bit| (1 << (2 * bit) | t >> (bit + 1) << (2 * bit + 2)) & kept).sum();
        (c0 << (2 * bits - 16)) + ((c1 * t) << bits) + c2 * square
    }
}

/// Bits of the fraction of an `f32`.
const F32: u32 = 23;
/// Of the upper half of an `f64`, which is a float of 32 bits as well.
const UPPER: u32 = 20;

/// The infinity of a format.
const fn infinity(format: u32) -> u32 {
    SIGN - (1 << format)
}

/// A normal number's exponent and the bits of its fraction, of which there are always 23.
fn parts<const FORMAT: u32>(bits: u32) -> (i32, u32) {
    let (bias, fraction) = (infinity(FORMAT) >> (FORMAT + 1), bits & ((1 << FORMAT) - 1));
    (((bits & !SIGN) >> FORMAT) as i32 - bias as i32, fraction << (F32 - FORMAT))
}

/// The number of a significand from 2^23 to 2^24, cut, without subnormal ones.
fn packed<const FORMAT: u32>(sign: u32, exponent: i32, significand: i64) -> u32 {
    let carried = significand >> 24 != 0;
    let fraction = if carried { 0 } else { significand as u32 & 0x7f_ffff };
    let infinity = infinity(FORMAT);
    match exponent + i32::from(carried) + (infinity >> (FORMAT + 1)) as i32 {
        ..=0 => sign,
        biased if biased as u32 >= infinity >> FORMAT => sign | infinity,
        biased => sign | (biased as u32) << FORMAT | fraction >> (F32 - FORMAT),
    }
}

const INFINITY: u32 = infinity(F32);
const SIGN: u32 = 1 << 31;
const NAN: u32 = 0x7fff_ffff;
const ONE: u32 = 0x3f80_0000;
/// 1 / 2π as the code of ptxas has it.
const TURN: u32 = 0x3e22_f983;

/// 1 / a
fn reciprocal<const FORMAT: u32>(bits: u32) -> u32 {
    let (infinity, sign) = (infinity(FORMAT), bits & SIGN);
    let (exponent, fraction) = parts::<FORMAT>(bits);
    match bits & !SIGN {
        magnitude if magnitude < 1 << FORMAT => sign | infinity,
        magnitude if magnitude > infinity => NAN,
        magnitude if magnitude == infinity => sign,
        _ => packed::<FORMAT>(sign, -exponent - 1, FUNCTIONS[RCP].at(fraction)),
    }
}

/// 1 / √a, or √a
fn root<const FORMAT: u32>(bits: u32, inverse: bool) -> u32 {
    let (infinity, sign) = (infinity(FORMAT), bits & SIGN);
    let (exponent, fraction) = parts::<FORMAT>(bits);
    // Two periods: exponents are even or odd.
    let argument = (exponent as u32 & 1) << 23 | fraction;
    let is_zero = bits & !SIGN < 1 << FORMAT;
    match bits {
        _ if is_zero => sign | if inverse { infinity } else { 0 },
        _ if bits > infinity => NAN,
        _ if bits == infinity && inverse => 0,
        _ if bits == infinity => infinity,
        _ if inverse && argument == 0 => packed::<FORMAT>(0, -(exponent >> 1) - 1, 1 << 24),
        _ if inverse => packed::<FORMAT>(0, -(exponent >> 1) - 1, FUNCTIONS[RSQRT].at(argument)),
        _ => packed::<FORMAT>(0, exponent >> 1, FUNCTIONS[SQRT].at(argument)),
    }
}

/// 2 to the power of a
fn power(bits: u32) -> u32 {
    let bits = flush32(bits);
    if bits & !SIGN > INFINITY {
        return NAN;
    }
    // 23 bits behind the point; of negative numbers the complement, which is one less unless they are whole.
    let size = (f64::from(f32::from_bits(bits)).abs().min(1000.0) * f64::from(1 << 23)) as i64;
    let fixed = match bits & SIGN {
        0 => size,
        _ if size & 0x7f_ffff == 0 => -size,
        _ => !size,
    };
    packed::<F32>(0, (fixed >> 23) as i32, FUNCTIONS[EX2].at(fixed as u32 & 0x7f_ffff))
}

/// The logarithm of a to the base 2
fn logarithm(bits: u32) -> u32 {
    let bits = flush32(bits);
    let (exponent, fraction) = parts::<F32>(bits);
    match bits {
        0 | SIGN => return SIGN | INFINITY,
        ONE => return 0,
        INFINITY => return INFINITY,
        _ if bits > INFINITY => return NAN,
        _ => {}
    }
    // 36 bits behind the point, of 59; negative numbers are complemented, which is one less than their size.
    let sum = (i64::from(exponent) << 36) + (FUNCTIONS[LG2].exact(fraction) >> 23);
    let (sign, size) = if sum < 0 { (SIGN, !sum) } else { (0, sum) };
    fixed(sign, size, 36)
}

/// A number with so many bits behind its point, cut.
fn fixed(sign: u32, size: i64, point: i32) -> u32 {
    match size.checked_ilog2() {
        None => sign,
        Some(highest) if highest > 23 => packed::<F32>(sign, highest as i32 - point, size >> (highest - 23)),
        Some(highest) => packed::<F32>(sign, highest as i32 - point, size << (23 - highest)),
    }
}

/// The sine of a, or its cosine.
pub(super) fn sine(bits: u32, cosine: bool) -> u32 {
    if bits & !SIGN >= INFINITY {
        return NAN;
    }
    // In turns, towards zero.
    let exact = f64::from(f32::from_bits(flush32(bits))) * f64::from(f32::from_bits(TURN));
    let near = exact as f32;
    let is_above = f64::from(near).abs() > exact.abs();
    let turns = flush32(near.to_bits() - u32::from(is_above));
    let part = (f64::from(f32::from_bits(turns & !SIGN)).fract() * f64::from(1 << 25)) as u32;
    let (sign, part) = if cosine { (0, part + (1 << 23)) } else { (turns & SIGN, part) };
    let quarter = part >> 23 & 3;
    // Every second quarter goes back.
    let argument = if quarter & 1 == 0 { part } else { !part } & 0x7f_ffff;
    fixed(sign ^ quarter >> 1 << 31, FUNCTIONS[SIN].exact(argument) >> 19, 40)
}

/// The hyperbolic tangent of a: itself below 2^-8, and 1 from 8 on.
pub(super) fn tanh(bits: u32) -> u32 {
    /// How often the eleven powers of two between them are halved into segments.
    const HALVED: [u32; 11] = [0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3];
    let (sign, (exponent, fraction)) = (bits & SIGN, parts::<F32>(bits));
    match (exponent, bits & !SIGN > INFINITY) {
        (_, true) => NAN,
        (..-8, _) => bits,
        (3.., _) => sign | ONE,
        _ => {
            let place = (exponent + 8) as usize;
            let before: u32 = HALVED[..place].iter().map(|times| 1 << times).sum();
            let argument = (before << 17) + (fraction >> (6 - HALVED[place]));
            fixed(sign, FUNCTIONS[TANH].exact(argument), 58)
        }
    }
}

fn times(a: u32, factor: f32) -> u32 {
    (f32::from_bits(a) * factor).to_bits()
}

fn is_subnormal(bits: u32) -> bool {
    bits & !SIGN < 1 << 23
}

/// What is beyond it has a reciprocal that is flushed.
const LARGE: u32 = 0x7e80_0000;

/// What makes a subnormal number a normal one.
const UP: f32 = 16_777_216.0;

/// The factor with which a divisor's reciprocal is a normal number: of small ones, and of large ones if it is asked for.
fn scale(divisor: u32, small: bool, large: bool) -> f32 {
    match () {
        () if small && is_subnormal(divisor) => UP,
        () if large && divisor & !SIGN > LARGE => 0.25,
        () => 1.0,
    }
}

/// `rcp.approx`: without `.ftz` small and very large numbers are scaled before and after. So they are in what follows.
pub(super) fn rcp(bits: u32, ftz: bool) -> u32 {
    let scale = scale(bits, !ftz, !ftz);
    canonical32(f32::from_bits(times(reciprocal::<F32>(times(bits, scale)), scale)))
}

/// `sqrt.approx`, or `rsqrt.approx`.
pub(super) fn sqrt(bits: u32, inverse: bool, ftz: bool) -> u32 {
    let back = if inverse { 4096.0 } else { 1.0 / 4096.0 };
    match !ftz && is_subnormal(bits) {
        true => canonical32(f32::from_bits(times(root::<F32>(times(bits, UP), inverse), back))),
        false => root::<F32>(bits, inverse),
    }
}

pub(super) fn ex2(bits: u32, ftz: bool) -> u32 {
    match !ftz && f32::from_bits(bits) < -126.0 {
        true => {
            let half = power(times(bits, 0.5));
            times(half, f32::from_bits(half))
        }
        false => power(bits),
    }
}

pub(super) fn lg2(bits: u32, ftz: bool) -> u32 {
    match !ftz && is_subnormal(bits) {
        true => canonical32(f32::from_bits(logarithm(times(bits, UP))) - 24.0),
        false => logarithm(bits),
    }
}

/// `div.approx`, or `div.full`, which scales very large divisors too.
pub(super) fn div(a: u32, b: u32, full: bool, ftz: bool) -> u32 {
    let flush = |bits| if ftz { flush32(bits) } else { bits };
    let scale = scale(b, !ftz, full);
    let [a, b] = [a, b].map(|bits| flush(times(flush(bits), scale)));
    flush(canonical32(f32::from_bits(a) * f32::from_bits(reciprocal::<F32>(b))))
}

/// `rcp.approx.ftz.f64`: it sees and makes the upper 32 bits only, and knows no subnormals.
pub(super) fn rcp64(bits: u64) -> u64 {
    u64::from(reciprocal::<UPPER>((bits >> 32) as u32)) << 32
}

/// `rsqrt.approx.ftz.f64`, likewise.
pub(super) fn rsqrt64_ftz(bits: u64) -> u64 {
    u64::from(root::<UPPER>((bits >> 32) as u32, true)) << 32
}

/// `rsqrt.approx.f64` as ptxas makes it: the rough one improved once. Small numbers are scaled before and after.
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
