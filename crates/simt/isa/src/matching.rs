//! The lookup of an instruction's row and class.

use crate::class::Class;
use crate::table::{Row, Slot, entry};

impl Row {
    /// Returns the opcode's words in the order of the table, or `None` if the opcode does not match the row.
    pub(crate) fn order<'w>(&self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let mut places = vec![0; self.slots.len()];
        let mut named = 1;
        for (slot, place) in self.slots.iter().zip(&mut places) {
            if slot.is_of_name && words.get(named).is_some_and(|word| slot.words.contains(word)) {
                *place = named;
                named += 1;
            }
        }
        for (at, word) in words.iter().enumerate().skip(named) {
            let mut slots = self.slots.iter().zip(&mut places);
            let is_free =
                |(slot, place): &(&Slot, &mut usize)| **place == 0 && !slot.is_of_name && slot.words.contains(word);
            *slots.find(is_free)?.1 = at;
        }
        let is_filled = |at: usize| self.slots[at].is_optional || places[at] > 0;
        let is_in_order = |at: usize| !self.slots[at].follows || places[at - 1] < places[at];
        let is_match = (0..places.len()).all(|at| is_filled(at) && is_in_order(at));
        let placed = places.into_iter().filter(|place| *place > 0).map(|place| words[place]);
        is_match.then(|| words[..1].iter().copied().chain(placed).collect())
    }

    /// Returns whether an instruction of this row can have this number of operands.
    #[must_use]
    pub fn takes(&self, operands: usize) -> bool {
        (self.least()..=self.operands.len()).contains(&operands)
    }

    /// Returns the minimum number of operands.
    #[must_use]
    pub fn least(&self) -> usize {
        self.operands.iter().filter(|operand| !operand.is_optional).count()
    }
}

/// Returns the opcode's words in the order of their row, and the row of an instruction with this number of operands. If
/// no matching row has this number of operands, returns the first matching row.
#[must_use]
pub fn find(opcode: &str, operands: usize) -> Option<(Vec<&str>, &'static Row)> {
    let words: Vec<&str> = opcode.split('.').collect();
    let rows = entry(words[0])?.rows().iter();
    let mut rows = rows.filter_map(|row| Some((row.order(&words)?, row)));
    let first = rows.next()?;
    if first.1.takes(operands) {
        return Some(first);
    }
    rows.find(|(_, row)| row.takes(operands)).or(Some(first))
}

/// Returns the class of an opcode with its modifiers, or `None` for an opcode that is not in the table.
#[must_use]
pub fn class(opcode: &str) -> Option<Class> {
    Some(entry(opcode)?.section(opcode).class(opcode))
}
