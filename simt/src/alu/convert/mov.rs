//! `mov` (PTX ISA §9.7.9.3), and `mov` that takes a register apart or puts one together (§9.7.9.4).

use super::check_width;
use crate::code::{Pred, R32, R64, Reg};
use crate::lower::{Context, Refusal};
use crate::parse::ast::{Instruction, Operand};
use crate::regs::{ALL, LANES, Regs};

/// One `mov`. Parts are in the order of their bits, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "all have a source and a destination")]
pub enum Move {
    /// 32 bits.
    B32 { to: R32, from: R32 },
    /// The lower 16 bits, where the source may have more.
    B16 { to: R32, from: R32 },
    /// 64 bits.
    B64 { to: R64, from: R64 },
    /// 32 bits, zero-extended to 64.
    Wide { to: R64, from: R32 },
    /// A predicate or its contrary.
    Pred { to: Pred, from: Pred, negated: bool },
    /// Two times 8 bits to 16.
    Pack8x2 { to: R32, from: [R32; 2] },
    /// Four times 8 bits to 32.
    Pack8x4 { to: R32, from: [R32; 4] },
    /// Two times 16 bits to 32.
    Pack16x2 { to: R32, from: [R32; 2] },
    /// Four times 16 bits to 64.
    Pack16x4 { to: R64, from: [R32; 4] },
    /// Two times 32 bits to 64.
    Pack32x2 { to: R64, from: [R32; 2] },
    /// 16 bits to two times 8.
    Unpack8x2 { to: [R32; 2], from: R32 },
    /// 32 bits to four times 8.
    Unpack8x4 { to: [R32; 4], from: R32 },
    /// 32 bits to two times 16.
    Unpack16x2 { to: [R32; 2], from: R32 },
    /// 64 bits to four times 16.
    Unpack16x4 { to: [R32; 4], from: R64 },
    /// 64 bits to two times 32.
    Unpack32x2 { to: [R32; 2], from: R64 },
}

/// Decodes a `mov`.
pub(super) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    let [_, ty] = words else {
        return Err(cx.unsupported(format!("instruction `{}`", inst.opcode)));
    };
    let bits = match *ty {
        "pred" => 1,
        "b16" | "u16" | "s16" => 16,
        "b32" | "u32" | "s32" | "f32" => 32,
        "b64" | "u64" | "s64" | "f64" => 64,
        _ => return Err(cx.unsupported(format!("instruction `{}`", inst.opcode))),
    };
    let [to, from] = &inst.operands[..] else {
        return Err(cx.invalid("`mov` takes two operands"));
    };
    match (to, from) {
        (Operand::Vector(_), Operand::Vector(_)) => {
            Err(cx.invalid("`mov` takes one operand in braces at most"))
        }
        (Operand::Vector(parts), _) | (_, Operand::Vector(parts)) if !ty.starts_with('b') => {
            Err(cx.invalid(format!(
                "`mov` with {} parts in braces has a type .b16, .b32 or .b64, not .{ty}",
                parts.len()
            )))
        }
        (Operand::Vector(parts), from) => unpack(parts, from, ty, bits, cx),
        (to, Operand::Vector(parts)) => pack(to, parts, ty, bits, cx),
        (to, from) => whole(to, from, ty, bits, cx),
    }
}

fn whole(
    to: &Operand<'_>,
    from: &Operand<'_>,
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    if bits == 1 {
        let to = cx.dst_pred(to)?;
        let (from, negated) = cx.src_pred(from)?;
        return Ok(Move::Pred { to, from, negated });
    }
    if let Operand::Name(name) | Operand::NameOffset(name, _) = from
        && cx.register(name).is_none()
        && cx.variable(name).is_none()
        && cx.lowering.module.functions.iter().any(|f| f.name == *name)
    {
        return Err(cx.unsupported(format!("the address of function `{name}`")));
    }
    check_width(to, bits, cx)?;
    let special = is_special(from, cx);
    if !special {
        check_width(from, bits, cx)?;
    }
    Ok(match bits {
        16 if special => Move::B16 {
            to: cx.dst32(to)?,
            from: cx.src32(from, ty)?,
        },
        16 | 32 => Move::B32 {
            to: cx.dst32(to)?,
            from: cx.src32(from, ty)?,
        },
        _ if special => {
            let to = cx.dst64(to)?;
            match cx.any(from)?.0 {
                Reg::R32(from) => Move::Wide { to, from },
                Reg::R64(from) => Move::B64 { to, from },
                Reg::Pred(_) => return Err(cx.invalid("a predicate is not a number")),
            }
        }
        _ => Move::B64 {
            to: cx.dst64(to)?,
            from: cx.src64(from, ty)?,
        },
    })
}

