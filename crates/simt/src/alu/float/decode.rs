//! Decoding of floating-point instructions.

use super::exact::Rounding;
use super::{Approx, Approx64, Fast, Float, General, Half, HalfMode, MinMax, Mode, Test};
use crate::alu::convert::check_width;
use crate::code::{R32, R64};
use crate::lower::{Context, Refusal};
use ptx::ast::{Instruction, Operand};

/// An opcode's modifiers.
#[derive(Debug, Clone, Copy, Default)]
struct Modifiers {
    rounding: Option<Rounding>,
    flags: u16,
}

const ROUNDING: u16 = 1;
const FTZ: u16 = 1 << 1;
const SAT: u16 = 1 << 2;
const APPROX: u16 = 1 << 3;
const FULL: u16 = 1 << 4;
const NAN: u16 = 1 << 5;
const XORSIGN: u16 = 1 << 6;
const ABS: u16 = 1 << 7;
const RELU: u16 = 1 << 8;

impl Modifiers {
    fn new(words: &[&str]) -> Option<Self> {
        let mut all = Self::default();
        for word in words {
            let (flag, rounding) = match *word {
                "rn" => (ROUNDING, Some(Rounding::Nearest)),
                "rz" => (ROUNDING, Some(Rounding::Zero)),
                "rm" => (ROUNDING, Some(Rounding::Down)),
                "rp" => (ROUNDING, Some(Rounding::Up)),
                "ftz" => (FTZ, None),
                "sat" => (SAT, None),
                "approx" => (APPROX, None),
                "full" => (FULL, None),
                "NaN" => (NAN, None),
                "xorsign" => (XORSIGN, None),
                "abs" => (ABS, None),
                "relu" => (RELU, None),
                _ => return None,
            };
            if all.flags & flag != 0 {
                return None;
            }
            all.flags |= flag;
            all.rounding = all.rounding.or(rounding);
        }
        Some(all)
    }

