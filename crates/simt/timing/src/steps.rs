//! The registers and the cost of each instruction.

use std::collections::{HashMap, HashSet};

use ptx::ast::Space;
use simt::Function;
use simt::code::{FrameInit, Inst, Op, Reg, Special};
use simt::memory::Memory;
use simt_isa::Class;

use crate::cost::{Cost, Kind, Pipe, Step};
use crate::instruction::Instruction;

/// The numbers of the registers of all functions. A register with an initial value has no number, because no
/// instruction waits for it.
type Numbers = HashMap<(usize, Reg), u32>;

/// Returns the steps of a program's functions, and the total number of their registers.
pub(crate) fn of_program(function: &Function) -> (Vec<Vec<Step>>, usize) {
    let mut numbers = Numbers::new();
    let functions = function.program().functions.iter().enumerate();
    let steps = functions
        .map(|(number, func)| {
            let initial = func.frame_init.iter().map(|entry| (entry.reg, entry.init)).collect();
            let instructions = Instruction::all(func, &initial, function.ptx());
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

/// Marks the instructions that compute the addresses of hoisted loads, because `ptxas` hoists these instructions too.
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

/// The maximum number of instructions of a loop that `ptxas` unrolls: it unrolls the 23-instruction loop of
/// `one_block`, but not the 100-instruction loop of `product_global`.
const MAX_UNROLLED: usize = 24;

/// Marks the loops that `ptxas` unrolls. Such a loop is one short basic block that loads from global memory, does not
/// block hoisting, and increases a counter by a constant.
fn unroll(code: &[Inst], instructions: &[Option<Instruction<'_>>], steps: &mut [Step]) {
    for (at, inst) in code.iter().enumerate() {
        let Inst { guard: Some(_), op: Op::Branch { target, .. } } = inst else { continue };
        let first = *target as usize;
        let is_plain = |step: &Step| !step.holds && step.kind != Kind::AsyncCopy;
        if first >= at
            || at - first > MAX_UNROLLED
            || !steps[first..at].iter().all(is_plain)
            || steps[first + 1..=at].iter().any(|step| step.leads)
        {
            continue;
        }
        let body = || instructions[first..=at].iter().flatten();
        let guard = body().last().and_then(|branch| branch.guard);
        let compare = guard.and_then(|guard| body().find(|inst| inst.operands.writes.contains(&guard)));
        let counts =
            |register: Reg| body().any(|inst| inst.operands.writes.contains(&register) && inst.adds_to(register));
        let has_load = steps[first..at].iter().any(|step| step.moves && step.kind == Kind::Memory);
        let is_counted = compare.is_some_and(|compare| compare.uses().any(counts));
        if has_load && is_counted {
            steps[first].unrolled = true;
            steps[at].holds = false;
        }
    }
}

/// Marks the loads of global memory whose addresses depend on the results of other such loads.
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

/// Returns whether an instruction only computes with registers.
fn is_arithmetic(step: &Step) -> bool {
    step.kind == Kind::Plain && matches!(step.cost.pipe, Pipe::None | Pipe::Alu | Pipe::Fma | Pipe::Special)
}

/// The maximum number of instructions that `ptxas` predicates instead of branching around them ("CUDA C Programming
/// Guide" of CUDA 4, section 5.4.2).
const MAX_PREDICATED: f32 = 7.0;
/// The maximum number of instructions that are followed on a path. A limit is needed because some instructions are free
/// and some branches lead to themselves.
const MAX_PATH: usize = 32;

/// Returns the branches that `ptxas` replaces with predicates, and the instructions that they skip. The two paths of
/// such a branch meet after a few instructions that compute or load. `ptxas` does not replace branches around atomics,
/// such as those in the histogram.
fn predicated(code: &[Inst], steps: &[Step]) -> HashSet<usize> {
    // Returns an instruction and its successors, up to the first instruction that gets no predicate.
    let path = |from: usize| {
        let mut issued = 0.0;
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let at = next.take().filter(|at| *at < steps.len())?;
            next = match &code[at] {
                Inst { guard: None, op: Op::Branch { target, .. } } => Some(*target as usize),
                _ => {
                    issued += steps[at].cost.issued;
                    let may_be = is_arithmetic(&steps[at]) || steps[at].moves;
                    (may_be && issued <= MAX_PREDICATED).then_some(at + 1)
                }
            };
            Some(at)
        })
        .take(MAX_PATH)
    };
    let mut all = HashSet::new();
    for (at, inst) in code.iter().enumerate() {
        if let (Some(_), Op::Branch { target, .. }) = (&inst.guard, &inst.op) {
            let paths = [at + 1, *target as usize].map(|first| path(first).collect::<Vec<_>>());
            if let Some(meet) = paths[0].iter().find(|at| paths[1].contains(at)) {
                all.insert(at);
                all.extend(paths.iter().flat_map(|path| path.iter().take_while(|at| *at != meet)));
            }
        }
    }
    all
}

/// Returns the steps of a function, and fuses the instructions that `ptxas` fuses. The return at the end of a function
/// has no instruction in the text.
fn of_function(instructions: &[Option<Instruction<'_>>], function: usize, numbers: &mut Numbers) -> Vec<Step> {
    let mut number = |register: Reg| {
        let next = numbers.len() as u32;
        *numbers.entry((function, register)).or_insert(next)
    };
    let mut steps: Vec<Step> = instructions
        .iter()
        .map(|instruction| match instruction {
            Some(inst) => {
                let kind = Kind::of(inst);
                let mut defs: Vec<u32> = inst.operands.writes.iter().copied().map(&mut number).collect();
                let mut uses: Vec<u32> = inst.uses().map(&mut number).collect();
                // The product adds to the sums of earlier products, and `wgmma.wait_group` waits for them.
                if kind == Kind::GroupProduct {
                    uses.retain(|used| !defs.contains(used));
                    defs.clear();
                }
                let class = simt_isa::class(inst.opcode);
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
    let opcode = |index: usize| instructions[index].as_ref().map_or("", |inst| inst.opcode);
    // For each register, whether it contains a wide product that is used only in 64-bit additions.
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

/// Marks the integer atomics that `ptxas` lets one lane of each warp execute. All lanes change one word, whose address
/// is computed from parameters and block indices, and the result is not used.
fn elect(instructions: &[Option<Instruction<'_>>], steps: &mut [Step]) {
    let all = || instructions.iter().flatten();
    let elects = |inst: &Instruction<'_>| {
        let is_float = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"].iter().any(|word| inst.has(word));
        matches!(inst.operation(), "atom" | "red") && inst.has("add") && !is_float
    };
    if !all().any(elects) {
        return;
    }
    let is_of_block = |init: &FrameInit| match init {
        FrameInit::Special(special) => matches!(special, Special::Ctaid(_) | Special::Nctaid(_) | Special::Ntid(_)),
        _ => true,
    };
    let read: HashSet<Reg> = all().flat_map(Instruction::uses).collect();
    let mut uniform: HashSet<Reg> = all().flat_map(|inst| inst.operands.writes).copied().collect();
    loop {
        let known = uniform.len();
        for inst in all() {
            let computes = ["mov", "cvta", "cvt", "add", "sub", "mul", "mad", "shl"].contains(&inst.operation())
                && inst.uses().all(|register| uniform.contains(&register))
                && !inst.reads_initial(|init| !is_of_block(init));
            if !inst.opcode.starts_with("ld.param") && !computes {
                inst.operands.writes.iter().for_each(|register| {
                    uniform.remove(register);
                });
            }
        }
        if uniform.len() == known {
            break;
        }
    }
    for (inst, step) in instructions.iter().zip(steps) {
        step.cost.elects = inst.as_ref().is_some_and(|inst| {
            let is_unused = inst.operands.writes.iter().all(|register| !read.contains(register));
            let base = match inst.op {
                Op::Memory(Memory::Atomic(op)) => Some(op.address.base),
                _ => None,
            };
            elects(inst) && is_unused && base.is_some_and(|base| uniform.contains(&base))
        });
    }
}
