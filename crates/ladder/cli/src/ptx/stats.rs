//! Counts a kernel's instructions by class, and its memory operations by space and width.

use std::collections::BTreeMap;

use ptx::ast::{Function, Instruction, Space};
use simt_isa::Class;

use super::style::table;

/// The classes of instructions, in the order of the table.
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

/// Returns the class of an instruction. The classes are based on the table of opcodes, with a few finer distinctions.
fn class(instruction: &Instruction<'_>) -> &'static str {
    match (instruction.operation(), simt_isa::class(instruction.opcode)) {
        ("atom" | "red" | "sured", _) => "atomic",
        ("cp" | "mbarrier", _) => "async copy",
        ("griddepcontrol", _) => "synchronization",
        ("tcgen05", _) => "matrix",
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
        (_, Some(Class::Matrix)) => "matrix",
        (_, Some(Class::Hint | Class::Texture | Class::Other) | None) => "other",
    }
}

/// Returns both tables.
pub(super) fn text(function: &Function<'_>) -> String {
    let total = function.instructions().count();
    let mut classes: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for instruction in function.instructions() {
        let operations = classes.entry(class(instruction)).or_default();
        *operations.entry(instruction.operation()).or_default() += 1;
    }
    let row = |class: &str| {
        let operations = classes.get(class)?;
        let count: usize = operations.values().sum();
        let share = (count * 100 + total / 2) / total.max(1);
        Some([class.to_owned(), count.to_string(), format!("{share} %"), by_count(operations)])
    };
    let mut out = format!(
        "{}: {total} PTX instructions, backward branches: {}\n\n",
        function.name,
        function.backward_branches().count()
    );
    let header = ["class", "count", "share", "operations"];
    out += &table(header, 1..3, CLASSES.into_iter().filter_map(row));
    let accesses = accesses(function);
    if !accesses.is_empty() {
        let header = ["memory", "space", "access", "bytes per thread", "count"];
        let row = |((operation, space, shape), count): (Access, usize)| {
            let (access, bytes) = match shape {
                None => (String::new(), String::new()),
                Some((elements, bits)) => (
                    match elements {
                        1 => format!("b{bits}"),
                        _ => format!("v{elements}.b{bits}"),
                    },
                    (bits.saturating_mul(elements) / 8).to_string(),
                ),
            };
            [operation, space.to_owned(), access, bytes, count.to_string()]
        };
        out += "\n";
        out += &table(header, 3..5, accesses.into_iter().map(row));
    }
    out
}

/// Lists operations by decreasing frequency: `add ×3, mad`.
fn by_count(operations: &BTreeMap<&str, usize>) -> String {
    let mut sorted: Vec<_> = operations.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let each = sorted.into_iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        _ => format!("{name} ×{count}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The properties that memory instructions are grouped by: the operation with its qualifiers, the state space, and the
/// number and width (in bits) of the elements.
type Access = (String, &'static str, Option<(u32, u32)>);

/// The modifiers that are part of a memory operation's name.
const QUALIFIERS: [&str; 16] = [
    "volatile", "relaxed", "acquire", "release", "acq_rel", "nc", "add", "min", "max", "exch", "cas", "and", "or",
    "xor", "inc", "dec",
];

/// Counts the memory instructions.
fn accesses(function: &Function<'_>) -> BTreeMap<Access, usize> {
    let mut accesses = BTreeMap::new();
    // The table does not include kernel parameters, which are in constant memory.
    let relevant =
        |instruction: &&Instruction<'_>| instruction.is_memory() && instruction.space() != Some(Space::Param);
    for instruction in function.instructions().filter(relevant) {
        let modifiers = instruction.modifiers();
        let qualifiers = modifiers.filter(|modifier| QUALIFIERS.contains(modifier));
        let operation: Vec<&str> = [instruction.operation()].into_iter().chain(qualifiers).collect();
        let space = instruction.space().map_or("generic", Space::name);
        let access = (operation.join("."), space, instruction.access());
        *accesses.entry(access).or_default() += 1;
    }
    accesses
}
