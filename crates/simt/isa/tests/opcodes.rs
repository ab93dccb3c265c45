//! Tests of opcodes and their modifiers: the class, and the operands that an instruction writes and reads.

#![allow(clippy::unwrap_used)]

use simt_isa::{Registers, class, find, names, rows, sets};

const CLASSES: &str = include_str!("fixtures/classes.txt");

/// Instructions, and the names that they write and read.
const DEFINITIONS_AND_USES: &str = include_str!("fixtures/definitions_and_uses.txt");

/// Returns the rows `text => expected` of a table.
fn expectations(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table.lines().map(|row| row.split_once(" => ").unwrap())
}

#[test]
fn modifiers_decide_the_class() {
    for (opcode, expected) in expectations(CLASSES) {
        assert_eq!(format!("{:?}", class(opcode)), expected, "{opcode}");
    }
}

#[test]
fn definitions_and_uses_are_distinguished() {
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
fn ranges_expand_to_all_words() {
    assert_eq!(sets()["INT32"][3..6], ["m64n32k32", "m64n48k32", "m64n64k32"]);
    assert_eq!(sets()["GROUP8"].len(), 32);
}

#[test]
fn names_have_a_class() {
    assert!(names().all(|name| class(name).is_some()));
    assert_eq!(class("nothing"), None);
}

/// Opcodes, their number of operands, and their needs.
const NEEDS: [(&str, usize, (u32, u32), &str); 9] = [
    ("add.f32", 3, (0, 0), "sm_0"),
    ("add.rn.bf16", 3, (7, 8), "sm_90"),
    ("min.f32", 3, (0, 0), "sm_0"),
    ("min.f32", 4, (8, 8), "sm_100"),
    ("set.eq.u16.f16", 3, (6, 5), "sm_0"),
    ("set.eq.f16.u16", 3, (0, 0), "sm_0"),
    ("ld.global.L2::cache_hint.b32", 3, (7, 4), "sm_80"),
    ("setmaxnreg.inc.sync.aligned.u32", 1, (8, 0), "sm_90a"),
    ("wgmma.fence.sync.aligned", 0, (8, 0), "sm_90a"),
];

#[test]
fn needs_depend_on_the_row_and_the_modifiers() {
    for (opcode, operands, version, target) in NEEDS {
        let (words, row) = find(opcode, operands).unwrap();
        let needs = row.needs(&words, operands);
        assert_eq!((needs.version, needs.target.to_string().as_str()), (version, target), "{opcode}");
    }
}

#[test]
fn later_targets_have_an_instruction() {
    let has = |opcode: &str, operands, target: &str| {
        let text = format!(".version 9.0\n.target {target}\n.address_size 64\n");
        let module = ptx::parse(&text).unwrap();
        let (words, row) = find(opcode, operands).unwrap();
        row.needs(&words, operands).has_target(&module)
    };
    let add = ["sm_80", "sm_90", "sm_90a", "sm_100f"].map(|target| has("add.rn.bf16", 3, target));
    assert_eq!(add, [false, true, true, true]);
    let setmaxnreg = ["sm_90", "sm_90a", "sm_100", "sm_100f", "sm_120a"];
    let setmaxnreg = setmaxnreg.map(|target| has("setmaxnreg.dec.sync.aligned.u32", 1, target));
    assert_eq!(setmaxnreg, [false, true, false, true, true]);
    let wgmma = ["sm_90", "sm_90a", "sm_100a", "sm_80, sm_90a"];
    assert_eq!(wgmma.map(|target| has("wgmma.fence.sync.aligned", 0, target)), [false, true, false, true]);
}
