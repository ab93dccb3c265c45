//! `mov` and `cvt`: copies between registers, parts of registers, and types.

use ptx::ast::Operand;

use super::{Decoded, Decoder};
use crate::alu::Alu;
use crate::alu::convert::fp8::{Direction, Fp8};
use crate::alu::convert::{Bits, Conversion, Convert, Move, Type};
use crate::alu::float::exact::{Format, Rounding};
use crate::alu::modifiers::Modifiers;
use crate::code::{Op, Reg};

impl Decoder<'_, '_, '_> {
    pub(super) fn convert(&mut self) -> Decoded<Op> {
        match self.words {
            ["mov", ..] => self.mov(),
            ["cvt", "pack", "sat", ty, ..] => Ok(Op::Alu(Alu::Convert(self.cvt_pack(ty)?))),
            ["cvt", "rn", .., to, from] if to.starts_with('e') || from.starts_with('e') => {
                Ok(Op::Alu(Alu::Convert(Convert::Fp8(self.fp8(to, from)?))))
            }
            ["cvt", ..] => Ok(Op::Alu(Alu::Convert(self.cvt()?))),
            ["alloca" | "stacksave" | "stackrestore", ty] => self.stack(ty).map(Op::Stack),
            _ => self.address_op(),
        }
    }

    /// `cvt.pack.sat.convertType.s32{.b32} d, a, b{, c}` (PTX ISA §9.7.9.22).
    fn cvt_pack(&mut self, ty: &str) -> Decoded<Convert> {
        let bits = ty.trim_start_matches(['s', 'u']).parse().map_err(|_| self.unsupported_form())?;
        let ([to, upper, lower], rest) = self.first()?;
        let (to, upper, lower) = (self.dst(to)?, self.src(upper, "s32")?, self.src(lower, "s32")?);
        let rest = rest.first().map_or(Ok(upper), |rest| self.src(rest, "b32"))?;
        Ok(Convert::Pack { to, upper, lower, rest, bits, signed: ty.starts_with('s') })
    }

    /// `cvt.rn.satfinite{.relu}.f8x2.f32 d, a, b`, `.f8x2.f16x2 d, a`, `cvt.rn{.relu}.f16x2.f8x2 d, a`
    fn fp8(&mut self, to: &str, from: &str) -> Decoded<Fp8> {
        let way = match (to, from) {
            (_, "f32") => Direction::FromF32,
            (_, "f16x2") => Direction::FromF16x2,
            ("f16x2", _) => Direction::ToF16x2,
            _ => return Err(self.unsupported_form()),
        };
        let ty = if way == Direction::ToF16x2 { "b16" } else { "b32" };
        let ([destination, upper], rest) = self.first()?;
        let upper = self.src(upper, ty)?;
        let lower = rest.first().map_or(Ok(upper), |lower| self.src(lower, ty))?;
        Ok(Fp8 {
            to: self.dst(destination)?,
            from: [upper, lower],
            way,
            wide_range: self.has("e5m2x2"),
            relu: self.has("relu"),
        })
    }

    /// `cvt` (PTX ISA §9.7.9.21).
    fn cvt(&mut self) -> Decoded<Convert> {
        let [_, modifiers @ .., to, from] = self.words else {
            return Err(self.unsupported_form());
        };
        let single = to.strip_suffix("x2").unwrap_or(to);
        let pair = single != *to;
        let (Some(to), Some(from), Some((rounding, modifiers))) =
            (Type::new(single), Type::source(from), super::float::modifiers(modifiers))
        else {
            return Err(self.unsupported_form());
        };
        let conversion = Conversion {
            from,
            to,
            width: to.bits() as u8,
            rounding: rounding.unwrap_or(Rounding::Nearest),
            modifiers: modifiers.without(Modifiers::ROUNDING),
        };
        if pair {
            if from != Type::Float(Format::F32) || !exists(conversion, rounding, true) {
                return Err(self.unsupported_form());
            }
            let [to, upper, lower] = self.exactly()?;
            return Ok(Convert::Pair {
                to: self.dst(to)?,
                upper: self.src(upper, "f32")?,
                lower: self.src(lower, "f32")?,
                spec: conversion,
            });
        }
        let [to_operand, from_operand] = self.exactly()?;
        let opcode = self.opcode;
        if from.is_float() && !to.is_float() && !modifiers.has(Modifiers::INTEGRAL) {
            return Err(self.invalid(format!("`{opcode}` needs .rni, .rzi, .rmi or .rpi: its result is an integer")));
        }
        let loses = match (from, to) {
            (Type::Float(a), Type::Float(b)) => loses(a, b),
            (Type::Int(..), to) => to.is_float(),
            _ => false,
        };
        // Between 16-bit formats, ptxas does not require a modifier for rounding to nearest.
        let is_optional = from.is_float() && to.is_float() && (from.bits(), to.bits()) == (16, 16);
        if rounding.is_none() && loses && !is_optional {
            return Err(self.invalid(format!("`{opcode}` needs a rounding modifier: it loses bits")));
        }
        if !exists(conversion, rounding, false) {
            return Err(self.unsupported_form());
        }
        let ty = self.last();
        let source = match self.number_register(from_operand) {
            Some(_) => self.any(from_operand)?.0,
            None => self.src_of(from_operand, ty, from.bits())?,
        };
        let (destination, width) = match self.number_register(to_operand) {
            Some(_) => self.written(to_operand)?,
            None => (self.dst_of(to_operand, to.bits())?, to.bits().max(32)),
        };
        let width = width as u8;
        Ok(choose(destination, source, Conversion { width, ..conversion }))
    }

    /// Returns the register of an operand and its width, if the operand is a register.
    fn number_register(&self, operand: &Operand<'_>) -> Option<(Reg, u32)> {
        match operand {
            Operand::Name(name) => self.register(name),
            _ => None,
        }
    }
}

