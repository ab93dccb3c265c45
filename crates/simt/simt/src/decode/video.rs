//! Video instructions: `vadd` to `vset4` (PTX ISA §9.7.17, §9.7.18).

use ptx::ast::Operand;

use super::{Decoded, Decoder, lookup};
use crate::alu::video::{ThirdOperand, Video, VideoOp};
use crate::code::R32;

const OPERATIONS: [(&str, VideoOp); 6] = [
    ("vadd", VideoOp::Add),
    ("vsub", VideoOp::Sub),
    ("vabsdiff", VideoOp::AbsDiff),
    ("vavrg", VideoOp::Average),
    ("vmin", VideoOp::Min),
    ("vmax", VideoOp::Max),
];
/// Comparisons: one bit each for less, equal and greater, from the lowest bit on.
const ORDERS: [(&str, u8); 6] =
    [("eq", 0b010), ("ne", 0b101), ("lt", 0b001), ("le", 0b011), ("gt", 0b100), ("ge", 0b110)];
const THIRD_OPERANDS: [(&str, ThirdOperand); 3] =
    [("add", ThirdOperand::Add), ("min", ThirdOperand::Min), ("max", ThirdOperand::Max)];
/// Selectors of one part, numbered from 1.
const PARTS: [&str; 6] = ["b0", "b1", "b2", "b3", "h0", "h1"];

