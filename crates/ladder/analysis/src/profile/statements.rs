//! Claims about these numbers in the texts that the ladders come from, and a check whether the claims hold.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Profile;
use ::profile::counters::rows;
use ::profile::metrics::{Metric, Side};

/// A statement about a metric.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The ladder of the statement.
    pub ladder: String,
    /// The metric.
    pub metric: String,
    /// The statement, in a sentence.
    pub text: String,
    /// The rungs of the statement.
    pub rungs: Vec<String>,
    /// The relation between the rungs' numbers.
    pub relation: Relation,
    /// The number in the relation; the default is 1.
    #[serde(default = "one")]
    pub number: f64,
}

fn one() -> f64 {
    1.0
}

/// The relation between the numbers of a statement's rungs. `number` is the statement's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// The first rung has less than `number` times the second rung's number.
    Below,
    /// The first rung has `number` times the second rung's number, within a tenth.
    Times,
    /// Both rungs have the same number, to within 0.5 %.
    Same,
    /// The rung has `number`, within a tenth.
    About,
    /// Each rung has a larger number than the previous one.
    Rising,
}

/// The statements, by ladder and in the order of the texts.
pub static STATEMENTS: LazyLock<Vec<Statement>> =
    LazyLock::new(|| rows("statements.toml", include_str!("statements.toml")));

/// The result of checking a statement on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The statement holds. The text lists the numbers.
    Holds(String),
    /// The statement does not hold. The text lists the numbers.
    DoesNot(String),
    /// Only a GPU has the metric.
    NeedsGpu,
    /// Rungs of the statement were not profiled, or have no number.
    Unknown(Vec<String>),
}

/// The relative tolerance of "about".
const ABOUT: f64 = 0.1;
/// The relative tolerance of "the same".
const SAME: f64 = 0.005;

impl Relation {
    /// Returns whether the relation holds for these numbers of the rungs and the number of the statement.
    pub fn holds(self, numbers: &[f64], number: f64) -> bool {
        let near = |number: f64, wanted: f64, by: f64| (number - wanted).abs() <= wanted.abs() * by;
        match (self, numbers) {
            (Self::Below, &[first, other]) => first < other * number,
            (Self::Times, &[first, other]) => near(first, other * number, ABOUT),
            (Self::Same, &[one, other]) => near(one, other, SAME),
            (Self::About, &[only]) => near(only, number, ABOUT),
            (Self::Rising, numbers) => numbers.is_sorted_by(|a, b| a < b),
            _ => false,
        }
    }
}

impl Statement {
    /// Returns the statements about a metric of the profiled ladders.
    pub fn about<'a>(metric: &'a str, profiles: &'a [Profile]) -> impl Iterator<Item = (&'static Self, &'a Profile)> {
        let of_metric = STATEMENTS.iter().filter(move |one| one.metric == metric);
        of_metric.filter_map(|one| {
            let profile = profiles.iter().find(|profile| profile.ladder.name == one.ladder)?;
            Some((one, profile))
        })
    }

    /// Checks the statement against the profile's numbers.
    pub fn check(&self, metric: &Metric, profile: &Profile) -> Finding {
        let side = profile.side;
        if side == Side::Sim && metric.sim.missing().is_some() {
            return Finding::NeedsGpu;
        }
        let number = |name: &String| {
            let row = profile.rows.iter().find(|row| row.rung.name == name)?;
            row.number(metric, side)
        };
        let without = self.rungs.iter().filter(|name| number(name).is_none());
        let without: Vec<String> = without.cloned().collect();
        if !without.is_empty() {
            return Finding::Unknown(without);
        }
        let numbers: Vec<f64> = self.rungs.iter().filter_map(number).collect();
        let each = self.rungs.iter().zip(&numbers);
        let each = each.map(|(rung, &number)| format!("{rung} {}", metric.form.write_with_unit(number)));
        let text = each.collect::<Vec<_>>().join(", ");
        match self.relation.holds(&numbers, self.number) {
            true => Finding::Holds(text),
            false => Finding::DoesNot(text),
        }
    }
}
