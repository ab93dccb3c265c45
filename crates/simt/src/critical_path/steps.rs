//! Each instruction's registers and cost.

use std::collections::HashMap;

use ptx::ast::{At, Instruction, Space};
use ptx::opcode::{self, Class};

use super::cost::{Cost, Kind, Step};
use crate::code::Op;
use crate::module::Function;

/// Registers by name: each gets a number, and a function's are its own.
type Numbers = HashMap<(usize, String), u32>;

/// The steps of a program's functions, and how many registers they have together.
pub(super) fn of_program(function: &Function) -> (Vec<Vec<Step>>, usize) {
    // The text has been parsed before, when the module was loaded.
    let module = ptx::parse(&function.module.ptx).unwrap_or_default();
    let functions = module.functions.iter();
    let instructions: HashMap<At, &Instruction<'_>> = functions
        .flat_map(|function| function.instructions())
        .map(|instruction| (instruction.at, instruction))
        .collect();
    let mut numbers = Numbers::new();
    let functions = function.program.functions.iter().enumerate();
    let steps = functions
        .map(|(number, func)| {
            let origins = func.origins.iter();
            let instructions = origins.map(|origin| instructions.get(&origin.at).copied());
            let mut steps = of_function(&instructions.collect::<Vec<_>>(), number, &mut numbers);
            for inst in &func.code {
                if let Op::Branch { target, .. } = inst.op
                    && let Some(step) = steps.get_mut(target as usize)
                {
                    step.leads = true;
                }
            }
            steps
        })
        .collect();
    (steps, numbers.len())
}

/// The steps of a function, with what `ptxas` fuses put together. The return that ends a function's text has
/// no instruction.
fn of_function(instructions: &[Option<&Instruction<'_>>], function: usize, numbers: &mut Numbers) -> Vec<Step> {
    let mut register = |name: &&str| {
        let next = numbers.len() as u32;
        let name = name.strip_prefix('%')?;
        Some(*numbers.entry((function, name.to_owned())).or_insert(next))
    };
    let mut steps: Vec<Step> = instructions
        .iter()
        .map(|instruction| match instruction {
            Some(inst) => {
                let kind = Kind::of(inst);
                let mut defs: Vec<u32> = inst.definitions().iter().filter_map(&mut register).collect();
                let mut uses: Vec<u32> = inst.uses().iter().filter_map(&mut register).collect();
                // Its sums are those of the products before it, and are waited for by `wgmma.wait_group`.
                if kind == Kind::GroupProduct {
                    uses.retain(|used| !defs.contains(used));
                    defs.clear();
                }
                let class = opcode::class(inst.opcode);
                let holds = match class {
                    Some(Class::Barrier | Class::Fence | Class::Control) => true,
                    Some(Class::Memory(Some(Space::Global) | None)) => !inst.opcode.starts_with("ld."),
                    _ => matches!(kind, Kind::Wait(_) | Kind::WaitAll),
                };
                let moves = inst.opcode.starts_with("ld.global.");
                Step { kind, cost: Cost::of(inst), leads: false, holds, moves, defs, uses }
            }
            None => Step {
                kind: Kind::Plain,
                cost: Cost::FOLDED,
                leads: false,
                holds: false,
                moves: false,
                defs: Vec::new(),
                uses: Vec::new(),
            },
        })
        .collect();
    let opcode = |index: usize| instructions[index].map_or("", |inst| inst.opcode);
    // By register: whether it is a wide product, and all its uses are sums of 64 bits.
    let mut products: HashMap<u32, bool> = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        if opcode(index).starts_with("mul.wide.") {
            products.extend(step.defs.iter().map(|def| (*def, true)));
        }
    }
    for (index, step) in steps.iter().enumerate() {
        let sum = matches!(opcode(index), "add.s64" | "add.u64");
        let known = step.uses.iter().filter(|used| products.contains_key(used));
        if !sum || known.count() > 1 {
            for used in &step.uses {
                products.entry(*used).and_modify(|folds| *folds = false);
            }
        }
    }
    for (index, step) in steps.iter_mut().enumerate() {
        let folds = |register: &u32| products.get(register) == Some(&true);
        if opcode(index).starts_with("mul.wide.") && step.defs.iter().all(folds) {
            step.cost = Cost::FOLDED;
        } else if step.uses.iter().any(folds) {
            step.cost = Cost::FUSED;
        }
    }
    steps
}
