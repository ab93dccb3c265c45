//! Operands: the registers that stand for them, and the values of immediates and special registers.

use super::{Context, Source};
use crate::code::{Fill, Filled, Guard, Pred, R32, R64, Reg, Special};
use crate::lower::Refusal;
use crate::lower::variables::{Place, type_bytes};
use ptx::ast::{AddressBase, Number, Operand};

impl Context<'_, '_> {
    /// Whether an operand is `_`, the result that nobody wants.
    pub(crate) fn is_sink(&self, operand: &Operand<'_>) -> bool {
        *operand == Operand::Name("_")
    }

    /// A register operand of any kind, for writing or reading, and its width.
    pub(crate) fn any(&mut self, operand: &Operand<'_>) -> Result<(Reg, u32), Refusal> {
        match operand {
            Operand::Name(name) => {
                if let Some(found) = self.register(name) {
                    return Ok(found);
                }
                if let Some(special) = special(name) {
                    return Ok((Reg::R32(self.filled32(Fill::Special(special))), 32));
                }
                Err(self.invalid(format!("there is no register `{name}`")))
            }
            _ => Err(self.invalid("a register is expected here")),
        }
    }

    /// A declared register: special ones are read-only.
    pub(crate) fn written(&mut self, operand: &Operand<'_>) -> Result<(Reg, u32), Refusal> {
        match operand {
            Operand::Name(name) if special(name).is_some() && self.register(name).is_none() => {
                Err(self.invalid(format!(
                    "`{name}` is a special register, which nothing writes"
                )))
            }
            _ => self.any(operand),
        }
    }

    /// A 32-bit register (or narrower) to be written. `_` gets one that nobody reads.
    pub(crate) fn dst32(&mut self, operand: &Operand<'_>) -> Result<R32, Refusal> {
        if self.is_sink(operand) {
            return Ok(self.temp32());
        }
        match self.written(operand)? {
            (Reg::R32(reg), _) => Ok(reg),
            (_, bits) => Err(self.width(bits, 32)),
        }
    }

    /// A 64-bit register to be written.
    pub(crate) fn dst64(&mut self, operand: &Operand<'_>) -> Result<R64, Refusal> {
        if self.is_sink(operand) {
            return Ok(self.temp64());
        }
        match self.written(operand)? {
            (Reg::R64(reg), _) => Ok(reg),
            (_, bits) => Err(self.width(bits, 64)),
        }
    }

    /// A predicate to be written.
    pub(crate) fn dst_pred(&mut self, operand: &Operand<'_>) -> Result<Pred, Refusal> {
        if self.is_sink(operand) {
            return Ok(self.temp_pred());
        }
        match self.written(operand)? {
            (Reg::Pred(pred), _) => Ok(pred),
            (_, bits) => Err(self.width(bits, 1)),
        }
    }

    /// A predicate to be read, and whether it is negated (`!%p`).
    pub(crate) fn src_pred(&mut self, operand: &Operand<'_>) -> Result<(Pred, bool), Refusal> {
        match operand {
            Operand::Not(name) => Ok((self.dst_pred(&Operand::Name(name))?, true)),
            // A constant predicate: always or never.
            Operand::Number(Number::Integer(value)) => Ok((self.constant_pred(*value != 0), false)),
            _ => Ok((self.dst_pred(operand)?, false)),
        }
    }

    /// A 32-bit value (or narrower) to be read. `ty` is the instruction's type without the dot: it says
    /// how an immediate is written into the register.
    pub(crate) fn src32(&mut self, operand: &Operand<'_>, ty: &str) -> Result<R32, Refusal> {
        match self.immediate(operand, ty)? {
            Some(fill) => Ok(self.filled32(fill)),
            None => match self.any(operand)? {
                (Reg::R32(reg), _) => Ok(reg),
                (_, bits) => Err(self.width(bits, 32)),
            },
        }
    }

