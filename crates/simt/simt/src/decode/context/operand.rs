//! Operands: resolves them to registers, and evaluates immediates and special registers.

use ptx::ast::{self, Number, Operand};

use super::{Context, RegisterNumber};
use crate::code::{FrameInit, Guard, InitializedRegister, Pred, R32, RESERVED_SHARED, Reg, Special};
use crate::error::LowerError;
use crate::layout::Location;
use ptx::opcode::type_bytes;

impl Context<'_, '_> {
    /// Returns whether an operand is `_`, which discards a result.
    pub(crate) fn is_sink(&self, operand: &Operand<'_>) -> bool {
        *operand == Operand::Name("_")
    }

    /// Returns a source register of any kind, and its width.
    pub(crate) fn any(&mut self, operand: &Operand<'_>) -> Result<(Reg, u32), LowerError> {
        let found = self.resolve(operand)?;
        self.found.reads.push(found.0);
        Ok(found)
    }

    /// Returns the register of an operand, and its width.
    fn resolve(&mut self, operand: &Operand<'_>) -> Result<(Reg, u32), LowerError> {
        let name = match operand {
            Operand::Name(name) => name,
            Operand::Element(name, element) => {
                if self.declared(name).is_none() && name.starts_with('%') {
                    return Err(self.unknown(&format!("{name}.{element}")));
                }
                let found = self.element(name, *element);
                return found
                    .ok_or_else(|| self.invalid(format!("`{name}.{element}` is not an element of a vector register")));
            }
            _ => return Err(self.invalid("a register is expected here")),
        };
        if let Some(found) = self.register(name) {
            return Ok(found);
        }
        match special(name) {
            Some(special) => {
                let reg: R32 = self.initialized(FrameInit::Special(special));
                Ok((Reg::R32(reg), 32))
            }
            None => Err(self.unknown(name)),
        }
    }

