//! `mov` and `cvt`: between registers, a register and its parts, and types (PTX ISA §9.7.9.3, §9.7.9.4,
//! §9.7.9.21, §9.7.9.22).

mod cvt;
mod mov;
mod pack;
mod run;

pub use cvt::{Bits, Flags, Spec, Type};
pub use mov::Move;

use crate::alu::float::from_f16;
use crate::code::{R32, R64, Reg};
use crate::lower::{Context, Refusal};
use crate::regs::{LANES, Regs};
use ptx::ast::{Instruction, Operand};

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "all have a source and a destination")]
pub enum Convert {
    /// `mov`
    Move(Move),
    /// Between integers in 32-bit registers: shifted up and down again for the source's type, then for the
    /// destination's; how far, and whether the sign comes down. At last the upper `mask` bits become zero.
    Resize {
        to: R32,
        from: R32,
        first: (u8, bool),
        second: (u8, bool),
        mask: u8,
    },
    /// 32 bits to 64.
    Widen { to: R64, from: R32, signed: bool },
    /// 64 bits to 32.
    Shorten { to: R32, from: R64 },
    /// 32 bits to `f32`, to nearest.
    IntToF32 { to: R32, from: R32, signed: bool },
    /// 32 bits to `f64`.
    IntToF64 { to: R64, from: R32, signed: bool },
    /// `f32` to 32 bits, towards zero.
    F32ToInt { to: R32, from: R32, signed: bool },
    /// `f32` to `f64`
    F32ToF64 { to: R64, from: R32 },
    /// `f64` to `f32`, to nearest.
    F64ToF32 { to: R32, from: R64 },
    /// `f16` to `f32`
    F16ToF32 { to: R32, from: R32 },
    /// Any other `cvt` of one source, between registers of 32 bits or narrower.
    Any { to: R32, from: R32, spec: Spec },
    /// The same from 64 bits.
    AnyFrom64 { to: R32, from: R64, spec: Spec },
    /// The same to 64 bits.
    AnyTo64 { to: R64, from: R32, spec: Spec },
    /// The same from 64 bits to 64.
    Any64 { to: R64, from: R64, spec: Spec },
    /// `cvt` of two `f32` to two of 16 bits in one register.
    Pair {
        to: R32,
        upper: R32,
        lower: R32,
        spec: Spec,
    },
    /// `cvt.pack`: two integers saturated to so many bits, below the lowest bits of `rest`.
    Pack {
        to: R32,
        upper: R32,
        lower: R32,
        rest: R32,
        bits: u8,
        signed: bool,
    },
}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Convert>, Refusal> {
    Ok(match words[0] {
        "mov" => Some(Convert::Move(mov::decode(inst, words, cx)?)),
        "cvt" => Some(cvt::decode(inst, words, cx)?),
        _ => None,
    })
}

/// Refuses a register that is not exactly as wide as the instruction's type (the ISA relaxes this for `ld`,
/// `st` and `cvt` only, §9.4.1). Operands that are no registers pass.
pub(super) fn check_width(
    operand: &Operand<'_>,
    bits: u32,
    cx: &Context<'_, '_>,
) -> Result<(), Refusal> {
    if let Operand::Name(name) = operand
        && let Some((_, found)) = cx.register(name)
        && found != bits
    {
        return Err(cx.invalid(match found {
            1 => format!("`{name}` is a predicate, and a register of {bits} bits belongs here"),
            _ => format!("register `{name}` has {found} bits, and the instruction's type {bits}"),
        }));
    }
    Ok(())
}

