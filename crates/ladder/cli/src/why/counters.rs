//! `ladder why --counters`: tables of counters, with a legend and explanations.

use super::Arguments;
use super::measure::Measurement;
use crate::command::{CommandArgs, Env, Output};
use crate::error::Error;
use crate::output::{self, Document, Form, Importance, NOTHING, OutputStyle, Printer, Table};
use analysis::profile::metrics::find;
use analysis::profile::statements::{Finding, Statement};
use analysis::profile::{Profile, RungProfile};
use profile::metrics::Side;
use profile::metrics::{self, Group, Metric};
use report::words::percent;

/// The settings for showing profiles.
#[derive(Clone, Copy, Debug)]
struct View<'a> {
    /// The metrics, in the order of the output.
    metrics: &'a [Metric],
    /// Whether the user requested the metrics by name.
    is_requested: bool,
    /// The device that counted.
    side: Side,
    /// The form of the output.
    style: OutputStyle,
}

pub(super) fn show(
    names: &[String],
    args: &CommandArgs<Arguments>,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let arguments = &args.command;
    let (mut measurement, metrics) = Measurement::open(args, env, |side| requested(names, side))?;
    let view =
        View { metrics: &metrics, is_requested: !names.is_empty(), side: measurement.side(), style: env.style() };
    let mut printer = Printer::new(arguments.view.format, env.style(), to.out);
    let mut profiles = Vec::new();
    // A ladder can take a minute, so each profile is shown as soon as it is complete.
    measurement.each(|measurement, measured| {
        let mut document = view.profile(&measured.profile);
        let records = measured.records(&metrics, measurement.model());
        records.for_each(|record| document.record(&record));
        document.measured(measurement.context());
        printer.show(&document)?;
        profiles.push(measured.profile);
        Ok(())
    })?;
    let mut legend_document = Document::default();
    view.legend(&profiles, &mut legend_document);
    if arguments.explain {
        view.explain(&profiles, &mut legend_document);
    }
    measurement.provenance(&mut legend_document);
    printer.show(&legend_document)?;
    printer.finish()?;
    Ok(0)
}

/// Returns the metrics with these names, without duplicates, or the default metrics if no name is given.
pub(super) fn requested(names: &[String], side: Side) -> Result<Vec<Metric>, Error> {
    if names.is_empty() {
        return Ok(metrics::defaults());
    }
    let mut requested: Vec<Metric> = Vec::new();
    for name in names {
        if requested.iter().all(|other| other.name != *name) {
            requested.push(find(name, side == Side::Gpu)?);
        }
    }
    Ok(requested)
}

impl<'a> View<'a> {
    /// Returns the tables of a ladder's counters, and a note about each rung that was left out.
    fn profile(&self, profile: &Profile) -> Document {
        let mut document = Document::default();
        document.heading(profile.ladder.name, &profile.title);
        for table in self.tables(profile) {
            document.table(table);
        }
        for why in &profile.left_out {
            document.note(output::left_out(why));
        }
        document.paragraph("");
        document
    }

    /// Returns whether a metric has a column: if it was requested by name, or if the device has it.
    fn is_shown(&self, metric: &Metric) -> bool {
        self.is_requested || metric.source(self.side).missing().is_none()
    }

    /// Returns the tables of a ladder's counters. For a single rung, each counter is a row; for several rungs, each
    /// counter is a column. Requested counters are never left out, but are split over several tables if necessary.
    fn tables(&self, profile: &Profile) -> Vec<Table> {
        let shown = self.metrics.iter().filter(|metric| self.is_shown(metric));
        let mut shown: Vec<&Metric> = shown.collect();
        if self.style.form == Form::Records {
            return vec![self.table(profile, &shown)];
        }
        if let [row] = &profile.rows[..] {
            return vec![of_one(shown.into_iter(), self.side, |metric| row.number(metric, self.side))];
        }
        if !self.is_requested {
            shown.sort_by_key(|metric| metric.group);
            return vec![self.table(profile, &shown)];
        }
        let fits = |columns: &[&Metric]| self.table(profile, columns).width() <= self.style.width;
        let mut tables: Vec<Vec<&Metric>> = Vec::new();
        for metric in shown {
            match tables.last_mut() {
                Some(last) if fits(&[last, &[metric][..]].concat()) => last.push(metric),
                _ => tables.push(vec![metric]),
            }
        }
        tables.iter().map(|columns| self.table(profile, columns)).collect()
    }

