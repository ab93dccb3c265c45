//! `mov`: copies between registers and parts of registers, and copies from running counters.

use ptx::ast::Operand;
use simt_isa::{Expected, Kind};

use super::{Decoded, Decoder};
use crate::alu::Alu;
use crate::alu::convert::{Convert, Move, Parts};
use crate::alu::lanes::OperandKind;
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
                return Err(self.invalid("`mov` takes at most one operand in braces"));
            }
            [Operand::Vector(parts), _] | [_, Operand::Vector(parts)] if !ty.starts_with('b') => {
                return Err(self.invalid(format!(
                    "`mov` with {} parts in braces needs type .b16, .b32 or .b64, not .{ty}",
                    parts.len()
                )));
            }
            [Operand::Vector(parts), from] => self.unpack(parts, from, ty, bits)?,
            [to, Operand::Vector(parts)] => self.pack(to, parts, ty, bits)?,
            [to, from] => self.copy(to, from, ty, bits)?,
        };
        Ok(Op::Alu(Alu::Convert(Convert::Move(op))))
    }

    /// `mov.b128`: to or from two 64-bit registers, or between 128-bit registers.
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
            self.check(Expected::written(Kind::Of("pred")), Some(ty), to)?;
            if *from != Operand::Name("%is_explicit_cluster") {
                self.check(Expected::read(Kind::Of("pred")), Some(ty), from)?;
            }
            let to = self.dst(to)?;
            let (from, negated) = self.src_pred(from)?;
            return Ok(Move::Pred { to, from, negated });
        }
        // The width of a special register does not depend on the instruction's type.
        let special = matches!(from, Operand::Name(name) if name.starts_with('%')
            && self.register(name).is_none()
            && self.any(from).is_ok());
        match from {
            Operand::Name(name) if special => self.copies(to, name, ty)?,
            Operand::Name(name) | Operand::NameOffset(name, _) if self.declared(name).is_none() => {
                self.is_of_bits(to, ty, name)?;
            }
            from => {
                self.check(Expected::written(Kind::Last), Some(ty), to)?;
                self.check(Expected::read(Kind::Last), Some(ty), from)?;
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

    /// Rejects a type that addresses and special registers cannot have.
    fn is_of_bits(&self, to: &Operand<'_>, ty: &str, what: &str) -> Decoded<()> {
        if ty.starts_with('f') {
            return Err(self.invalid(format!("`{what}` is not a floating-point number")));
        }
        self.check(Expected::written(Kind::Last), Some(ty), to)
    }

    /// Rejects a type that does not match the special register.
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

    /// Returns how a register of `bits` bits is divided into `count` parts, and the type that encodes an immediate
    /// part.
    fn parts_of(&self, bits: u32, count: usize, ty: &str) -> Decoded<(Parts, &'static str)> {
        Ok(match (bits, count) {
            (16, 2) => (Parts::B8x2, "b8"),
            (32, 4) => (Parts::B8x4, "b8"),
            (32, 2) => (Parts::B16x2, "b16"),
            (64, 4) => (Parts::B16x4, "b16"),
            (64, 2) => (Parts::B32x2, "b32"),
            _ => return Err(self.invalid(format!("`mov.{ty}` does not have {count} parts"))),
        })
    }

    fn pack(&mut self, to: &Operand<'_>, operands: &[Operand<'_>], ty: &str, bits: u32) -> Decoded<Move> {
        let (parts, part) = self.parts_of(bits, operands.len(), ty)?;
        self.check(Expected::written(Kind::Last), Some(ty), to)?;
        let mut from = [R32(0); 4];
        for (register, operand) in from.iter_mut().zip(operands) {
            self.check(Expected { allows_special: true, ..Expected::read(Kind::Last) }, Some(part), operand)?;
            *register = self.src(operand, part)?;
        }
        Ok(Move::Pack { parts, to: self.to(whole(bits), to)?, from })
    }

    fn unpack(&mut self, operands: &[Operand<'_>], from: &Operand<'_>, ty: &str, bits: u32) -> Decoded<Move> {
        let (parts, part) = self.parts_of(bits, operands.len(), ty)?;
        self.check(
            Expected { allows_special: true, allows_variable: true, ..Expected::read(Kind::Last) },
            Some(ty),
            from,
        )?;
        let mut to = [R32(0); 4];
        for (register, operand) in to.iter_mut().zip(operands) {
            self.check(Expected { allows_discard: true, ..Expected::written(Kind::Last) }, Some(part), operand)?;
            *register = self.dst(operand)?;
        }
        Ok(Move::Unpack { parts, to, from: self.from(whole(bits), from)? })
    }
}

/// Returns the operand kind of a whole register.
fn whole(bits: u32) -> OperandKind {
    let wide = bits == 64;
    OperandKind { ty: if wide { "b64" } else { "b32" }, wide }
}

/// Returns whether `name` reads the upper half of a running counter; `None` if `name` is not a counter (PTX ISA §10.22
/// ff.).
pub(super) fn counter(name: &str) -> Option<bool> {
    match name {
        "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => Some(false),
        "%clock_hi" | "%globaltimer_hi" => Some(true),
        _ => None,
    }
}
