//! What an opcode and its modifiers say: its class, and which operands an instruction writes and reads.

use super::{module, rows};
use ptx::opcode::{Opcode, all, class};

const CLASSES: &str = include_str!("fixtures/opcodes/classes.txt");

/// Instructions, and the names that they write and read.
const DEFINITIONS_AND_USES: &str = include_str!("fixtures/opcodes/definitions_and_uses.txt");

#[test]
fn rows_are_in_order_so_that_they_are_found() {
    assert!(all().is_sorted_by(|one, next| one.name < next.name));
    assert_eq!(Opcode::of("shfl.sync.bfly.b32").unwrap().since, (3, 0));
    assert_eq!(Opcode::of("warp"), None);
}

#[test]
fn modifiers_tell_the_class() {
    for (opcode, expected) in rows(CLASSES) {
        assert_eq!(format!("{:?}", class(&opcode)), expected, "{opcode}");
    }
}

#[test]
fn definitions_and_uses_are_told_apart() {
    for (text, expected) in rows(DEFINITIONS_AND_USES) {
        module(&format!(".entry k() {{ {{ {text} }} done: }}"), |module| {
            let instruction = module.functions[0].instructions().next().unwrap();
            let [definitions, uses] = [instruction.definitions(), instruction.uses()];
            let found = format!("({}) from ({})", definitions.join(" "), uses.join(" "));
            assert_eq!(found, expected, "{text}");
        });
    }
}
