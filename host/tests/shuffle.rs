//! The shuffle demonstrations on the SIMT machine, as they are shown.

use cli::output::{Document, OutputStyle};
use cli::report;
use host::device::Sim;
use host::run::{Plan, Report};
use host::{KERNELS, Options, ladder};

use crate::common::counted_on;
use crate::common::program::provenance;

fn run(options: &Options, rungs: &[&str]) -> Report {
    let rungs: Vec<String> = rungs.iter().map(|&rung| rung.to_owned()).collect();
    let plan = Plan::new(ladder("shuffle").unwrap(), &rungs, options, None, None).unwrap();
    // The caption has the number of threads.
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let report = counted_on(&mut sim, plan);
    assert!(!report.counted() && report.runs.is_none(), "it is looked at");
    report
}

fn document(report: &Report) -> Document {
    report::document(report, &provenance("some"))
}

fn text(report: &Report) -> String {
    document(report).text(OutputStyle::default())
}

#[test]
fn the_rows() {
    let rungs = [
        "shuffle_broadcast",
        "shuffle_up",
        "shuffle_down",
        "shuffle_wrap",
        "shuffle_wrap_back",
        "shuffle_xor",
        "shuffle_xor_array",
    ];
    insta::assert_snapshot!(text(&run(&Options::default(), &rungs)));
}

#[test]
fn segments_of_floats() {
    let options = Options::default().with("type", "f32").with("width", 8).with("delta", 3).with("src", 5);
    let report = run(&options, &["shuffle_broadcast", "shuffle_down"]);
    insta::assert_snapshot!(text(&report));
}

#[test]
fn a_terminal_shows_what_changed_in_colour() {
    let report = run(&Options::default(), &["shuffle_up"]);
    let text = document(&report).text(OutputStyle { terminal: true });
    let after = text.lines().nth(2).unwrap();
    let (green, dimmed) = ("\u{1b}[1m\u{1b}[32m", "\u{1b}[2m");
    assert_eq!(after.matches(green).count(), 14, "{after:?}");
    assert_eq!(after.matches(dimmed).count(), 2, "{after:?}");
}

#[test]
fn markdown_is_plain_text_and_json_has_the_rows() {
    let report = run(&Options::default(), &["shuffle_xor"]);
    let text = document(&report).markdown();
    assert!(text.starts_with("```text\nshuffle_xor: ") && text.ends_with("```\n"), "{text}");
    let rungs: serde_json::Value = serde_json::from_str(&document(&report).json()).unwrap();
    assert_eq!(rungs[0]["width"], 16);
    assert_eq!(rungs[0]["picture"]["after"][0], "1");
}