impl Decoder<'_, '_, '_> {
    pub(super) fn video(&mut self) -> Decoded<Video> {
        let base = self.words[0].trim_end_matches(['2', '4']);
        let parts = self.words[0][base.len()..].parse().unwrap_or(1);
        let op = match base {
            "vset" => VideoOp::Compare(self.word(&ORDERS)?),
            "vshl" => VideoOp::Shl(self.has("wrap")),
            "vshr" => VideoOp::Shr(self.has("wrap")),
            "vmad" => VideoOp::Mad(self.known(&[("shr7", 7), ("shr15", 15)]).unwrap_or(0), self.has("po")),
            _ => lookup(&OPERATIONS, base).ok_or_else(|| self.unsupported_form())?,
        };
        // `vset` does not name the type of its result, which is 0 or 1.
        let types = self.words.iter().filter(|word| matches!(**word, "u32" | "s32"));
        let first = u8::from(base == "vset");
        let signed = types.zip(first..).fold(0, |signed, (ty, at)| signed | u8::from(*ty == "s32") << at);
        // In `vset`, the value that the result is compared with has the first operand's type.
        let signed = if first == 1 { signed | signed >> 1 & 1 } else { signed };
        let third = self.known(&THIRD_OPERANDS);
        let saturates = self.has("sat");
        let ([to, a, b], c) = self.first()?;
        let is_negated = |operand: &Operand<'_>| u8::from(matches!(operand, Operand::Neg(_)));
        let [of_a, of_b, of_c] = [is_negated(a), is_negated(b), c.first().map_or(0, is_negated)];
        let negated = of_a | of_b << 1 | of_c << 2;
        let is_odd = self.has("po") || (of_a ^ of_b) & of_c != 0;
        if is_negated(to) != 0 || negated != 0 && (base != "vmad" || is_odd) {
            return Err(self.invalid(format!("`{}` cannot negate these operands", self.opcode)));
        }
        let (to, to_part) = self.video_operand(to)?;
        let (a, a_part) = self.video_operand(a)?;
        let (b, b_part) = self.video_operand(b)?;
        let is_single = parts == 1;
        if !is_single && self.operands[1..].iter().any(|operand| matches!(operand, Operand::Number(_))) {
            return Err(self.invalid(format!("`{}` takes registers, not numbers", self.opcode)));
        }
        let (mask, select) = match is_single {
            true => (self.one_part(to_part)? as u8, [self.one_part(a_part)?, self.one_part(b_part)?]),
            false => {
                let select = [self.parts(a_part, parts, 0)?, self.parts(b_part, parts, parts)?];
                (self.parts_written(to_part, parts)?, select)
            }
        };
        let merges = is_single && to_part.is_some();
        let wants_c = !is_single || merges || third.is_some() || base == "vmad";
        if saturates && (matches!(base, "vshl" | "vmad") || base == "vshr" && merges) {
            return Err(self.unsupported("`.sat` in this instruction (code for current GPUs clamps incorrectly)"));
        }
        if wants_c == c.is_empty() || merges && third.is_some() || base == "vmad" && merges {
            return Err(self.invalid(format!(
                "`{}` needs a third source exactly when it merges or has a second operation; it cannot do both",
                self.opcode
            )));
        }
        let to = self.video_register(&to, true)?;
        let [a, b] = [self.video_register(&a, false)?, self.video_register(&b, false)?];
        let c = match c {
            [Operand::Neg(name), ..] => self.video_register(&Operand::Name(name), false)?,
            [c, ..] => self.video_register(c, false)?,
            [] => a,
        };
        let signed = signed | negated << 3;
        Ok(Video {
            op,
            parts,
            signed,
            saturates,
            third: third.unwrap_or(ThirdOperand::Merge),
            mask,
            select,
            to,
            from: [a, b, c],
        })
    }

    /// Splits an operand into its register and its selector.
    fn video_operand<'i>(&self, operand: &Operand<'i>) -> Decoded<(Operand<'i>, Option<&'i str>)> {
        match operand {
            Operand::Name(name) | Operand::Neg(name) if self.declared(name).is_none() => {
                Ok(match name.rsplit_once('.') {
                    Some((name, selector)) => (Operand::Name(name), Some(selector)),
                    None => (Operand::Name(name), None),
                })
            }
            Operand::Name(name) | Operand::Neg(name) => Ok((Operand::Name(name), None)),
            Operand::Number(_) => Ok((operand.clone(), None)),
            _ => Err(self.invalid("a register is expected here")),
        }
    }

    fn video_register(&mut self, operand: &Operand<'_>, written: bool) -> Decoded<u16> {
        let R32(number) = match written {
            true => self.dst(operand)?,
            false => self.src(operand, "u32")?,
        };
        u16::try_from(number).map_err(|_| self.unsupported("a function with more than 65,536 registers"))
    }

    fn one_part(&self, selector: Option<&str>) -> Decoded<u16> {
        let found = |selector| (1..).zip(PARTS).find(|(_, part)| *part == selector);
        let number = |selector| found(selector).map(|found| found.0).ok_or_else(|| self.no_selector(selector));
        selector.map_or(Ok(0), number)
    }

    fn no_selector(&self, selector: &str) -> crate::error::LowerError {
        self.invalid(format!("`{}` has no selector .{selector}", self.opcode))
    }

    /// Returns the digits of a selector such as `.h32` or `.b7610`, last digit first. All digits must be below `most`.
    fn digits(&self, selector: &str, parts: u8, most: u8) -> Option<Vec<u16>> {
        let digits = selector.strip_prefix(if parts == 2 { 'h' } else { 'b' })?;
        digits.chars().rev().map(|digit| Some(digit.to_digit(most.into())? as u16)).collect()
    }

    /// Returns the source part of each number. Without a selector, the parts of one register are used.
    fn parts(&self, selector: Option<&str>, parts: u8, first: u8) -> Decoded<u16> {
        let places = selector.map_or(Some((first..first + parts).map(u16::from).collect()), |selector| {
            self.digits(selector, parts, parts * 2).filter(|digits| digits.len() == usize::from(parts))
        });
        let places = places.ok_or_else(|| self.no_selector(selector.unwrap_or_default()))?;
        Ok(places.iter().enumerate().map(|(at, place)| place << (at * 4)).sum())
    }

    /// Returns the parts of the destination that a selector such as `.h10` or `.b310` names, one bit each. Without a
    /// selector, all parts are written.
    fn parts_written(&self, selector: Option<&str>, parts: u8) -> Decoded<u8> {
        let Some(selector) = selector else {
            return Ok((1 << parts) - 1);
        };
        // In the text, the digits are in descending order.
        let digits = self.digits(selector, parts, parts);
        let digits = digits.filter(|digits| !digits.is_empty() && digits.is_sorted_by(|a, b| a < b));
        let digits = digits.ok_or_else(|| self.no_selector(selector))?;
        Ok(digits.iter().map(|digit| 1 << digit).sum())
    }
}
