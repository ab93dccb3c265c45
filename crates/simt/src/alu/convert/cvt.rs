//! Decoding of `cvt` (PTX ISA §9.7.9.21).

use super::Convert;
use super::mov::Move;
use crate::alu::float::exact::{Format, Rounding};
use crate::code::Reg;
use crate::lower::{Context, Refusal};
use ptx::ast::{Instruction, Operand};

/// A type that `cvt` converts from or to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// So many bits, signed or not.
    Int(Bits, bool),
    /// A floating-point format.
    Float(Format),
}

/// An integer's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the widths")]
pub enum Bits {
    B8 = 8,
    B16 = 16,
    B32 = 32,
    B64 = 64,
}

impl Type {
    fn new(name: &str) -> Option<Self> {
        Some(match name {
            "u8" => Type::Int(Bits::B8, false),
            "s8" => Type::Int(Bits::B8, true),
            "u16" => Type::Int(Bits::B16, false),
            "s16" => Type::Int(Bits::B16, true),
            "u32" => Type::Int(Bits::B32, false),
            "s32" => Type::Int(Bits::B32, true),
            "u64" => Type::Int(Bits::B64, false),
            "s64" => Type::Int(Bits::B64, true),
            "f16" => Type::Float(Format::F16),
            "bf16" => Type::Float(Format::Bf16),
            "f32" => Type::Float(Format::F32),
            "f64" => Type::Float(Format::F64),
            "tf32" => Type::Float(Format::Tf32),
            _ => return None,
        })
    }

    /// A type that may be converted from: `.tf32` is a result only.
    fn source(name: &str) -> Option<Self> {
        Self::new(name).filter(|ty| *ty != Type::Float(Format::Tf32))
    }

    /// The width of the type as it stands in a register.
    pub(super) fn bits(self) -> u32 {
        match self {
            Type::Int(bits, _) => bits as u32,
            Type::Float(Format::F16 | Format::Bf16) => 16,
            Type::Float(Format::F32 | Format::Tf32) => 32,
            Type::Float(Format::F64) => 64,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Type::Float(_))
    }
}

/// How a value is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// What it is.
    pub from: Type,
    /// What it becomes.
    pub to: Type,
    /// The destination register's width, which the result is extended to.
    pub width: u8,
    /// How it is rounded: to an integer if `integral`, else to the format.
    pub rounding: Rounding,
    /// The modifiers.
    pub flags: Flags,
}

/// A set of modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// Subnormal `f32` operands and results become zero.
    pub const FTZ: Self = Self(1);
    /// Clamped to the integer type's range, or to 0…1.
    pub const SAT: Self = Self(1 << 1);
    /// A negative result becomes zero.
    pub const RELU: Self = Self(1 << 2);
    /// Infinity becomes the greatest finite number.
    pub const SATFINITE: Self = Self(1 << 3);
    /// A floating-point number is rounded to an integer first.
    pub const INTEGRAL: Self = Self(1 << 4);

    /// Whether it has this one.
    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// With this one more; `None` if it is there already.
    fn and(self, flag: Self) -> Option<Self> {
        (!self.has(flag)).then_some(Self(self.0 | flag.0))
    }

    fn within(self, allowed: &[Self]) -> bool {
        self.0 & !allowed.iter().fold(0, |all, flag| all | flag.0) == 0
    }
}

/// Decodes a `cvt`.
pub(super) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Convert, Refusal> {
    if words.get(1) == Some(&"pack") {
        return super::pack::decode(inst, words, cx);
    }
    let unsupported =
        |cx: &Context<'_, '_>| cx.unsupported(format!("instruction `{}`", inst.opcode));
    let [_, modifiers @ .., to, from] = words else {
        return Err(unsupported(cx));
    };
    let (single, pair) = match *to {
        "f16x2" => ("f16", true),
        "bf16x2" => ("bf16", true),
        other => (other, false),
    };
    let (Some(to), Some(from), Some((rounding, flags))) =
        (Type::new(single), Type::source(from), read(modifiers))
    else {
        return Err(unsupported(cx));
    };
    let spec = Spec {
        from,
        to,
        width: to.bits() as u8,
        rounding: rounding.unwrap_or(Rounding::Nearest),
        flags,
    };
    if pair {
        if spec.from != Type::Float(Format::F32) || !spec.fits(rounding) {
            return Err(unsupported(cx));
        }
        let [to, a, b] = &inst.operands[..] else {
            return Err(cx.invalid(format!("`{}` takes three operands", inst.opcode)));
        };
        super::check_width(to, 32, cx)?;
        super::check_width(a, 32, cx)?;
        super::check_width(b, 32, cx)?;
        return Ok(Convert::Pair {
            to: cx.dst32(to)?,
            upper: cx.src32(a, "f32")?,
            lower: cx.src32(b, "f32")?,
            spec,
        });
    }
    let [to_operand, from_operand] = &inst.operands[..] else {
        return Err(cx.invalid(format!("`{}` takes two operands", inst.opcode)));
    };
    if from.is_float() && !to.is_float() && !flags.has(Flags::INTEGRAL) {
        return Err(cx.invalid(format!(
            "`{}` needs .rni, .rzi, .rmi or .rpi: it makes an integer",
            inst.opcode
        )));
    }
    if let (Type::Float(a), Type::Float(b)) = (from, to)
        && rounding.is_none()
        && loses(a, b)
    {
        return Err(cx.invalid(format!(
            "`{}` needs a rounding modifier: it loses bits",
            inst.opcode
        )));
    }
    if !spec.fits(rounding) {
        return Err(unsupported(cx));
    }
    let source = source(from_operand, words[words.len() - 1], from.bits(), cx)?;
    let (destination, width) = destination(to_operand, to.bits(), cx)?;
    let spec = Spec {
        width: width as u8,
        ..spec
    };
    Ok(choose(destination, source, spec))
}

