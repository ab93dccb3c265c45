//! `ladder why --roofline`: the rungs of a ladder under a device's roofline.
//!
//! A roofline compares the times of all rungs of a ladder on a problem of the default size. A figure, in contrast,
//! shows one warp of one rung on a problem small enough to draw.

mod chart;
mod text;

use serde::Serialize;

pub(crate) use chart::Chart;

use crate::charts;
use crate::command::{CommandArgs, Env, Output, WRONG};
use crate::error::Error;
use crate::output::{self, Column, Document, Importance, NOTHING, OutputStyle, Printer, Table, duration};
use crate::timing::{Origin, Timing};
use analysis::predict::Description;
use profile::roofline::{Roofline, roofline};
use report::files::replace;

/// A ladder's roofline in JSON.
#[derive(Serialize)]
struct RooflineRecord<'a> {
    ladder: &'a str,
    problem: &'a str,
    #[serde(flatten)]
    origin: &'a Origin,
    #[serde(flatten)]
    roofline: &'a Roofline,
}

pub(super) fn show(args: &CommandArgs<super::Arguments>, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = args;
    let mut selected = targets.select(env.catalog)?;
    // Ladders that are shown as pictures are not timed.
    if selected.len() > 1 {
        selected.retain(|selection| !selection.ladder.shown.pictures);
    }
    if let Some(only) = selected.iter().find(|selection| selection.ladder.shown.pictures) {
        let name = only.ladder.name;
        return Err(Error::Request(format!("{name} is not timed, only shown as pictures, so it has no roofline")));
    }
    if args.view.svg.is_some() && selected.len() > 1 {
        return Err(Error::Request("an SVG file holds the roofline of one ladder: name one with --svg".to_owned()));
    }
    let mut timing = Timing::open(&args.timing, env)?;
    let mut printer = Printer::new(args.view.format, env.style(), to.out);
    let mut code = 0;
    for selection in &selected {
        let timed = timing.of(env, selection, targets.block())?;
        let problem = timed.plan.problem();
        let (title, flops) = (problem.labels().title, problem.facts().flops);
        let ladder = selection.ladder.name;
        let found = roofline(&timing.description, flops, &timed.points());
        let about = format!("{title}, {}", timing.origin.words);
        let chart = Chart::new(ladder, &about, &found);
        if let Some(path) = &args.view.svg {
            replace(path, &charts::file(&chart)).map_err(|why| analysis::Error::file("write", path, why))?;
        }
        let mut document = document((ladder, &about), &timing.description, &found, env.style());
        let left_out = timed.plan.left_out().iter().map(output::left_out);
        left_out.chain(timed.wrong.iter().map(|why| format!("wrong: {why}"))).for_each(|line| document.note(line));
        document.record(&RooflineRecord { ladder, problem: &title, origin: &timing.origin, roofline: &found });
        printer.show(&document)?;
        code = if timed.wrong.is_empty() { code } else { WRONG };
    }
    printer.finish()?;
    Ok(code)
}

/// Returns the chart and the table of a roofline.
pub(super) fn document(
    (title, about): (&str, &str),
    device: &Description,
    found: &Roofline,
    style: OutputStyle,
) -> Document {
    let mut document = Document::default();
    document.heading(title, about);
    document.picture(style, |style| text::chart(found, style));
    document.table(table(found));
    document.note(format!("roofs of {}: {}", device.name, roofs(found).join(", ")));
    document
}

/// Returns a table with a row for each launch.
fn table(found: &Roofline) -> Table {
    let mut columns = vec![Column::text(""), Column::name("launch"), Column::number("time")];
    columns.push(Column::number(format!("{}s/s", found.unit)));
    columns.extend(found.memory.iter().map(|roof| Column::number(format!("of {}", roof.name)).of(Importance::Medium)));
    columns.push(Column::text("nearest roof"));
    let mut table = Table::new(columns);
    for (number, point) in found.points.iter().enumerate() {
        let mut row = vec![
            letter(number).to_string(),
            point.name.clone(),
            duration(point.time_ns),
            charts::per_second(point.per_second, ""),
        ];
        row.extend(point.memory.iter().map(|level| match level.intensity {
            Some(_) => percent(level.of_roof),
            None => NOTHING.to_owned(),
        }));
        row.push(format!("{} {}", point.bound, percent(point.of_bound)));
        table.row(row);
    }
    table
}

/// Describes the roofs: `DRAM 3352 GB/s`.
fn roofs(found: &Roofline) -> Vec<String> {
    let memory = found.memory.iter().map(|roof| format!("{} {}", roof.name, charts::per_second(roof.per_second, "B")));
    let compute = found.compute.iter();
    let compute = compute.map(|roof| format!("{} {}", roof.name, charts::per_second(roof.per_second, found.unit)));
    memory.chain(compute).collect()
}

fn percent(share: f64) -> String {
    format!("{} %", charts::plain(share * 100.0))
}

/// Returns the letter of a rung in a chart: `a` to `z`, then `A`.
fn letter(number: usize) -> char {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.cycle().nth(number).unwrap_or('?')
}
