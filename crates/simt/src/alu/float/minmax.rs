//! `min` and `max` (PTX ISA §9.7.3.11, §9.7.3.12): a NaN loses against a number, and −0 is less than +0.

use super::fast::{NAN32, flush32};
use crate::alu::lanes::map3;
use crate::alu::modifiers::Modifiers;
use crate::regs::{R32, Regs};

/// An integer that compares as the number does, −0 below +0.
#[inline(always)]
fn key32(bits: u32) -> i32 {
    (bits ^ (((bits as i32) >> 31) as u32 >> 1)) as i32
}

/// The lesser or greater of two; the other one where one is NaN; the canonical NaN where both are.
#[inline(always)]
pub(super) fn pick32(a: u32, b: u32, max: bool) -> u32 {
    let (a_nan, b_nan) = (a & NAN32 > 0x7f80_0000, b & NAN32 > 0x7f80_0000);
    let first = (key32(a) < key32(b)) != max;
    let number = if b_nan || first && !a_nan { a } else { b };
    if a_nan && b_nan { NAN32 } else { number }
}

/// The same for 64 bits, where of two NaNs the second is passed on, made quiet.
#[inline(always)]
pub(super) fn pick64(a: u64, b: u64, max: bool) -> u64 {
    let key = |bits: u64| (bits ^ (((bits as i64) >> 63) as u64 >> 1)) as i64;
    let nan = |bits: u64| bits & !(1 << 63) > 0x7ff0_0000_0000_0000;
    let first = (key(a) < key(b)) != max;
    let number = if nan(b) || first && !nan(a) { a } else { b };
    if nan(a) && nan(b) {
        b | 1 << 51
    } else {
        number
    }
}

/// Two of `f32` with modifiers.
#[inline(always)]
fn pair(a: u32, b: u32, max: bool, modifiers: Modifiers) -> u32 {
    let (a, b) = if modifiers.has(Modifiers::FTZ) {
        (flush32(a), flush32(b))
    } else {
        (a, b)
    };
    let (a_nan, b_nan) = (a & NAN32 > 0x7f80_0000, b & NAN32 > 0x7f80_0000);
    if modifiers.has(Modifiers::NAN) && (a_nan || b_nan) || a_nan && b_nan {
        return NAN32;
    }
    let sign = if modifiers.has(Modifiers::XORSIGN) {
        (a ^ b) & 0x8000_0000
    } else {
        0
    };
    if modifiers.has(Modifiers::ABS) {
        pick32(a & NAN32, b & NAN32, max) | sign
    } else {
        pick32(a, b, max)
    }
}

#[inline(never)]
pub(super) fn run32(
    (max, three, modifiers): (bool, bool, Modifiers),
    regs: &mut Regs<'_>,
    mask: u32,
    to: R32,
    from: [R32; 3],
) {
    map3(regs, mask, to, from, |a, b, c| {
        let two = pair(a, b, max, modifiers);
        if three {
            pair(two, c, max, modifiers)
        } else {
            two
        }
    });
}
