//! Claims about the numbers in the ladders' source texts, and a check of whether the claims hold.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Profile;
use ::profile::counters::rows;
use ::profile::metrics::{Metric, Side};

/// A statement about a metric.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The ladder that the statement is about.
    pub ladder: String,
    /// The metric.
    pub metric: String,
    /// The statement, in a sentence.
    pub text: String,
    /// The rungs that the statement is about.
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
    /// The first rung's value is below `number` times the second rung's value.
    Below,
    /// The first rung's value is `number` times the second rung's value, within 10 %.
    Times,
    /// Both rungs have the same value, within 0.5 %.
    Same,
    /// The rung's value is `number`, within 10 %.
    About,
    /// Each rung has a larger value than the previous one.
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
    /// Some rungs of the statement were not profiled, or have no value.
    Unknown(Vec<String>),
}

/// The relative tolerance of "about".
const ABOUT: f64 = 0.1;
/// The relative tolerance of "the same".
const SAME: f64 = 0.005;

impl Relation {
    /// Returns whether the relation holds for these values of the rungs and the statement's number.
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
    /// Returns the profiled ladders' statements about a metric.
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
