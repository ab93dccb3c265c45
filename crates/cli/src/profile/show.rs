//! The output of `ladder profile`: tables with their legend, verdicts, explanations, and records for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::output::{self, Document, NOTHING, OutputStyle, Table, duration};
use analysis::profile::metrics::{Form, Group, Metric};
use analysis::profile::statements::{Finding, Statement};
use analysis::profile::verdict::{self, Resource};
use analysis::profile::{Profile, Row, Side};

/// The choices for showing profiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// The metrics, in their order.
    pub metrics: &'a [Metric],
    /// Whether they were asked for by name.
    pub is_asked: bool,
    /// The devices that counted.
    pub sides: &'a [Side],
    /// Who reads it: tables are divided to fit.
    pub style: OutputStyle,
}

/// A column: a metric on a device, or, without one, the difference between the two.
type Column<'a> = (&'a Metric, Option<Side>);

impl<'a> View<'a> {
    /// A ladder's profile: its tables, the verdicts, what was left out.
    pub(super) fn profile(&self, profile: &Profile) -> Document {
        let mut document = Document::default();
        document.heading(profile.ladder.name, &profile.title);
        for table in self.tables(profile) {
            document.table(table);
        }
        document.table(verdicts(profile));
        for why in &profile.left_out {
            document.note(format!("left out: {why}"));
        }
        document.paragraph("");
        self.records(profile, &mut document);
        document
    }

    /// A record for each rung: `ladder`, `rung`, and `metrics`, an object with the number of each metric on `sim` and
    /// on `gpu`. A number is in Nsight Compute's base unit: bytes, bytes a second, nanoseconds, per cent. It is `null`
    /// where the device was not asked, does not have the metric, or has nothing to divide by.
    fn records(&self, profile: &Profile, document: &mut Document) {
        for row in &profile.rows {
            let both =
                |metric: &Metric| SimAndGpu { sim: row.number(metric, Side::Sim), gpu: row.number(metric, Side::Gpu) };
            let metrics = self.metrics.iter();
            document.record(&RungRecord {
                ladder: profile.ladder.name,
                rung: row.rung.name,
                metrics: metrics.map(|own| (own.name.as_str(), both(own))).collect(),
            });
        }
    }

