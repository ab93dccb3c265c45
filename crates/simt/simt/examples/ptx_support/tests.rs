#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;

#[test]
fn the_document_matches_the_decoder() {
    let written = include_str!("../../../../../docs/ptx-support.md");
    let all = support();
    let now = document(&all);
    let differs = now.lines().zip(written.lines()).find(|(now, then)| now != then);
    let how = "cargo run -p simt-tests --example ptx_support > docs/ptx-support.md";
    assert!(now == written, "{differs:?}: update it with `{how}`");
    the_corpus_uses_supported_forms(&all);
}

/// Checks that no instruction of the programs whose results were recorded on a GPU is listed as refused.
fn the_corpus_uses_supported_forms(all: &Support) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "ptx")).collect();
    assert!(files.len() > 10);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let module = ptx::parse(&text).unwrap();
        for instruction in module.functions.iter().flat_map(|function| function.instructions()) {
            let words: Vec<&str> = instruction.opcode.split('.').collect();
            let mut places = places(&all.sections, &words).into_iter();
            assert!(places.any(|place| all.forms.contains_key(&place)), "{path:?}: {}", instruction.opcode);
            let is_of = |row: &&Row| {
                let slots: Vec<_> = row.slots.iter().map(Slot::choices).collect();
                let has = |slot: &Vec<Option<&str>>, word: &&str| slot.contains(&Some(*word));
                row.name == words[0]
                    && words[1..].iter().all(|word| slots.iter().any(|slot| has(slot, word)))
                    && slots.iter().all(|slot| slot.contains(&None) || words.iter().any(|word| has(slot, word)))
                    && row.operands.len() == instruction.operands.len()
            };
            let refused = all.refused_rows.iter().find(is_of);
            assert!(refused.is_none(), "{path:?}: {} is listed as refused", instruction.opcode);
        }
    }
}

#[test]
fn every_form_belongs_to_a_listed_instruction() {
    let sections = sections();
    for row in rows() {
        let all = 0..row.opcodes().min(50);
        let is_listed = all.clone().any(|number| {
            let modifiers = row.modifiers(number);
            let words: Vec<&str> = [row.name].into_iter().chain(modifiers.into_iter().flatten()).collect();
            !places(&sections, &words).is_empty()
        });
        assert!(is_listed, "isa.txt has no instruction for the form of `{}`", row.name);
    }
    let missing = simt_isa::names().find(|opcode| {
        let mut names = sections.iter().flat_map(|section| &section.instructions);
        !names.any(|name| name.split('.').next() == Some(opcode))
    });
    assert_eq!(missing, None, "isa.txt has no instruction with this name");
}