impl Convert {
    /// Runs it on all lanes, if it is one of the most frequent.
    #[inline(always)]
    pub(crate) fn usual(&self, regs: &mut Regs<'_>) -> bool {
        match *self {
            Convert::Move(Move::B32 { to, from }) => regs.r32[to.0 as usize] = *regs.get32(from),
            Convert::Move(Move::B64 { to, from }) => regs.r64[to.0 as usize] = *regs.get64(from),
            _ => return false,
        }
        true
    }

    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        match *self {
            Convert::Move(op) => op.execute(regs, mask),
            Convert::Resize {
                to,
                from,
                first,
                second,
                mask: upper,
            } => {
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
            Convert::Widen { to, from, signed } => {
                let from = regs.get32(from);
                let values = if signed {
                    each(from, |value| value as i32 as u64)
                } else {
                    each(from, u64::from)
                };
                regs.set64(to, mask, &values);
            }
            Convert::Shorten { to, from } => {
                let values = each(regs.get64(from), |value| value as u32);
                regs.set32(to, mask, &values);
            }
            Convert::IntToF32 { to, from, signed } => {
                let from = regs.get32(from);
                let values = if signed {
                    each(from, |value| (value as i32 as f32).to_bits())
                } else {
                    each(from, |value| (value as f32).to_bits())
                };
                regs.set32(to, mask, &values);
            }
            Convert::IntToF64 { to, from, signed } => {
                let from = regs.get32(from);
                let values = if signed {
                    each(from, |value| f64::from(value as i32).to_bits())
                } else {
                    each(from, |value| f64::from(value).to_bits())
                };
                regs.set64(to, mask, &values);
            }
            Convert::F32ToInt { to, from, signed } => {
                let from = regs.get32(from);
                // Rust's casts saturate and make zero of NaN, as this one does.
                let values = if signed {
                    each(from, |bits| f32::from_bits(bits) as i32 as u32)
                } else {
                    each(from, |bits| f32::from_bits(bits) as u32)
                };
                regs.set32(to, mask, &values);
            }
            Convert::F32ToF64 { to, from } => {
                let values = each(regs.get32(from), |bits| run::widen(f32::from_bits(bits)));
                regs.set64(to, mask, &values);
            }
            Convert::F64ToF32 { to, from } => {
                let values = each(regs.get64(from), run::narrow);
                regs.set32(to, mask, &values);
            }
            Convert::F16ToF32 { to, from } => {
                let values = each(regs.get32(from), |bits| canonical(from_f16(bits & 0xffff)));
                regs.set32(to, mask, &values);
            }
            Convert::Any { to, from, spec } => {
                run::any(Reg::R32(to), Reg::R32(from), spec, regs, mask);
            }
            Convert::AnyFrom64 { to, from, spec } => {
                run::any(Reg::R32(to), Reg::R64(from), spec, regs, mask);
            }
            Convert::AnyTo64 { to, from, spec } => {
                run::any(Reg::R64(to), Reg::R32(from), spec, regs, mask);
            }
            Convert::Any64 { to, from, spec } => {
                run::any(Reg::R64(to), Reg::R64(from), spec, regs, mask);
            }
            Convert::Pair {
                to,
                upper,
                lower,
                spec,
            } => run::pair(to, upper, lower, spec, regs, mask),
            Convert::Pack {
                to,
                upper,
                lower,
                rest,
                bits,
                signed,
            } => {
                pack::run(to, [upper, lower, rest], bits, signed, regs, mask);
            }
        }
    }
}

/// A function of each lane. A loop, for the arrays' own `map` stays a call, lane by lane.
#[inline(always)]
pub(super) fn each<A: Copy, B: Copy + Default>(
    from: &[A; LANES],
    f: impl Fn(A) -> B,
) -> [B; LANES] {
    let mut values = [B::default(); LANES];
    for lane in 0..LANES {
        values[lane] = f(from[lane]);
    }
    values
}

/// Up by so many bits, and down again with the sign or with zeros.
#[inline(always)]
fn resize(values: &mut [u32; LANES], from: &[u32; LANES], (shift, signed): (u8, bool)) {
    for lane in 0..LANES {
        let up = from[lane] << shift;
        values[lane] = if signed {
            (up as i32 >> shift) as u32
        } else {
            up >> shift
        };
    }
}

#[inline(always)]
fn canonical(value: f32) -> u32 {
    if value.is_nan() {
        run::NAN32
    } else {
        value.to_bits()
    }
}

const _: () = assert!(size_of::<Convert>() <= 24);

#[cfg(test)]
mod tests;