/// Whether an operand is a special register: these have a width of their own.
fn is_special(operand: &Operand<'_>, cx: &mut Context<'_, '_>) -> bool {
    match operand {
        Operand::Name(name) => {
            name.starts_with('%') && cx.register(name).is_none() && cx.any(operand).is_ok()
        }
        _ => false,
    }
}

/// The type of a part: how many bits, as an immediate among them is written.
fn part_type(
    bits: u32,
    parts: usize,
    ty: &str,
    cx: &Context<'_, '_>,
) -> Result<&'static str, Refusal> {
    match (bits, parts) {
        (16, 2) | (32, 4) => Ok("b8"),
        (32, 2) | (64, 4) => Ok("b16"),
        (64, 2) => Ok("b32"),
        _ => Err(cx.invalid(format!("`mov.{ty}` does not have {parts} parts"))),
    }
}

fn pack(
    to: &Operand<'_>,
    parts: &[Operand<'_>],
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    let part = part_type(bits, parts.len(), ty, cx)?;
    check_width(to, bits, cx)?;
    let mut from = [R32(0); 4];
    for (register, operand) in from.iter_mut().zip(parts) {
        *register = cx.src32(operand, part)?;
    }
    let pair = [from[0], from[1]];
    Ok(match (part, parts.len()) {
        ("b8", 2) => Move::Pack8x2 {
            to: cx.dst32(to)?,
            from: pair,
        },
        ("b8", _) => Move::Pack8x4 {
            to: cx.dst32(to)?,
            from,
        },
        ("b16", 2) => Move::Pack16x2 {
            to: cx.dst32(to)?,
            from: pair,
        },
        ("b16", _) => Move::Pack16x4 {
            to: cx.dst64(to)?,
            from,
        },
        _ => Move::Pack32x2 {
            to: cx.dst64(to)?,
            from: pair,
        },
    })
}

fn unpack(
    parts: &[Operand<'_>],
    from: &Operand<'_>,
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    let part = part_type(bits, parts.len(), ty, cx)?;
    check_width(from, bits, cx)?;
    let mut to = [R32(0); 4];
    for (register, operand) in to.iter_mut().zip(parts) {
        // A part of 8 bits may stand in a register of 16, zero-extended; none fits into a narrower one.
        if let Operand::Name(name) = operand
            && let Some((_, found)) = cx.register(name)
            && found < bits / parts.len() as u32
        {
            return Err(cx.invalid(format!("`{name}` is too narrow for a part of .{part}")));
        }
        *register = cx.dst32(operand)?;
    }
    let pair = [to[0], to[1]];
    Ok(match (part, parts.len()) {
        ("b8", 2) => Move::Unpack8x2 {
            to: pair,
            from: cx.src32(from, ty)?,
        },
        ("b8", _) => Move::Unpack8x4 {
            to,
            from: cx.src32(from, ty)?,
        },
        ("b16", 2) => Move::Unpack16x2 {
            to: pair,
            from: cx.src32(from, ty)?,
        },
        ("b16", _) => Move::Unpack16x4 {
            to,
            from: cx.src64(from, ty)?,
        },
        _ => Move::Unpack32x2 {
            to: pair,
            from: cx.src64(from, ty)?,
        },
    })
}

impl Move {
    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(super) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        match *self {
            Move::B32 { to, from } => {
                let values = *regs.get32(from);
                regs.set32(to, mask, &values);
            }
            Move::B16 { to, from } => {
                let values = regs.get32(from).map(|value| value & 0xffff);
                regs.set32(to, mask, &values);
            }
            Move::B64 { to, from } => {
                let values = *regs.get64(from);
                regs.set64(to, mask, &values);
            }
            Move::Wide { to, from } => {
                let values = regs.get32(from).map(u64::from);
                regs.set64(to, mask, &values);
            }
            Move::Pred { to, from, negated } => {
                let values = regs.pred(from) ^ if negated { ALL } else { 0 };
                regs.set_pred(to, mask, values);
            }
            Move::Pack8x2 { to, from } => pack32(regs, mask, to, from, 8),
            Move::Pack8x4 { to, from } => pack32(regs, mask, to, from, 8),
            Move::Pack16x2 { to, from } => pack32(regs, mask, to, from, 16),
            Move::Pack16x4 { to, from } => pack64(regs, mask, to, from, 16),
            Move::Pack32x2 { to, from } => pack64(regs, mask, to, from, 32),
            Move::Unpack8x2 { to, from } => unpack32(regs, mask, to, from, 8),
            Move::Unpack8x4 { to, from } => unpack32(regs, mask, to, from, 8),
            Move::Unpack16x2 { to, from } => unpack32(regs, mask, to, from, 16),
            Move::Unpack16x4 { to, from } => unpack64(regs, mask, to, from, 16),
            Move::Unpack32x2 { to, from } => unpack64(regs, mask, to, from, 32),
        }
    }
}

#[inline(always)]
fn pack32<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: R32, from: [R32; N], bits: u32) {
    let mut values = [0; LANES];
    for (i, part) in from.into_iter().enumerate() {
        let part = regs.get32(part);
        for lane in 0..LANES {
            values[lane] |= (part[lane] & ((1 << bits) - 1)) << (bits * i as u32);
        }
    }
    regs.set32(to, mask, &values);
}