    /// The columns of a metric. A metric that was not asked for by name has none for a device that does not have it.
    fn columns(&self, metric: &'a Metric) -> Vec<Column<'a>> {
        let has = |side: &&Side| metric.source(**side).missing().is_none();
        let sides = self.sides.iter().filter(|side| self.is_asked || has(side));
        let mut columns: Vec<_> = sides.map(|&side| (metric, Some(side))).collect();
        if self.sides.len() == 2 && self.sides.iter().all(|side| has(&side)) {
            columns.push((metric, None));
        }
        columns
    }

    /// As many tables as it takes for none to be too wide. Groups of metrics stay together where they fit, and the
    /// columns of a metric always.
    fn tables(&self, profile: &Profile) -> Vec<Table> {
        let mut groups: BTreeMap<Group, Vec<Column<'_>>> = BTreeMap::new();
        for metric in self.metrics {
            // What was asked for stays in its order.
            let group = match self.is_asked {
                true => Group::Other,
                false => metric.group,
            };
            let columns = groups.entry(group).or_default();
            columns.extend(self.columns(metric));
        }
        let width = Table::available_width(self.style);
        let fits = |columns: &[Column<'_>]| self.table(profile, columns).width() <= width;
        let mut tables: Vec<Vec<Column<'_>>> = Vec::new();
        for group in groups.values().filter(|group| !group.is_empty()) {
            let parts: Vec<&[Column<'_>]> = match fits(group) {
                true => vec![group],
                false => group.chunk_by(|a, b| a.0.name == b.0.name).collect(),
            };
            for part in parts {
                match tables.last_mut() {
                    Some(last) if fits(&[last, part].concat()) => last.extend(part),
                    _ => tables.push(part.to_vec()),
                }
            }
        }
        let tables = tables.iter();
        tables.map(|columns| self.table(profile, columns)).collect()
    }

    fn table(&self, profile: &Profile, columns: &[Column<'_>]) -> Table {
        let headings = columns.iter().map(|&column| self.heading(column));
        let first = output::Column::name(profile.ladder.name);
        let numbers = headings.map(output::Column::number);
        let mut table = Table::new([first].into_iter().chain(numbers));
        for row in &profile.rows {
            let cells = columns.iter().map(|&column| cell(row, column));
            table.row([row.rung.name.to_owned()].into_iter().chain(cells));
        }
        table
    }

    fn heading(&self, (metric, side): Column<'_>) -> String {
        let Some(side) = side else {
            return "\ndiff.".to_owned();
        };
        let heading = &metric.heading;
        let is_of_ptx = metric.of_ptx && side == Side::Sim;
        match (self.sides.len() > 1, is_of_ptx) {
            (false, false) => heading.clone(),
            (false, true) => format!("PTX {heading}"),
            (true, false) => format!("{heading}\n{}", side.name()),
            (true, true) => format!("{heading}\n{}, PTX", side.name()),
        }
    }

    /// The meaning of the columns and verdicts, below all tables.
    pub(super) fn legend(&self, profiles: &[Profile], document: &mut Document) {
        let missing = |metric: &'a Metric, side: Side| metric.source(side).missing();
        let mut elsewhere = "";
        for metric in self.metrics.iter().filter(|_| self.is_asked) {
            for &side in self.sides {
                if let Some(why) = missing(metric, side) {
                    let (heading, side) = (&metric.heading, side.name());
                    document.note(format!("{NOTHING} for {heading} on {side}: {why}"));
                    elsewhere = " elsewhere";
                }
            }
        }
        let rows = || profiles.iter().flat_map(|profile| &profile.rows);
        let is_without = |metric: &'a Metric, side: Side| {
            let mut rows = rows();
            missing(metric, side).is_none() && rows.any(|row| row.number(metric, side).is_none())
        };
        let mut metrics = self.metrics.iter();
        if metrics.any(|metric| self.sides.iter().any(|&side| is_without(metric, side))) {
            let line = format!("{NOTHING}{elsewhere}: the rung has no such access or branch");
            document.note(line);
        }
        if self.sides.contains(&Side::Sim) && self.metrics.iter().any(|metric| metric.of_ptx) {
            document.note("PTX: ptxas makes other instructions and branches of it");
        }
        if !self.sides.contains(&Side::Gpu) {
            let metrics = self.metrics.iter();
            let hidden = metrics.filter(|metric| self.columns(metric).is_empty());
            let hidden: Vec<&str> = hidden.map(|metric| metric.heading.as_str()).collect();
            if !hidden.is_empty() {
                document.note(format!("needs a GPU: {}", hidden.join(", ")));
            }
            document.note(
                "predicted: the model's time on an H100 (`ladder predict`); how near: what the resource alone would \
                 take of it",
            );
        }
        document.note("--explain says what each column means");
    }

    /// Each metric: its name, its meaning, where its numbers come from, and what is said of it.
    pub(super) fn explain(&self, profiles: &[Profile], document: &mut Document) {
        for metric in self.metrics {
            document.section(format!("{} ({})", metric.heading, metric.name), "");
            document.note(format!("  {}", metric.meaning));
            if metric.of_ptx {
                document.note("  sim: that of the PTX, of which ptxas makes other instructions and branches");
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
                for &side in self.sides {
                    let found = in_words(&statement.check(metric, profile, side));
                    document.note(format!("    {}: {found}", side.name()));
                }
            }
        }
        document.paragraph("");
    }
}

fn in_words(found: &Finding) -> String {
    match found {
        Finding::Holds(numbers) => format!("holds ({numbers})"),
        Finding::DoesNot(numbers) => format!("does not hold ({numbers})"),
        Finding::NeedsGpu => "needs a GPU".to_owned(),
        Finding::Unknown(rungs) => format!("not known: no number of {}", rungs.join(", ")),
    }
}

fn cell(row: &Row, (metric, side): Column<'_>) -> String {
    let number = |side| row.number(metric, side);
    let text = match side {
        Some(side) => number(side).map(|number| metric.form.write(number)),
        None => number(Side::Sim).zip(number(Side::Gpu)).map(|(sim, gpu)| difference(metric.form, sim, gpu)),
    };
    text.unwrap_or(NOTHING.to_owned())
}

/// The GPU's excess over the simulator: in per cent, or as a difference when the simulator has 0.
fn difference(form: Form, sim: f64, gpu: f64) -> String {
    if sim == gpu {
        "0.0 %".to_owned()
    } else if sim == 0.0 {
        format!("+{}", form.write(gpu))
    } else {
        format!("{:+.1} %", (gpu / sim - 1.0) * 100.0)
    }
}

/// The resource that bounds each rung, and the optimization that addresses it.
fn verdicts(profile: &Profile) -> Table {
    let is_predicted = |row: &Row| row.verdict.is_some_and(|own| own.predicted_ns.is_some());
    let predicted = profile.rows.iter().any(is_predicted);
    let mut headings = vec!["rung", "bound by", "how near", "what helps", "next rung"];
    if predicted {
        headings.insert(3, "predicted");
    }
    let mut table = Table::new(headings.into_iter().map(output::Column::text));
    for row in &profile.rows {
        let Some(found) = row.verdict else {
            table.row([row.rung.name, "not known"]);
            continue;
        };
        let next = |helps| verdict::next_rung(profile.ladder, row.rung, helps);
        let helps = found.helps.map(|helps| helps.to_string());
        let mut cells = vec![
            row.rung.name.to_owned(),
            found.bound.name().to_owned(),
            how_near(&found),
            helps.unwrap_or(NOTHING.to_owned()),
            found.helps.and_then(next).unwrap_or(NOTHING).to_owned(),
        ];
        if predicted {
            cells.insert(3, found.predicted_ns.map_or(String::new(), duration));
        }
        table.row(cells);
    }
    table
}

/// How near a rung is to its bound, in words.
pub(crate) fn how_near(found: &verdict::Verdict) -> String {
    let share = format!("{:.0} %", found.share * 100.0);
    match found.bound {
        Resource::Warps | Resource::Size => format!("{share} occupancy"),
        Resource::Barriers | Resource::BankConflicts => format!("{share} of the time"),
        Resource::Latency => format!("nothing above {share}"),
        _ => share,
    }
}

#[derive(Serialize)]
struct RungRecord<'a> {
    ladder: &'a str,
    rung: &'a str,
    metrics: BTreeMap<&'a str, SimAndGpu>,
}

#[derive(Serialize)]
struct SimAndGpu {
    sim: Option<f64>,
    gpu: Option<f64>,
}
