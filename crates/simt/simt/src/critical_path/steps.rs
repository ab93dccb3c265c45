//! Each instruction's registers and cost.

use std::collections::{HashMap, HashSet};

use ptx::ast::{At, Instruction, Operand, Space};
use simt_isa::{Class, Registers, class};

use super::cost::{Cost, Kind, Pipe, Step};
use crate::code::{Inst, Op};
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
            let instructions: Vec<_> = instructions.collect();
            let mut steps = of_function(&instructions, number, &mut numbers);
            let predicated = predicated(&func.code, &steps);
            for (at, inst) in func.code.iter().enumerate() {
                if predicated.contains(&at) {
                    steps[at].holds = false;
                } else if let Op::Branch { target, .. } = inst.op
                    && let Some(step) = steps.get_mut(target as usize)
                {
                    step.leads = true;
                }
            }
            unroll(&func.code, &instructions, &mut steps);
            move_addresses(&mut steps);
            gather(&mut steps);
            steps
        })
        .collect();
    (steps, numbers.len())
}

/// What the addresses of loads that are moved ahead are computed from is moved with them.
fn move_addresses(steps: &mut [Step]) {
    let mut wanted: HashSet<u32> = HashSet::new();
    loop {
        let known = wanted.len();
        for step in steps.iter_mut().rev() {
            step.moves |= is_arithmetic(step) && step.defs.iter().any(|def| wanted.contains(def));
            if step.moves {
                wanted.extend(&step.uses);
            }
        }
        if wanted.len() == known {
            return;
        }
    }
}

/// Instructions of a loop that `ptxas` unrolls, at most: of `one_block` it unrolls 23, of `product_global` not 100.
const MOST_UNROLLED: usize = 24;

/// Marks the loops that `ptxas` unrolls: of one short basic block with loads of global memory, nothing that holds them, and a counter
/// to which each round adds a number.
fn unroll(code: &[Inst], instructions: &[Option<&Instruction<'_>>], steps: &mut [Step]) {
    for (at, inst) in code.iter().enumerate() {
        let Inst { guard: Some(_), op: Op::Branch { target, .. } } = inst else { continue };
        let first = *target as usize;
        let is_plain = |step: &Step| !step.holds && step.kind != Kind::AsyncCopy;
        if first >= at
            || at - first > MOST_UNROLLED
            || !steps[first..at].iter().all(is_plain)
            || steps[first + 1..=at].iter().any(|step| step.leads)
        {
            continue;
        }
        let body = || instructions[first..=at].iter().flatten();
        let defines = |inst: &Instruction<'_>, name: &str| inst.definitions().contains(&name);
        let counts = |name: &str| {
            let adds = |inst: &Instruction<'_>| {
                inst.operation() == "add"
                    && inst.uses() == [name]
                    && matches!(inst.operands.last(), Some(Operand::Number(_)))
            };
            body().any(|inst| defines(inst, name) && adds(inst))
        };
        let guard = body().last().and_then(|branch| branch.uses().last().copied());
        let compare = guard.and_then(|guard| body().find(|inst| defines(inst, guard)));
        let has_load = steps[first..at].iter().any(|step| step.moves && step.kind == Kind::Memory);
        let is_counted = compare.is_some_and(|compare| compare.uses().iter().any(|name| counts(name)));
        if has_load && is_counted {
            steps[first].unrolled = true;
            steps[at].holds = false;
        }
    }
}

/// Marks the loads of global memory whose places other loads of it give.
fn gather(steps: &mut [Step]) {
    let is_load = |step: &Step| step.moves && step.kind == Kind::Memory;
    let mut loaded: HashSet<u32> = HashSet::new();
    loop {
        let known = loaded.len();
        for step in steps.iter_mut() {
            let from_loaded = step.uses.iter().any(|used| loaded.contains(used));
            step.gathers |= is_load(step) && from_loaded;
            if is_load(step) || step.kind == Kind::Plain && from_loaded {
                loaded.extend(&step.defs);
            }
        }
        if loaded.len() == known {
            return;
        }
    }
}

/// Whether it computes with registers alone.
fn is_arithmetic(step: &Step) -> bool {
    step.kind == Kind::Plain && matches!(step.cost.pipe, Pipe::None | Pipe::Alu | Pipe::Fma | Pipe::Special)
}