#[inline(always)]
fn pack64<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: R64, from: [R32; N], bits: u32) {
    let mut values = [0; LANES];
    for (i, part) in from.into_iter().enumerate() {
        let part = regs.get32(part);
        for lane in 0..LANES {
            values[lane] |= (u64::from(part[lane]) & ((1 << bits) - 1)) << (bits * i as u32);
        }
    }
    regs.set64(to, mask, &values);
}

#[inline(always)]
fn unpack32<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: [R32; N], from: R32, bits: u32) {
    let whole = *regs.get32(from);
    for (i, part) in to.into_iter().enumerate() {
        let values = whole.map(|value| value >> (bits * i as u32) & ((1 << bits) - 1));
        regs.set32(part, mask, &values);
    }
}

#[inline(always)]
fn unpack64<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: [R32; N], from: R64, bits: u32) {
    let whole = *regs.get64(from);
    for (i, part) in to.into_iter().enumerate() {
        let values = whole.map(|value| (value >> (bits * i as u32) & ((1 << bits) - 1)) as u32);
        regs.set32(part, mask, &values);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{State, eval, program};

    #[test]
    fn registers_of_every_width() {
        assert_eq!(
            eval("mov.b32 %r1, %r0;", &[("%r0", 0xdead_beef)], "%r1"),
            0xdead_beef
        );
        assert_eq!(
            eval("mov.f32 %f1, %f0;", &[("%f0", 0x7f80_0001)], "%f1"),
            0x7f80_0001
        );
        assert_eq!(eval("mov.u16 %h1, %h0;", &[("%h0", 0xbeef)], "%h1"), 0xbeef);
        assert_eq!(
            eval("mov.b64 %rd1, %fd0;", &[("%fd0", u64::MAX - 4)], "%rd1"),
            u64::MAX - 4
        );
        assert_eq!(eval("mov.f64 %fd1, %fd0;", &[("%fd0", 7)], "%fd1"), 7);
        assert_eq!(eval("mov.pred %p1, %p0;", &[("%p0", 0xa5)], "%p1"), 0xa5);
        assert_eq!(eval("mov.pred %p1, 1;", &[], "%p1"), 0xffff_ffff);
    }

    #[test]
    fn immediates_take_the_type_s_form() {
        assert_eq!(eval("mov.u32 %r1, -1;", &[], "%r1"), 0xffff_ffff);
        assert_eq!(eval("mov.u16 %h1, -1;", &[], "%h1"), 0xffff);
        assert_eq!(eval("mov.s64 %rd1, -2;", &[], "%rd1"), u64::MAX - 1);
        assert_eq!(eval("mov.f32 %f1, 0f3F800000;", &[], "%f1"), 0x3f80_0000);
        assert_eq!(eval("mov.f32 %f1, 1.0;", &[], "%f1"), 0x3f80_0000);
        assert_eq!(
            eval("mov.f64 %fd1, 0d3FF0000000000000;", &[], "%fd1"),
            0x3ff0_0000_0000_0000
        );
        assert_eq!(eval("mov.u32 %r1, WARP_SZ;", &[], "%r1"), 32);
    }

    #[test]
    fn special_registers_fit_every_width() {
        for body in [
            "mov.u32 %r1, %tid.x;",
            "mov.u16 %h1, %tid.x;",
            "mov.u64 %rd1, %ctaid.y;",
            "mov.b32 %r1, %laneid;",
        ] {
            assert!(program(body).is_ok(), "{body}");
        }
    }

    #[test]
    fn variables_give_their_addresses() {
        let body = ".shared .align 4 .b8 a[16];\n.shared .align 4 .b8 b[16];\n\
                    mov.u32 %r1, b;\nmov.u64 %rd1, b+4;";
        let state = State::new().run(body);
        assert_eq!(state.get("%rd1"), state.get("%r1") + 4);
    }

    #[test]
    fn parts_are_put_together_lowest_first() {
        let parts = [
            ("%h0", 0x1122),
            ("%h1", 0x3344),
            ("%h2", 0x5566),
            ("%h3", 0x7788),
        ];
        assert_eq!(eval("mov.b32 %r0, {%h0, %h1};", &parts, "%r0"), 0x3344_1122);
        assert_eq!(
            eval("mov.b64 %rd0, {%h0, %h1, %h2, %h3};", &parts, "%rd0"),
            0x7788_5566_3344_1122
        );
        assert_eq!(
            eval("mov.b32 %r0, {%h0, %h1, %h2, %h3};", &parts, "%r0"),
            0x8866_4422
        );
        assert_eq!(eval("mov.b16 %h4, {%h0, %h1};", &parts, "%h4"), 0x4422);
        let words = [("%r0", 0xffff_ffff), ("%r1", 0x1234_5678)];
        assert_eq!(
            eval("mov.b64 %rd0, {%r0, %r1};", &words, "%rd0"),
            0x1234_5678_ffff_ffff
        );
        assert_eq!(eval("mov.b64 %rd0, {%r0, 0};", &words, "%rd0"), 0xffff_ffff);
    }

    #[test]
    fn parts_are_taken_apart_lowest_first() {
        let state = State::new()
            .set("%rd0", 0x7788_5566_3344_1122)
            .set("%r0", 0x8877_6655)
            .run(
                "mov.b64 {%r1, %r2}, %rd0;\nmov.b64 {%h0, %h1, %h2, %h3}, %rd0;\n\
                 mov.b32 {%h4, _}, %r0;\nmov.b32 {_, %h5}, %r0;\nmov.b32 {%h6, %h7, %h8, %h9}, %r0;\n\
                 mov.b16 {%h10, %h11}, %h4;",
            );
        let expected = [
            ("%r1", 0x3344_1122),
            ("%r2", 0x7788_5566),
            ("%h0", 0x1122),
            ("%h1", 0x3344),
            ("%h2", 0x5566),
            ("%h3", 0x7788),
            ("%h4", 0x6655),
            ("%h5", 0x8877),
            ("%h6", 0x55),
            ("%h7", 0x66),
            ("%h8", 0x77),
            ("%h9", 0x88),
            ("%h10", 0x55),
            ("%h11", 0x66),
        ];
        for (name, value) in expected {
            assert_eq!(state.get(name), value, "{name}");
        }
    }

    #[test]
    fn only_the_lanes_of_the_mask_are_written() {
        let state = State::new()
            .set("%r0", 5)
            .set("%r1", 9)
            .run_on("mov.b32 %r1, %r0;", 0b101);
        assert_eq!(state.lanes("%r1")[..4], [5, 9, 5, 9]);
        let state = State::new()
            .set("%p0", 0b110)
            .set("%p1", 0b001)
            .run_on("mov.pred %p1, %p0;", 0b011);
        assert_eq!(state.get("%p1"), 0b010);
    }

    #[test]
    fn what_is_not_a_mov_is_refused() {
        let refusals = [
            ("mov.b128 %rd1, %rd2;", "not supported"),
            ("mov.b32.x %r1, %r2;", "not supported"),
            ("mov.b32 %r1;", "two operands"),
            ("mov.u16 %h1, %r2;", "has 32 bits"),
            ("mov.u32 %r1, %rd2;", "has 64 bits"),
            ("mov.u32 %r1, %p2;", "predicate"),
            ("mov.b64 %rd1, {%r1, %r2, %r3};", "3 parts"),
            ("mov.u64 %rd1, {%r1, %r2};", "type .b16"),
            ("mov.b64 {%h1, %h2}, %rd1;", "too narrow"),
            ("mov.b64 {%r1, %r2}, {%r3, %r4};", "one operand in braces"),
            ("mov.u64 %rd1, k;", "address of function"),
            ("mov.u32 %r1, nothing;", "nothing"),
        ];
        for (body, words) in refusals {
            let message = program(body).unwrap_err().message;
            assert!(message.contains(words), "{body}: {message}");
        }
    }
}
