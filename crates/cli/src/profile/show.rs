//! A profile, written down: tables and their legend, verdicts, explanations.

use std::collections::BTreeMap;

use comfy_table::{Attribute, Cell, CellAlignment, Table};

use crate::report::{OutputStyle, duration};
use analysis::profile::metrics::{Form, Group, Metric};
use analysis::profile::statements::{Found, Statement};
use analysis::profile::verdict::{self, Resource};
use analysis::profile::{Profile, Row, Side};

/// What stands where a metric has no value.
const NOTHING: &str = "–";

/// How wide tables are where no terminal says it.
const WIDTH: usize = 120;

/// A column: a metric on a device, or the difference between the two.
#[derive(Clone, Copy)]
enum Column<'a> {
    On(&'a Metric<'a>, Side),
    Difference(&'a Metric<'a>),
}

/// The columns of a metric for these devices. A metric that was not asked for by name has none on a device that
/// does not have it.
fn columns<'a>(metric: &'a Metric<'a>, sides: &[Side], asked: bool) -> Vec<Column<'a>> {
    let mut all: Vec<Column<'a>> = sides
        .iter()
        .filter(|&&side| asked || metric.source(side).missing().is_none())
        .map(|&side| Column::On(metric, side))
        .collect();
    let both = [Side::Sim, Side::Gpu]
        .iter()
        .all(|side| sides.contains(side) && metric.source(*side).missing().is_none());
    if both {
        all.push(Column::Difference(metric));
    }
    all
}

/// What to show of profiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    /// The metrics, in their order.
    pub metrics: &'a [Metric<'a>],
    /// Whether they were asked for by name.
    pub asked: bool,
    /// The devices that were asked.
    pub sides: &'a [Side],
    /// How the tables meet their reader.
    pub style: OutputStyle,
}

