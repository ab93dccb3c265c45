//! `min` and `max` (PTX ISA §9.7.3.11, §9.7.3.12): a number wins over a NaN, and −0 is less than +0.

use super::exact::Format;
use super::fast::NAN32;
use crate::alu::modifiers::Modifiers;

/// Returns an integer key with the same order as the numbers, −0 below +0.
#[inline(always)]
fn key32(bits: u32) -> i32 {
    (bits ^ (((bits as i32) >> 31) as u32 >> 1)) as i32
}

/// Returns the lesser or the greater of two numbers. If one operand is NaN, returns the other operand; if both are NaN,
/// returns the canonical NaN.
#[inline(always)]
pub(super) fn pick32(a: u32, b: u32, max: bool) -> u32 {
    let (a_nan, b_nan) = (a & NAN32 > 0x7f80_0000, b & NAN32 > 0x7f80_0000);
    let first = (key32(a) < key32(b)) != max;
    let number = if b_nan || first && !a_nan { a } else { b };
    if a_nan && b_nan { NAN32 } else { number }
}

/// Returns the lesser or the greater of two 64-bit numbers. Unlike [`pick32`], returns the second operand as a quiet
/// NaN if both are NaN.
#[inline(always)]
pub(super) fn pick64(a: u64, b: u64, max: bool) -> u64 {
    let key = |bits: u64| (bits ^ (((bits as i64) >> 63) as u64 >> 1)) as i64;
    let nan = |bits: u64| bits & !(1 << 63) > 0x7ff0_0000_0000_0000;
    let first = (key(a) < key(b)) != max;
    let number = if nan(b) || first && !nan(a) { a } else { b };
    if nan(a) && nan(b) { b | 1 << 51 } else { number }
}

/// Returns the lesser or greater of two numbers in a format of at most 32 bits, with modifiers.
#[inline(always)]
pub(super) fn min_max(max: bool, modifiers: Modifiers, format: Format, a: u32, b: u32) -> u32 {
    let (infinity, sign) = (format.infinity() as u32, format.sign() as u32);
    let (a_nan, b_nan) = (a & !sign > infinity, b & !sign > infinity);
    if a_nan && b_nan || modifiers.has(Modifiers::NAN) && (a_nan || b_nan) {
        return format.nan() as u32;
    }
    let result_sign = if modifiers.has(Modifiers::XORSIGN) { (a ^ b) & sign } else { 0 };
    let (a, b) = if modifiers.has(Modifiers::ABS) { (a & !sign, b & !sign) } else { (a, b) };
    let key = |bits: u32| {
        let magnitude = i64::from(bits & !sign);
        if bits & sign != 0 { -1 - magnitude } else { magnitude }
    };
    let first = (key(a) < key(b)) != max;
    let number = if b_nan || first && !a_nan { a } else { b };
    number | result_sign
}
