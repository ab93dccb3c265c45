//! Counters by name, and expressions that combine counters.
//!
//! Every table of this crate that names counters is a TOML file whose numbers are [`Expression`]s. The tables contain
//! the metrics of a profile, the numbers that are compared with a GPU, and the numbers that the checklist measures.

mod expression;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use expression::Expression;

/// The values of a launch's counters, by name. Counters without a value are left out.
pub type Numbers = BTreeMap<String, f64>;

/// Returns the values of a launch's counters, by name, without the counters that have no value on the device.
pub fn counted(counters: &[simt::counters::Metric]) -> Numbers {
    let counters = counters.iter();
    let counted = counters.filter_map(|metric| Some((metric.name.to_owned(), metric.value.number()?)));
    counted.collect()
}

/// The source of a device's number for a metric.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// The counter with the metric's name.
    #[default]
    #[serde(skip)]
    Same,
    /// An expression of other counters.
    Counted(Expression),
    /// The device does not have the metric.
    Missing {
        /// The reason.
        missing: String,
    },
}

impl Source {
    /// Returns the source of a metric that a device does not have.
    pub fn missing_because(why: &str) -> Self {
        Self::Missing { missing: why.to_owned() }
    }

    /// Returns the counters that a metric with this name needs.
    pub fn needs(&self, name: &str) -> Vec<String> {
        match self {
            Self::Same => vec![name.to_owned()],
            Self::Counted(expression) => expression.counters(),
            Self::Missing { .. } => Vec::new(),
        }
    }

    /// Returns the number for a metric with this name, if all required counters were counted and no divisor is 0.
    pub fn of(&self, name: &str, numbers: &Numbers) -> Option<f64> {
        match self {
            Self::Same => numbers.get(name).copied(),
            Self::Counted(expression) => expression.of(&|name| numbers.get(name).copied()),
            Self::Missing { .. } => None,
        }
    }

    /// Returns the reason why the device does not have the metric.
    pub fn missing(&self) -> Option<&str> {
        match self {
            Self::Missing { missing } => Some(missing),
            _ => None,
        }
    }
}

/// Parses the table of a TOML file that is compiled into this program.
///
/// # Panics
/// Panics when the text is not such a table. Tests read every file.
pub fn embedded<T: DeserializeOwned>(file: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Parses the rows of a TOML file that is compiled into this program and consists of a single array of tables.
///
/// # Panics
/// Panics when the text does not consist of such rows. Tests read every file.
pub fn rows<T: DeserializeOwned>(file: &str, text: &str) -> Vec<T> {
    let arrays: BTreeMap<String, Vec<T>> = embedded(file, text);
    arrays.into_values().flatten().collect()
}
