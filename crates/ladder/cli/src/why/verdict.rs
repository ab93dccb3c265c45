//! The verdict of `ladder why`: for one rung, text with a figure; for several rungs, a table.

use super::measure::{Measured, Measurement};
use super::{Arguments, counters, figures};
use crate::command::{CommandArgs, Env, Output};
use crate::error::Error;
use crate::output::{self, Column, Document, Importance, NOTHING, Printer, Table, duration};
use analysis::profile::RungProfile;
use analysis::profile::metrics;
use analysis::profile::next_rung;
use engine::registry::{Ladder, Rung};
use profile::metrics::Metric;
use profile::metrics::Side;
use profile::verdict::BoundVerdict;
use report::words::{fix, percent, sentence, ways};

pub(super) fn show(args: &CommandArgs<Arguments>, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let (mut measurement, metrics) = Measurement::open(args, env, |side| counters::requested(&[], side))?;
    let mut printer = Printer::new(args.command.view.format, env.style(), to.out);
    let is_one = measurement.is_one_rung();
    measurement.each(|measurement, measured| {
        let mut document = match (is_one, &measured.profile.rows[..]) {
            (true, [row]) => one(row, &measured, measurement, args, env)?,
            _ => table(&measured, measurement),
        };
        measured.records(&metrics, measurement.model()).for_each(|record| document.record(&record));
        Ok(printer.show(&document)?)
    })?;
    let mut notes = Document::default();
    notes.note(match is_one {
        true => "more: --counters, --occupancy, --figures, --dram; --on DEVICE predicts another device",
        false => "more: `ladder why RUNG`, --counters, --occupancy, --roofline; --on DEVICE predicts another device",
    });
    measurement.provenance(&mut notes);
    printer.show(&notes)?;
    printer.finish()?;
    Ok(0)
}

/// Returns a table with a row for each rung of a ladder.
fn table(measured: &Measured, measurement: &Measurement<'_>) -> Document {
    let profile = &measured.profile;
    let mut document = Document::default();
    document.heading(profile.ladder.name, format!("{}, {}", profile.title, measurement.origin()));
    let is_predicted = measurement.is_of_named_device();
    let mut columns = vec![
        Column::name("rung"),
        Column::text("bound by"),
        Column::number("near"),
        Column::text("fix").of(Importance::Low),
        Column::name("next rung").of(Importance::Medium),
    ];
    if is_predicted {
        columns.insert(1, Column::number("time"));
    }
    let mut table = Table::new(columns);
    for row in &profile.rows {
        let Some(found) = row.verdict else {
            table.row([row.rung.name, NOTHING]);
            continue;
        };
        let next = found.helps.and_then(|fix| next_rung(profile.ladder, row.rung, fix));
        let mut cells = vec![
            row.rung.name.to_owned(),
            found.bound.name().to_owned(),
            percent(found.share),
            found.helps.map_or(NOTHING.to_owned(), |fix| fix.to_string()),
            next.unwrap_or(NOTHING).to_owned(),
        ];
        if is_predicted {
            cells.insert(1, found.predicted_ns.map_or(String::new(), duration));
        }
        table.row(cells);
    }
    document.table(table);
    for why in &profile.left_out {
        document.note(output::left_out(why));
    }
    document.note("near: the used share of the bound, or the share of the time that the bound costs");
    document
}

/// Returns the verdict on a rung, the counters and the figure that show the verdict, the fix, and the next rung.
fn one(
    row: &RungProfile,
    measured: &Measured,
    measurement: &Measurement<'_>,
    args: &CommandArgs<Arguments>,
    env: &Env<'_>,
) -> Result<Document, Error> {
    let (profile, rung) = (&measured.profile, row.rung);
    let mut document = Document::default();
    document.heading(row.launch.to_string(), &profile.title);
    let number = |metric: &Metric| row.number(metric, profile.side);
    let Some(found) = row.verdict else {
        let reason = profile.left_out.iter().find(|why| why.starts_with(&format!("{} ", rung.name)));
        let why = reason.map_or("the device has no counter that shows what bounds this rung", String::as_str);
        document.paragraph(why);
        if let Some(found) = measured.without_waits.get(rung.name) {
            document.paragraph("without waits between blocks, the launch would be");
            explain(&mut document, found, &measurement.origin(), profile.side, number);
            document.note("--figures=exchange draws the words through which blocks wait, for a small problem");
        }
        return Ok(document);
    };
    explain(&mut document, &found, &measurement.origin(), profile.side, number);

    let place = measurement.selected.iter().position(|selection| selection.ladder.name == profile.ladder.name);
    let selection = place.map(|place| measurement.selected[place].clone());
    if let Some(selection) = selection {
        figures::add_worst_of_rung(&mut document, found.bound.figure(), selection, args, env);
    }

    add_fix(&mut document, &found);
    let (label, next) = match found.helps.and_then(|fix| next_rung(profile.ladder, rung, fix)) {
        Some(name) => ("next rung", profile.ladder.rungs.iter().find(|rung| rung.name == name)),
        None => ("the ladder continues with", following(profile.ladder, rung)),
    };
    if let Some(next) = next {
        document.section(label, next.name);
        document.paragraph(format!("  {}", next.lesson));
    }
    Ok(document)
}

/// Adds the bound of a launch, its predicted time, and the counters that show the bound.
pub(super) fn explain(
    document: &mut Document,
    found: &BoundVerdict,
    origin: &str,
    side: Side,
    number: impl Fn(&Metric) -> Option<f64>,
) {
    let time = found.predicted_ns.map_or(String::new(), |ns| format!("{}, ", duration(ns)));
    document.paragraph(format!("{}.", sentence(found)));
    document.paragraph(format!("{time}{origin}"));
    document.section("counters", "");
    let known = found.bound.evidence().iter().filter_map(|name| metrics::find(name, side == Side::Gpu).ok());
    let counted = known.filter_map(|metric| Some((number(&metric).filter(|number| *number != 0.0)?, metric)));
    document.facts(counted.map(|(number, metric)| {
        let heading = if metric.heading == metric.name { "" } else { &metric.heading };
        let text = metric.form.write(number);
        (format!("  {}", metric.name), format!("{text:>9}  {heading}").trim_end().to_owned())
    }));
}

/// Adds the optimization that helps, and the ways to apply it.
pub(super) fn add_fix(document: &mut Document, found: &BoundVerdict) {
    let ways = ways(found.helps).iter().map(|way| format!("\n  - {way}"));
    document.section("fix", fix(found) + &ways.collect::<String>());
}

/// Returns the rung after this one.
fn following(ladder: &Ladder, rung: &Rung) -> Option<&'static Rung> {
    let place = ladder.rungs.iter().position(|listed| listed.name == rung.name)?;
    ladder.rungs.get(place + 1)
}
