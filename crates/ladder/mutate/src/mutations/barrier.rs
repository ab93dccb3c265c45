//! Barriers, fences, and waits for asynchronous copies.

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

/// Returns the instructions of asynchronous copies that end a group or wait.
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
    let before = place.statements[..place.index].iter().rev().find(|own| matters(own));
    let Some(start) = before.filter(|_| is_barrier(place)).and_then(|own| start_of(own)) else { return Vec::new() };
    let own = place.range();
    let (passed, barrier) = (&place.text[start..own.start], &place.text[own.clone()]);
    let what = format!("before `{}`", first_line(passed));
    vec![Edit { range: start..own.end, with: format!("{barrier} {passed}"), what }]
}

pub(super) fn later(place: &InstructionSite<'_>) -> Vec<Edit> {
    let behind = place.statements[place.index + 1..].iter().find(|own| matters(own));
    let Some(end) = behind.filter(|_| is_barrier(place)).and_then(|own| end_of(place.text, own)) else {
        return Vec::new();
    };
    let own = place.range();
    let (barrier, passed) = (&place.text[own.clone()], &place.text[own.end..end]);
    let last = passed.lines().next_back().unwrap_or_default();
    let what = format!("behind `{}`", first_line(last));
    vec![Edit { range: own.start..end, with: format!("{passed} {barrier}"), what }]
}

/// Returns whether it makes a difference on which side of this statement a barrier stands.
fn matters(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Label { .. } => true,
        Statement::Instruction(own) => {
            matches!(
                class(own.opcode),
                Some(Class::Memory(_) | Class::Control | Class::Barrier | Class::Warp | Class::Fence | Class::Matrix)
            ) && !own.opcode.starts_with("ld.param")
        }
        _ => false,
    }
}

fn start_of(statement: &Statement<'_>) -> Option<usize> {
    match statement {
        Statement::Label { at, .. } => Some(*at as usize),
        Statement::Instruction(own) => Some(range_of(own).start),
        _ => None,
    }
}

/// Returns the end of a label or an instruction. Nothing is executed behind an instruction that ends the thread.
fn end_of(text: &str, statement: &Statement<'_>) -> Option<usize> {
    match statement {
        Statement::Label { name, at } => {
            let behind = *at as usize + name.len();
            Some(behind + text[behind..].find(':')? + 1)
        }
        Statement::Instruction(own) if own.guard.is_some() || !matches!(own.operation(), "ret" | "exit" | "bra") => {
            Some(range_of(own).end)
        }
        _ => None,
    }
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
