//! Conversions of one value for all combinations of types, rounding modes and modifiers.

use std::hint::select_unpredictable as select;

use super::cvt::{Bits, Conversion, Type};
use crate::alu::float::exact::{Exact, Format, Rounding};
use crate::alu::float::{canonical32, flush32, from_bf16, from_f16, saturate};
use crate::alu::lanes::each;
use crate::alu::modifiers::Modifiers;
use crate::regs::{LANES, R32, Reg, Regs};

/// Extends the lowest `bits` bits of a value to 64 bits.
#[inline(always)]
fn extend(value: u64, bits: u32, signed: bool) -> u64 {
    let shift = 64 - bits;
    if signed { ((value << shift) as i64 >> shift) as u64 } else { value << shift >> shift }
}

/// Widens an `f32` to a double; a NaN keeps its payload and becomes quiet.
#[inline(always)]
pub(super) fn widen(value: f32) -> u64 {
    let bits = value.to_bits();
    let payload = u64::from(bits & 0x007f_ffff) << 29;
    let nan = u64::from(bits >> 31) << 63 | 0x7ff8_0000_0000_0000 | payload;
    if value.is_nan() { nan } else { f64::from(value).to_bits() }
}

/// Returns a value of a floating-point type as a double.
fn load(bits: u64, format: Format, flags: Modifiers) -> f64 {
    let narrow = bits as u32;
    f64::from_bits(match format {
        Format::F16 => {
            let bits = canonical32(from_f16(narrow & 0xffff));
            widen(f32::from_bits(bits))
        }
        Format::Bf16 => widen(from_bf16(narrow & 0xffff)),
        Format::F32 | Format::Tf32 => match flush(narrow, flags) {
            // The hardware flushes subnormal numbers by multiplying by one, which turns a NaN into the canonical NaN.
            bits if flags.has(Modifiers::FTZ) => widen(f32::from_bits(canonical32(f32::from_bits(bits)))),
            bits => widen(f32::from_bits(bits)),
        },
        Format::F64 => bits,
    })
}

fn flush(bits: u32, flags: Modifiers) -> u32 {
    if flags.has(Modifiers::FTZ) { flush32(bits) } else { bits }
}

/// Rounds to an integer.
fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Away => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Converts a double to a floating-point type.
fn store(value: f64, format: Format, spec: Conversion) -> u64 {
    let flags = spec.modifiers;
    // Clamping before or after rounding gives the same result, because the bounds are representable in every format.
    let value = if flags.has(Modifiers::SAT) {
        saturate(value)
    } else if flags.has(Modifiers::RELU) && value.is_sign_negative() && !value.is_nan() {
        0.0
    } else {
        value
    };
    if format == Format::F64 {
        let quiet = if value.is_nan() { 1 << 51 } else { 0 };
        return value.to_bits() | quiet;
    }
    finish(format.round(value, spec.rounding), format, flags)
}

/// Applies the modifiers to a rounded result, and moves the bits of `tf32` into place.
fn finish(bits: u64, format: Format, flags: Modifiers) -> u64 {
    let infinite = bits & !format.sign() == format.infinity();
    let bits = bits - u64::from(flags.has(Modifiers::SATFINITE) && infinite);
    match format {
        Format::F32 => u64::from(flush(bits as u32, flags)),
        // The 19 bits are the upper bits of the 32-bit register.
        Format::Tf32 => bits << 13,
        _ => bits,
    }
}

/// Converts to an integer with saturation, as Rust's casts do. NaN follows the ISA (§9.7.9.21, "Integer Notes").
fn to_int(value: f64, bits: Bits, signed: bool, double: bool) -> u64 {
    if value.is_nan() {
        return if double || bits == Bits::B64 { 1 << (bits as u32 - 1) } else { 0 };
    }
    match (bits, signed) {
        (Bits::B8, false) => u64::from(value as u8),
        (Bits::B8, true) => value as i8 as u64,
        (Bits::B16, false) => u64::from(value as u16),
        (Bits::B16, true) => value as i16 as u64,
        (Bits::B32, false) => u64::from(value as u32),
        (Bits::B32, true) => value as i32 as u64,
        (Bits::B64, false) => value as u64,
        (Bits::B64, true) => value as i64 as u64,
    }
}

