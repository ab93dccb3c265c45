//! Lowers the syntax tree to code: names become register numbers and addresses, and labels become program counters.
//! Each branch is annotated with the program counter at which its diverged lanes reconverge.
//!
//! A kernel is lowered together with all functions reachable from it, because shared variables get their addresses per
//! kernel.

mod declarations;
mod flow;
mod function;

use std::collections::{HashMap, HashSet};

use ptx::Declared;
use ptx::ast::{At, Function, Init, Module};
use simt_isa::Registers;

use crate::code::{ModuleVariable, Param, Program, Signature, Target};
pub use crate::error::LowerError;
use crate::layout::{ModuleMemory, Variables, layout};
pub use declarations::check;

/// The maximum sizes in bytes of a kernel's parameters: the first since PTX 8.1, the second before PTX 8.1 (PTX ISA
/// §5.1.6.1).
const MAX_PARAM: u32 = 32764;
const MAX_PARAM_BEFORE_8_1: u32 = 4352;

/// A lowered module.
pub struct Lowered {
    /// The kernels in the order of the text: each kernel's name, and its program or the reason why the kernel is
    /// rejected.
    pub kernels: Vec<(String, Result<Program, LowerError>)>,
    /// The variables in global and constant memory, by number; an error for a variable that kernels cannot use.
    pub variables: Vec<Result<ModuleVariable, LowerError>>,
}

/// Lowers a module: its variables, and each kernel with all functions that it calls.
pub fn lower(module: &Module<'_>) -> Lowered {
    let memory = ModuleMemory::new(module);
    let address_taken = address_taken_functions(module);
    let lowered = |entry: &Function<'_>| {
        let program = kernel(module, entry, &memory, &address_taken);
        (entry.name.to_owned(), program)
    };
    Lowered { kernels: entries(module).map(lowered).collect(), variables: memory.variables }
}

fn entries<'m>(module: &'m Module<'m>) -> impl Iterator<Item = &'m Function<'m>> {
    module.functions.iter().filter(|function| function.entry && function.body.is_some())
}

/// Lowers the kernel `entry` and all functions that it calls. `address_taken` lists the functions whose address the
/// module takes.
fn kernel(
    module: &Module<'_>,
    entry: &Function<'_>,
    memory: &ModuleMemory<'_>,
    address_taken: &[&Function<'_>],
) -> Result<Program, LowerError> {
    let mut lowering = Lowering {
        pointers: Vec::new(),
        module,
        program: program_of(module, entry)?,
        functions: Functions { module, order: Vec::new(), numbers: HashMap::new() },
        variables: Variables::new(memory),
    };
    // Functions are numbered when a call to them is found, so lowering a function may add more functions.
    lowering.functions.number(entry.name, entry.at)?;
    let mut next = 0;
    loop {
        while let Some(function) = lowering.functions.order.get(next).copied() {
            let lowered = function::lower(&mut lowering, function)?;
            lowering.program.functions.push(lowered);
            next += 1;
        }
        // An indirect call can reach every function with a matching signature whose address is taken anywhere in the
        // module, because another kernel may have stored the address.
        for function in address_taken {
            let (slots, _) = function::slots(&function.returns, &function.params)?;
            if lowering.pointers.iter().any(|call| call.fits(&slots)) {
                lowering.functions.number(function.name, function.at)?;
            }
        }
        if next == lowering.functions.order.len() {
            break;
        }
    }
    let mut program = lowering.program;
    let numbers = &lowering.functions.numbers;
    let target = |(name, address): (&&str, &u64)| Target {
        address: *address,
        name: (*name).to_owned(),
        function: numbers.get(*name).copied(),
    };
    if !lowering.pointers.is_empty() {
        program.targets = memory.functions.iter().map(target).collect();
        // If a function has aliases, keep the name to which a number is assigned.
        fn key(target: &Target) -> (u64, bool, &str) {
            (target.address, target.function.is_none(), &target.name)
        }
        program.targets.sort_by(|a, b| key(a).cmp(&key(b)));
        program.targets.dedup_by_key(|target| target.address);
    }
    program.shared_bytes = lowering.variables.shared_bytes();
    program.shared = std::mem::take(&mut lowering.variables.shared_names);
    program.variables = lowering.variables.reached();
    Ok(program)
}

/// The state of lowering one kernel.
struct Lowering<'m> {
    module: &'m Module<'m>,
    program: Program,
    /// The signatures of the kernel's indirect calls.
    pointers: Vec<Signature>,
    functions: Functions<'m>,
    variables: Variables<'m>,
}

