//! What decoding an instruction asks: which register an operand is.

mod mentions;
mod operand;

use std::collections::HashMap;

use super::variables::{Place, type_bytes};
use super::{Lowering, Refusal};
use crate::code::{Fill, Func, Pred, R32, R64, Reg};
use ptx::ast::{At, Function};

/// Registers of one width that a function may have: each takes room in every warp that runs.
const MAX_REGISTERS: u32 = 1 << 16;

/// The address of a load, store or atomic: a register plus a distance, or a place known now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    /// The register that holds the base.
    pub(crate) base: Reg,
    /// Bytes behind it.
    pub(crate) offset: i64,
    /// The state space of the variable that stands in the brackets, if one does.
    pub(crate) place: Option<Place>,
}

/// A declared register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared {
    pub(crate) reg: Reg,
    /// Its width: 1 for a predicate.
    pub(crate) bits: u32,
}

/// The lowering of one function, as decoding sees it.
pub(crate) struct Context<'l, 'm> {
    pub(crate) lowering: &'l mut Lowering<'m>,
    pub(crate) func: Func,
    /// The instruction being decoded.
    pub(crate) at: At,
    /// Registers by name, the innermost scope last.
    pub(crate) registers: Vec<HashMap<&'m str, Declared>>,
    /// Ranges such as `%r<9>`: prefix, count and the first register, the innermost scope last.
    pub(crate) ranges: Vec<Vec<(&'m str, u32, Declared)>>,
    /// Variables of the function's scopes, the innermost last.
    pub(crate) variables: Vec<HashMap<&'m str, Place>>,
    fills: HashMap<(Fill, bool), Reg>,
    function: &'m Function<'m>,
    /// How often names stand in the function's instructions, once it was asked.
    mentions: Option<HashMap<&'m str, u32>>,
    /// The carry flag, once an instruction has asked for it.
    carry: Option<Pred>,
}

impl<'l, 'm> Context<'l, 'm> {
    pub(crate) fn new(lowering: &'l mut Lowering<'m>, function: &'m Function<'m>) -> Self {
        Self {
            lowering,
            func: Func {
                name: function.name.to_owned(),
                ..Func::default()
            },
            at: 0,
            registers: vec![HashMap::new()],
            ranges: vec![Vec::new()],
            variables: vec![HashMap::new()],
            fills: HashMap::new(),
            function,
            mentions: None,
            carry: None,
        }
    }

    /// Something that this machine does not do, at the current instruction.
    pub(crate) fn unsupported(&self, what: impl std::fmt::Display) -> Refusal {
        Refusal::unsupported(what, self.at)
    }

    /// Something that is not PTX, at the current instruction.
    pub(crate) fn invalid(&self, message: impl Into<String>) -> Refusal {
        Refusal::invalid(message, self.at)
    }

    /// A new 32-bit register that no name stands for.
    pub(crate) fn temp32(&mut self) -> R32 {
        self.func.r32 += 1;
        R32(self.func.r32 - 1)
    }

    /// A new 64-bit register that no name stands for.
    pub(crate) fn temp64(&mut self) -> R64 {
        self.func.r64 += 1;
        R64(self.func.r64 - 1)
    }

    /// A new predicate that no name stands for.
    pub(crate) fn temp_pred(&mut self) -> Pred {
        self.func.preds += 1;
        Pred(self.func.preds - 1)
    }

    /// The predicate that stands for the function's carry flag, `CC.CF` (PTX ISA §9.7.2).
    pub(crate) fn carry(&mut self) -> Pred {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.temp_pred();
        self.carry = Some(carry);
        carry
    }

    /// New registers for a declaration of this type: `count` in a row.
    pub(crate) fn declare(&mut self, ty: &str, count: u32) -> Result<Declared, Refusal> {
        let room = |have: u32| have.checked_add(count).filter(|sum| *sum <= MAX_REGISTERS);
        let too_many = || {
            self.unsupported(format!(
                "a function with more than {MAX_REGISTERS} registers of a kind"
            ))
        };
        if ty == "pred" {
            let first = self.func.preds;
            self.func.preds = room(first).ok_or_else(too_many)?;
            return Ok(Declared {
                reg: Reg::Pred(Pred(first)),
                bits: 1,
            });
        }
        Ok(match type_bytes(ty) {
            Some(bytes @ (1 | 2 | 4)) => {
                let first = self.func.r32;
                self.func.r32 = room(first).ok_or_else(too_many)?;
                Declared {
                    reg: Reg::R32(R32(first)),
                    bits: bytes * 8,
                }
            }
            Some(8) => {
                let first = self.func.r64;
                self.func.r64 = room(first).ok_or_else(too_many)?;
                Declared {
                    reg: Reg::R64(R64(first)),
                    bits: 64,
                }
            }
            _ => return Err(self.unsupported(format!("a register of type .{ty}"))),
        })
    }

    /// Whether the module is for GPUs of this compute capability, as 80 for 8.0, or newer ones.
    pub(crate) fn is_for(&self, least: u32) -> bool {
        let targets = self.lowering.module.target.iter();
        let mut numbers = targets.filter_map(|target| {
            let number = target.strip_prefix("sm_")?;
            number.trim_end_matches(char::is_alphabetic).parse().ok()
        });
        numbers.any(|number: u32| number >= least)
    }

    /// The register of this name and its width in bits (1 for a predicate).
    pub(crate) fn register(&self, name: &str) -> Option<(Reg, u32)> {
        for (names, ranges) in self.registers.iter().zip(&self.ranges).rev() {
            if let Some(declared) = names.get(name) {
                return Some((declared.reg, declared.bits));
            }
            let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            // `%r12` may belong to `%r<20>` or to `%r1<5>`: try each split, the longest number first.
            for split in name.len() - digits..name.len() {
                let (prefix, number) = name.split_at(split);
                if number.len() > 1 && number.starts_with('0') {
                    continue;
                }
                let Ok(number) = number.parse::<u32>() else {
                    continue;
                };
                for (known, count, first) in ranges {
                    if *known == prefix && number < *count {
                        return Some((advance(first.reg, number), first.bits));
                    }
                }
            }
        }
        None
    }

    /// Where the variable of this name is.
    pub(crate) fn variable(&mut self, name: &str) -> Option<Result<Place, Refusal>> {
        for scope in self.variables.iter().rev() {
            if let Some(place) = scope.get(name) {
                return Some(Ok(*place));
            }
        }
        self.lowering.variables.module_scope(name)
    }
}

fn advance(reg: Reg, by: u32) -> Reg {
    match reg {
        Reg::R32(R32(first)) => Reg::R32(R32(first + by)),
        Reg::R64(R64(first)) => Reg::R64(R64(first + by)),
        Reg::Pred(Pred(first)) => Reg::Pred(Pred(first + by)),
    }
}