    fn has(self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Whether there are none but these.
    fn within(self, allowed: u16) -> bool {
        self.flags & !allowed == 0
    }

    fn nearest(self) -> bool {
        matches!(self.rounding, None | Some(Rounding::Nearest))
    }
}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Float>, Refusal> {
    let [name, modifiers @ .., ty] = words else {
        return Ok(None);
    };
    if !matches!(
        *ty,
        "f32" | "f64" | "f16" | "f16x2" | "bf16" | "bf16x2" | "f32x2"
    ) {
        return Ok(None);
    }
    let operands = match *name {
        "abs" | "neg" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh"
        | "testp" => 2,
        "add" | "sub" | "mul" | "div" | "copysign" | "min" | "max" => 3,
        "fma" | "mad" => 4,
        _ => return Ok(None),
    };
    let three = matches!(*name, "min" | "max") && *ty == "f32" && inst.operands.len() == 4;
    if inst.operands.len() != operands && !three {
        return Err(cx.invalid(format!(
            "`{}` takes {operands} operands, and here are {}",
            inst.opcode,
            inst.operands.len()
        )));
    }
    if *name == "testp" {
        return testp(inst, modifiers, ty, cx).map(Some);
    }
    let found = match (Modifiers::new(modifiers), *ty) {
        (None, _) => None,
        (Some(modifiers), "f32") => f32(inst, name, modifiers, three, cx)?,
        (Some(modifiers), "f64") => f64(inst, name, modifiers, cx)?,
        (Some(_), "f32x2") => None,
        (Some(modifiers), ty) => half(inst, name, modifiers, ty, cx)?,
    };
    match found {
        Some(op) => Ok(Some(op)),
        None => Err(cx.unsupported(format!("instruction `{}`", inst.opcode))),
    }
}

/// Destination and sources of 32-bit registers; sources that the instruction lacks repeat the first.
fn operands32(
    inst: &Instruction<'_>,
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<(R32, [R32; 3]), Refusal> {
    for operand in &inst.operands {
        check_width(operand, bits, cx)?;
    }
    let to = cx.dst32(&inst.operands[0])?;
    let mut from = [cx.src32(&inst.operands[1], ty)?; 3];
    for (register, operand) in from.iter_mut().zip(&inst.operands[1..]).skip(1) {
        *register = cx.src32(operand, ty)?;
    }
    Ok((to, from))
}

/// The same of 64 bits.
fn operands64(
    inst: &Instruction<'_>,
    cx: &mut Context<'_, '_>,
) -> Result<(R64, [R64; 3]), Refusal> {
    for operand in &inst.operands {
        check_width(operand, 64, cx)?;
    }
    let to = cx.dst64(&inst.operands[0])?;
    let mut from = [cx.src64(&inst.operands[1], "f64")?; 3];
    for (register, operand) in from.iter_mut().zip(&inst.operands[1..]).skip(1) {
        *register = cx.src64(operand, "f64")?;
    }
    Ok((to, from))
}

/// The operation of an opcode that rounds, and whether its rounding mode may be left out.
fn rounded(name: &str) -> Option<(Fast, General, bool)> {
    Some(match name {
        "add" => (Fast::Add, General::Add, true),
        "sub" => (Fast::Sub, General::Sub, true),
        "mul" => (Fast::Mul, General::Mul, true),
        "fma" => (Fast::Fma, General::Fma, false),
        "mad" => (Fast::Fma, General::Fma, true),
        "div" | "rcp" => (Fast::Div, General::Div, false),
        "sqrt" => (Fast::Sqrt, General::Sqrt, false),
        _ => return None,
    })
}

fn f32(
    inst: &Instruction<'_>,
    name: &str,
    modifiers: Modifiers,
    three: bool,
    cx: &mut Context<'_, '_>,
) -> Result<Option<Float>, Refusal> {
    let ftz = modifiers.has(FTZ);
    let approx = modifiers.has(APPROX);
    // Approximations first: those that are IEEE's results within the ISA's error, and those that are not.
    let fast = match name {
        "abs" if modifiers.within(FTZ) => Some(Fast::Abs),
        "neg" if modifiers.within(FTZ) => Some(Fast::Neg),
        "copysign" if modifiers.within(0) => Some(Fast::Copysign),
        "min" if modifiers.within(FTZ) && !three => Some(Fast::Min),
        "max" if modifiers.within(FTZ) && !three => Some(Fast::Max),
        "div" if modifiers.has(FULL) && modifiers.within(FULL | FTZ) => Some(Fast::Div),
        "div" if approx && modifiers.within(APPROX | FTZ) => Some(Fast::DivApprox),
        "rcp" if approx && modifiers.within(APPROX | FTZ) => Some(Fast::Div),
        "sqrt" if approx && modifiers.within(APPROX | FTZ) => Some(Fast::Sqrt),
        "rsqrt" if approx && modifiers.within(APPROX | FTZ) => Some(Fast::Rsqrt),
        _ => None,
    };
    let approx = match name {
        "ex2" => Some(Approx::Ex2),
        "lg2" => Some(Approx::Lg2),
        "sin" => Some(Approx::Sin),
        "cos" => Some(Approx::Cos),
        "tanh" => Some(Approx::Tanh),
        _ => None,
    };
    let min_max = MinMax {
        max: name == "max",
        three,
        ftz,
        nan: modifiers.has(NAN),
        abs: modifiers.has(ABS),
        xorsign: modifiers.has(XORSIGN),
    };
    let min_max_allowed = if three {
        modifiers.within(FTZ | NAN | ABS)
    } else {
        // `.abs` and `.xorsign` stand together.
        modifiers.within(FTZ | NAN | XORSIGN | ABS) && min_max.abs == min_max.xorsign
    };
    let general = rounded(name).filter(|(.., optional)| {
        let sat = if matches!(name, "div" | "rcp" | "sqrt") {
            0
        } else {
            SAT
        };
        modifiers.within(ROUNDING | FTZ | sat) && (modifiers.rounding.is_some() || *optional)
    });

    let (to, mut from) = operands32(inst, "f32", 32, cx)?;
    if name == "rcp" {
        from = [cx.constant32(1f32.to_bits()), from[0], from[0]];
    }
    Ok(if let Some(op) = fast {
        Some(Float::Fast32 { op, ftz, to, from })
    } else if let Some(op) = approx {
        let allowed = if op == Approx::Tanh {
            APPROX
        } else {
            APPROX | FTZ
        };
        (modifiers.has(APPROX) && modifiers.within(allowed)).then_some(Float::Approx32 {
            op,
            ftz,
            to,
            from: from[0],
        })
    } else if matches!(name, "min" | "max") && min_max_allowed {
        Some(Float::MinMax32 {
            mode: min_max,
            to,
            from,
        })
    } else if let Some((fast, general, _)) = general {
        let sat = modifiers.has(SAT);
        Some(if modifiers.nearest() && !sat {
            Float::Fast32 {
                op: fast,
                ftz,
                to,
                from,
            }
        } else {
            let rounding = modifiers.rounding.unwrap_or(Rounding::Nearest);
            let mode = Mode { rounding, ftz, sat };
            Float::General32 {
                op: general,
                mode,
                to,
                from,
            }
        })
    } else {
        None
    })
}

fn f64(
    inst: &Instruction<'_>,
    name: &str,
    modifiers: Modifiers,
    cx: &mut Context<'_, '_>,
) -> Result<Option<Float>, Refusal> {
    let (to, mut from) = operands64(inst, cx)?;
    let plain = match name {
        "abs" => Some(Fast::Abs),
        "neg" => Some(Fast::Neg),
        "copysign" => Some(Fast::Copysign),
        "min" => Some(Fast::Min),
        "max" => Some(Fast::Max),
        _ => None,
    };
    if let Some(op) = plain {
        return Ok(modifiers
            .within(0)
            .then_some(Float::Fast64 { op, to, from }));
    }
    if modifiers.has(APPROX) {
        let op = match (name, modifiers.has(FTZ)) {
            ("rcp", true) => Approx64::Rcp,
            ("rsqrt", true) => Approx64::RsqrtFtz,
            ("rsqrt", false) => Approx64::Rsqrt,
            _ => return Ok(None),
        };
        let from = from[0];
        return Ok(modifiers
            .within(APPROX | FTZ)
            .then_some(Float::Approx64 { op, to, from }));
    }
    let Some((fast, general, optional)) = rounded(name) else {
        return Ok(None);
    };
    if !modifiers.within(ROUNDING) || modifiers.rounding.is_none() && !optional {
        return Ok(None);
    }
    if name == "rcp" {
        from = [cx.constant64(1f64.to_bits()), from[0], from[0]];
    }
    Ok(Some(match modifiers.rounding {
        None | Some(Rounding::Nearest) => Float::Fast64 { op: fast, to, from },
        Some(rounding) => Float::General64 {
            op: general,
            rounding,
            to,
            from,
        },
    }))
}

fn half(
    inst: &Instruction<'_>,
    name: &str,
    modifiers: Modifiers,
    ty: &str,
    cx: &mut Context<'_, '_>,
) -> Result<Option<Float>, Refusal> {
    let brain = ty.starts_with('b');
    let packed = ty.ends_with("x2");
    // The brain formats have neither `.ftz` nor `.sat`.
    let f16 = |flags: u16| if brain { 0 } else { flags };
    let (op, allowed) = match name {
        "add" => (Half::Add, ROUNDING | f16(FTZ | SAT)),
        "sub" => (Half::Sub, ROUNDING | f16(FTZ | SAT)),
        "mul" => (Half::Mul, ROUNDING | f16(FTZ | SAT)),
        "fma" => (Half::Fma, ROUNDING | RELU | f16(FTZ | SAT)),
        "min" => (Half::Min, NAN | XORSIGN | ABS | f16(FTZ)),
        "max" => (Half::Max, NAN | XORSIGN | ABS | f16(FTZ)),
        "abs" => (Half::Abs, f16(FTZ)),
        "neg" => (Half::Neg, f16(FTZ)),
        // `ex2` has `.ftz` in the brain formats only, and always there.
        "ex2" if brain && modifiers.has(FTZ) => (Half::Ex2, APPROX | FTZ),
        "ex2" if !brain => (Half::Ex2, APPROX),
        "tanh" => (Half::Tanh, APPROX),
        _ => return Ok(None),
    };
    let fits = modifiers.within(allowed)
        && modifiers.nearest()
        && modifiers.has(XORSIGN) == modifiers.has(ABS)
        && !(modifiers.has(SAT) && modifiers.has(RELU))
        && (op != Half::Fma || modifiers.rounding.is_some())
        && (allowed & APPROX == 0 || modifiers.has(APPROX));
    if !fits {
        return Ok(None);
    }
    let (bits, part) = if packed { (32, "b32") } else { (16, "b16") };
    let (to, from) = operands32(inst, part, bits, cx)?;
    let mode = HalfMode::default()
        .with(HalfMode::BRAIN, brain)
        .with(HalfMode::PACKED, packed)
        .with(HalfMode::FTZ, modifiers.has(FTZ))
        .with(HalfMode::SAT, modifiers.has(SAT))
        .with(HalfMode::RELU, modifiers.has(RELU))
        .with(HalfMode::NAN, modifiers.has(NAN))
        .with(HalfMode::XORSIGN, modifiers.has(XORSIGN));
    Ok(Some(Float::Half { op, mode, to, from }))
}

/// `testp.op.type p, a`
fn testp(
    inst: &Instruction<'_>,
    modifiers: &[&str],
    ty: &str,
    cx: &mut Context<'_, '_>,
) -> Result<Float, Refusal> {
    let op = match modifiers {
        ["finite"] => Test::Finite,
        ["infinite"] => Test::Infinite,
        ["number"] => Test::Number,
        ["notanumber"] => Test::NotANumber,
        ["normal"] => Test::Normal,
        ["subnormal"] => Test::Subnormal,
        _ => return Err(cx.unsupported(format!("instruction `{}`", inst.opcode))),
    };
    let (to, from): (&Operand<'_>, _) = (&inst.operands[0], &inst.operands[1]);
    let to = cx.dst_pred(to)?;
    Ok(match ty {
        "f32" => {
            check_width(from, 32, cx)?;
            let from = cx.src32(from, ty)?;
            Float::Test32 { op, to, from }
        }
        "f64" => {
            check_width(from, 64, cx)?;
            let from = cx.src64(from, ty)?;
            Float::Test64 { op, to, from }
        }
        _ => return Err(cx.unsupported(format!("instruction `{}`", inst.opcode))),
    })
}