    /// A 64-bit value to be read.
    pub(crate) fn src64(&mut self, operand: &Operand<'_>, ty: &str) -> Result<R64, Refusal> {
        match self.immediate(operand, ty)? {
            Some(fill) => Ok(self.filled64(fill)),
            None => match self.any(operand)? {
                (Reg::R64(reg), _) => Ok(reg),
                (_, bits) => Err(self.width(bits, 64)),
            },
        }
    }

    /// A number that has to be known now, such as `lop3`'s table.
    pub(crate) fn number(&self, operand: &Operand<'_>) -> Result<u64, Refusal> {
        match operand {
            Operand::Number(Number::Integer(value)) => Ok(*value),
            _ => Err(self.invalid("a constant is expected here")),
        }
    }

    /// A 32-bit register that always holds this.
    pub(crate) fn constant32(&mut self, value: u32) -> R32 {
        self.filled32(Fill::Number(u64::from(value)))
    }

    /// A 64-bit register that always holds this.
    pub(crate) fn constant64(&mut self, value: u64) -> R64 {
        self.filled64(Fill::Number(value))
    }

    fn constant_pred(&mut self, value: bool) -> Pred {
        let pred = self.temp_pred();
        let fill = Fill::Number(u64::from(value));
        self.func.fills.push(Filled {
            reg: Reg::Pred(pred),
            fill,
        });
        pred
    }

    /// A 32-bit register that is filled so when a frame begins.
    pub(crate) fn filled32(&mut self, fill: Fill) -> R32 {
        if let Some(Reg::R32(reg)) = self.fills.get(&(fill, false)) {
            return *reg;
        }
        let reg = self.temp32();
        self.fills.insert((fill, false), Reg::R32(reg));
        self.func.fills.push(Filled {
            reg: Reg::R32(reg),
            fill,
        });
        reg
    }

    /// A 64-bit register that is filled so when a frame begins.
    pub(crate) fn filled64(&mut self, fill: Fill) -> R64 {
        if let Some(Reg::R64(reg)) = self.fills.get(&(fill, true)) {
            return *reg;
        }
        let reg = self.temp64();
        self.fills.insert((fill, true), Reg::R64(reg));
        self.func.fills.push(Filled {
            reg: Reg::R64(reg),
            fill,
        });
        reg
    }

    /// What an operand that is no register is filled with: a number, or a variable's address.
    fn immediate(&mut self, operand: &Operand<'_>, ty: &str) -> Result<Option<Fill>, Refusal> {
        match operand {
            Operand::Number(number) => Ok(Some(Fill::Number(immediate_bits(*number, ty)))),
            Operand::NameOffset(name, offset) => match self.variable(name) {
                Some(place) => {
                    let place = place?;
                    Ok(Some(self.address_of(place, *offset)))
                }
                None => Err(self.invalid(format!("there is no variable `{name}`"))),
            },
            Operand::Name(name) if self.register(name).is_none() && special(name).is_none() => {
                match self.variable(name) {
                    Some(place) => {
                        let place = place?;
                        Ok(Some(self.address_of(place, 0)))
                    }
                    None => match warp_size(name) {
                        Some(size) => Ok(Some(Fill::Number(size))),
                        None => {
                            Err(self.invalid(format!("there is no register or variable `{name}`")))
                        }
                    },
                }
            }
            _ => Ok(None),
        }
    }

    /// The address of a variable, in its own space.
    pub(crate) fn address_of(&mut self, place: Place, offset: i64) -> Fill {
        match place {
            Place::Shared(at) => Fill::Number(i64::from(at).wrapping_add(offset) as u64),
            // Known when all static variables are; the fill is patched by the machine.
            Place::DynamicShared => Fill::DynamicShared(offset),
            Place::Constant(at) => Fill::Number(i64::from(at).wrapping_add(offset) as u64),
            Place::Param(at) => Fill::Number(i64::from(at).wrapping_add(offset) as u64),
            Place::Frame(at) => Fill::Local((i64::from(at).wrapping_add(offset)) as u32),
            Place::Global(variable) => Fill::Global { variable, offset },
        }
    }