/// The functions reachable from a kernel; the kernel itself is the first.
struct Functions<'m> {
    module: &'m Module<'m>,
    /// The functions in the order of their numbers.
    order: Vec<&'m Function<'m>>,
    numbers: HashMap<&'m str, u32>,
}

/// Returns the functions with a body whose address is an initial value of a variable or is read by a `mov`.
fn address_taken_functions<'m>(module: &'m Module<'m>) -> Vec<&'m Function<'m>> {
    let initial = module.variables.iter().filter_map(|variable| variable.init.as_ref());
    let mut names: HashSet<&str> = initial.flat_map(Init::addresses).collect();
    let instructions = module.functions.iter().flat_map(Function::instructions);
    let moves = instructions.filter(|inst| inst.opcode.starts_with("mov."));
    names.extend(moves.flat_map(|inst| inst.uses()));
    for (alias, function) in &module.aliases {
        if names.contains(alias) {
            names.insert(function);
        }
    }
    let functions = module.functions.iter();
    functions.filter(|function| !function.entry && function.body.is_some() && names.contains(function.name)).collect()
}

/// Returns a program without functions, which contains the kernel's parameters and its limits on the block size.
fn program_of(module: &Module<'_>, entry: &Function<'_>) -> Result<Program, LowerError> {
    let mut program = Program::default();
    for param in &entry.params {
        let layout = layout(param)?;
        let (offset, end) = layout.place_after(program.param_bytes, param)?;
        program.params.push(Param {
            name: param.name.to_owned(),
            ty: param.ty.to_owned(),
            offset,
            bytes: layout.small_bytes(param)?,
            align: layout.align,
            declared: Declared::read(param.comment),
        });
        program.param_bytes = end;
        let most = match module.version < (8, 1) {
            true => MAX_PARAM_BEFORE_8_1,
            false => MAX_PARAM,
        };
        if program.param_bytes > most {
            return Err(LowerError::invalid(
                format!("the parameters of `{}` take more than {most} bytes", entry.name),
                param.at,
            ));
        }
    }
    let numbers_of = |name: &str| {
        entry.directives.iter().find(|(directive, _)| *directive == name).map(|(_, numbers)| {
            let side = |i: usize| numbers.get(i).map_or(1, |n| u32::try_from(*n).unwrap_or(u32::MAX));
            [side(0), side(1), side(2)]
        })
    };
    program.required_block = numbers_of("reqntid");
    program.max_registers = numbers_of("maxnreg").map(|[registers, ..]| registers);
    program.required_cluster = numbers_of("reqnctapercluster");
    program.explicit_cluster = numbers_of("explicitcluster").is_some();
    program.max_threads =
        numbers_of("maxntid").map(|sides| sides.iter().fold(1u32, |all, side| all.saturating_mul(*side)));
    Ok(program)
}

impl<'m> Functions<'m> {
    /// Returns the number of the function with this name, and adds the function if it is new.
    fn number(&mut self, name: &str, at: At) -> Result<u32, LowerError> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        // An alias is a second name of a function.
        let mut aliases = self.module.aliases.iter();
        let alias = aliases.find(|(alias, _)| *alias == name);
        let real = alias.map_or(name, |(_, function)| *function);
        if let Some(number) = self.numbers.get(real) {
            return Ok(*number);
        }
        let function =
            self.module.functions.iter().find(|function| function.name == real && function.body.is_some()).ok_or_else(
                || {
                    let mut declared = self.module.functions.iter();
                    let message = if is_device_runtime(name) {
                        format!("`{name}`: device-side launches are not supported")
                    } else if declared.any(|function| function.name == name) {
                        format!("function `{name}` is declared, but its body is not in this module")
                    } else {
                        format!("there is no function `{name}`")
                    };
                    LowerError::invalid(message, at)
                },
            )?;
        let number = self.order.len() as u32;
        self.order.push(function);
        self.numbers.insert(function.name, number);
        Ok(number)
    }
}

/// Returns whether a function belongs to CUDA's device runtime, which launches kernels.
fn is_device_runtime(name: &str) -> bool {
    name.starts_with("cuda") || name.starts_with("__cudaCDP2")
}