/// Returns whether format `a` has numbers that format `b` cannot represent.
fn loses(a: Format, b: Format) -> bool {
    match (a, b) {
        (a, b) if a == b => false,
        (_, Format::F64) | (Format::F16 | Format::Bf16, Format::F32) => false,
        _ => true,
    }
}

/// Returns whether ptxas accepts these modifiers for a conversion between these types.
fn exists(conversion: Conversion, rounding: Option<Rounding>, pair: bool) -> bool {
    use Format::{Bf16, F16, F32, F64, Tf32};
    use Type::{Float, Int};
    const NONE: Modifiers = Modifiers::NONE;
    const SAT: Modifiers = Modifiers::SAT;
    const FTZ: Modifiers = Modifiers::FTZ;
    const CLAMPED: Modifiers = SAT.and(FTZ);
    const FINITE: Modifiers = Modifiers::RELU.and(Modifiers::SATFINITE);
    // The rounding modes: none, to an integer, to the format.
    const PLAIN: u8 = 1;
    const INTEGRAL: u8 = 2;
    const ROUNDED: u8 = 4;
    let Conversion { from, to, .. } = conversion;
    let modifiers = conversion.modifiers.without(Modifiers::INTEGRAL);
    let coarse = matches!(rounding, Some(Rounding::Nearest | Rounding::Zero));
    let way = match rounding {
        None => PLAIN,
        _ if conversion.modifiers.has(Modifiers::INTEGRAL) => INTEGRAL,
        _ => ROUNDED,
    };
    let (ways, allowed) = match (from, to) {
        (Int(a, signed), Int(b, to_signed)) => {
            let widens = (b as u8) > (a as u8) || a == b && signed == to_signed;
            let lossless = widens && (!signed || to_signed);
            (PLAIN, if lossless { NONE } else { SAT })
        }
        (Float(Bf16), Int(..)) => (INTEGRAL, NONE),
        (Float(F32), Int(..)) => (INTEGRAL, CLAMPED),
        (Float(_), Int(..)) => (INTEGRAL, SAT),
        (Float(F32), Float(Tf32)) => {
            return modifiers.within(FINITE)
                && match rounding {
                    Some(Rounding::Away) => !modifiers.has(Modifiers::RELU),
                    _ => coarse && way == ROUNDED,
                };
        }
        (_, Float(Tf32)) => return false,
        (Float(F32), Float(F16 | Bf16)) if pair || modifiers.has(FINITE) => {
            return coarse && way == ROUNDED && modifiers.within(FINITE);
        }
        (Int(..), Float(F32)) => (ROUNDED, CLAMPED),
        (Float(a), Float(b)) if a == b => match a {
            F32 => (PLAIN | INTEGRAL, CLAMPED),
            Bf16 => (PLAIN | INTEGRAL, NONE),
            _ => (PLAIN | INTEGRAL, SAT),
        },
        (Float(F16), Float(F64)) => (PLAIN, SAT),
        (Float(F16), Float(F32)) | (Float(F32), Float(F64)) => (PLAIN, CLAMPED),
        (Float(Bf16), Float(F32)) => (PLAIN | ROUNDED, FTZ),
        (Float(Bf16), _) | (Float(F16), Float(Bf16)) => (PLAIN | ROUNDED, NONE),
        (Float(F64), Float(F32)) | (Float(F32), Float(F16)) => (ROUNDED, CLAMPED),
        (Float(F32), Float(Bf16)) => (ROUNDED, FTZ),
        (_, Float(Bf16)) => (ROUNDED, NONE),
        _ => (ROUNDED, SAT),
    };
    rounding != Some(Rounding::Away) && ways & way != 0 && modifiers.within(allowed)
}

