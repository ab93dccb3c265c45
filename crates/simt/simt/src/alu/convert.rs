//! `mov` and `cvt`: copies between registers, parts of registers, and types (PTX ISA §9.7.9.3, §9.7.9.4,
//! §9.7.9.21, §9.7.9.22).

mod cvt;
pub mod fp8;
mod mov;
mod pack;
mod run;

pub use cvt::{Bits, Conversion, Type};
pub use mov::{Move, Parts};

use crate::alu::float::exact::Format;
use crate::alu::float::{canonical32, from_f16};
use crate::alu::lanes::{map, map3};
use crate::regs::{LANES, R32, R64, Reg, Regs};

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "all have a source and a destination")]
pub enum Convert {
    /// `mov`
    Move(Move),
    /// Between integers in 32-bit registers: shifts left and then right by the same distance, first for the source's
    /// type, then for the destination's type. Each pair contains the shift distance, and whether the right shift copies
    /// the sign. Finally, the upper `mask` bits become zero.
    Resize { to: R32, from: R32, first: (u8, bool), second: (u8, bool), mask: u8 },
    /// 32 bits to 64.
    Widen { to: R64, from: R32, signed: bool },
    /// 64 bits to 32.
    Shorten { to: R32, from: R64 },
    /// A 32-bit integer to `f32`, rounded to nearest.
    IntToF32 { to: R32, from: R32, signed: bool },
    /// A 32-bit integer to `f64`.
    IntToF64 { to: R64, from: R32, signed: bool },
    /// `f32` to a 32-bit integer, rounded toward zero.
    F32ToInt { to: R32, from: R32, signed: bool },
    /// `f32` to `f64`
    F32ToF64 { to: R64, from: R32 },
    /// `f64` to `f32`, rounded to nearest.
    F64ToF32 { to: R32, from: R64 },
    /// `f16` to `f32`
    F16ToF32 { to: R32, from: R32 },
    /// Any other `cvt` of one source: the register numbers, and whether each register has 64 bits.
    Any { to: u32, from: u32, wide: [bool; 2], spec: Conversion },
    /// `cvt` of two `f32` values to two 16-bit values in one register.
    Pair { to: R32, upper: R32, lower: R32, spec: Conversion },
    /// To or from 8-bit floating-point numbers.
    Fp8(fp8::Fp8),
    /// `cvt.pack`: two integers, saturated to `bits` bits and placed below the lowest bits of `rest`.
    Pack { to: R32, upper: R32, lower: R32, rest: R32, bits: u8, signed: bool },
}

impl Convert {
    /// Runs the instruction on all lanes, if it is one of the most frequent instructions.
    #[inline(always)]
    pub(crate) fn fast_path(&self, regs: &mut Regs<'_>) -> bool {
        match *self {
            Convert::Move(Move::B32 { to, from }) => regs.r32[to.0 as usize] = *regs.get32(from),
            Convert::Move(Move::B64 { to, from }) => regs.r64[to.0 as usize] = *regs.get64(from),
            _ => return false,
        }
        true
    }

    /// Runs the instruction on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        match *self {
            Convert::Move(op) => op.execute(regs, mask),
            Convert::Resize { to, from, first, second, mask: upper } => {
                let from = regs.get32(from);
                let mut values = [0; LANES];
                resize(&mut values, from, first);
                let once = values;
                resize(&mut values, &once, second);
                for value in &mut values {
                    *value = *value << upper >> upper;
                }
                regs.set32(to, mask, &values);
            }
            Convert::Widen { to, from, signed } => match signed {
                true => map(regs, mask, to, from, |value| value as i32 as u64),
                false => map(regs, mask, to, from, u64::from),
            },
            Convert::Shorten { to, from } => map(regs, mask, to, from, |value| value as u32),
            Convert::IntToF32 { to, from, signed } => match signed {
                true => map(regs, mask, to, from, |value| (value as i32 as f32).to_bits()),
                false => map(regs, mask, to, from, |value| (value as f32).to_bits()),
            },
            Convert::IntToF64 { to, from, signed } => match signed {
                true => map(regs, mask, to, from, |value| f64::from(value as i32).to_bits()),
                false => map(regs, mask, to, from, |value| f64::from(value).to_bits()),
            },
            // Like this conversion, Rust's casts saturate and convert NaN to zero.
            Convert::F32ToInt { to, from, signed } => match signed {
                true => map(regs, mask, to, from, |bits| f32::from_bits(bits) as i32 as u32),
                false => map(regs, mask, to, from, |bits| f32::from_bits(bits) as u32),
            },
            Convert::F32ToF64 { to, from } => {
                map(regs, mask, to, from, |bits| run::widen(f32::from_bits(bits)));
            }
            Convert::F64ToF32 { to, from } => map(regs, mask, to, from, run::narrow),
            Convert::F16ToF32 { to, from } => {
                map(regs, mask, to, from, |bits| canonical32(from_f16(bits & 0xffff)));
            }
            Convert::Any { to, from, wide: [false, false], spec } if spec.rounds_to(Format::F16) => {
                map(regs, mask, R32(to), R32(from), run::f32_to_f16);
            }
            Convert::Any { to, from, wide: [false, false], spec } if spec.rounds_to(Format::Bf16) => {
                map(regs, mask, R32(to), R32(from), run::f32_to_bf16);
            }
            Convert::Any { to, from, wide: [wide_to, wide_from], spec } => {
                let reg = |wide, number| match wide {
                    true => Reg::R64(R64(number)),
                    false => Reg::R32(R32(number)),
                };
                run::any(reg(wide_to, to), reg(wide_from, from), spec, regs, mask);
            }
            Convert::Pair { to, upper, lower, spec } if spec.rounds_to(Format::F16) => {
                let pair = |upper, lower, _| run::f32_to_f16(upper) << 16 | run::f32_to_f16(lower);
                map3(regs, mask, to, [upper, lower, lower], pair);
            }
            Convert::Pair { to, upper, lower, spec } if spec.rounds_to(Format::Bf16) => {
                let pair = |upper, lower, _| run::f32_to_bf16(upper) << 16 | run::f32_to_bf16(lower);
                map3(regs, mask, to, [upper, lower, lower], pair);
            }
            Convert::Pair { to, upper, lower, spec } => run::pair(to, upper, lower, spec, regs, mask),
            Convert::Fp8(op) => op.execute(regs, mask),
            Convert::Pack { to, upper, lower, rest, bits, signed } => {
                pack::run(to, [upper, lower, rest], bits, signed, regs, mask);
            }
        }
    }
}

/// Shifts left by `shift` bits and then right by the same distance, with sign or zero extension.
#[inline(always)]
fn resize(values: &mut [u32; LANES], from: &[u32; LANES], (shift, signed): (u8, bool)) {
    for lane in 0..LANES {
        let up = from[lane] << shift;
        values[lane] = if signed { (up as i32 >> shift) as u32 } else { up >> shift };
    }
}

const _: () = assert!(size_of::<Convert>() <= 24);
