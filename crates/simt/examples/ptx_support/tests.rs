use super::*;

#[test]
fn the_document_is_what_the_decoder_says() {
    let written = include_str!("../../../../docs/ptx-support.md");
    let now = document();
    let differs = now.lines().zip(written.lines()).find(|(now, then)| now != then);
    let how = "cargo run -p simt-tests --example ptx_support > docs/ptx-support.md";
    assert!(now == written, "{differs:?}: write it again with `{how}`");
}

#[test]
fn every_form_is_of_an_instruction_in_the_list() {
    let sections = sections();
    for row in rows() {
        let all = 0..row.opcodes().min(50);
        let is_listed = all.clone().any(|number| {
            let modifiers = row.modifiers(number);
            let words: Vec<&str> = [row.name].into_iter().chain(modifiers.into_iter().flatten()).collect();
            sections.iter().any(|section| section.instruction(&words).is_some())
        });
        assert!(is_listed, "isa.txt has no instruction for the form of `{}`", row.name);
    }
    let mut opcodes = ptx::opcode::all().iter();
    let missing = opcodes.find(|opcode| {
        let mut names = sections.iter().flat_map(|section| &section.instructions);
        !names.any(|name| name.split('.').next() == Some(opcode.name))
    });
    assert_eq!(missing, None, "isa.txt has no instruction with this name");
}
