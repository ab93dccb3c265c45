//! Shows the results as tables.

use analysis::results::{Unit, Value};
use cli::output::{Cell, Column, Context, Document, NOTHING, Table};
use host::Provenance;

use super::{MeasurementContext, Results};
use crate::contest::{Contest, ContestantResult, MeasuredContestant, Spread};
use crate::contestant::{Kind, port_name};
use crate::targets::{self, Ratio, TargetResult, geometric_mean};

/// Returns all cases, the means and the targets.
pub fn document(results: &Results) -> Document {
    let mut document = Document::default();
    for contest in &results.contests {
        document.paragraph(format!("{}: {}", contest.ladder.name, contest.title));
        add(&mut document, [rungs(contest), baselines(contest)]);
        let notes = contest.regime.iter().chain(&contest.missing).cloned();
        for note in notes.chain(wrong(contest)) {
            document.note(note);
        }
        document.paragraph("");
    }
    let ratios = targets::ratios(&results.contests);
    let reached = targets::reached(&results.contests);
    for table in [means(&ratios), reached_or_not(&reached)] {
        if !table.is_empty() {
            document.table(table);
            document.paragraph("");
        }
    }
    for ceiling in targets::ceilings(&results.contests) {
        let (name, speed) = (ceiling.name, format!("{:.1} GB/s", ceiling.gb_per_s));
        let (ladder, title) = (ceiling.ladder, ceiling.title);
        document.note(format!("ceiling: {name}, {speed}, on {ladder} {title}"));
    }
    for failed in &results.failed {
        document.note(format!("not measured: {}: {}", failed.what, failed.why));
    }
    let MeasurementContext { device, rounds, date, command, .. } = &results.circumstances;
    let conditions = format!("median of {rounds} alternating rounds, timed with CUDA events, with quartiles");
    let toolchain = toolchain(&results.circumstances);
    let lines = [format!("on {device}"), conditions.clone(), format!("{date}; {toolchain}"), format!("`{command}`")];
    document.caption(lines.to_vec());
    let provenance = Provenance { date: date.clone(), toolchain };
    document.measured(Context { device: device.clone(), conditions, provenance });
    document
}

/// Adds the tables that have rows.
fn add(document: &mut Document, tables: [Table; 2]) {
    for table in tables.into_iter().filter(|table| !table.is_empty()) {
        document.table(table);
    }
}

/// Returns the compilers and libraries.
fn toolchain(circumstances: &MeasurementContext) -> String {
    let nvcc = circumstances.nvcc.iter().map(|version| format!("CUDA ports by nvcc {version}"));
    let all = [circumstances.toolchain.clone()].into_iter().chain(nvcc).chain(circumstances.baselines.clone());
    all.collect::<Vec<_>>().join(", ")
}

/// Returns both quartiles of a time, in the median's unit.
fn quartiles(spread: Spread) -> String {
    let (scale, decimals) = match spread.median < 1e6 {
        true => (1e3, 2),
        false => (1e6, 3),
    };
    let [first, third] = [spread.first_quartile, spread.third_quartile].map(|quartile| quartile / scale);
    format!("{first:.decimals$}–{third:.decimals$}")
}

fn ratio(spread: Option<Spread>) -> Cell {
    spread.map_or(NOTHING.into(), |Spread { median, first_quartile, third_quartile }| {
        let quartiles = Some([first_quartile, third_quartile]);
        Cell::of(Value::Measured { value: median, unit: Unit::Ratio, quartiles })
    })
}

/// Returns the rate of a contestant.
fn rate(contest: &Contest, contestant: &MeasuredContestant) -> Cell {
    match (contest.flops_per_s(contestant), contestant.bytes_per_s()) {
        (Some(flops), _) => Cell::measured(Some(flops / 1e12), Unit::TeraflopsPerSecond),
        (None, bytes) => Cell::measured(bytes.map(|bytes| bytes / 1e9), Unit::GigabytesPerSecond),
    }
}

/// Returns the unit of [`rate`].
fn rate_unit(contest: &Contest) -> &'static str {
    match contest.flops {
        Some(_) => "TFLOP/s",
        None => "GB/s",
    }
}

/// Returns the cells of a time: median and quartiles, or the reason why there is no time.
fn time_cells(measured: &MeasuredContestant) -> [Cell; 2] {
    match (&measured.outcome, measured.spread()) {
        (_, Some(spread)) => [Cell::measured(Some(spread.median), Unit::Nanoseconds), quartiles(spread).into()],
        (ContestantResult::LeftOut(tried), None) => {
            [format!("left out ({})", Value::new(*tried, Unit::Nanoseconds)).into(), "".into()]
        }
        (ContestantResult::Wrong(_) | ContestantResult::Timed(_), None) => [Cell::bad("WRONG"), "".into()],
    }
}

