#![allow(clippy::unwrap_used)]

use super::*;
use crate::output::Column;

fn document() -> Document {
    let mut document = Document::default();
    document.heading("reduce", "a sum");
    let mut table = Table::new([Column::name("rung")]);
    table.row(["first"]);
    document.table(table);
    document.caption(vec!["on a GPU".into(), "today".into()]);
    document.note("left out: one");
    document.note("left out: two");
    document.section("By block", "");
    document.facts([("registers", "7".to_owned()), ("", "of 255".to_owned())]);
    document.record(&["first"]);
    document.record(&["second"]);
    document
}

#[test]
fn text_has_every_block_in_its_order() {
    assert_eq!(
        document().text(OutputStyle::default()),
        "reduce: a sum\nrung\n─────\nfirst\non a GPU\ntoday\nleft out: one\n\
         left out: two\n\nBy block\nregisters           7\n                    of 255\n"
    );
    let bold = document().text(OutputStyle { terminal: true, ..OutputStyle::default() });
    assert!(bold.starts_with("\u{1b}[1mreduce\u{1b}[0m: a sum\n"), "{bold}");
}

#[test]
fn markdown_has_blank_lines_between_blocks() {
    assert_eq!(
        document().markdown(),
        "### reduce: a sum\n\n| rung    |\n|---------|\n| `first` |\n\non a GPU; today.\n\n- left out: one\n\
         - left out: two\n\n### By block\n\n- registers: 7\n- of 255\n"
    );
    let mut pictures = Document::default();
    pictures.picture(OutputStyle::default(), |style| style.bold("drawn") + "\n");
    pictures.note("a note");
    assert_eq!(pictures.markdown(), "```text\ndrawn\n```\n\n- a note\n");
}

#[test]
fn json_is_an_array_or_one_value() {
    assert_eq!(document().json(), "[\n[\"first\"],\n[\"second\"]\n]\n");
    let empty: Vec<u8> = serde_json::from_str(&Document::default().json()).unwrap();
    assert!(empty.is_empty());
    let mut one = Document::default();
    one.value(&1);
    assert_eq!(one.json(), "1\n");
    let mut all = document();
    all.append(document());
    assert_eq!(all.json().lines().count(), 6);
}
