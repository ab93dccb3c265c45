//! Statistics of a kernel's instructions: by class, and for memory operations by space and width.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptx::ast::{Function, Instruction, Space};
use ptx::opcode::{self, Class};

use super::style::{rendered, table};

/// Classes of instructions, in the order they are shown.
const CLASSES: [&str; 13] = [
    "memory",
    "atomic",
    "async copy",
    "synchronization",
    "warp",
    "matrix",
    "integer",
    "floating point",
    "logic and shift",
    "comparison",
    "move and convert",
    "control flow",
    "other",
];

/// The class of an instruction: that of the table of opcodes, and what is of interest beside it.
fn class(instruction: &Instruction<'_>) -> &'static str {
    match (instruction.operation(), opcode::class(instruction.opcode)) {
        ("atom" | "red" | "sured", _) => "atomic",
        ("cp" | "mbarrier", _) => "async copy",
        ("griddepcontrol", _) => "synchronization",
        ("mma" | "wmma" | "wgmma" | "tcgen05", _) => "matrix",
        ("ldmatrix" | "stmatrix" | "tex" | "tld4" | "suld" | "sust", _) => "memory",
        ("prefetch" | "prefetchu", _) | (_, Some(Class::Memory(_))) => "memory",
        ("trap" | "brkpt" | "nanosleep", _) | (_, Some(Class::Control)) => "control flow",
        (_, Some(Class::Barrier | Class::Fence)) => "synchronization",
        (_, Some(Class::Warp)) => "warp",
        (_, Some(Class::Integer)) => "integer",
        (_, Some(Class::Float)) => "floating point",
        (_, Some(Class::Logic)) => "logic and shift",
        (_, Some(Class::Compare)) => "comparison",
        (_, Some(Class::Convert)) => "move and convert",
        (_, Some(Class::Hint | Class::Other) | None) => "other",
    }
}

/// The two tables.
pub(super) fn text(function: &Function<'_>) -> String {
    let total = function.instructions().count();
    let mut classes: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for instruction in function.instructions() {
        *classes
            .entry(class(instruction))
            .or_default()
            .entry(instruction.operation())
            .or_default() += 1;
    }
    let mut mix = table(&["class", "count", "share", "operations"], 1..3);
    for class in CLASSES {
        let Some(operations) = classes.get(class) else {
            continue;
        };
        let count: usize = operations.values().sum();
        let share = (count * 100 + total / 2) / total.max(1);
        mix.add_row([
            class.to_owned(),
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

/// The properties by which memory instructions are grouped.
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
