//! Mutations of comparisons, branches and guards.

use super::{Edit, InstructionSite};

/// Comparisons and their replacements. A replacement includes or excludes equality, or is the opposite comparison.
const REPLACEMENTS: &[(&str, &str)] = &[
    ("eq", "ne"),
    ("ne", "eq"),
    ("lt", "le"),
    ("le", "lt"),
    ("gt", "ge"),
    ("ge", "gt"),
    ("lo", "ls"),
    ("ls", "lo"),
    ("hi", "hs"),
    ("hs", "hi"),
    ("equ", "neu"),
    ("neu", "equ"),
    ("ltu", "leu"),
    ("leu", "ltu"),
    ("gtu", "geu"),
    ("geu", "gtu"),
];

pub(super) fn compare(place: &InstructionSite<'_>) -> Vec<Edit> {
    let compares = matches!(place.operation(), "setp" | "set");
    let replacement =
        place.instruction.modifiers().next().and_then(|first| REPLACEMENTS.iter().find(|pair| pair.0 == first));
    match replacement {
        Some((old, new)) if compares => place.with_modifier(old, new).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn is_branch(place: &InstructionSite<'_>) -> bool {
    matches!(place.operation(), "bra" | "ret" | "exit" | "trap")
}

fn without_guard(place: &InstructionSite<'_>) -> Vec<Edit> {
    let what = "without the guard".to_owned();
    let edit = place.instruction.guard.map(|_| Edit { range: place.guard(), with: String::new(), what });
    edit.into_iter().collect()
}

pub(super) fn always(place: &InstructionSite<'_>) -> Vec<Edit> {
    if is_branch(place) { without_guard(place) } else { Vec::new() }
}

pub(super) fn drop_guard(place: &InstructionSite<'_>) -> Vec<Edit> {
    if is_branch(place) { Vec::new() } else { without_guard(place) }
}

pub(super) fn never(place: &InstructionSite<'_>) -> Vec<Edit> {
    let is_guarded = place.instruction.guard.is_some();
    if is_branch(place) && is_guarded { vec![place.dropped()] } else { Vec::new() }
}

pub(super) fn negate(place: &InstructionSite<'_>) -> Vec<Edit> {
    let edit = place.instruction.guard.map(|guard| {
        let (old, new) = if guard.negated { ("@!", "@") } else { ("@", "@!") };
        let register = guard.register;
        let range = place.guard();
        Edit { range, with: format!("{new}{register} "), what: format!("{new}{register} instead of {old}{register}") }
    });
    edit.into_iter().collect()
}
