//! State spaces and addresses: the addresses in an instruction's brackets, and instructions that compute with addresses
//! (`cvta`, `isspacep`, `mapa`, `getctarank`, `createpolicy`).

use ptx::ast::{AddressBase, Operand, Space};

use super::context::address_of;
use super::{Decoded, Decoder};
use crate::alu::copy64;
use crate::code::{FrameInit, Op, Reg};
use crate::layout::Location;
use crate::memory::address_op::AddressOp;
use crate::memory::{Address, Memory, Region};

impl Decoder<'_, '_, '_> {
    /// Returns the state space that a modifier names.
    fn named_space(&self, word: &str) -> Option<Region> {
        Some(match word {
            "global" => Region::Global,
            "shared" | "shared::cta" | "shared::cluster" => Region::Shared,
            "local" => Region::Local,
            "const" => Region::Const,
            "param::entry" => Region::Param,
            "param" if self.function.entry => Region::Param,
            "param" | "param::func" => Region::FrameParam,
            _ => return None,
        })
    }

    /// Returns the state space of a modifier, or an error if the modifier is not a state space.
    fn space_of(&self, word: &str) -> Decoded<Region> {
        self.named_space(word).ok_or_else(|| self.unsupported_form())
    }

    /// Returns the address in an instruction's brackets.
    pub(super) fn address_in(&mut self, space: Option<&str>, operand: &Operand<'_>) -> Decoded<Address> {
        let Operand::Address { base, offset } = operand else {
            return Err(self.invalid("an address in brackets is expected here"));
        };
        let (base, variable) = match base {
            AddressBase::Absolute(value) => (Reg::R64(self.initialized(FrameInit::Number(*value))), None),
            AddressBase::Name(name) => match self.register(name) {
                Some((Reg::Pred(_), _)) => return Err(self.invalid(format!("predicate `{name}` is not an address"))),
                Some((reg, _)) => {
                    self.found.reads.push(reg);
                    (reg, None)
                }
                None => {
                    let location = self.variable(name);
                    let location = location
                        .ok_or_else(|| self.invalid(format!("there is no register or variable `{name}`")))??;
                    self.note_variable(name, location);
                    (Reg::R64(self.initialized(address_of(location, *offset))), Some(location))
                }
            },
        };
        let named = space.map(|word| self.space_of(word)).transpose()?;
        let declared = variable.map(|location| match location {
            Location::Global(_) => Region::Global,
            Location::Shared(_) | Location::DynamicShared => Region::Shared,
            Location::Frame(_) => Region::Local,
            Location::Constant(_) => Region::Const,
            Location::Param(_) => Region::Param,
        });
        // The parameters of functions are in the frame.
        let is_param = match operand {
            Operand::Address { base: AddressBase::Name(name), .. } => {
                self.variable_declared(name).is_some_and(|variable| variable.space == Space::Param)
            }
            _ => false,
        };
        let region = match (named, declared) {
            (None, None) => Region::Generic,
            // A generic access that names a variable uses the variable's state space.
            (None, Some(declared @ (Region::Global | Region::Shared | Region::Local))) => declared,
            (Some(named), None) => named,
            (Some(named), Some(declared)) if named == declared => named,
            (Some(_), Some(Region::Local)) if matches!(space, Some("param" | "param::func")) && is_param => {
                Region::FrameParam
            }
            (named, Some(_)) => {
                return Err(self.invalid(match named {
                    Some(_) => {
                        format!("the variable in the brackets is not in the .{} space", space.unwrap_or_default())
                    }
                    None => "the variable in the brackets has no generic address: name its space".to_owned(),
                }));
            }
        };
        if let (Reg::R32(_), Region::Generic | Region::Global) = (base, region) {
            return Err(self.invalid("an address of global or generic memory has 64 bits"));
        }
        let offset = i32::try_from(if variable.is_some() { 0 } else { *offset })
            .map_err(|_| self.invalid("an address's offset has 32 bits (PTX ISA §6.4.1)"))?;
        Ok(Address { base, offset, region, fixed: variable.is_some() })
    }

    pub(super) fn address_op(&mut self) -> Decoded<Op> {
        let op = match (self.words, self.operands) {
            (["cvta", "to", space, "u64"] | ["cvta", space, "u64"], [to, from]) => {
                let region = self.space_of(space)?;
                if self.words[1] != "to"
                    && let Operand::Name(name) | Operand::NameOffset(name, _) = from
                    && let Some(variable) = self.variable_declared(name)
                    && self.named_space(variable.space.name()) != Some(region)
                {
                    return Err(self.invalid(format!("`{name}` is not in the .{space} space")));
                }
                let window = match self.words[1] {
                    "to" => region.window().wrapping_neg(),
                    _ => region.window(),
                };
                let (to, from) = (self.dst(to)?, self.src(from, "u64")?);
                if window == 0 {
                    return Ok(Op::Alu(copy64(to, from)));
                }
                AddressOp::Shift { to, from, by: window }
            }
            (["isspacep", space], [to, from]) => {
                let region = self.space_of(space)?;
                let is_narrow = matches!(from, Operand::Name(name)
                    if matches!(self.register(name), Some((Reg::R32(_), _))));
                let (ty, bits) = if is_narrow { ("u32", 32) } else { ("u64", 64) };
                AddressOp::IsSpace {
                    to: self.dst(to)?,
                    from: self.src_of(from, ty, bits)?,
                    // A function's parameters are in the frame.
                    region: match region {
                        Region::FrameParam => Region::Local,
                        region => region,
                    },
                }
            }
            (["mapa", .., ty], [to, from, rank]) => {
                let bits = if *ty == "u64" { 64 } else { 32 };
                let (to, from) = (self.dst_of(to, bits)?, self.src_of(from, ty, bits)?);
                AddressOp::Map { to, from, rank: self.src(rank, "u32")? }
            }
            (["getctarank", .., ty], [to, from]) => {
                let bits = if *ty == "u64" { 64 } else { 32 };
                AddressOp::Rank { to: self.dst(to)?, from: self.src_of(from, ty, bits)? }
            }
            (["createpolicy", ..], [to, ..]) => AddressOp::Zero { to: self.dst(to)? },
            _ => return Err(self.unsupported_form()),
        };
        Ok(Op::Memory(Memory::Address(op)))
    }
}
