//! Colors. Output without colors is in cli/*.txt.

use crate::common::counted;
use crate::common::program::{provenance, run_without_driver};
use cli::output::OutputStyle;
use host::run::Plan;
use host::{DeviceProperties, Options, ladder};

#[test]
fn colors_only_on_a_terminal() {
    let document_of = |name, rung: &str| {
        let plan = Plan::new(
            ladder(name).unwrap(),
            &[rung.to_owned()],
            &Options::default(),
            None,
            None,
            DeviceProperties::default(),
        );
        cli::report::document(&counted(plan.unwrap()), None, &provenance("some"), OutputStyle::default())
    };
    let document = document_of("reduce", "reduce_shfl");
    assert!(document.text(OutputStyle { terminal: true, ..OutputStyle::default() }).contains('\u{1b}'));
    assert!(![document.text(OutputStyle::default()), document.markdown()].concat().contains('\u{1b}'));
    // Changed and unchanged values of a shuffle have different styles.
    let text = document_of("shuffle", "shuffle_up").text(OutputStyle { terminal: true, ..OutputStyle::default() });
    let after = text.lines().nth(2).unwrap();
    for (color, values) in [("\u{1b}[1m\u{1b}[32m", 14), ("\u{1b}[2m", 2)] {
        assert_eq!(after.matches(color).count(), values, "{after:?}");
    }
}

#[test]
fn the_simulators_tables_fit_100_columns_and_have_the_predictions_of_why() {
    let rungs = "reduce transpose histogram matmul gemm --n 64 --m 64 --k 64 --rows 64 --cols 64";
    let table = run_without_driver(&format!("run {rungs} --device sim")).printed();
    for line in table.lines().filter(|line| line.starts_with('│')) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let ns =
        |command: &str| run_without_driver(&format!("{command} --json")).json()[0]["predicted_ns"].as_f64().unwrap();
    let [h100, t4] = ["", " --on t4"].map(|on| ns(&format!("run reduce_shfl --n 100k{on} --device sim")));
    assert_eq!(h100, ns("why reduce_shfl --n 100k --device sim"));
    assert!(t4 > h100, "{t4} {h100}");
}
