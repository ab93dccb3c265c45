//! Mutations of barriers, fences, and waits for asynchronous copies.

use ptx::ast::Statement;
use simt_isa::{Class, class};

use super::place::range_of;
use super::{Edit, InstructionSite};

fn is_barrier(place: &InstructionSite<'_>) -> bool {
    matches!(place.operation(), "bar" | "barrier" | "mbarrier")
}

pub(super) fn drop(place: &InstructionSite<'_>) -> Vec<Edit> {
    if is_barrier(place) { vec![place.dropped()] } else { Vec::new() }
}

pub(super) fn drop_fence(place: &InstructionSite<'_>) -> Vec<Edit> {
    if matches!(place.operation(), "fence" | "membar") { vec![place.dropped()] } else { Vec::new() }
}

/// Returns whether the instruction commits a group of asynchronous copies or waits for one.
fn is_wait(place: &InstructionSite<'_>) -> bool {
    let ends = ["commit_group", "wait_group", "wait_all"];
    place.operation() == "cp" && ends.iter().any(|end| place.instruction.has(end))
}

pub(super) fn drop_wait(place: &InstructionSite<'_>) -> Vec<Edit> {
    if is_wait(place) { vec![place.dropped()] } else { Vec::new() }
}

pub(super) fn wait_for_fewer(place: &InstructionSite<'_>) -> Vec<Edit> {
    match place.integer(0) {
        Some((range, groups)) if is_wait(place) => vec![place.replaced(range, groups + 1)],
        _ => Vec::new(),
    }
}

pub(super) fn earlier(place: &InstructionSite<'_>) -> Vec<Edit> {
    let before = place.statements[..place.index].iter().rev().find(|statement| matters(statement));
    let Some(start) = before.filter(|_| is_barrier(place)).and_then(|statement| start_of(statement)) else {
        return Vec::new();
    };
    let range = place.range();
    let (passed, barrier) = (&place.text[start..range.start], &place.text[range.clone()]);
    let what = format!("before `{}`", first_line(passed));
    vec![Edit { range: start..range.end, with: format!("{barrier} {passed}"), what }]
}

pub(super) fn later(place: &InstructionSite<'_>) -> Vec<Edit> {
    let next = place.statements[place.index + 1..].iter().find(|statement| matters(statement));
    let Some(end) = next.filter(|_| is_barrier(place)).and_then(|statement| end_of(place.text, statement)) else {
        return Vec::new();
    };
    let range = place.range();
    let (barrier, passed) = (&place.text[range.clone()], &place.text[range.end..end]);
    let last = passed.lines().next_back().unwrap_or_default();
    let what = format!("after `{}`", first_line(last));
    vec![Edit { range: range.start..end, with: format!("{passed} {barrier}"), what }]
}

/// Returns whether moving a barrier across this statement can change the kernel's behavior.
fn matters(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Label { .. } => true,
        Statement::Instruction(instruction) => {
            matches!(
                class(instruction.opcode),
                Some(Class::Memory(_) | Class::Control | Class::Barrier | Class::Warp | Class::Fence | Class::Matrix)
            ) && !instruction.opcode.starts_with("ld.param")
        }
        _ => false,
    }
}

fn start_of(statement: &Statement<'_>) -> Option<usize> {
    match statement {
        Statement::Label { at, .. } => Some(*at as usize),
        Statement::Instruction(instruction) => Some(range_of(instruction).start),
        _ => None,
    }
}

/// Returns the position after a label or an instruction. Returns `None` for an unguarded branch or exit, because
/// execution does not continue with the next instruction.
fn end_of(text: &str, statement: &Statement<'_>) -> Option<usize> {
    match statement {
        Statement::Label { name, at } => {
            let name_end = *at as usize + name.len();
            Some(name_end + text[name_end..].find(':')? + 1)
        }
        Statement::Instruction(instruction)
            if instruction.guard.is_some() || !matches!(instruction.operation(), "ret" | "exit" | "bra") =>
        {
            Some(range_of(instruction).end)
        }
        _ => None,
    }
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
