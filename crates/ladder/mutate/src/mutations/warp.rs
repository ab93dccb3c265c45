//! Mutations of warp-wide operations.

use ptx::ast::{Number, Operand};

use super::{Edit, InstructionSite};

/// Modes of a shuffle and their replacements.
const REPLACEMENTS: &[(&str, &str)] = &[("bfly", "down"), ("down", "up"), ("up", "down"), ("idx", "bfly")];

fn is_shuffle(place: &InstructionSite<'_>) -> bool {
    place.operation() == "shfl"
}

pub(super) fn mode(place: &InstructionSite<'_>) -> Vec<Edit> {
    let edit = REPLACEMENTS.iter().find_map(|(old, new)| place.with_modifier(old, new));
    edit.filter(|_| is_shuffle(place)).into_iter().collect()
}

pub(super) fn lane(place: &InstructionSite<'_>) -> Vec<Edit> {
    match place.integer(2) {
        Some((range, lane)) if is_shuffle(place) => {
            let other = if lane > 1 { lane / 2 } else { 2 };
            vec![place.replaced(range, other)]
        }
        _ => Vec::new(),
    }
}

pub(super) fn segment(place: &InstructionSite<'_>) -> Vec<Edit> {
    match place.integer(3) {
        // With this clamp value, half of the lanes take part.
        Some((range, clamp)) if is_shuffle(place) => vec![place.replaced(range, clamp ^ 0x10)],
        _ => Vec::new(),
    }
}

pub(super) fn mask(place: &InstructionSite<'_>) -> Vec<Edit> {
    let takes_mask = match place.operation() {
        "shfl" | "vote" | "match" | "redux" => true,
        "bar" => place.instruction.has("warp"),
        _ => false,
    };
    let last = place.instruction.operands.len().checked_sub(1).filter(|_| takes_mask);
    let Some(last) = last else { return Vec::new() };
    let is_number = matches!(place.instruction.operands[last], Operand::Number(Number::Integer(_)));
    match place.integer(last).filter(|_| is_number) {
        // Remove the highest lane from the mask.
        Some((range, mask)) if mask as u32 != 0 => {
            let mask = mask as u32;
            vec![place.replaced(range, mask & !(1 << mask.ilog2()))]
        }
        _ => Vec::new(),
    }
}
