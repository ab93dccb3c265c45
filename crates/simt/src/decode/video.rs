//! Video instructions: `vadd` to `vset4` (PTX ISA §9.7.17, §9.7.18).

use ptx::ast::Operand;

use super::{Decoded, Decoder, lookup};
use crate::alu::video::{Order, Then, Video, VideoOp};
use crate::code::R32;

const OPERATIONS: [(&str, VideoOp); 6] = [
    ("vadd", VideoOp::Add),
    ("vsub", VideoOp::Sub),
    ("vabsdiff", VideoOp::AbsDiff),
    ("vavrg", VideoOp::Average),
    ("vmin", VideoOp::Min),
    ("vmax", VideoOp::Max),
];
const ORDERS: [(&str, Order); 6] =
    [("eq", Order::Eq), ("ne", Order::Ne), ("lt", Order::Lt), ("le", Order::Le), ("gt", Order::Gt), ("ge", Order::Ge)];
const THEN: [(&str, Then); 3] = [("add", Then::Add), ("min", Then::Min), ("max", Then::Max)];
/// Selectors of one part, from 1 on.
const PARTS: [&str; 6] = ["b0", "b1", "b2", "b3", "h0", "h1"];

impl Decoder<'_, '_, '_> {
    pub(super) fn video(&mut self) -> Decoded<Video> {
        let [name, words @ ..] = self.words else {
            return Err(self.unsupported_form());
        };
        let (base, parts) = match name.as_bytes().last() {
            Some(b'2') => (&name[..name.len() - 1], 2),
            Some(b'4') => (&name[..name.len() - 1], 4),
            _ => (*name, 1),
        };
        let has = |word: &str| words.contains(&word);
        let op = match base {
            "vset" => VideoOp::Compare(
                words.iter().find_map(|word| lookup(&ORDERS, word)).ok_or_else(|| self.unsupported_form())?,
            ),
            "vshl" => VideoOp::Shl(has("wrap")),
            "vshr" => VideoOp::Shr(has("wrap")),
            "vmad" => {
                let shift = match () {
                    () if has("shr7") => 7,
                    () if has("shr15") => 15,
                    () => 0,
                };
                VideoOp::Mad(shift, has("po"))
            }
            _ => lookup(&OPERATIONS, base).ok_or_else(|| self.unsupported_form())?,
        };
        // `vset` names no type of its result, which is 0 or 1.
        let types = words.iter().filter(|word| matches!(**word, "u32" | "s32"));
        let first = u8::from(base == "vset");
        let signed = types.zip(first..).fold(0, |signed, (ty, at)| signed | u8::from(*ty == "s32") << at);
        // What it is compared with then has the first operand's type.
        let signed = if first == 1 { signed | signed >> 1 & 1 } else { signed };
        let then = words.iter().find_map(|word| lookup(&THEN, word));
        let [to, a, b, c @ ..] = self.operands else {
            return Err(self.unsupported_form());
        };
        let (to, to_part) = self.video_operand(to)?;
        let (a, a_part) = self.video_operand(a)?;
        let (b, b_part) = self.video_operand(b)?;
        let is_single = parts == 1;
        if !is_single && self.operands[1..].iter().any(|operand| matches!(operand, Operand::Number(_))) {
            return Err(self.invalid(format!("`{}` takes registers, no numbers", self.opcode)));
        }
        let (mask, select) = match is_single {
            true => {
                let one = |word: Option<&str>| self.one_part(word);
                (one(to_part)? as u8, [one(a_part)?, one(b_part)?])
            }
            false => {
                let first = |word, from| self.parts(word, parts, from);
                let select = [first(a_part, 0)?, first(b_part, parts)?];
                (self.parts_written(to_part, parts)?, select)
            }
        };
        let merges = is_single && to_part.is_some();
        let wants_c = !is_single || merges || then.is_some() || base == "vmad";
        if has("sat") && (matches!(base, "vshl" | "vmad") || base == "vshr" && merges) {
            return Err(self.unsupported("`.sat` here, where code for GPUs of today clamps wrongly,"));
        }
        if wants_c == c.is_empty() || merges && then.is_some() || base == "vmad" && merges {
            return Err(self.invalid(format!(
                "`{}` has a third source where it merges or has a second operation, and only one of both",
                self.opcode
            )));
        }
        let to = self.video_register(&Operand::Name(to), true)?;
        let a = self.video_source(a, &self.operands[1])?;
        let b = self.video_source(b, &self.operands[2])?;
        let c = match c.first() {
            Some(c) => self.video_register(c, false)?,
            None => a,
        };
        Ok(Video {
            op,
            parts,
            signed,
            saturates: has("sat"),
            then: then.unwrap_or(Then::Merge),
            mask,
            select,
            to,
            from: [a, b, c],
        })
    }

    /// The register of an operand and its selector; an empty name for a number.
    fn video_operand<'i>(&self, operand: &Operand<'i>) -> Decoded<(&'i str, Option<&'i str>)> {
        match operand {
            Operand::Name(name) if self.declared(name).is_none() => match name.rsplit_once('.') {
                Some((name, selector)) => Ok((name, Some(selector))),
                None => Ok((name, None)),
            },
            Operand::Name(name) => Ok((name, None)),
            Operand::Number(_) => Ok(("", None)),
            _ => Err(self.invalid("a register is expected here")),
        }
    }

    fn video_source(&mut self, name: &str, operand: &Operand<'_>) -> Decoded<u16> {
        match name {
            "" => self.video_register(operand, false),
            name => self.video_register(&Operand::Name(name), false),
        }
    }

    fn video_register(&mut self, operand: &Operand<'_>, written: bool) -> Decoded<u16> {
        let R32(number) = match written {
            true => self.dst(operand)?,
            false => self.src(operand, "u32")?,
        };
        u16::try_from(number).map_err(|_| self.unsupported("a function with so many registers"))
    }

    fn one_part(&self, selector: Option<&str>) -> Decoded<u16> {
        let Some(selector) = selector else {
            return Ok(0);
        };
        let found = (1..).zip(PARTS).find(|(_, part)| *part == selector);
        found.map(|(number, _)| number).ok_or_else(|| self.no_selector(selector))
    }

    fn no_selector(&self, selector: &str) -> crate::error::LowerError {
        self.invalid(format!("`{}` has no selector .{selector}", self.opcode))
    }

    /// Where the numbers are taken from: `.h32`, `.b7610`; those of one register without a selector.
    fn parts(&self, selector: Option<&str>, parts: u8, first: u8) -> Decoded<u16> {
        let Some(selector) = selector else {
            let places = (0..u16::from(parts)).map(|at| (at + u16::from(first)) << (at * 4));
            return Ok(places.sum());
        };
        let letter = if parts == 2 { 'h' } else { 'b' };
        let digits = selector.strip_prefix(letter);
        let digits = digits.filter(|digits| digits.len() == usize::from(parts));
        let place = |(at, digit): (usize, char)| {
            let place = digit.to_digit(u32::from(parts) * 2)? as u16;
            Some(place << (at * 4))
        };
        let places = digits.and_then(|digits| digits.chars().rev().enumerate().map(place).sum());
        places.ok_or_else(|| self.no_selector(selector))
    }

    /// The parts that are written, a bit each: `.h10`, `.b310`; all without a selector.
    fn parts_written(&self, selector: Option<&str>, parts: u8) -> Decoded<u8> {
        let Some(selector) = selector else {
            return Ok((1 << parts) - 1);
        };
        let letter = if parts == 2 { 'h' } else { 'b' };
        let digits = selector.strip_prefix(letter).unwrap_or_default();
        let digit = |digit: char| digit.to_digit(u32::from(parts)).map(|digit| 1u8 << digit);
        let bits: Option<Vec<u8>> = digits.chars().map(digit).collect();
        // The digits fall.
        let bits = bits.filter(|bits| !bits.is_empty() && bits.is_sorted_by(|a, b| a > b));
        bits.map(|bits| bits.iter().sum()).ok_or_else(|| self.no_selector(selector))
    }
}
