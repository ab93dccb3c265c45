//! Colours, and Markdown put into a file. What is shown without colours is in cli/*.txt.

use std::fs;
use std::path::PathBuf;

use crate::common::counted;
use crate::common::program::provenance;
use analysis::document;
use cli::output::OutputStyle;
use host::run::Plan;
use host::{Options, ladder};

#[test]
fn colours_only_on_a_terminal() {
    let of = |name, rung: &str| {
        let plan = Plan::new(ladder(name).unwrap(), &[rung.to_owned()], &Options::default(), None, None);
        cli::report::document(&counted(plan.unwrap()), &provenance("some"))
    };
    let document = of("reduce", "reduce_shfl");
    assert!(document.text(OutputStyle { terminal: true }).contains('\u{1b}'));
    assert!(![document.text(OutputStyle::default()), document.markdown()].concat().contains('\u{1b}'));
    // What a shuffle changed, and what it did not.
    let text = of("shuffle", "shuffle_up").text(OutputStyle { terminal: true });
    let after = text.lines().nth(2).unwrap();
    for (colour, values) in [("\u{1b}[1m\u{1b}[32m", 14), ("\u{1b}[2m", 2)] {
        assert_eq!(after.matches(colour).count(), values, "{after:?}");
    }
}

struct Readme {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Readme {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("README.md");
        fs::write(&path, text).unwrap();
        Self { _folder: folder, path }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }
}

const BEGIN: &str = "<!-- ladder:reduce:begin -->";
const END: &str = "<!-- ladder:reduce:end -->";

#[test]
fn the_block_between_the_markers_is_replaced_and_nothing_else() {
    let readme = Readme::new(&format!("# é\r\nold\n\n{BEGIN}\nold\n{END}\n\ttail without newline"));
    document::update(&readme.path, "reduce", "| a |\n|---|\n").unwrap();
    let once = readme.text();
    assert_eq!(once, format!("# é\r\nold\n\n{BEGIN}\n| a |\n|---|\n{END}\n\ttail without newline"));
    document::update(&readme.path, "reduce", "| a |\n|---|\n").unwrap();
    assert_eq!(readme.text(), once, "a second time changes nothing");
    document::update(&readme.path, "reduce", "new").unwrap();
    assert!(readme.text().contains(&format!("{BEGIN}\nnew\n{END}")));
    let left: Vec<_> = fs::read_dir(readme.path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
}

#[test]
fn line_ends_are_the_files() {
    let readme = Readme::new(&format!("a\r\n{BEGIN}\r\n{END}\r\nb\r\n"));
    document::update(&readme.path, "reduce", "x\ny\n").unwrap();
    let once = readme.text();
    assert_eq!(once, format!("a\r\n{BEGIN}\r\nx\r\ny\r\n{END}\r\nb\r\n"));
    document::update(&readme.path, "reduce", "x\ny\n").unwrap();
    assert_eq!(readme.text(), once);
}

#[test]
fn a_file_without_its_markers_once_each_and_in_order_is_left_alone() {
    for (text, why) in [
        ("nothing".to_owned(), "it has no line `<!-- ladder:reduce:begin -->`"),
        (BEGIN.to_owned(), "it has no line `<!-- ladder:reduce:end -->`"),
        (format!("{BEGIN}{BEGIN}{END}"), "more than once"),
        (format!("{BEGIN}{END}{BEGIN}{END}"), "more than once"),
        (format!("{END}{BEGIN}"), "stands before"),
        ("<!-- ladder:transpose:begin --><!-- ladder:transpose:end -->".to_owned(), "no line"),
    ] {
        let readme = Readme::new(&text);
        let error = document::update(&readme.path, "reduce", "new").unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(cli::Error::from(error).exit_code(), 2);
        assert_eq!(readme.text(), text);
        assert!(document::check(&readme.path, "reduce").is_err());
    }
    assert!(document::check("no/such/file.md".as_ref(), "reduce").is_err());
}

#[cfg(unix)]
#[test]
fn permissions_and_links_survive() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let readme = Readme::new(&format!("{BEGIN}{END}"));
    fs::set_permissions(&readme.path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = readme.path.with_file_name("link.md");
    symlink(&readme.path, &link).unwrap();
    document::update(&link, "reduce", "new").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(readme.text().contains("new"));
    assert_eq!(fs::metadata(&readme.path).unwrap().permissions().mode() & 0o777, 0o640);
}
