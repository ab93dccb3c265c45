//! From AST to code: names become register numbers and addresses, labels program counters, and each
//! branch learns where its ways meet again.
//!
//! A kernel is lowered together with the functions that it can reach, for shared variables get their
//! addresses per kernel.

mod constants;
mod context;
mod flow;
mod function;
mod variables;

use std::collections::HashMap;

use crate::code::{Param, Program};
use ptx::ast::{At, Function, Module};

pub(crate) use context::Context;
pub(crate) use variables::{Place, type_bytes};

/// An instruction that this machine does not run, or a module that makes no sense: what, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What is wrong, in words.
    pub message: String,
    /// Where it stands in the text, if it is at one place.
    pub at: Option<At>,
}

impl Refusal {
    /// Something that this machine does not do.
    pub fn unsupported(what: impl std::fmt::Display, at: At) -> Self {
        Self {
            message: format!("{what} is not supported"),
            at: Some(at),
        }
    }

    /// Something that is not PTX, or contradicts itself.
    pub fn invalid(message: impl Into<String>, at: At) -> Self {
        Self {
            message: message.into(),
            at: Some(at),
        }
    }
}

/// Bytes of a kernel's parameters (PTX ISA §5.1.6.1).
const MAX_PARAM: u32 = 32764;

/// Lowers the entry `entry` and all that it calls.
///
/// # Errors
/// The first [`Refusal`] in the entry or in what it can reach.
pub fn lower(module: &Module<'_>, entry: &Function<'_>) -> Result<Program, Refusal> {
    let mut lowering = Lowering::new(module, entry)?;
    // Functions are numbered as calls to them are met; lowering one may number more.
    lowering.number(entry.name, entry.at)?;
    let mut next = 0;
    while next < lowering.order.len() {
        let function = lowering.order[next];
        let lowered = function::lower(&mut lowering, function)?;
        lowering.program.functions.push(lowered);
        next += 1;
    }
    lowering.finish()
}

/// What the lowering of one entry has come to know.
pub(crate) struct Lowering<'m> {
    pub(crate) module: &'m Module<'m>,
    pub(crate) program: Program,
    /// The functions, in the order of their numbers.
    order: Vec<&'m Function<'m>>,
    numbers: HashMap<&'m str, u32>,
    pub(crate) variables: variables::Variables<'m>,
}

impl<'m> Lowering<'m> {
    fn new(module: &'m Module<'m>, entry: &'m Function<'m>) -> Result<Self, Refusal> {
        let mut program = Program::default();
        for param in &entry.params {
            let layout = variables::layout(param)?;
            let (offset, end) = layout.place_behind(program.param_bytes, param)?;
            program.params.push(Param {
                name: param.name.to_owned(),
                ty: param.ty.to_owned(),
                offset,
                bytes: layout.small_bytes(param)?,
                align: layout.align,
            });
            program.param_bytes = end;
            if program.param_bytes > MAX_PARAM {
                return Err(Refusal::invalid(
                    format!(
                        "the parameters of `{}` take more than {MAX_PARAM} bytes",
                        entry.name
                    ),
                    param.at,
                ));
            }
        }
        let numbers_of = |name: &str| {
            entry
                .directives
                .iter()
                .find(|(directive, _)| *directive == name)
                .map(|(_, numbers)| {
                    let side = |i: usize| {
                        numbers
                            .get(i)
                            .map_or(1, |n| u32::try_from(*n).unwrap_or(u32::MAX))
                    };
                    [side(0), side(1), side(2)]
                })
        };
        program.required_block = numbers_of("reqntid");
        program.max_threads = numbers_of("maxntid").map(|sides| {
            sides
                .iter()
                .fold(1u32, |all, side| all.saturating_mul(*side))
        });
        Ok(Self {
            module,
            program,
            order: Vec::new(),
            numbers: HashMap::new(),
            variables: variables::Variables::new(module),
        })
    }

    /// The number of the function of this name.
    pub(crate) fn number(&mut self, name: &str, at: At) -> Result<u32, Refusal> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let function = self
            .module
            .functions
            .iter()
            .find(|function| function.name == name && function.body.is_some())
            .ok_or_else(|| {
                let declared = self
                    .module
                    .functions
                    .iter()
                    .any(|function| function.name == name);
                Refusal::invalid(
                    if declared {
                        format!("function `{name}` is declared, but its body is not in this module")
                    } else {
                        format!("there is no function `{name}`")
                    },
                    at,
                )
            })?;
        let number = self.order.len() as u32;
        self.order.push(function);
        self.numbers.insert(function.name, number);
        Ok(number)
    }

    /// The declaration or definition of a function, for its parameters.
    pub(crate) fn function(&self, number: u32) -> &'m Function<'m> {
        self.order[number as usize]
    }

    fn finish(mut self) -> Result<Program, Refusal> {
        self.program.shared_bytes = self.variables.shared_bytes();
        let (globals, constants) = self.variables.into_memory()?;
        self.program.globals = globals;
        self.program.constants = constants;
        Ok(self.program)
    }
}
