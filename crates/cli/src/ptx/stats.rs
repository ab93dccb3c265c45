//! What a kernel's instructions are: by class, and its memory operations by space and width.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptx::ast::{Function, Instruction, Space};

use super::style::{rendered, table};

/// Classes of instructions, in the order they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Loads and stores.
    Memory,
    /// Atomic operations on memory.
    Atomic,
    /// Copies that run beside the threads, and waiting for them.
    AsyncCopy,
    /// Barriers and fences.
    Synchronization,
    /// Shuffles, votes, matches and reductions within a warp.
    Warp,
    /// Matrix instructions.
    Matrix,
    /// Arithmetic on integers.
    Integer,
    /// Arithmetic on floating-point numbers.
    Float,
    /// Bitwise logic and shifts.
    Logic,
    /// Comparisons and selections.
    Comparison,
    /// Moves and conversions, of values and of addresses.
    Move,
    /// Branches, calls and returns.
    Control,
    /// Anything else.
    Other,
}

impl Class {
    /// The class of an instruction (PTX ISA, "Instruction Set").
    pub(super) fn of(instruction: &Instruction<'_>) -> Self {
        let float = instruction.modifiers().any(|modifier| {
            modifier.starts_with("bf")
                || modifier
                    .strip_prefix('f')
                    .is_some_and(|rest| rest.starts_with(char::is_numeric))
        });
        match instruction.operation() {
            "ld" | "ldu" | "st" | "prefetch" | "prefetchu" | "tex" | "tld4" | "suld" | "sust"
            | "ldmatrix" | "stmatrix" => Self::Memory,
            "atom" | "red" | "sured" => Self::Atomic,
            "cp" | "mbarrier" => Self::AsyncCopy,
            "bar" | "barrier" | "membar" | "fence" | "griddepcontrol" => Self::Synchronization,
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => Self::Warp,
            "mma" | "wmma" | "wgmma" | "tcgen05" => Self::Matrix,
            "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "bfe"
            | "bfi" | "brev" | "bmsk" | "popc" | "clz" | "bfind" | "fns" | "szext" => Self::Logic,
            "setp" | "set" | "selp" | "slct" | "testp" => Self::Comparison,
            "mov" | "cvt" | "cvta" | "isspacep" | "prmt" | "mapa" | "getctarank" => Self::Move,
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" => {
                Self::Control
            }
            "sqrt" | "rsqrt" | "rcp" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "fma"
            | "copysign" => Self::Float,
            "add" | "sub" | "mul" | "mad" | "div" | "rem" | "abs" | "neg" | "min" | "max"
            | "sad" | "addc" | "subc" | "madc" | "mul24" | "mad24" | "dp4a" | "dp2a" => {
                if float {
                    Self::Float
                } else {
                    Self::Integer
                }
            }
            _ => Self::Other,
        }
    }

    /// Its name in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Atomic => "atomic",
            Self::AsyncCopy => "async copy",
            Self::Synchronization => "synchronization",
            Self::Warp => "warp",
            Self::Matrix => "matrix",
            Self::Integer => "integer",
            Self::Float => "floating point",
            Self::Logic => "logic and shift",
            Self::Comparison => "comparison",
            Self::Move => "move and convert",
            Self::Control => "control flow",
            Self::Other => "other",
        }
    }
}

/// The two tables.
pub(super) fn text(function: &Function<'_>) -> String {
    let total = function.instructions().count();
    let mut classes: BTreeMap<Class, BTreeMap<&str, usize>> = BTreeMap::new();
    for instruction in function.instructions() {
        *classes
            .entry(Class::of(instruction))
            .or_default()
            .entry(instruction.operation())
            .or_default() += 1;
    }
    let mut mix = table(&["class", "count", "share", "operations"], 1..3);
    for (class, operations) in &classes {
        let count: usize = operations.values().sum();
        let share = (count * 100 + total / 2) / total.max(1);
        mix.add_row([
            class.name().to_owned(),
            count.to_string(),
            format!("{share} %"),
            by_count(operations),
        ]);
    }
    let loops = function.backward_branches().count();
    let mut out = format!(
        "{}: {total} PTX instructions, backward branches: {loops}\n\n",
        function.name
    );
    out.push_str(&rendered(&mix));
    let memory = memory(function);
    if !memory.is_empty() {
        let mut accesses = table(
            &["memory", "space", "access", "bytes a thread", "count"],
            3..5,
        );
        for (access, count) in &memory {
            accesses.add_row([
                access.operation.clone(),
                access.space.to_owned(),
                access.shape(),
                access
                    .bytes()
                    .map_or_else(String::new, |bytes| bytes.to_string()),
                count.to_string(),
            ]);
        }
        let _ = write!(out, "\n{}", rendered(&accesses));
    }
    out
}

/// `add ×3, mad`: the most frequent first.
fn by_count(operations: &BTreeMap<&str, usize>) -> String {
    let mut sorted: Vec<_> = operations.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let each = sorted.into_iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        _ => format!("{name} ×{count}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// What memory instructions have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Access {
    operation: String,
    space: &'static str,
    elements: u32,
    bits: Option<u32>,
}

impl Access {
    fn shape(&self) -> String {
        match (self.elements, self.bits) {
            (_, None) => String::new(),
            (1, Some(bits)) => format!("b{bits}"),
            (elements, Some(bits)) => format!("v{elements}.b{bits}"),
        }
    }

    fn bytes(&self) -> Option<u32> {
        self.bits.map(|bits| bits.saturating_mul(self.elements) / 8)
    }
}

fn memory(function: &Function<'_>) -> BTreeMap<Access, usize> {
    let mut accesses = BTreeMap::new();
    // A kernel's parameters lie in constant memory; reading them is not what this table is about.
    let relevant = |instruction: &&Instruction<'_>| {
        instruction.is_memory() && instruction.space() != Some(Space::Param)
    };
    for instruction in function.instructions().filter(relevant) {
        let mut operation = instruction.operation().to_owned();
        let qualifiers = ["volatile", "relaxed", "acquire", "release", "acq_rel", "nc"];
        let atomics = [
            "add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec",
        ];
        for modifier in instruction
            .modifiers()
            .filter(|m| qualifiers.contains(m) || atomics.contains(m))
        {
            let _ = write!(operation, ".{modifier}");
        }
        let shape = instruction.access();
        let access = Access {
            operation,
            space: instruction.space().map_or("generic", Space::name),
            elements: shape.map_or(1, |(elements, _)| elements),
            bits: shape.map(|(_, bits)| bits),
        };
        *accesses.entry(access).or_default() += 1;
    }
    accesses
}