impl Shown<'_> {
    /// A ladder's profile: its tables, the verdicts, what was left out.
    pub(super) fn profile(&self, profile: &Profile) -> String {
        let mut text = format!("{}: {}\n", profile.ladder.name, profile.title);
        for table in self.tables(profile) {
            text += &format!("{}\n", table.trim_fmt());
        }
        text += &format!("{}\n", self.verdicts(profile).trim_fmt());
        for why in &profile.left_out {
            text += &format!("left out: {why}\n");
        }
        text
    }

    /// As many tables as it takes for none to be too wide: groups of metrics stay together.
    fn tables(&self, profile: &Profile) -> Vec<Table> {
        let width = self.width();
        let mut groups: BTreeMap<Group, Vec<Column<'_>>> = BTreeMap::new();
        for metric in self.metrics {
            let own = columns(metric, self.sides, self.asked);
            // What was asked for stays in its order.
            let group = if self.asked {
                Group::Other
            } else {
                metric.group
            };
            groups.entry(group).or_default().extend(own);
        }
        let mut tables: Vec<Vec<Column<'_>>> = Vec::new();
        for group in groups.into_values().filter(|group| !group.is_empty()) {
            let joined = tables.last().map(|last| [&last[..], &group].concat());
            match joined {
                Some(joined) if self.wide(profile, &joined) <= width => {
                    tables.pop();
                    tables.push(joined);
                }
                _ => tables.extend(self.parts(profile, group, width)),
            }
        }
        let tables = tables.into_iter();
        tables
            .map(|columns| self.table(profile, &columns))
            .collect()
    }

    /// A group of columns, in parts if it is too wide by itself; the columns of a metric stay together.
    fn parts<'a>(
        &self,
        profile: &Profile,
        group: Vec<Column<'a>>,
        width: usize,
    ) -> Vec<Vec<Column<'a>>> {
        let mut parts: Vec<Vec<Column<'a>>> = Vec::new();
        for own in group.chunk_by(|a, b| a.metric().name == b.metric().name) {
            let joined = parts.last().map(|last| [&last[..], own].concat());
            match joined {
                Some(joined) if self.wide(profile, &joined) <= width => {
                    parts.pop();
                    parts.push(joined);
                }
                _ => parts.push(own.to_vec()),
            }
        }
        parts
    }

    fn width(&self) -> usize {
        let terminal = self.style.terminal.then(|| self.style.table().width());
        terminal.flatten().map_or(WIDTH, usize::from)
    }

    fn wide(&self, profile: &Profile, columns: &[Column<'_>]) -> usize {
        let table = self.table(profile, columns);
        let widths = table.column_max_content_widths();
        // A cell has a blank on each side, and a line between it and the next.
        widths
            .iter()
            .map(|&own| usize::from(own) + 3)
            .sum::<usize>()
            + 1
    }

    fn table(&self, profile: &Profile, columns: &[Column<'_>]) -> Table {
        let mut table = self.style.table();
        let bold = |text: String| Cell::new(text).add_attribute(Attribute::Bold);
        let several = self.sides.len() > 1;
        let headings = columns.iter().map(|column| column.heading(several));
        table.set_header(
            [profile.ladder.name.to_owned()]
                .into_iter()
                .chain(headings)
                .map(bold),
        );
        for row in &profile.rows {
            let cells = columns.iter().map(|column| column.cell(row));
            table.add_row([row.rung.name.to_owned()].into_iter().chain(cells));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    fn verdicts(&self, profile: &Profile) -> Table {
        let mut table = self.style.table();
        let is_predicted = |row: &Row| {
            row.verdict
                .is_some_and(|found| found.predicted_ns.is_some())
        };
        let predicted = profile.rows.iter().any(is_predicted);
        let headings = ["rung", "bound by", "how near"].into_iter();
        let headings = headings
            .chain(predicted.then_some("predicted"))
            .chain(["what helps", "next rung"]);
        table.set_header(headings.map(|text| Cell::new(text).add_attribute(Attribute::Bold)));
        for row in &profile.rows {
            let Some(found) = row.verdict else {
                let name = row.rung.name;
                table.add_row([name, "not known"]);
                continue;
            };
            let next = found
                .helps
                .and_then(|helps| verdict::next_rung(profile.ladder, row.rung, helps));
            let mut cells = vec![
                row.rung.name.to_owned(),
                found.bound.name().to_owned(),
                how_near(&found),
            ];
            if predicted {
                let time = found.predicted_ns.map(duration);
                cells.push(time.unwrap_or_default());
            }
            cells.push(found.helps.map_or(NOTHING, |helps| helps.name()).to_owned());
            cells.push(next.unwrap_or(NOTHING).to_owned());
            table.add_row(cells);
        }
        table
    }

    /// What the columns and the verdicts mean, below all tables.
    pub(super) fn legend(&self, profiles: &[Profile]) -> String {
        let mut text = String::new();
        for metric in self.metrics {
            for &side in self.sides {
                if let (Some(why), true) = (metric.source(side).missing(), self.asked) {
                    text += &format!(
                        "{NOTHING} for {} on {}: {why}\n",
                        metric.heading,
                        side.name()
                    );
                }
            }
        }
        let without = self.metrics.iter().any(|metric| {
            let rows = profiles.iter().flat_map(|profile| &profile.rows);
            rows.into_iter().any(|row| {
                let mut sides = self.sides.iter();
                sides.any(|&side| {
                    metric.source(side).missing().is_none() && row.number(metric, side).is_none()
                })
            })
        });
        if without {
            let elsewhere = if text.is_empty() { "" } else { " elsewhere" };
            text += &format!("{NOTHING}{elsewhere}: the rung has no such access or branch\n");
        }
        if self.sides.contains(&Side::Sim) && self.metrics.iter().any(|metric| metric.of_ptx) {
            text += "PTX: ptxas makes other instructions and branches of it\n";
        }
        let hidden: Vec<&str> = self
            .metrics
            .iter()
            .filter(|metric| !self.asked && columns(metric, self.sides, false).is_empty())
            .map(|metric| metric.heading)
            .collect();
        if !hidden.is_empty() && !self.sides.contains(&Side::Gpu) {
            text += &format!("needs a GPU: {}\n", hidden.join(", "));
        }
        if !self.sides.contains(&Side::Gpu) {
            text += "predicted: the model's time on an H100 (`ladder predict`); how near: what the resource alone would \
                     take of it\n";
        }
        text + "--explain says what each column means\n"
    }

    /// Each metric: its name, its meaning, where its numbers come from, and what is said of it.
    pub(super) fn explain(&self, profiles: &[Profile]) -> String {
        let mut text = String::new();
        for metric in self.metrics {
            text += &format!(
                "\n{} ({})\n  {}\n",
                metric.heading, metric.name, metric.meaning
            );
            if metric.of_ptx {
                text += "  sim: that of the PTX, of which ptxas makes other instructions and branches\n";
            }
            if !metric.sim_note.is_empty() {
                text += &format!("  {}\n", metric.sim_note);
            }
            for side in [Side::Sim, Side::Gpu] {
                if let Some(why) = metric.source(side).missing() {
                    text += &format!("  not on {}: {why}\n", side.name());
                }
            }
            for (statement, profile) in Statement::about(metric.name, profiles) {
                text += &format!("  {}'s text: {}\n", statement.ladder, statement.text);
                for &side in self.sides {
                    let found = statement.check(metric, profile, side);
                    text += &format!("    {}: {}\n", side.name(), in_words(&found));
                }
            }
        }
        text
    }
}

fn in_words(found: &Found) -> String {
    match found {
        Found::Holds(numbers) => format!("holds ({numbers})"),
        Found::DoesNot(numbers) => format!("does not hold ({numbers})"),
        Found::NeedsGpu => "needs a GPU".to_owned(),
        Found::Unknown(rungs) => format!("not known: no number of {}", rungs.join(", ")),
    }
}

fn how_near(found: &verdict::Verdict) -> String {
    let share = format!("{:.0} %", found.share * 100.0);
    match found.bound {
        Resource::Warps | Resource::Size => format!("{share} occupancy"),
        Resource::Barriers => format!("{share} of the time"),
        Resource::Latency => format!("nothing above {share}"),
        _ => share,
    }
}

impl<'a> Column<'a> {
    fn metric(&self) -> &'a Metric<'a> {
        match *self {
            Self::On(metric, _) | Self::Difference(metric) => metric,
        }
    }

    fn heading(&self, several: bool) -> String {
        match self {
            Self::On(metric, side) => {
                let of_ptx = metric.of_ptx && *side == Side::Sim;
                match (several, of_ptx) {
                    (false, false) => metric.heading.to_owned(),
                    (false, true) => format!("PTX {}", metric.heading),
                    (true, false) => format!("{}\n{}", metric.heading, side.name()),
                    (true, true) => format!("{}\n{}, PTX", metric.heading, side.name()),
                }
            }
            Self::Difference(_) => "\ndiff.".to_owned(),
        }
    }

    fn cell(&self, row: &Row) -> String {
        let text = match *self {
            Self::On(metric, side) => {
                let number = row.number(metric, side);
                number.map(|number| metric.form.write(number))
            }
            Self::Difference(metric) => {
                let [sim, gpu] = [Side::Sim, Side::Gpu].map(|side| row.number(metric, side));
                sim.zip(gpu)
                    .map(|(sim, gpu)| difference(metric.form, sim, gpu))
            }
        };
        text.unwrap_or(NOTHING.to_owned())
    }
}

/// How much more the GPU has than the simulator: in per cent, or as it is where that has none.
fn difference(form: Form, sim: f64, gpu: f64) -> String {
    if sim == gpu {
        "0.0 %".to_owned()
    } else if sim == 0.0 {
        format!("+{}", form.write(gpu))
    } else {
        format!("{:+.1} %", (gpu / sim - 1.0) * 100.0)
    }
}