/// Instructions that `ptxas` gives a predicate instead of a branch around them, at most ("CUDA C Programming Guide" of
/// CUDA 4, section 5.4.2).
const PREDICATED: f32 = 7.0;
/// Instructions that are looked at on the way, some of which are free: there are branches that lead to themselves.
const WAY: usize = 32;

/// The branches that `ptxas` makes predicates of, and what they lead around: their two ways meet again after a few
/// instructions that compute or load. Of branches around atomics, as the histogram has them, it makes none.
fn predicated(code: &[Inst], steps: &[Step]) -> HashSet<usize> {
    // An instruction and its successors, to the first that gets no predicate.
    let way = |from: usize| {
        let mut issued = 0.0;
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let at = next.take().filter(|at| *at < steps.len())?;
            next = match &code[at] {
                Inst { guard: None, op: Op::Branch { target, .. } } => Some(*target as usize),
                _ => {
                    issued += steps[at].cost.issued;
                    let may_be = is_arithmetic(&steps[at]) || steps[at].moves;
                    (may_be && issued <= PREDICATED).then_some(at + 1)
                }
            };
            Some(at)
        })
        .take(WAY)
    };
    let mut all = HashSet::new();
    for (at, inst) in code.iter().enumerate() {
        if let (Some(_), Op::Branch { target, .. }) = (&inst.guard, &inst.op) {
            let ways = [at + 1, *target as usize].map(|first| way(first).collect::<Vec<_>>());
            if let Some(meet) = ways[0].iter().find(|at| ways[1].contains(at)) {
                all.insert(at);
                all.extend(ways.iter().flat_map(|way| way.iter().take_while(|at| *at != meet)));
            }
        }
    }
    all
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
                let class = class(inst.opcode);
                let holds = match class {
                    Some(Class::Barrier | Class::Fence | Class::Control) => true,
                    Some(Class::Memory(Some(Space::Global) | None)) => !inst.opcode.starts_with("ld."),
                    _ => matches!(kind, Kind::Wait(_) | Kind::WaitAll),
                };
                let moves = inst.opcode.starts_with("ld.global.");
                Step {
                    kind,
                    cost: Cost::of(inst),
                    leads: false,
                    unrolled: false,
                    holds,
                    moves,
                    gathers: false,
                    defs,
                    uses,
                }
            }
            None => Step {
                kind: Kind::Plain,
                cost: Cost::FOLDED,
                leads: false,
                unrolled: false,
                holds: false,
                moves: false,
                gathers: false,
                defs: Vec::new(),
                uses: Vec::new(),
            },
        })
        .collect();
    elect(instructions, &mut steps);
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

/// Marks the atomics of integers that `ptxas` has one lane of each warp do: all lanes change one word, whose address is
/// computed from parameters and numbers of the block, and the result is not used.
fn elect(instructions: &[Option<&Instruction<'_>>], steps: &mut [Step]) {
    const OF_BLOCK: [&str; 3] = ["%ctaid", "%nctaid", "%ntid"];
    let all = || instructions.iter().flatten();
    let elects = |inst: &Instruction<'_>| {
        let is_float = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"].iter().any(|word| inst.has(word));
        matches!(inst.operation(), "atom" | "red") && inst.has("add") && !is_float
    };
    if !all().any(|inst| elects(inst)) {
        return;
    }
    let uses: HashSet<&str> = all().flat_map(|inst| inst.uses()).collect();
    let mut uniform: HashSet<&str> = all().flat_map(|inst| inst.definitions()).collect();
    loop {
        let known = uniform.len();
        for inst in all() {
            let computes = ["mov", "cvta", "cvt", "add", "sub", "mul", "mad", "shl"].contains(&inst.operation());
            let is_uniform = |name: &&str| !name.starts_with('%') || OF_BLOCK.contains(name) || uniform.contains(name);
            if !(inst.opcode.starts_with("ld.param") || computes && inst.uses().iter().all(is_uniform)) {
                inst.definitions().iter().for_each(|name| {
                    uniform.remove(name);
                });
            }
        }
        if uniform.len() == known {
            break;
        }
    }
    for (inst, step) in instructions.iter().zip(steps) {
        step.cost.elects = inst.is_some_and(|inst| {
            let is_unused = inst.definitions().iter().all(|name| !uses.contains(name));
            elects(inst) && is_unused && inst.uses().first().is_some_and(|base| uniform.contains(base))
        });
    }
}