/// Returns a table with a row for each of these contestants: its time, and the two columns that compare it.
fn timed<'a>(
    contest: &Contest,
    first: Column,
    last: [Column; 2],
    contestants: impl Iterator<Item = &'a MeasuredContestant>,
    compared: impl Fn(&MeasuredContestant) -> [Cell; 2],
) -> Table {
    let numbers = ["time", "quartiles", rate_unit(contest)].map(Column::number);
    let table = Table::new([first].into_iter().chain(numbers).chain(last));
    let notes: Vec<&str> = contest.regime.iter().chain(&contest.missing).map(String::as_str).collect();
    let mut table = table.with_results_of(contest.ladder.name, &contest.title).with_conditions(notes.join("; "));
    for measured in contestants {
        let [time, quartiles] = time_cells(measured);
        let cells = [measured.contestant.name.as_str().into(), time, quartiles, rate(contest, measured)];
        table.row(cells.into_iter().chain(compared(measured)));
    }
    table
}

/// Returns a table of the rungs, each with its CUDA port.
fn rungs(contest: &Contest) -> Table {
    let last = ["CUDA C++", "rung / CUDA C++"].map(Column::number);
    let all = contest.of_kind(Kind::Rung);
    timed(contest, Column::name("rung"), last, all, |measured| {
        let port = measured.contestant.rung.and_then(|rung| contest.named(&port_name(rung)));
        let of_port = port.map_or(NOTHING.into(), |port| time_cells(port)[0].clone());
        [of_port, ratio(contest.over_port(measured))]
    })
}

/// Returns a table of the baselines and plain reading, each compared with the top rung.
fn baselines(contest: &Contest) -> Table {
    let top = contest.top();
    let last = [Column::text("top rung"), Column::number("top / it")];
    let all = contest.contestants.iter().filter(|measured| measured.is_other());
    timed(contest, Column::name("against"), last, all, |measured| {
        let name = top.map_or(NOTHING, |top| &top.contestant.name);
        [name.into(), ratio(top.and_then(|top| top.over(measured)))]
    })
}

/// Returns a table of the mean ratios of the rungs' times to their CUDA ports' times, with a row for each ladder and a
/// row for all ladders.
fn means(ratios: &[Ratio]) -> Table {
    let mut table = Table::new([
        Column::text("rung / CUDA C++"),
        Column::number("rungs"),
        Column::number("geometric mean"),
        Column::number("worst"),
        Column::text("which"),
    ]);
    let mut row = |name: &str, ratios: &[Ratio]| {
        let worst = ratios.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let mean = geometric_mean(ratios.iter().map(|ratio| ratio.ratio));
        if let (Some(worst), Some(mean)) = (worst, mean) {
            table.row([
                name.to_owned(),
                ratios.len().to_string(),
                format!("{mean:.3}"),
                format!("{:.3}", worst.ratio),
                worst.rung.to_owned(),
            ]);
        }
    };
    for of_ladder in ratios.chunk_by(|a, b| a.ladder == b.ladder) {
        row(of_ladder[0].ladder, of_ladder);
    }
    row("all", ratios);
    table
}

/// Returns a table of the targets.
fn reached_or_not(reached: &[TargetResult]) -> Table {
    let mut table = Table::new([
        Column::text("what"),
        Column::number("target"),
        Column::number("measured"),
        Column::text("met"),
        Column::text("by"),
    ]);
    for reached in reached {
        let decimals = match reached.target.ends_with("GB/s") {
            true => 1,
            false => 3,
        };
        table.row([
            reached.what.into(),
            reached.target.as_str().into(),
            format!("{:.decimals$}", reached.measured).into(),
            match reached.met {
                true => Cell::good("yes"),
                false => Cell::bad("NO"),
            },
            reached.by.as_str().into(),
        ]);
    }
    table
}

/// Returns the errors of the contestants, one line each.
fn wrong(contest: &Contest) -> impl Iterator<Item = String> {
    let contestants = contest.contestants.iter();
    contestants.filter_map(|measured| match &measured.outcome {
        ContestantResult::Wrong(why) => Some(format!("wrong: {}: {why}", measured.contestant.name)),
        ContestantResult::Timed(_) | ContestantResult::LeftOut(_) => None,
    })
}
