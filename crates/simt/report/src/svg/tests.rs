use super::{Sourced, document};
use profile::figures::{Arrow, Cell, Figure, FigureRow, Grid, Shade};

/// Checks that a text is well-formed XML, as far as SVG uses it: one root, correctly nested elements, quoted
/// attributes, and texts without unescaped `<` and `&`. Returns the names of the elements.
fn well_formed(text: &str) -> Vec<String> {
    let (mut open, mut names) = (Vec::new(), Vec::new());
    for (number, part) in text.split('<').enumerate() {
        if number == 0 {
            assert_eq!(part, "");
            continue;
        }
        let (tag, content) = part.split_once('>').expect("a tag ends");
        assert!(!tag.contains('&') && tag.matches('"').count() % 2 == 0, "{tag}");
        assert!(!content.contains('>'), "{content}");
        for entity in content.split('&').skip(1) {
            let (name, _) = entity.split_once(';').expect("an entity ends");
            assert!(["amp", "lt", "gt", "quot"].contains(&name), "{name}");
        }
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name.to_owned())),
            None => {
                let name = tag.trim_end_matches('/').split(' ').next().unwrap_or_default().to_owned();
                names.push(name.clone());
                if !tag.ends_with('/') {
                    open.push(name);
                }
            }
        }
        assert!(!open.is_empty() || content.trim().is_empty(), "{content}");
    }
    assert!(open.is_empty(), "{open:?}");
    names
}

#[test]
fn the_file_is_well_formed_and_has_text_alternatives() {
    let used = Cell::new("-1234567", Shade::Used);
    let row = |cells: [Cell; 2]| FigureRow { label: "gives & <takes>".to_owned(), cells: cells.to_vec() };
    let grid = Grid {
        caption: "a < b".to_owned(),
        columns: vec!["0".to_owned(), "1".to_owned()],
        together: 1,
        rows: vec![
            row([used.clone(), Cell::new("·", Shade::Idle)]),
            row([Cell::default(), Cell::new("3+", Shade::Turn(7))]),
        ],
        arrows: vec![Arrow { row: 0, from: 0, to: 1 }],
    };
    let figure = Figure {
        what: "shuffle",
        title: "\"up\"".to_owned(),
        source: None,
        ptx_line: 1,
        grids: vec![grid],
        counts: vec![("lanes", 2)],
        notes: vec!["a & b".to_owned()],
        ..Figure::default()
    };
    let text = document("x<y>", &[Sourced { figure, line: "a.rs:1  f::<u32>(&x)".to_owned() }]);
    let names = well_formed(&text);
    let count = |name: &str| names.iter().filter(|element| *element == name).count();
    // One title for the file and one for the figure; a rectangle for each cell, and an arrow with a head.
    assert_eq!((count("svg"), count("title"), count("desc")), (1, 2, 1));
    assert_eq!((text.matches("h-26z").count(), text.matches("class=\"a\"").count(), count("path")), (4, 1, 6));
    // The row with a long text is taller, and its texts are vertical.
    assert_eq!((text.matches("v80h-26z").count(), text.matches("rotate(-90)").count()), (2, 2));
    assert!(
        text.contains("<desc id=\"desc0\">a &lt; b; a.rs:1  f::&lt;u32&gt;(&amp;x); lanes 2; a &amp; b</desc>"),
        "{text}"
    );
    assert!(text.contains("prefers-color-scheme:dark") && text.contains("@media print"));
}