/// Rounding and flags of modifiers; `None` if there is one that `cvt` does not have, or one twice.
fn read(modifiers: &[&str]) -> Option<(Option<Rounding>, Flags)> {
    let mut rounding = None;
    let mut flags = Flags::default();
    for word in modifiers {
        let (mode, flag) = match *word {
            "rn" => (Some(Rounding::Nearest), None),
            "rna" => (Some(Rounding::Away), None),
            "rz" => (Some(Rounding::Zero), None),
            "rm" => (Some(Rounding::Down), None),
            "rp" => (Some(Rounding::Up), None),
            "rni" => (Some(Rounding::Nearest), Some(Flags::INTEGRAL)),
            "rzi" => (Some(Rounding::Zero), Some(Flags::INTEGRAL)),
            "rmi" => (Some(Rounding::Down), Some(Flags::INTEGRAL)),
            "rpi" => (Some(Rounding::Up), Some(Flags::INTEGRAL)),
            "ftz" => (None, Some(Flags::FTZ)),
            "sat" => (None, Some(Flags::SAT)),
            "relu" => (None, Some(Flags::RELU)),
            "satfinite" => (None, Some(Flags::SATFINITE)),
            _ => return None,
        };
        if let Some(mode) = mode {
            if rounding.is_some() {
                return None;
            }
            rounding = Some(mode);
        }
        if let Some(flag) = flag {
            flags = flags.and(flag)?;
        }
    }
    Some((rounding, flags))
}

/// Whether there are numbers of format `a` that `b` does not hold.
fn loses(a: Format, b: Format) -> bool {
    match (a, b) {
        (a, b) if a == b => false,
        (_, Format::F64) | (Format::F16 | Format::Bf16, Format::F32) => false,
        _ => true,
    }
}

impl Spec {
    /// Whether the modifiers are those of such a conversion.
    fn fits(self, rounding: Option<Rounding>) -> bool {
        const F32: Type = Type::Float(Format::F32);
        let flags = self.flags;
        let integral = flags.has(Flags::INTEGRAL);
        if flags.has(Flags::FTZ) && self.from != F32 && self.to != F32 {
            return false;
        }
        match (self.from, self.to) {
            (Type::Int(..), Type::Int(..)) => rounding.is_none() && flags.within(&[Flags::SAT]),
            (Type::Float(_), Type::Int(..)) => {
                integral && flags.within(&[Flags::SAT, Flags::FTZ, Flags::INTEGRAL])
            }
            (Type::Int(..), Type::Float(Format::Tf32)) => false,
            (Type::Int(..), Type::Float(_)) => {
                !integral
                    && rounding != Some(Rounding::Away)
                    && flags.within(&[Flags::SAT, Flags::FTZ])
            }
            (Type::Float(from), Type::Float(Format::Tf32)) => {
                from == Format::F32
                    && !integral
                    && matches!(
                        rounding,
                        Some(Rounding::Nearest | Rounding::Away | Rounding::Zero)
                    )
                    && flags.within(&[Flags::RELU, Flags::SATFINITE])
            }
            (Type::Float(from), Type::Float(to)) => {
                let narrow = matches!(to, Format::F16 | Format::Bf16);
                rounding != Some(Rounding::Away)
                    && (!integral || from == to)
                    && !(flags.has(Flags::SAT)
                        && (flags.has(Flags::RELU) || flags.has(Flags::SATFINITE)))
                    && (narrow || flags.within(&[Flags::SAT, Flags::FTZ, Flags::INTEGRAL]))
            }
        }
    }
}