/// Narrows a double to an `f32`, rounded to nearest; a NaN keeps the upper part of its payload and becomes quiet.
#[inline(always)]
pub(super) fn narrow(bits: u64) -> u32 {
    let nan = (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x7f_ffff;
    let value = f64::from_bits(bits);
    if value.is_nan() { nan } else { (value as f32).to_bits() }
}

/// Returns the result for a NaN that is propagated: a quiet NaN that keeps its sign and the upper part of its payload.
/// An H100 propagates NaNs from `f64` to any other format, and from `f16` to `f64`. It also propagates NaNs with
/// `.rna`, which clears the lower bits of the NaN. All other conversions return the canonical NaN.
fn propagated_nan(raw: u64, from: Format, to: Format, rounding: Rounding) -> Option<u64> {
    match (from, to) {
        (Format::F32, Format::Tf32) if rounding == Rounding::Away => {
            (f32::from_bits(raw as u32).is_nan()).then_some(raw & 0xffff_e000)
        }
        (Format::F64, Format::F32) if f64::from_bits(raw).is_nan() => Some(narrow(raw).into()),
        (Format::F64, Format::F16) if f64::from_bits(raw).is_nan() => {
            Some(raw >> 63 << 15 | 0x7e00 | raw >> 42 & 0x3ff)
        }
        (Format::F64, Format::Bf16) if f64::from_bits(raw).is_nan() => {
            Some(raw >> 63 << 15 | 0x7fc0 | raw >> 45 & 0x7f)
        }
        (Format::F16, Format::F64) if raw & 0x7fff > 0x7c00 => {
            Some((raw >> 15 & 1) << 63 | 0x7ff8_0000_0000_0000 | (raw & 0x3ff) << 42)
        }
        _ => None,
    }
}

fn one(raw: u64, spec: Conversion) -> u64 {
    let flags = spec.modifiers;
    let result = match (spec.from, spec.to) {
        (Type::Int(bits, signed), to) => {
            let value = extend(raw, bits as u32, signed);
            let value = if signed { i128::from(value as i64) } else { i128::from(value) };
            match to {
                Type::Int(to_bits, to_signed) if flags.has(Modifiers::SAT) => {
                    let to_bits = to_bits as u32;
                    let (least, most) = if to_signed {
                        (-1i128 << (to_bits - 1), (1i128 << (to_bits - 1)) - 1)
                    } else {
                        (0, (1i128 << to_bits) - 1)
                    };
                    value.clamp(least, most) as u64
                }
                Type::Int(..) => value as u64,
                Type::Float(format) => {
                    let value = if flags.has(Modifiers::SAT) { value.clamp(0, 1) } else { value };
                    Exact::integer(value).round(format, spec.rounding)
                }
            }
        }
        (Type::Float(format), Type::Int(bits, signed)) => {
            let value = integral(load(raw, format, flags), spec.rounding);
            to_int(value, bits, signed, format == Format::F64)
        }
        // These conversions do not change the bits, except that the hardware adds zero to 16-bit numbers.
        (Type::Float(Format::F32), Type::Float(Format::F32)) | (Type::Float(Format::F64), Type::Float(Format::F64))
            if flags == Modifiers::NONE =>
        {
            raw
        }
        (Type::Float(Format::Bf16), Type::Float(Format::F32)) if flags == Modifiers::NONE => raw << 16,
        (Type::Float(from), Type::Float(to)) => {
            let keeps_nan = !flags.has(Modifiers::SAT) && !flags.has(Modifiers::RELU);
            if let Some(nan) = propagated_nan(raw, from, to, spec.rounding).filter(|_| keeps_nan) {
                return extend(nan, u32::from(spec.width), false);
            }
            // The hardware's conversion to `f16` does not support `.ftz`.
            let operand = match to {
                Format::F16 => Modifiers::NONE,
                _ => flags,
            };
            let value = load(raw, from, operand);
            let value = if flags.has(Modifiers::INTEGRAL) { integral(value, spec.rounding) } else { value };
            store(value, to, spec)
        }
    };
    let signed = matches!(spec.to, Type::Int(_, true));
    let extended = extend(result, spec.to.bits(), signed);
    extend(extended, u32::from(spec.width), false)
}

/// Rounds an `f32` to the nearest `f16`. The function is branch-free, so that loops that call it become vector
/// instructions.
#[inline(always)]
pub(super) fn f32_to_f16(bits: u32) -> u32 {
    let magnitude = bits & 0x7fff_ffff;
    // The exponent's bias is 112 less than that of an `f32`, and the lower 13 bits are rounded to even.
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
    // Adding 1/2 rounds a magnitude below 2^-14 to a multiple of 2^-24, the smallest positive `f16`, because the lowest
    // bit of an `f32` in [1/2, 1) stands for 2^-24.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let number = select(magnitude < 113 << 23, subnormal, normal);
    // Numbers from 65520 on round to infinity.
    let number = select(magnitude >= 65520f32.to_bits(), 0x7c00, number);
    select(magnitude > f32::INFINITY.to_bits(), 0x7fff, bits >> 16 & 0x8000 | number)
}

/// Rounds an `f32` to the nearest `bf16`, which is the upper half of an `f32`.
#[inline(always)]
pub(super) fn f32_to_bf16(bits: u32) -> u32 {
    let number = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    select(bits & 0x7fff_ffff > f32::INFINITY.to_bits(), 0x7fff, number)
}

#[inline(never)]
pub(super) fn any(to: Reg, from: Reg, spec: Conversion, regs: &mut Regs<'_>, mask: u32) {
    let values = each(|lane| one(regs.lane(from, lane), spec));
    regs.set(to, mask, &values);
}

#[inline(never)]
pub(super) fn pair(to: R32, upper: R32, lower: R32, spec: Conversion, regs: &mut Regs<'_>, mask: u32) {
    let (upper, lower) = (regs.get32(upper), regs.get32(lower));
    let mut values = [0; LANES];
    for lane in 0..LANES {
        let half = |bits: u32| one(u64::from(bits), spec) as u32;
        values[lane] = half(upper[lane]) << 16 | half(lower[lane]);
    }
    regs.set32(to, mask, &values);
}
