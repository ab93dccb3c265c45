//! The report of `lab agree`.

use analysis::agree::class::Class;
use analysis::agree::metrics::{BRANCHES, INSTRUCTIONS, METRICS, Rule, UNIFORM, find};
use analysis::agree::record::{COUNTED, ComparedRun, Comparison, Comparisons, GpuContext};

use cli::output::{Column, Document, Importance, Table, number};

/// Returns the report on a record: the number of comparisons in each class, every inexact number, the numbers that
/// cannot be compared, and the GPUs on which the record was measured.
pub(super) fn report(record: &Comparisons) -> Document {
    let mut report = Document::default();
    if record.runs.is_empty() {
        report.paragraph("Nothing has been compared yet.");
        return report;
    }
    report.table(summary(record));
    report.heading("What is not exact", "");
    differences(record, &mut report);
    report.heading("What counts different things", "");
    for run in &record.runs {
        report.paragraph(format!("{}: {}", run.ladder, run.case));
        report.table(information(run));
    }
    report.heading("What is compared", "");
    report.table(compared());
    report.heading("Where it was measured", "");
    circumstances(record, &mut report);
    report.recorded(record.records());
    report
}

fn summary(record: &Comparisons) -> Table {
    let names = COUNTED.map(|class| class.map_or("0 on both".to_owned(), |class| class.to_string()));
    let words = ["ladder", "problem"].map(Column::text);
    let numbers = ["rungs".to_owned()].into_iter().chain(names);
    let mut table = Table::new(words.into_iter().chain(numbers.map(Column::number)));
    let mut row = |ladder: &str, case: String, runs: &[ComparedRun]| {
        let rungs: usize = runs.iter().map(|run| run.rungs.len()).sum();
        let count = |class| runs.iter().map(|run| run.count(class)).sum();
        let numbers = [rungs].into_iter().chain(COUNTED.map(count));
        let numbers = numbers.map(|number| number.to_string());
        table.row([ladder.to_owned(), case].into_iter().chain(numbers));
    };
    for run in &record.runs {
        row(&run.ladder, run.case.clone(), std::slice::from_ref(run));
    }
    row("all", String::new(), &record.runs);
    table
}

/// Adds every comparison that is not exact.
fn differences(record: &Comparisons, report: &mut Document) {
    let mut is_exact = true;
    for run in &record.runs {
        let words = ["metric", "how"].map(Column::text);
        let numbers = ["sim", "GPU", "difference"].map(Column::number);
        let columns = [Column::name("rung")].into_iter().chain(words);
        let mut table = Table::new(columns.chain(numbers));
        let all = run.rungs.iter().flat_map(|row| {
            let comparisons = row.comparisons(run);
            comparisons.filter_map(move |(metric, both)| Some((row, metric, both?)))
        });
        let is_equal = |class| matches!(class, Class::Exact | Class::Information);
        for (row, metric, both) in all.filter(|(.., both)| !is_equal(both.class)) {
            table.row([
                row.rung.clone(),
                metric.heading.clone(),
                class(both),
                or_none(both.sim),
                or_none(both.ncu),
                difference(both),
            ]);
        }
        if !table.is_empty() {
            is_exact = false;
            report.paragraph(format!("{}: {}", run.ladder, run.case));
            report.table(table);
        }
    }
    if is_exact {
        report.paragraph("Nothing: all numbers are the same on both sides.");
    }
}

fn class(comparison: &Comparison) -> String {
    let class = comparison.class;
    match &comparison.why[..] {
        [] => class.to_string(),
        why => format!("{class}: {}", why.join("; ")),
    }
}

fn or_none(value: Option<f64>) -> String {
    value.map_or("none".to_owned(), number)
}

fn difference(comparison: &Comparison) -> String {
    match (comparison.sim, comparison.ncu) {
        (Some(sim), Some(gpu)) if sim != 0.0 => format!("{:+.1} %", (gpu - sim) / sim * 100.0),
        _ => String::new(),
    }
}

/// Returns the instruction and branch counts, which are PTX counts on the simulator and SASS counts on the GPU.
fn information(run: &ComparedRun) -> Table {
    let names = [INSTRUCTIONS, BRANCHES, UNIFORM].into_iter();
    let here = names.filter(|name| run.request.metrics.iter().any(|metric| metric == name));
    let here: Vec<_> = here.filter_map(find).collect();
    let headings = here.iter().flat_map(|metric| {
        let ptx = format!("{} (PTX)", metric.heading);
        [Column::number(ptx), Column::number("(SASS)")]
    });
    let mut table = Table::new([Column::name("rung")].into_iter().chain(headings));
    for row in &run.rungs {
        let numbers = here.iter().flat_map(|metric| {
            let zeros = (Some(0.0), Some(0.0));
            let both = row.metrics.get(&metric.name);
            let (sim, ncu) = both.map_or(zeros, |both| (both.sim, both.ncu));
            [or_none(sim), or_none(ncu)]
        });
        table.row([row.rung.clone()].into_iter().chain(numbers));
    }
    table
}

/// Returns the metrics, each with its rule for agreement.
fn compared() -> Table {
    let mut table = Table::new([
        Column::text("metric"),
        Column::name("name").of(Importance::Medium),
        Column::text("the GPU's value must be"),
    ]);
    for metric in METRICS.iter() {
        let rule = match metric.rule {
            Rule::Requests | Rule::Counts => "the same",
            Rule::TwoPlaces => "equal to two decimal places",
            Rule::Arbitrated => "up to 6 % more on the GPU, for arbitration",
            Rule::Information => "not compared: PTX on one side, SASS on the other",
        };
        table.row([metric.heading.as_str(), &metric.name, rule]);
    }
    table
}

/// Lists each measured GPU once, with its runs and the rungs that are missing from the runs.
fn circumstances(record: &Comparisons, report: &mut Document) {
    let mut places: Vec<(&GpuContext, Vec<&str>)> = Vec::new();
    for run in &record.runs {
        match places.iter_mut().find(|(context, _)| **context == run.measured) {
            Some((_, ladders)) => ladders.push(&run.ladder),
            None => places.push((&run.measured, vec![&run.ladder])),
        }
    }
    for (measured, mut ladders) in places {
        ladders.dedup();
        report.note(format!("{}: {}", ladders.join(", "), place(measured)));
    }
    let mut last = String::new();
    for run in &record.runs {
        let is_lacking = |name: &String| run.request.metrics.iter().all(|metric| metric != name);
        let lacking = METRICS.iter().filter(|metric| is_lacking(&metric.name));
        let lacking: Vec<&str> = lacking.map(|metric| metric.heading.as_str()).collect();
        let line = format!("{}: not counted: {}", run.ladder, lacking.join("; "));
        // List several runs on the same GPU once.
        if !lacking.is_empty() && line != last {
            report.note(line.clone());
            last = line;
        }
        for why in &run.request.left_out {
            report.note(format!("{}: {}: left out: {why}", run.ladder, run.case));
        }
    }
}

fn place(measured: &GpuContext) -> String {
    let GpuContext { device, tools, date, toolchain } = measured;
    format!("{device}; {tools}; {date}; {toolchain}")
}
