//! From the syntax tree to code: names become register numbers and addresses, labels become program
//! counters, and each branch gets the program counter where the lanes that it separates reconverge.
//!
//! A kernel is lowered together with the functions that it can reach, because shared variables get their
//! addresses per kernel.

mod declarations;
mod flow;
mod function;

use std::collections::HashMap;

use ptx::ast::{At, Function, Module};

use crate::code::{ModuleVariable, Param, Program};
pub use crate::error::LowerError;
use crate::layout::{ModuleMemory, Variables, layout};
pub use declarations::check;

/// Bytes of a kernel's parameters, and what they are before PTX 8.1 (PTX ISA §5.1.6.1).
const MAX_PARAM: u32 = 32764;
const MAX_PARAM_BEFORE_8_1: u32 = 4352;

/// A lowered module.
pub struct Lowered {
    /// The kernels, in the order of the text: each one's name, and its program or why it is refused.
    pub kernels: Vec<(String, Result<Program, LowerError>)>,
    /// The variables in global and constant memory, by their numbers: each one, or why no kernel can use it.
    pub variables: Vec<Result<ModuleVariable, LowerError>>,
}

/// Lowers a module: its variables, and each kernel with all that it calls.
pub fn lower(module: &Module<'_>) -> Lowered {
    let memory = ModuleMemory::new(module);
    let entries = module.functions.iter();
    let entries = entries.filter(|function| function.entry && function.body.is_some());
    Lowered {
        kernels: entries
            .map(|entry| (entry.name.to_owned(), kernel(module, entry, &memory)))
            .collect(),
        variables: memory.variables,
    }
}

/// Lowers the entry `entry` and all that it calls.
fn kernel(
    module: &Module<'_>,
    entry: &Function<'_>,
    memory: &ModuleMemory<'_>,
) -> Result<Program, LowerError> {
    let mut lowering = Lowering {
        module,
        program: program_of(module, entry)?,
        functions: Functions {
            module,
            order: Vec::new(),
            numbers: HashMap::new(),
        },
        variables: Variables::new(memory),
    };
    // Functions are numbered as calls to them are met; lowering one may number more.
    lowering.functions.number(entry.name, entry.at)?;
    let mut next = 0;
    while let Some(function) = lowering.functions.order.get(next).copied() {
        let lowered = function::lower(&mut lowering, function)?;
        lowering.program.functions.push(lowered);
        next += 1;
    }
    let mut program = lowering.program;
    program.shared_bytes = lowering.variables.shared_bytes();
    program.shared = std::mem::take(&mut lowering.variables.shared_names);
    program.variables = lowering.variables.reached();
    Ok(program)
}

/// The lowering of one entry.
struct Lowering<'m> {
    module: &'m Module<'m>,
    program: Program,
    functions: Functions<'m>,
    variables: Variables<'m>,
}

/// The functions that an entry can reach, itself the first.
struct Functions<'m> {
    module: &'m Module<'m>,
    /// In the order of their numbers.
    order: Vec<&'m Function<'m>>,
    numbers: HashMap<&'m str, u32>,
}

/// A program without functions yet: the entry's parameters, and the blocks that it takes.
fn program_of(module: &Module<'_>, entry: &Function<'_>) -> Result<Program, LowerError> {
    let mut program = Program::default();
    for param in &entry.params {
        let layout = layout(param)?;
        let (offset, end) = layout.place_behind(program.param_bytes, param)?;
        program.params.push(Param {
            name: param.name.to_owned(),
            ty: param.ty.to_owned(),
            offset,
            bytes: layout.small_bytes(param)?,
            align: layout.align,
        });
        program.param_bytes = end;
        let most = match module.version < (8, 1) {
            true => MAX_PARAM_BEFORE_8_1,
            false => MAX_PARAM,
        };
        if program.param_bytes > most {
            return Err(LowerError::invalid(
                format!(
                    "the parameters of `{}` take more than {most} bytes",
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
    Ok(program)
}

impl<'m> Functions<'m> {
    /// The number of the function of this name.
    fn number(&mut self, name: &str, at: At) -> Result<u32, LowerError> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let function = self
            .module
            .functions
            .iter()
            .find(|function| function.name == name && function.body.is_some())
            .ok_or_else(|| {
                let mut declared = self.module.functions.iter();
                let message = if declared.any(|function| function.name == name) {
                    format!("function `{name}` is declared, but its body is not in this module")
                } else {
                    format!("there is no function `{name}`")
                };
                LowerError::invalid(message, at)
            })?;
        let number = self.order.len() as u32;
        self.order.push(function);
        self.numbers.insert(function.name, number);
        Ok(number)
    }
}
