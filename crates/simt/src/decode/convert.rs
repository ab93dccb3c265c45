//! `mov` and `cvt`: between registers, a register and its parts, and types.

use ptx::ast::Operand;

use super::{Decoded, Decoder};
use crate::alu::Alu;
use crate::alu::convert::{Bits, Conversion, Convert, Move, Type};
use crate::alu::float::exact::{Format, Rounding};
use crate::alu::modifiers::Modifiers;
use crate::code::{Op, R32, Reg};

/// `cvt.pack`: the modifiers, the bits of a part, whether it is signed, and the operands.
const PACKS: [(&str, u8, bool, usize); 8] = [
    ("cvt.pack.sat.u16.s32", 16, false, 3),
    ("cvt.pack.sat.s16.s32", 16, true, 3),
    ("cvt.pack.sat.u8.s32.b32", 8, false, 4),
    ("cvt.pack.sat.s8.s32.b32", 8, true, 4),
    ("cvt.pack.sat.u4.s32.b32", 4, false, 4),
    ("cvt.pack.sat.s4.s32.b32", 4, true, 4),
    ("cvt.pack.sat.u2.s32.b32", 2, false, 4),
    ("cvt.pack.sat.s2.s32.b32", 2, true, 4),
];

impl Decoder<'_, '_, '_> {
    pub(super) fn convert(&mut self) -> Decoded<Op> {
        match self.words {
            ["mov", ..] => self.mov(),
            ["cvt", "pack", ..] => Ok(Op::Alu(Alu::Convert(self.cvt_pack()?))),
            ["cvt", ..] => Ok(Op::Alu(Alu::Convert(self.cvt()?))),
            _ => self.address_op(),
        }
    }

    fn mov(&mut self) -> Decoded<Op> {
        if let [to, Operand::Name(name)] = self.operands
            && let Some(high) = counter(name)
        {
            let (to, _) = self.written(to)?;
            if matches!(to, Reg::Pred(_)) {
                return Err(self.invalid("a counter does not fit into a predicate"));
            }
            return Ok(Op::Clock { to, high });
        }
        let [_, ty] = self.words else {
            return Err(self.unsupported_form());
        };
        let bits = match *ty {
            "pred" => 1,
            "b16" | "u16" | "s16" => 16,
            "b32" | "u32" | "s32" | "f32" => 32,
            "b64" | "u64" | "s64" | "f64" => 64,
            _ => return Err(self.unsupported_form()),
        };
        let op = match self.exactly()? {
            [Operand::Vector(_), Operand::Vector(_)] => {
                return Err(self.invalid("`mov` takes one operand in braces at most"));
            }
            [Operand::Vector(parts), _] | [_, Operand::Vector(parts)] if !ty.starts_with('b') => {
                return Err(self.invalid(format!(
                    "`mov` with {} parts in braces has a type .b16, .b32 or .b64, not .{ty}",
                    parts.len()
                )));
            }
            [Operand::Vector(parts), from] => self.unpack(parts, from, ty, bits)?,
            [to, Operand::Vector(parts)] => self.pack(to, parts, ty, bits)?,
            [to, from] => self.copy(to, from, ty, bits)?,
        };
        Ok(Op::Alu(Alu::Convert(Convert::Move(op))))
    }

    fn copy(&mut self, to: &Operand<'_>, from: &Operand<'_>, ty: &str, bits: u32) -> Decoded<Move> {
        if bits == 1 {
            let to = self.dst(to)?;
            let (from, negated) = self.src_pred(from)?;
            return Ok(Move::Pred { to, from, negated });
        }
        if let Operand::Name(name) | Operand::NameOffset(name, _) = from
            && self.register(name).is_none()
            && self.variable(name).is_none()
            && self.module.functions.iter().any(|f| f.name == *name)
        {
            return Err(self.unsupported(format!("the address of function `{name}`")));
        }
        self.check_width(to, bits)?;
        // A special register has a width of its own.
        let special = matches!(from, Operand::Name(name) if name.starts_with('%')
            && self.register(name).is_none()
            && self.any(from).is_ok());
        if !special {
            self.check_width(from, bits)?;
        }
        if bits == 64 {
            let to = self.dst(to)?;
            return Ok(match special {
                true => Move::Wide {
                    to,
                    from: self.src(from, ty)?,
                },
                false => Move::B64 {
                    to,
                    from: self.src(from, ty)?,
                },
            });
        }
        let (to, from) = (self.dst(to)?, self.src(from, ty)?);
        Ok(match bits == 16 && special {
            true => Move::B16 { to, from },
            false => Move::B32 { to, from },
        })
    }

    /// The type of a part: how many bits, as an immediate among them is written.
    fn part_type(&self, bits: u32, parts: usize, ty: &str) -> Decoded<&'static str> {
        match (bits, parts) {
            (16, 2) | (32, 4) => Ok("b8"),
            (32, 2) | (64, 4) => Ok("b16"),
            (64, 2) => Ok("b32"),
            _ => Err(self.invalid(format!("`mov.{ty}` does not have {parts} parts"))),
        }
    }

    fn pack(
        &mut self,
        to: &Operand<'_>,
        parts: &[Operand<'_>],
        ty: &str,
        bits: u32,
    ) -> Decoded<Move> {
        let part = self.part_type(bits, parts.len(), ty)?;
        self.check_width(to, bits)?;
        let mut all = [R32(0); 4];
        for (register, operand) in all.iter_mut().zip(parts) {
            *register = self.src(operand, part)?;
        }
        let pair = [all[0], all[1]];
        if bits == 64 {
            let to = self.dst(to)?;
            return Ok(match part {
                "b16" => Move::Pack16x4 { to, from: all },
                _ => Move::Pack32x2 { to, from: pair },
            });
        }
        let to = self.dst(to)?;
        Ok(match (part, bits) {
            ("b16", _) => Move::Pack16x2 { to, from: pair },
            (_, 16) => Move::Pack8x2 { to, from: pair },
            _ => Move::Pack8x4 { to, from: all },
        })
    }

    fn unpack(
        &mut self,
        parts: &[Operand<'_>],
        from: &Operand<'_>,
        ty: &str,
        bits: u32,
    ) -> Decoded<Move> {
        let part = self.part_type(bits, parts.len(), ty)?;
        self.check_width(from, bits)?;
        let mut all = [R32(0); 4];
        for (register, operand) in all.iter_mut().zip(parts) {
            // A part of 8 bits may stand in a register of 16, zero-extended; none fits into a narrower one.
            if let Operand::Name(name) = operand
                && let Some((_, found)) = self.register(name)
                && found < bits / parts.len() as u32
            {
                return Err(self.invalid(format!("`{name}` is too narrow for a part of .{part}")));
            }
            *register = self.dst(operand)?;
        }
        let pair = [all[0], all[1]];
        if bits == 64 {
            let from = self.src(from, ty)?;
            return Ok(match part {
                "b16" => Move::Unpack16x4 { to: all, from },
                _ => Move::Unpack32x2 { to: pair, from },
            });
        }
        let from = self.src(from, ty)?;
        Ok(match (part, bits) {
            ("b16", _) => Move::Unpack16x2 { to: pair, from },
            (_, 16) => Move::Unpack8x2 { to: pair, from },
            _ => Move::Unpack8x4 { to: all, from },
        })
    }

    /// `cvt.pack.sat.convertType.s32{.b32} d, a, b{, c}` (PTX ISA §9.7.9.22).
    fn cvt_pack(&mut self) -> Decoded<Convert> {
        let row = PACKS.iter().find(|row| row.0 == self.opcode);
        let &(_, bits, signed, count) = row.ok_or_else(|| self.unsupported_form())?;
        let [to, upper, lower, rest @ ..] = self.operands else {
            return Err(self.operand_count(count));
        };
        if self.operands.len() != count {
            return Err(self.operand_count(count));
        }
        for operand in self.operands {
            self.check_width(operand, 32)?;
        }
        let (to, upper) = (self.dst(to)?, self.src(upper, "s32")?);
        let lower = self.src(lower, "s32")?;
        let rest = match rest.first() {
            Some(rest) => self.src(rest, "b32")?,
            None => upper,
        };
        Ok(Convert::Pack {
            to,
            upper,
            lower,
            rest,
            bits,
            signed,
        })
    }

    /// `cvt` (PTX ISA §9.7.9.21).
    fn cvt(&mut self) -> Decoded<Convert> {
        let [_, modifiers @ .., to, from] = self.words else {
            return Err(self.unsupported_form());
        };
        let (single, pair) = match *to {
            "f16x2" => ("f16", true),
            "bf16x2" => ("bf16", true),
            other => (other, false),
        };
        let (Some(to), Some(from), Some((rounding, modifiers))) = (
            Type::new(single),
            Type::source(from),
            super::float::modifiers(modifiers),
        ) else {
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
            if from != Type::Float(Format::F32) || !exists(conversion, rounding) {
                return Err(self.unsupported_form());
            }
            let [to, upper, lower] = self.exactly()?;
            for operand in self.operands {
                self.check_width(operand, 32)?;
            }
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
            return Err(self.invalid(format!(
                "`{opcode}` needs .rni, .rzi, .rmi or .rpi: it makes an integer"
            )));
        }
        if let (Type::Float(a), Type::Float(b)) = (from, to)
            && rounding.is_none()
            && loses(a, b)
        {
            return Err(self.invalid(format!(
                "`{opcode}` needs a rounding modifier: it loses bits"
            )));
        }
        if !exists(conversion, rounding) {
            return Err(self.unsupported_form());
        }
        let ty = self.words[self.words.len() - 1];
        let source = match self.number_register(from_operand, from.bits(), &format!("a .{ty}"))? {
            Some((reg, _)) => reg,
            None => self.src_of(from_operand, ty, from.bits())?,
        };
        let (destination, width) =
            match self.number_register(to_operand, to.bits(), "the result")? {
                Some(found) => found,
                None if to.bits() == 64 => (Reg::R64(self.dst(to_operand)?), 64),
                None => (Reg::R32(self.dst(to_operand)?), 32),
            };
        let width = width as u8;
        Ok(choose(
            destination,
            source,
            Conversion {
                width,
                ..conversion
            },
        ))
    }

    /// The register of an operand, if it is one, and its width: at least so many bits.
    fn number_register(
        &self,
        operand: &Operand<'_>,
        bits: u32,
        value: &str,
    ) -> Decoded<Option<(Reg, u32)>> {
        let Operand::Name(name) = operand else {
            return Ok(None);
        };
        match self.register(name) {
            Some((Reg::Pred(_), _)) => {
                Err(self.invalid(format!("`{name}` is a predicate, not a number")))
            }
            Some((_, found)) if found < bits => Err(self.invalid(format!(
                "register `{name}` has {found} bits, and {value} has {bits}"
            ))),
            found => Ok(found),
        }
    }
}

/// Whether a name is that of a counter that runs, and if so whether of its upper half (PTX ISA §10.22 ff.).
fn counter(name: &str) -> Option<bool> {
    match name {
        "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => Some(false),
        "%clock_hi" | "%globaltimer_hi" => Some(true),
        _ => None,
    }
}

/// Whether there are numbers of format `a` that `b` does not hold.
fn loses(a: Format, b: Format) -> bool {
    match (a, b) {
        (a, b) if a == b => false,
        (_, Format::F64) | (Format::F16 | Format::Bf16, Format::F32) => false,
        _ => true,
    }
}

/// Whether the ISA has these modifiers for a conversion between these types.
fn exists(conversion: Conversion, rounding: Option<Rounding>) -> bool {
    const F32: Type = Type::Float(Format::F32);
    const CLAMPED: Modifiers = Modifiers::SAT.and(Modifiers::FTZ);
    const FINITE: Modifiers = Modifiers::RELU.and(Modifiers::SATFINITE);
    let modifiers = conversion.modifiers;
    let integral = modifiers.has(Modifiers::INTEGRAL);
    if modifiers.has(Modifiers::FTZ) && conversion.from != F32 && conversion.to != F32 {
        return false;
    }
    match (conversion.from, conversion.to) {
        (Type::Int(..), Type::Int(..)) => rounding.is_none() && modifiers.within(Modifiers::SAT),
        (Type::Float(_), Type::Int(..)) => {
            integral && modifiers.within(CLAMPED.and(Modifiers::INTEGRAL))
        }
        (Type::Int(..), Type::Float(Format::Tf32)) => false,
        (Type::Int(..), Type::Float(_)) => {
            rounding != Some(Rounding::Away) && modifiers.within(CLAMPED)
        }
        (Type::Float(from), Type::Float(Format::Tf32)) => {
            use Rounding::{Away, Nearest, Zero};
            from == Format::F32
                && matches!(rounding, Some(Nearest | Away | Zero))
                && modifiers.within(FINITE)
        }
        (Type::Float(from), Type::Float(to)) => {
            let narrow = matches!(to, Format::F16 | Format::Bf16);
            let allowed = CLAMPED.and(Modifiers::INTEGRAL);
            rounding != Some(Rounding::Away)
                && (!integral || from == to)
                && !(modifiers.has(Modifiers::SAT) && modifiers.has(FINITE))
                && modifiers.within(if narrow { allowed.and(FINITE) } else { allowed })
        }
    }
}

/// The instruction for a conversion: those that programs are full of have loops of their own.
fn choose(to: Reg, from: Reg, spec: Conversion) -> Convert {
    use Bits::{B32, B64};
    use Format::{F16, F32, F64};
    use Reg::{R32 as N, R64 as W};
    use Type::{Float, Int};
    let plain = !spec.modifiers.has(Modifiers::SAT.and(Modifiers::FTZ));
    let nearest = spec.rounding == Rounding::Nearest;
    let to_zero = spec.rounding == Rounding::Zero;
    let any = |to, from, wide| Convert::Any {
        to,
        from,
        wide,
        spec,
    };
    match (to, from, spec.from, spec.to) {
        // The same value in registers of the same width.
        (N(to), N(from), Int(B32, _), Int(B32, _)) if plain => {
            Convert::Move(Move::B32 { to, from })
        }
        (W(to), W(from), Int(B64, _), Int(B64, _)) if plain => {
            Convert::Move(Move::B64 { to, from })
        }
        (N(to), N(from), Int(bits, signed), Int(to_bits, to_signed)) if plain => Convert::Resize {
            to,
            from,
            first: (32 - bits as u8, signed),
            second: (32 - to_bits as u8, to_signed),
            // A register of 8 or 16 bits holds no more than these.
            mask: 32 - spec.width.min(32),
        },
        (W(to), N(from), Int(B32, signed), Int(B64, _)) if plain => {
            Convert::Widen { to, from, signed }
        }
        (N(to), W(from), Int(B64, _), Int(B32, _)) if plain => Convert::Shorten { to, from },
        (N(to), N(from), Int(B32, signed), Float(F32)) if plain && nearest => {
            Convert::IntToF32 { to, from, signed }
        }
        (W(to), N(from), Int(B32, signed), Float(F64)) if plain => {
            Convert::IntToF64 { to, from, signed }
        }
        (N(to), N(from), Float(F32), Int(B32, signed)) if plain && to_zero => {
            Convert::F32ToInt { to, from, signed }
        }
        (W(to), N(from), Float(F32), Float(F64)) if plain => Convert::F32ToF64 { to, from },
        (N(to), W(from), Float(F64), Float(F32)) if plain && nearest => {
            Convert::F64ToF32 { to, from }
        }
        (N(to), N(from), Float(F16), Float(F32)) if plain => Convert::F16ToF32 { to, from },
        (N(to), N(from), ..) => any(to.0, from.0, [false, false]),
        (N(to), W(from), ..) => any(to.0, from.0, [false, true]),
        (W(to), N(from), ..) => any(to.0, from.0, [true, false]),
        (W(to), W(from), ..) => any(to.0, from.0, [true, true]),
        (Reg::Pred(_), ..) | (_, Reg::Pred(_), ..) => {
            unreachable!("`number_register` refuses predicates")
        }
    }
}