    /// Returns the error for a name that is not declared.
    pub(crate) fn unknown(&self, name: &str) -> LowerError {
        let base = name.split('.').next().unwrap_or(name);
        let is_counter = base.strip_prefix("%pm").is_some_and(|number| {
            let number = number.strip_suffix("_64").unwrap_or(number);
            matches!(number, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7")
        });
        let mut functions = self.module.functions.iter();
        match name.starts_with('%') {
            _ if functions.any(|function| function.name == name) => {
                self.unsupported(format!("the address of function `{name}`"))
            }
            _ if is_counter => self.unsupported(format!("special register `{name}`")),
            true => self.invalid(format!("there is no register or special register `{name}`")),
            false => self.invalid(format!("there is no register or variable `{name}`")),
        }
    }

    /// Returns a declared register as a destination. Special registers are read-only.
    pub(crate) fn written(&mut self, operand: &Operand<'_>) -> Result<(Reg, u32), LowerError> {
        match operand {
            Operand::Name(name) if special(name).is_some() && self.register(name).is_none() => {
                Err(self.invalid(format!("`{name}` is a special register and cannot be written")))
            }
            _ => {
                let found = self.resolve(operand)?;
                self.found.writes.push(found.0);
                Ok(found)
            }
        }
    }

    /// Returns a destination register. `_` becomes a register that no instruction reads.
    pub(crate) fn dst<R: RegisterNumber>(&mut self, operand: &Operand<'_>) -> Result<R, LowerError> {
        if self.is_sink(operand) {
            return Ok(self.temp());
        }
        let (reg, bits) = self.written(operand)?;
        R::of(reg).ok_or_else(|| self.width(bits, R::BITS))
    }

    /// Returns a source predicate, and whether it is negated (`!%p`).
    pub(crate) fn src_pred(&mut self, operand: &Operand<'_>) -> Result<(Pred, bool), LowerError> {
        match operand {
            Operand::Not(name) => Ok((self.register_of(&Operand::Name(name))?, true)),
            // A constant predicate is always true or always false.
            Operand::Number(Number::Integer(value)) => {
                let value = FrameInit::Number(u64::from(*value != 0));
                Ok((self.known(value), false))
            }
            Operand::Name("%is_explicit_cluster") => {
                let value = FrameInit::Special(Special::IsExplicitCluster);
                Ok((self.known(value), false))
            }
            _ => Ok((self.register_of(operand)?, false)),
        }
    }

    /// Returns the register of a source value. `ty` is the instruction's type without the dot; it determines how an
    /// immediate is encoded in the register.
    pub(crate) fn src<R: RegisterNumber>(&mut self, operand: &Operand<'_>, ty: &str) -> Result<R, LowerError> {
        match self.immediate(operand, ty)? {
            Some(value @ (FrameInit::Number(_) | FrameInit::Special(_))) => Ok(self.known(value)),
            Some(address) => Ok(self.initialized(address)),
            None => self.register_of(operand),
        }
    }

    /// Returns a declared or special register as a source.
    fn register_of<R: RegisterNumber>(&mut self, operand: &Operand<'_>) -> Result<R, LowerError> {
        let (reg, bits) = self.any(operand)?;
        R::of(reg).ok_or_else(|| self.width(bits, R::BITS))
    }

    /// Returns the source register of a value that is known when the frame begins.
    pub(crate) fn known<R: RegisterNumber>(&mut self, value: FrameInit) -> R {
        let register: R = self.initialized(value);
        self.found.reads.push(register.reg());
        register
    }

    /// Returns a source register with 64 bits or, if `bits` is less, with 32 bits.
    pub(crate) fn src_of(&mut self, operand: &Operand<'_>, ty: &str, bits: u32) -> Result<Reg, LowerError> {
        Ok(match bits {
            64 => Reg::R64(self.src(operand, ty)?),
            _ => Reg::R32(self.src(operand, ty)?),
        })
    }

    /// Returns a number that must be known when the code is decoded, such as the table of `lop3`.
    pub(crate) fn number(&self, operand: &Operand<'_>) -> Result<u64, LowerError> {
        match operand {
            Operand::Number(Number::Integer(value)) => Ok(*value),
            _ => Err(self.invalid("a constant is expected here")),
        }
    }

    /// Returns a register that has this value when a frame begins.
    pub(crate) fn initialized<R: RegisterNumber>(&mut self, init: FrameInit) -> R {
        let key = (init, R::BITS);
        if let Some(reg) = self.initialized.get(&key).and_then(|reg| R::of(*reg)) {
            return reg;
        }
        let number: R = self.temp();
        let reg = number.reg();
        self.initialized.insert(key, reg);
        self.func.frame_init.push(InitializedRegister { reg, init });
        number
    }

    /// Returns the value of an operand that is not a register: a number or the address of a variable.
    fn immediate(&mut self, operand: &Operand<'_>, ty: &str) -> Result<Option<FrameInit>, LowerError> {
        match operand {
            Operand::Number(number) => Ok(Some(FrameInit::Number(immediate_bits(*number, ty)))),
            Operand::NameOffset(name, offset) => match self.variable(name) {
                Some(location) => self.address_named(name, location?, *offset),
                None => Err(self.invalid(format!("there is no variable `{name}`"))),
            },
            Operand::Name(name) if self.register(name).is_none() && special(name).is_none() => {
                match self.variable(name) {
                    Some(location) => self.address_named(name, location?, 0),
                    None if *name == "WARP_SZ" => Ok(Some(FrameInit::Number(32))),
                    None => match self.module_variables.function(name) {
                        Some(address) => Ok(Some(FrameInit::Number(address))),
                        None => Err(self.unknown(name)),
                    },
                }
            }
            _ => Ok(None),
        }
    }

    /// Returns the address of a variable that the instruction names.
    fn address_named(&mut self, name: &str, location: Location, offset: i64) -> Result<Option<FrameInit>, LowerError> {
        self.note_variable(name, location);
        Ok(Some(address_of(location, offset)))
    }

    /// Returns the predicate of a guard.
    pub(crate) fn guard(&mut self, guard: Option<ast::Guard<'_>>) -> Result<Option<Guard>, LowerError> {
        let Some(guard) = guard else { return Ok(None) };
        let (reg, bits) = self.resolve(&Operand::Name(guard.register))?;
        let pred = Pred::of(reg).ok_or_else(|| self.width(bits, 1))?;
        Ok(Some(Guard { pred, negated: guard.negated }))
    }

    fn width(&self, found: u32, expected: u32) -> LowerError {
        let name = |bits| match bits {
            1 => "a predicate".to_owned(),
            bits => format!("a register of {bits} bits"),
        };
        self.invalid(format!("expected {}, found {}", name(expected), name(found)))
    }
}

/// Returns the address of a variable in the variable's state space.
pub(crate) fn address_of(location: Location, offset: i64) -> FrameInit {
    match location {
        Location::Shared(at) | Location::Constant(at) | Location::Param(at) => {
            FrameInit::Number(i64::from(at).wrapping_add(offset) as u64)
        }
        // The address is known only after all static variables have been placed, so the address is computed when a
        // frame begins.
        Location::DynamicShared => FrameInit::DynamicShared(offset),
        Location::Frame(at) => FrameInit::Local((i64::from(at).wrapping_add(offset)) as u32),
        Location::Global(variable) => FrameInit::Global { variable, offset },
    }
}

/// Returns the bits of an immediate in a register of this type.
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

/// Returns whether a name is a special register that the simulator implements.
pub(crate) fn is_special(name: &str) -> bool {
    special(name).is_some() || crate::decode::mov::counter(name).is_some()
}

/// Returns the special register with this name, if its value does not change while a warp runs.
fn special(name: &str) -> Option<Special> {
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
            "%clusterid" => Special::Clusterid(axis),
            "%nclusterid" => Special::Nclusterid(axis),
            "%cluster_ctaid" => Special::ClusterCtaid(axis),
            "%cluster_nctaid" => Special::ClusterNctaid(axis),
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
        "%aggr_smem_size" => Special::AggrSmemSize,
        "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" => Special::ReservedSmem(0),
        "%reserved_smem_offset_1" => Special::ReservedSmem(RESERVED_SHARED / 2),
        "%reserved_smem_offset_cap" | "%reserved_smem_offset_end" => Special::ReservedSmem(RESERVED_SHARED),
        "%current_graph_exec" => Special::Zero,
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        _ => {
            let number = name.strip_prefix("%envreg")?;
            let index = number.parse().ok().filter(|index| *index < 32)?;
            return (number.len() == 1 || index > 9).then_some(Special::Envreg(index));
        }
    })
}
