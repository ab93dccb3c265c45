//! Memory instructions in PTX (PTX ISA, "Data Movement and Conversion Instructions" and "Parallel Synchronization and
//! Communication Instructions").

use ptx::Outline;
use ptx::ast::{Instruction, Number, Operand, Space};

use super::{Access, Counts, Kind};

/// Counts the memory instructions in an entry of a PTX text, without the functions that it calls. Returns `None` if the
/// entry does not exist or is not valid PTX.
#[must_use]
pub fn of_ptx(ptx: &str, entry: &str) -> Option<Counts> {
    let outline = Outline::new(ptx);
    let entry = outline.entry(entry)?.ok()?;
    Some(entry.instructions().filter_map(access).collect())
}

/// Returns whether an entry of a PTX text may wait for other threads: it loads global memory with instructions that see
/// other threads' stores (`ld.volatile`, `ld.relaxed`, `ld.acquire`). The number of executions of such a load can vary
/// between runs.
#[must_use]
pub fn waits(ptx: &str, entry: &str) -> bool {
    let is_such = |instruction: &Instruction<'_>| {
        let is_load = access(instruction).is_some_and(|access| matches!(access.kind, Kind::Ldg | Kind::Ld));
        let strong = ["volatile", "relaxed", "acquire"];
        is_load && strong.iter().any(|word| instruction.has(word))
    };
    let outline = Outline::new(ptx);
    let entry = outline.entry(entry).and_then(Result::ok);
    entry.is_some_and(|entry| entry.instructions().any(is_such))
}

/// Returns whether an entry of a PTX text has fences, and all of them have system scope (`fence.acq_rel.sys`,
/// `membar.sys`). The number of fences is then the number of system fences.
#[must_use]
pub fn has_only_system_fences(ptx: &str, entry: &str) -> bool {
    let outline = Outline::new(ptx);
    let Some(entry) = outline.entry(entry).and_then(Result::ok) else {
        return false;
    };
    let is_fence = |instruction: &&Instruction<'_>| matches!(instruction.operation(), "fence" | "membar");
    let mut fences = entry.instructions().filter(is_fence).peekable();
    fences.peek().is_some() && fences.all(|fence| fence.has("sys"))
}

fn access(instruction: &Instruction<'_>) -> Option<Access> {
    let predicated = instruction.guard.is_some();
    let kinds = match instruction.operation() {
        "ld" | "ldu" => [Kind::Ldg, Kind::Lds, Kind::Ldl, Kind::Ld],
        "st" => [Kind::Stg, Kind::Sts, Kind::Stl, Kind::St],
        "atom" => [Kind::Atom, Kind::Atoms, Kind::Atom, Kind::Atom],
        "red" => [Kind::Red, Kind::Atoms, Kind::Red, Kind::Red],
        "cp" if instruction.has("async") && instruction.has("global") => {
            // [to], [from], bytes
            let Some(&Operand::Number(Number::Integer(bytes))) = instruction.operands.get(2) else {
                return None;
            };
            return Some(Access { kind: Kind::Ldgsts, bits: u32::try_from(bytes).ok()?.checked_mul(8)?, predicated });
        }
        _ => return None,
    };
    let [global, shared, local, generic] = kinds;
    let kind = match instruction.space() {
        Some(Space::Global) => global,
        Some(Space::Shared) => shared,
        Some(Space::Local) => local,
        None => generic,
        // Accesses to parameters and constants are not counted, as in the hardware's memory counters.
        Some(_) => return None,
    };
    let (elements, bits) = instruction.access()?;
    Some(Access { kind, bits: elements.checked_mul(bits)?, predicated })
}