    fn table(&self, profile: &Profile, columns: &[&Metric]) -> Table {
        let numbers = columns.iter().map(|metric| {
            let importance = match metric.group {
                _ if self.is_requested => Importance::High,
                Group::Shared | Group::Global | Group::Rates => Importance::Medium,
                Group::Instructions | Group::Stalls | Group::Other => Importance::Low,
            };
            output::Column::number(self.heading(metric)).of(importance)
        });
        // Only records include the verdict here; on a terminal, `ladder why` shows it.
        let is_kept = self.style.form == Form::Records;
        let verdict = ["bound by", "near"].into_iter().filter(|_| is_kept).map(output::Column::text);
        let mut table = Table::new([output::Column::name("rung")].into_iter().chain(numbers).chain(verdict));
        for row in &profile.rows {
            let cells = columns.iter().map(|metric| self.cell(row, metric));
            let verdict = [
                row.verdict.map_or(NOTHING, |found| found.bound.name()).to_owned(),
                row.verdict.map_or(NOTHING.to_owned(), |found| percent(found.share)),
            ];
            let verdict = verdict.into_iter().filter(|_| is_kept);
            table.row([row.rung.name.to_owned()].into_iter().chain(cells).chain(verdict));
        }
        table.with_results_of(profile.ladder.name, &profile.title)
    }

    fn heading(&self, metric: &Metric) -> String {
        heading(metric, self.side)
    }

    fn cell(&self, row: &RungProfile, metric: &Metric) -> String {
        cell(metric, row.number(metric, self.side))
    }

    /// Adds a legend for the columns, below all tables.
    fn legend(&self, profiles: &[Profile], document: &mut Document) {
        let side = self.side;
        let mut elsewhere = "";
        for metric in self.metrics.iter().filter(|_| self.is_requested) {
            if let Some(why) = metric.source(side).missing() {
                document.note(format!("{NOTHING} for {} on {}: {why}", metric.heading, side.name()));
                elsewhere = " elsewhere";
            }
        }
        let is_without = |metric: &Metric| {
            let mut rows = profiles.iter().flat_map(|profile| &profile.rows);
            metric.source(side).missing().is_none() && rows.any(|row| row.number(metric, side).is_none())
        };
        if self.metrics.iter().any(is_without) {
            document.note(format!("{NOTHING}{elsewhere}: the rung has no such access or branch"));
        }
        if side == Side::Sim && self.metrics.iter().any(|metric| metric.of_ptx) {
            document.note("PTX: a count of PTX instructions; ptxas replaces some of them");
        }
        let hidden = self.metrics.iter().filter(|metric| !self.is_shown(metric));
        let hidden: Vec<&str> = hidden.map(|metric| metric.heading.as_str()).collect();
        if side == Side::Sim && !hidden.is_empty() {
            document.note(format!("needs a GPU: {}", hidden.join(", ")));
        }
        document.note("--explain describes each column");
    }

    /// Explains each metric: its name, its meaning, the source of its numbers, and statements about it in the ladders'
    /// source texts.
    fn explain(&self, profiles: &[Profile], document: &mut Document) {
        for metric in self.metrics {
            document.section(format!("{} ({})", metric.heading, metric.name), "");
            document.note(format!("  {}", metric.meaning));
            if metric.of_ptx {
                document.note("  sim counts PTX instructions; ptxas replaces some of them and removes some branches");
            }
            if !metric.sim_note.is_empty() {
                document.note(format!("  {}", metric.sim_note));
            }
            for side in [Side::Sim, Side::Gpu] {
                if let Some(why) = metric.source(side).missing() {
                    document.note(format!("  not on {}: {why}", side.name()));
                }
            }
            for (statement, profile) in Statement::about(&metric.name, profiles) {
                document.note(format!("  {}'s text: {}", statement.ladder, statement.text));
                let found = in_words(&statement.check(metric, profile));
                document.note(format!("    {}: {found}", self.side.name()));
            }
        }
        document.paragraph("");
    }
}

/// Returns a table with a row for each counter of one launch.
pub(super) fn of_one<'m>(
    metrics: impl Iterator<Item = &'m Metric>,
    side: Side,
    number: impl Fn(&Metric) -> Option<f64>,
) -> Table {
    let name = output::Column::name("name").of(Importance::Medium);
    let mut table = Table::new([output::Column::text("counter"), output::Column::number("value"), name]);
    for metric in metrics {
        table.row([heading(metric, side), cell(metric, number(metric)), metric.name.clone()]);
    }
    table
}

fn heading(metric: &Metric, side: Side) -> String {
    let prefix = if metric.of_ptx && side == Side::Sim { "PTX " } else { "" };
    format!("{prefix}{}", metric.heading)
}

fn cell(metric: &Metric, number: Option<f64>) -> String {
    number.map_or(NOTHING.to_owned(), |number| metric.form.write(number))
}

fn in_words(found: &Finding) -> String {
    match found {
        Finding::Holds(numbers) => format!("holds ({numbers})"),
        Finding::DoesNot(numbers) => format!("is false ({numbers})"),
        Finding::NeedsGpu => "needs a GPU".to_owned(),
        Finding::Unknown(rungs) => format!("unknown: there is no number for {}", rungs.join(", ")),
    }
}