    /// The address in brackets.
    pub(crate) fn address(&mut self, operand: &Operand<'_>) -> Result<Source, Refusal> {
        let Operand::Address { base, offset } = operand else {
            return Err(self.invalid("an address in brackets is expected here"));
        };
        match base {
            AddressBase::Absolute(value) => {
                let base = Reg::R64(self.constant64(*value));
                Ok(Source {
                    base,
                    offset: *offset,
                    place: None,
                })
            }
            AddressBase::Name(name) => {
                if let Some((reg, _)) = self.register(name) {
                    if matches!(reg, Reg::Pred(_)) {
                        return Err(self.invalid(format!("predicate `{name}` is no address")));
                    }
                    return Ok(Source {
                        base: reg,
                        offset: *offset,
                        place: None,
                    });
                }
                let place = self.variable(name).ok_or_else(|| {
                    self.invalid(format!("there is no register or variable `{name}`"))
                })??;
                let fill = self.address_of(place, *offset);
                let base = Reg::R64(self.filled64(fill));
                Ok(Source {
                    base,
                    offset: 0,
                    place: Some(place),
                })
            }
        }
    }

    /// A guard's predicate.
    pub(crate) fn guard(
        &mut self,
        guard: Option<ptx::ast::Guard<'_>>,
    ) -> Result<Option<Guard>, Refusal> {
        let Some(guard) = guard else { return Ok(None) };
        let pred = self.dst_pred(&Operand::Name(guard.register))?;
        Ok(Some(Guard {
            pred,
            negated: guard.negated,
        }))
    }

    fn width(&self, found: u32, expected: u32) -> Refusal {
        let name = |bits| match bits {
            1 => "a predicate".to_owned(),
            bits => format!("a register of {bits} bits"),
        };
        self.invalid(format!(
            "{} stands where {} belongs",
            name(found),
            name(expected)
        ))
    }
}

fn warp_size(name: &str) -> Option<u64> {
    (name == "WARP_SZ").then_some(32)
}

/// The bits that an immediate has in a register of this type.
fn immediate_bits(number: Number, ty: &str) -> u64 {
    let width = type_bytes(ty).unwrap_or(8);
    let float = ty.starts_with('f') && !ty.contains('x');
    let bits = match (number, float, width) {
        (Number::Integer(value), true, 4) => u64::from((value as i64 as f32).to_bits()),
        (Number::Integer(value), true, 8) => (value as i64 as f64).to_bits(),
        (Number::Integer(value), ..) => value,
        (Number::F32(bits), true, 8) => f64::from(f32::from_bits(bits)).to_bits(),
        (Number::F32(bits), ..) => u64::from(bits),
        (Number::F64(bits), _, 4) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Number::F64(bits), ..) => bits,
    };
    match width {
        1 => bits & 0xff,
        2 => bits & 0xffff,
        4 => bits & 0xffff_ffff,
        _ => bits,
    }
}

/// A special register whose value does not change while a warp runs.
pub(crate) fn special(name: &str) -> Option<Special> {
    let axis = |name: &str| match name {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((base, component)) = name.split_once('.') {
        let axis = axis(component)?;
        return Some(match base {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            // One block a cluster: clusters are numbered as blocks are.
            "%clusterid" => Special::Ctaid(axis),
            "%nclusterid" => Special::Nctaid(axis),
            "%cluster_ctaid" => Special::Zero,
            "%cluster_nctaid" => Special::One,
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%total_smem_size" => Special::TotalSmemSize,
        "%dynamic_smem_size" => Special::DynamicSmemSize,
        "%cluster_ctarank" => Special::Zero,
        "%cluster_nctarank" => Special::One,
        _ => return None,
    })
}
