//! An instruction's registers and cost, from its text.

use std::collections::HashMap;

use super::cost::{Cost, Kind, Step};

/// Registers by name: each gets a number, and a function's are its own.
#[derive(Debug, Default)]
pub(super) struct Names {
    function: usize,
    numbers: HashMap<(usize, String), u32>,
}

impl Names {
    pub(super) fn enter(&mut self, function: usize) {
        self.function = function;
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    fn number(&mut self, name: &str) -> u32 {
        let next = self.numbers.len() as u32;
        *self
            .numbers
            .entry((self.function, name.to_owned()))
            .or_insert(next)
    }
}

/// The step of the instruction whose opcode stands at `at`.
pub(super) fn step(ptx: &str, at: usize, names: &mut Names) -> Step {
    let rest = ptx.get(at..).unwrap_or("");
    let text = &rest[..rest.find(';').unwrap_or(rest.len())];
    let opcode_end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (opcode, operands) = text.split_at(opcode_end);
    let kind = Kind::of(opcode, operands);
    let (to, from) = if kind.defines() {
        first_operand(operands)
    } else {
        ("", operands)
    };
    let mut number = |name| names.number(name);
    let defs = registers(to).map(&mut number).collect();
    let mut uses: Vec<u32> = registers(from).map(&mut number).collect();
    uses.extend(guard(&ptx[..at.min(ptx.len())]).map(&mut number));
    Step {
        kind,
        cost: Cost::of(opcode, operands),
        defs,
        uses,
    }
}

/// The steps of a function whose opcodes stand at `places`, with what `ptxas` fuses put together.
pub(super) fn steps(
    ptx: &str,
    places: impl Iterator<Item = usize>,
    names: &mut Names,
) -> Vec<Step> {
    let places: Vec<usize> = places.collect();
    let mut steps: Vec<Step> = places.iter().map(|at| step(ptx, *at, names)).collect();
    let opcode = |index: usize| {
        let rest = ptx.get(places[index]..).unwrap_or("");
        &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())]
    };
    // By register: whether it is a wide product, and all its uses are sums of 64 bits.
    let mut products: HashMap<u32, bool> = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        if opcode(index).starts_with("mul.wide.") {
            products.extend(step.defs.iter().map(|def| (*def, true)));
        }
    }
    for (index, step) in steps.iter().enumerate() {
        let sum = matches!(opcode(index), "add.s64" | "add.u64");
        let several = step
            .uses
            .iter()
            .filter(|used| products.contains_key(used))
            .count()
            > 1;
        if !sum || several {
            for used in &step.uses {
                products.entry(*used).and_modify(|folds| *folds = false);
            }
        }
    }
    for (index, step) in steps.iter_mut().enumerate() {
        let folds = |register: &u32| products.get(register) == Some(&true);
        if opcode(index).starts_with("mul.wide.") && step.defs.iter().all(folds) {
            step.cost = Cost::folded();
        } else if step.uses.iter().any(folds) {
            step.cost = Cost::fused();
        }
    }
    steps
}

/// The operands up to the first comma outside braces, and the others.
fn first_operand(operands: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, c) in operands.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            ',' if depth == 0 => return operands.split_at(at),
            _ => {}
        }
    }
    (operands, "")
}

/// The names that begin with `%`.
fn registers(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('%').map(|(at, _)| {
        let name = &text[at..];
        let end = name[1..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
        &name[..end.map_or(name.len(), |end| end + 1)]
    })
}

/// The predicate of a guard that ends the text before an opcode.
fn guard(before: &str) -> Option<&str> {
    let line = before.rsplit(['\n', ';', '{', '}', ':']).next()?.trim();
    let name = line.strip_prefix('@')?;
    let name = name.strip_prefix('!').unwrap_or(name).trim();
    name.starts_with('%').then_some(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn registers_are_found_by_their_place() {
        let of = |ptx: &str, opcode: &str| {
            let mut names = Names::default();
            let step = step(ptx, ptx.find(opcode).unwrap(), &mut names);
            let name = |number: &u32| {
                let mut all = names.numbers.iter();
                let found = all.find(|(_, n)| *n == number).unwrap();
                found.0.1.clone()
            };
            (
                step.defs.iter().map(name).collect::<Vec<_>>().join(" "),
                step.uses.iter().map(name).collect::<Vec<_>>().join(" "),
            )
        };
        for (ptx, opcode, defs, uses) in [
            ("add.s32 %r1, %r2, 3;", "add", "%r1", "%r2"),
            (
                "\t@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd4+8];",
                "ld",
                "%r1 %r2",
                "%rd4 %p1",
            ),
            ("st.shared.u32 [%r5], %r6;", "st", "", "%r5 %r6"),
            (
                "shfl.sync.bfly.b32 %r3|%p2, %r2, 16, 31, -1;",
                "shfl",
                "%r3 %p2",
                "%r2",
            ),
            ("x: mov.b64 {%r1, %r2}, %rd9;", "mov", "%r1 %r2", "%rd9"),
            ("@%p3 bra $L__BB0_2;", "bra", "", "%p3"),
            (
                "cp.async.cg.shared.global [%r1], [%rd2], 16;",
                "cp",
                "",
                "%r1 %rd2",
            ),
        ] {
            assert_eq!(of(ptx, opcode), (defs.to_owned(), uses.to_owned()), "{ptx}");
        }
    }

    #[test]
    fn functions_have_registers_of_their_own() {
        let mut names = Names::default();
        let first = step("mov.u32 %r1, 0;", 0, &mut names);
        names.enter(1);
        let second = step("mov.u32 %r1, 0;", 0, &mut names);
        assert_ne!(first.defs, second.defs);
        assert_eq!(names.count(), 2);
    }
}