/// Returns the instruction for a conversion. Frequent conversions have specialized loops.
fn choose(to: Reg, from: Reg, spec: Conversion) -> Convert {
    use Bits::{B32, B64};
    use Format::{F16, F32, F64};
    use Reg::{R32 as N, R64 as W};
    use Type::{Float, Int};
    let plain = !spec.modifiers.has(Modifiers::SAT.and(Modifiers::FTZ));
    let nearest = spec.rounding == Rounding::Nearest;
    let to_zero = spec.rounding == Rounding::Zero;
    let any = |to, from, wide| Convert::Any { to, from, wide, spec };
    match (to, from, spec.from, spec.to) {
        // The value and the width of the register stay the same.
        (N(to), N(from), Int(B32, _), Int(B32, _)) if plain => Convert::Move(Move::B32 { to, from }),
        (W(to), W(from), Int(B64, _), Int(B64, _)) if plain => Convert::Move(Move::B64 { to, from }),
        (N(to), N(from), Int(bits, signed), Int(to_bits, to_signed)) if plain => Convert::Resize {
            to,
            from,
            first: (32 - bits as u8, signed),
            second: (32 - to_bits as u8, to_signed),
            // An 8-bit or 16-bit register holds only the low bits.
            mask: 32 - spec.width.min(32),
        },
        (W(to), N(from), Int(B32, signed), Int(B64, _)) if plain => Convert::Widen { to, from, signed },
        (N(to), W(from), Int(B64, _), Int(B32, _)) if plain => Convert::Shorten { to, from },
        (N(to), N(from), Int(B32, signed), Float(F32)) if plain && nearest => Convert::IntToF32 { to, from, signed },
        (W(to), N(from), Int(B32, signed), Float(F64)) if plain => Convert::IntToF64 { to, from, signed },
        (N(to), N(from), Float(F32), Int(B32, signed)) if plain && to_zero => Convert::F32ToInt { to, from, signed },
        (W(to), N(from), Float(F32), Float(F64)) if plain => Convert::F32ToF64 { to, from },
        (N(to), W(from), Float(F64), Float(F32)) if plain && nearest => Convert::F64ToF32 { to, from },
        (N(to), N(from), Float(F16), Float(F32)) if plain => Convert::F16ToF32 { to, from },
        (N(to), N(from), ..) => any(to.0, from.0, [false, false]),
        (N(to), W(from), ..) => any(to.0, from.0, [false, true]),
        (W(to), N(from), ..) => any(to.0, from.0, [true, false]),
        (W(to), W(from), ..) => any(to.0, from.0, [true, true]),
        (Reg::Pred(_), ..) | (_, Reg::Pred(_), ..) => {
            unreachable!("`cvt` has no predicate operands")
        }
    }
}
