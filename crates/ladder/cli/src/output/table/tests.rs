use super::*;

fn table() -> Table {
    let mut table = Table::new([Column::name("rung"), Column::number("time\nsim")]);
    table.row(["first".into(), Cell::good("1 | 2")]);
    table.row(["second"]);
    table
}

#[test]
fn text_is_drawn_and_plain_without_a_terminal() {
    let text = table().text(OutputStyle::default());
    assert_eq!(text, "rung     time\n          sim\n─────────────\nfirst   1 | 2\nsecond\n");
    assert_eq!(table().width(), 13);
    let colours = table().text(OutputStyle { terminal: true, ..OutputStyle::default() });
    assert!(colours.contains("\u{1b}["), "{colours}");
}

#[test]
fn markdown_has_code_and_one_line_a_row() {
    assert_eq!(
        table().markdown(),
        "| rung     | time sim |\n|----------|----------|\n| `first`  |   1 \\| 2 |\n| `second` |          |\n"
    );
}
