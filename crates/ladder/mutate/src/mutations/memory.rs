//! Mutations of memory accesses: other addresses, and weaker atomics, loads and stores.

use ptx::ast::{Operand, Space};

use super::{Edit, InstructionSite};

fn is_access(place: &InstructionSite<'_>) -> bool {
    let is_parameter = place.instruction.space() == Some(Space::Param);
    let copies = place.operation() == "cp" && place.instruction.has("async");
    (place.instruction.is_memory() && !is_parameter) || copies
}

/// Returns the size in bytes of one element of an access, from its type, such as `b32`.
fn element_bytes(place: &InstructionSite<'_>) -> i64 {
    let ty = place.instruction.modifiers().last().unwrap_or_default();
    let bits = ty.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(32_i64);
    (bits / 8).max(1)
}

pub(super) fn offset(place: &InstructionSite<'_>) -> Vec<Edit> {
    if !is_access(place) {
        return Vec::new();
    }
    let operands = place.operands();
    // The third operand of a copy is its size in bytes. Like any access, a copy must stay aligned.
    let copied = place.integer(2).filter(|_| place.operation() == "cp").map(|(_, bytes)| bytes);
    let elements =
        place.instruction.modifiers().find_map(|modifier| modifier.strip_prefix('v')?.parse().ok()).unwrap_or(1);
    let bytes = copied.unwrap_or(element_bytes(place) * elements);
    let edits = place.instruction.operands.iter().zip(operands).flat_map(|(operand, range)| {
        let Operand::Address { offset, .. } = *operand else { return Vec::new() };
        let inner = place.text[range.clone()].trim_matches(['[', ']']);
        let base = inner.split('+').next().unwrap_or(inner).trim();
        let with = |offset: i64| place.replaced(range.clone(), format!("[{base}+{offset}]"));
        vec![with(offset + bytes), with(offset - bytes)]
    });
    edits.collect()
}

/// Replaces an atomic operation with a load, the ordinary instruction of the same name, and a store. For `exch`, the
/// instruction is a `mov` of the operand.
pub(super) fn plain_atomic(place: &InstructionSite<'_>) -> Vec<Edit> {
    let opcode = place.instruction.opcode;
    let operation = place
        .instruction
        .modifiers()
        .find(|modifier| matches!(*modifier, "add" | "min" | "max" | "and" | "or" | "xor" | "exch"));
    let ty = place.instruction.modifiers().last().unwrap_or_default();
    let is_scalar = !place.instruction.modifiers().any(|modifier| modifier.starts_with('v') && modifier != "volatile");
    let returns = place.operation() == "atom";
    let (Some(operation), true, true) = (operation, is_scalar, returns || place.operation() == "red") else {
        return Vec::new();
    };
    let space = place.instruction.space().map_or(String::new(), |space| format!(".{}", space.name()));
    let first = usize::from(returns);
    let (Some(address), Some(value)) = (place.operand(first), place.operand(first + 1)) else { return Vec::new() };
    let bits = &ty[ty.find(|c: char| c.is_ascii_digit()).unwrap_or(0)..];
    let guard = &place.text[place.guard()];
    let compute = match operation {
        "exch" => format!("{guard} mov.b{bits} %mutant_new, {value};"),
        "and" | "or" | "xor" => format!("{guard} {operation}.b{bits} %mutant_new, %mutant_old, {value};"),
        _ => format!("{guard} {operation}.{ty} %mutant_new, %mutant_old, {value};"),
    };
    let result = match place.operand(0) {
        Some(result) if returns && result != "_" => format!("{guard} mov.b{bits} {result}, %mutant_old;"),
        _ => String::new(),
    };
    let with = format!(
        "{{ .reg .b{bits} %mutant_old, %mutant_new; {guard} ld{space}.b{bits} %mutant_old, {address}; {compute} \
         {guard} st{space}.b{bits} {address}, %mutant_new; {result} }}"
    );
    vec![Edit { range: place.range(), with, what: format!("a load and a store instead of {opcode}") }]
}

/// Returns whether the instruction is an access or a fence that can synchronize threads.
fn synchronizes(place: &InstructionSite<'_>) -> bool {
    matches!(place.operation(), "ld" | "st" | "atom" | "red" | "fence" | "membar")
}

pub(super) fn narrow(place: &InstructionSite<'_>) -> Vec<Edit> {
    if !synchronizes(place) {
        return Vec::new();
    }
    let wide = ["gpu", "sys", "cluster", "gl"];
    let found = wide.iter().find_map(|scope| place.with_modifier(scope, "cta"));
    // An atomic without a scope has GPU scope.
    let implied = || {
        let is_atomic = matches!(place.operation(), "atom" | "red") && !place.instruction.has("cta");
        let is_global = place.instruction.space() != Some(Space::Shared);
        let has_order = ["relaxed", "acquire", "release", "acq_rel"].iter().any(|order| place.instruction.has(order));
        let operation = place.operation();
        let scoped = if has_order { format!("{operation}.cta") } else { format!("{operation}.relaxed.cta") };
        (is_atomic && is_global).then(|| place.with_modifier(operation, &scoped)).flatten()
    };
    found.or_else(implied).into_iter().collect()
}

pub(super) fn weaken(place: &InstructionSite<'_>) -> Vec<Edit> {
    if !synchronizes(place) {
        return Vec::new();
    }
    let weaker: &[(&str, &str)] = match place.operation() {
        "fence" => &[("sc", "acq_rel")],
        "atom" | "red" => &[("acq_rel", "relaxed"), ("acquire", "relaxed"), ("release", "relaxed")],
        _ => &[("acquire", "relaxed"), ("release", "relaxed"), ("volatile", "")],
    };
    let found = weaker.iter().find_map(|(old, new)| place.with_modifier(old, new));
    // A weak access has no scope.
    let plain = || {
        let is_relaxed = matches!(place.operation(), "ld" | "st") && place.instruction.has("relaxed");
        let words = place.instruction.opcode.split('.');
        let words = words.filter(|word| !matches!(*word, "relaxed" | "cta" | "cluster" | "gpu" | "sys"));
        is_relaxed.then(|| place.with_opcode(&words.collect::<Vec<_>>().join(".")))
    };
    found.or_else(plain).into_iter().collect()
}
