//! Tables, JSON and Markdown, from a run with made-up times; and Markdown put into a file.

use std::fs;
use std::path::PathBuf;

use crate::common::program::{alone, assert_has, env, provenance, within};
use crate::common::toy::{TOY, TOYS};
use crate::common::{Fake, Fault};
use analysis::document;
use cli::output::{Document, OutputStyle};
use host::Options;
use host::run::{self, Plan, Report};

const PLAIN: OutputStyle = OutputStyle { terminal: false };

fn document(report: &Report) -> Document {
    let toolchain = "host code by rustc 1.95.0, device code by rustc 1.96.0, LLVM 22";
    cli::report::document(report, &provenance(toolchain))
}

fn report(n: u64, runs: Option<u32>, fault: Option<Fault>) -> Report {
    let plan = Plan::new(&TOYS.ladders[0], &[], &Options::default().with("n", n), None, runs);
    run::run(&mut Fake::new(fault), plan.unwrap(), |_| {}).unwrap()
}

fn text(report: &Report) -> String {
    document(report).text(PLAIN)
}

#[test]
fn the_table() {
    insta::assert_snapshot!(text(&report(1 << 14, Some(20), None)));
}

#[test]
fn the_table_of_a_wrong_rung_untimed() {
    let fault = Some(Fault::WrongSum("toy_fast"));
    insta::assert_snapshot!(text(&report(1000, None, fault)));
}

#[test]
fn colours_only_on_a_terminal() {
    let report = report(1000, None, None);
    assert!(!text(&report).contains('\u{1b}'));
    let terminal = OutputStyle { terminal: true };
    let document = document(&report);
    assert!(document.text(terminal).contains('\u{1b}'));
    assert!(!document.markdown().contains('\u{1b}'));
}

#[test]
fn the_caption_says_when_the_data_fit_into_the_cache() {
    let of = |n, runs| text(&report(n, runs, None));
    let note = "the data (4.0 KiB) fit into the L2 cache (16.0 KiB)";
    assert!(of(1024, Some(1)).contains(note));
    assert!(!of(1024, None).contains(note));
    assert!(!of(1 << 14, Some(1)).contains("fit into"));
}

#[test]
fn json_of_a_timed_run() {
    let report = report(1 << 14, Some(3), None);
    insta::assert_snapshot!(document(&report).json());
}

#[test]
fn json_untimed_and_wrong() {
    let report = report(0, None, Some(Fault::NothingWritten("toy_fast")));
    insta::assert_snapshot!(document(&report).json());
}

#[test]
fn the_markdown() {
    let report = report(1 << 14, Some(20), None);
    insta::assert_snapshot!(document(&report).markdown());
}

#[test]
fn the_list() {
    let rungs: Vec<_> = TOY.rungs.iter().collect();
    insta::assert_snapshot!(cli::list::rungs(&TOYS.ladders[0], &rungs).text(PLAIN));
}

#[test]
fn help_has_the_ladders_and_their_options() {
    let open = |_| panic!("no device is opened for help");
    let toys = cli::Env { catalog: &TOYS, ..env(&open) };
    for command in ["run", "check", "profile", "predict", "occupancy", "agree"] {
        let out = within(&toys, (command, "--help")).printed();
        let parts =
            ["[LADDER|RUNG]...", "Options of toy: a sum, for tests", "--n <N>", "How many elements [default: 16384]"];
        assert_has(&out, &parts);
    }
    let run = within(&toys, "run --help").printed();
    assert!(run.starts_with("Run ladders or rungs: "), "{run}");
    let one = alone("run reduce --help").printed();
    assert_has(&one, &["--op <OP>"]);
    assert!(!one.contains("--rows <R>"), "{one}");
    let all = alone("run -h").printed();
    assert_has(&all, &["--op <OP>", "--rows <R>"]);
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
