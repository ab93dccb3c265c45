//! `mov`: between registers, a register and its parts, and from counters that run.

use ptx::ast::Operand;

use super::forms::Kind;
use super::{Decoded, Decoder};
use crate::alu::Alu;
use crate::alu::convert::{Convert, Move};
use crate::code::{Op, R32};

impl Decoder<'_, '_, '_> {
    pub(super) fn mov(&mut self) -> Decoded<Op> {
        let [_, ty] = self.words else {
            return Err(self.unsupported_form());
        };
        if let [to, Operand::Name(name)] = self.operands
            && let Some(high) = counter(name)
        {
            self.copies(to, name, ty)?;
            let (to, _) = self.written(to)?;
            return Ok(Op::Clock { to, high });
        }
        if *ty == "b128" {
            return self.mov128();
        }
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

    /// `mov.b128`: to or from two registers of 64 bits, or between registers of 128.
    fn mov128(&mut self) -> Decoded<Op> {
        let [Operand::Vector(to), Operand::Vector(from)] = self.exactly()? else {
            return Err(self.invalid("`mov.b128` takes registers of 128 bits, or two of 64 in braces"));
        };
        let ([to_low, to_high], [from_low, from_high]) = (&to[..], &from[..]) else {
            return Err(self.invalid("`mov.b128` has two parts"));
        };
        let op = Move::Two64 {
            to: [self.dst(to_low)?, self.dst(to_high)?],
            from: [self.src(from_low, "b64")?, self.src(from_high, "b64")?],
        };
        Ok(Op::Alu(Alu::Convert(Convert::Move(op))))
    }

    fn copy(&mut self, to: &Operand<'_>, from: &Operand<'_>, ty: &str, bits: u32) -> Decoded<Move> {
        if bits == 1 {
            self.check(Kind::new("P"), Some(ty), to)?;
            if *from != Operand::Name("%is_explicit_cluster") {
                self.check(Kind::new("p"), Some(ty), from)?;
            }
            let to = self.dst(to)?;
            let (from, negated) = self.src_pred(from)?;
            return Ok(Move::Pred { to, from, negated });
        }
        // A special register has a width of its own.
        let special = matches!(from, Operand::Name(name) if name.starts_with('%')
            && self.register(name).is_none()
            && self.any(from).is_ok());
        match from {
            Operand::Name(name) if special => self.copies(to, name, ty)?,
            Operand::Name(name) | Operand::NameOffset(name, _) if self.declared(name).is_none() => {
                self.is_of_bits(to, ty, name)?;
            }
            from => {
                self.check(Kind::new("T"), Some(ty), to)?;
                self.check(Kind::new("t"), Some(ty), from)?;
            }
        }
        if bits == 64 {
            let to = self.dst(to)?;
            return Ok(match special {
                true => Move::Wide { to, from: self.src(from, ty)? },
                false => Move::B64 { to, from: self.src(from, ty)? },
            });
        }
        let (to, from) = (self.dst(to)?, self.src(from, ty)?);
        Ok(match bits == 16 && special {
            true => Move::B16 { to, from },
            false => Move::B32 { to, from },
        })
    }

    /// Refuses a type that addresses and special registers do not have.
    fn is_of_bits(&self, to: &Operand<'_>, ty: &str, what: &str) -> Decoded<()> {
        if ty.starts_with('f') {
            return Err(self.invalid(format!("`{what}` is no floating-point number")));
        }
        self.check(Kind::new("T"), Some(ty), to)
    }

    /// Refuses a type that is not that of a special register.
    fn copies(&self, to: &Operand<'_>, name: &str, ty: &str) -> Decoded<()> {
        self.is_of_bits(to, ty, name)?;
        let widths: &[&str] = match name.split('.').next() {
            Some("%tid" | "%ntid" | "%ctaid" | "%nctaid") => &["16", "32"],
            Some("%clock64" | "%globaltimer" | "%current_graph_exec") => &["64"],
            Some("%gridid") => &["16", "32", "64"],
            _ => &["32"],
        };
        match widths.contains(&&ty[1..]) {
            true => Ok(()),
            false => Err(self.invalid(format!("`{name}` has {} bits", widths.join(" or ")))),
        }
    }

    /// The type of a part with so many bits, in which an immediate among the parts is written.
    fn part_type(&self, bits: u32, parts: usize, ty: &str) -> Decoded<&'static str> {
        match (bits, parts) {
            (16, 2) | (32, 4) => Ok("b8"),
            (32, 2) | (64, 4) => Ok("b16"),
            (64, 2) => Ok("b32"),
            _ => Err(self.invalid(format!("`mov.{ty}` does not have {parts} parts"))),
        }
    }

    fn pack(&mut self, to: &Operand<'_>, parts: &[Operand<'_>], ty: &str, bits: u32) -> Decoded<Move> {
        let part = self.part_type(bits, parts.len(), ty)?;
        self.check(Kind::new("T"), Some(ty), to)?;
        let mut all = [R32(0); 4];
        for (register, operand) in all.iter_mut().zip(parts) {
            self.check(Kind::new("t!"), Some(part), operand)?;
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

    fn unpack(&mut self, parts: &[Operand<'_>], from: &Operand<'_>, ty: &str, bits: u32) -> Decoded<Move> {
        let part = self.part_type(bits, parts.len(), ty)?;
        self.check(Kind::new("t!&"), Some(ty), from)?;
        let mut all = [R32(0); 4];
        for (register, operand) in all.iter_mut().zip(parts) {
            self.check(Kind::new("T_"), Some(part), operand)?;
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
}

/// Whether a name is that of a running counter, and if so, whether of its upper half (PTX ISA §10.22 ff.).
pub(super) fn counter(name: &str) -> Option<bool> {
    match name {
        "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => Some(false),
        "%clock_hi" | "%globaltimer_hi" => Some(true),
        _ => None,
    }
}