/// The source: a register as wide as the type or wider, or what is no register.
fn source(
    operand: &Operand<'_>,
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Reg, Refusal> {
    if let Operand::Name(name) = operand
        && let Some((reg, found)) = cx.register(name)
    {
        return match reg {
            Reg::Pred(_) => Err(cx.invalid(format!("`{name}` is a predicate, not a number"))),
            _ if found < bits => Err(cx.invalid(format!(
                "register `{name}` has {found} bits, and a .{ty} has {bits}"
            ))),
            reg => Ok(reg),
        };
    }
    Ok(if bits == 64 {
        Reg::R64(cx.src64(operand, ty)?)
    } else {
        Reg::R32(cx.src32(operand, ty)?)
    })
}

/// The destination, as wide as the type or wider, and its width.
fn destination(
    operand: &Operand<'_>,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<(Reg, u32), Refusal> {
    if let Operand::Name(name) = operand
        && let Some((reg, found)) = cx.register(name)
    {
        return match reg {
            Reg::Pred(_) => Err(cx.invalid(format!("`{name}` is a predicate, not a number"))),
            _ if found < bits => Err(cx.invalid(format!(
                "register `{name}` has {found} bits, and the result has {bits}"
            ))),
            reg => Ok((reg, found)),
        };
    }
    Ok(if bits == 64 {
        (Reg::R64(cx.dst64(operand)?), 64)
    } else {
        (Reg::R32(cx.dst32(operand)?), 32)
    })
}

/// The instruction for a conversion: those that programs are full of have loops of their own.
fn choose(to: Reg, from: Reg, spec: Spec) -> Convert {
    use Type::{Float, Int};
    let plain = !spec.flags.has(Flags::SAT) && !spec.flags.has(Flags::FTZ);
    let nearest = spec.rounding == Rounding::Nearest;
    match (to, from, spec.from, spec.to) {
        // The same value in registers of the same width.
        (Reg::R32(to), Reg::R32(from), Int(Bits::B32, _), Int(Bits::B32, _)) if plain => {
            Convert::Move(Move::B32 { to, from })
        }
        (Reg::R64(to), Reg::R64(from), Int(Bits::B64, _), Int(Bits::B64, _)) if plain => {
            Convert::Move(Move::B64 { to, from })
        }
        (Reg::R32(to), Reg::R32(from), Int(bits, signed), Int(to_bits, to_signed)) if plain => {
            Convert::Resize {
                to,
                from,
                first: (32 - bits as u8, signed),
                second: (32 - to_bits as u8, to_signed),
                // A register of 8 or 16 bits holds no more than these.
                mask: 32 - spec.width.min(32),
            }
        }
        (Reg::R64(to), Reg::R32(from), Int(Bits::B32, signed), Int(Bits::B64, _)) if plain => {
            Convert::Widen { to, from, signed }
        }
        (Reg::R32(to), Reg::R64(from), Int(Bits::B64, _), Int(Bits::B32, _)) if plain => {
            Convert::Shorten { to, from }
        }
        (Reg::R32(to), Reg::R32(from), Int(Bits::B32, signed), Float(Format::F32))
            if plain && nearest =>
        {
            Convert::IntToF32 { to, from, signed }
        }
        (Reg::R64(to), Reg::R32(from), Int(Bits::B32, signed), Float(Format::F64)) if plain => {
            Convert::IntToF64 { to, from, signed }
        }
        (Reg::R32(to), Reg::R32(from), Float(Format::F32), Int(Bits::B32, signed))
            if plain && spec.rounding == Rounding::Zero =>
        {
            Convert::F32ToInt { to, from, signed }
        }
        (Reg::R64(to), Reg::R32(from), Float(Format::F32), Float(Format::F64)) if plain => {
            Convert::F32ToF64 { to, from }
        }
        (Reg::R32(to), Reg::R64(from), Float(Format::F64), Float(Format::F32))
            if plain && nearest =>
        {
            Convert::F64ToF32 { to, from }
        }
        (Reg::R32(to), Reg::R32(from), Float(Format::F16), Float(Format::F32)) if plain => {
            Convert::F16ToF32 { to, from }
        }
        (Reg::R32(to), Reg::R32(from), ..) => Convert::Any { to, from, spec },
        (Reg::R32(to), Reg::R64(from), ..) => Convert::AnyFrom64 { to, from, spec },
        (Reg::R64(to), Reg::R32(from), ..) => Convert::AnyTo64 { to, from, spec },
        (Reg::R64(to), Reg::R64(from), ..) => Convert::Any64 { to, from, spec },
        (Reg::Pred(_), ..) | (_, Reg::Pred(_), ..) => {
            unreachable!("`source` and `destination` let no predicate through")
        }
    }
}
