//! What an opcode and its modifiers say: its class, and which operands an instruction writes and reads.

#![allow(clippy::unwrap_used)]

use simt_isa::{Registers, class, find, names, rows, sets};

const CLASSES: &str = include_str!("fixtures/classes.txt");

/// Instructions, and the names that they write and read.
const DEFINITIONS_AND_USES: &str = include_str!("fixtures/definitions_and_uses.txt");

/// The rows `text => expected` of a table.
fn expectations(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table.lines().map(|row| row.split_once(" => ").unwrap())
}

#[test]
fn modifiers_tell_the_class() {
    for (opcode, expected) in expectations(CLASSES) {
        assert_eq!(format!("{:?}", class(opcode)), expected, "{opcode}");
    }
}

#[test]
fn definitions_and_uses_are_told_apart() {
    for (text, expected) in expectations(DEFINITIONS_AND_USES) {
        let module = format!(".version 8.5\n.target sm_90\n.address_size 64\n.entry k() {{ {{ {text} }} done: }}");
        let module = ptx::parse(&module).unwrap_or_else(|error| panic!("{error}"));
        let instruction = module.functions[0].instructions().next().unwrap();
        let [definitions, uses] = [instruction.definitions(), instruction.uses()];
        let found = format!("({}) from ({})", definitions.join(" "), uses.join(" "));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn written_operands_come_first() {
    for row in rows() {
        assert!(row.operands.is_sorted_by_key(|operand| !operand.is_written), "{row:?}");
    }
}

#[test]
fn every_row_is_found_by_its_opcodes() {
    for row in rows() {
        for number in (0..row.opcodes()).step_by(row.opcodes().div_ceil(100)) {
            let modifiers = row.modifiers(number).into_iter().flatten();
            let opcode = [row.name].into_iter().chain(modifiers).collect::<Vec<_>>().join(".");
            let (words, found) = find(&opcode, row.operands.len()).unwrap();
            assert_eq!((words.join("."), found.takes(row.operands.len())), (opcode, true));
        }
    }
}

#[test]
fn ranges_are_all_words_of_a_set() {
    assert_eq!(sets()["INT32"][3..6], ["m64n32k32", "m64n48k32", "m64n64k32"]);
    assert_eq!(sets()["GROUP8"].len(), 32);
}

#[test]
fn names_have_a_class() {
    assert!(names().all(|name| class(name).is_some()));
    assert_eq!(class("nothing"), None);
}
