//! Counters by name, and expressions of them.
//!
//! Every table of this crate that names counters (the metrics of a profile, what is compared with a GPU, what the
//! checklist measures) is a TOML file whose numbers are [`Expression`]s.

mod expression;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use expression::Expression;

/// The counters of a launch that have a value, by name.
pub type Numbers = BTreeMap<String, f64>;

/// The counters of a launch on a device that have a value.
pub fn counted(counters: &[simt::counters::Metric]) -> Numbers {
    let counters = counters.iter();
    let counted = counters.filter_map(|own| Some((own.name.to_owned(), own.value.number()?)));
    counted.collect()
}

/// The source of a device's number for a metric.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// The counter of the metric's own name.
    #[default]
    #[serde(skip)]
    Same,
    /// Other counters.
    Counted(Expression),
    /// The device does not have it.
    Missing {
        /// The reason.
        missing: String,
    },
}

impl Source {
    /// A metric that a device does not have.
    pub fn missing_because(why: &str) -> Self {
        Self::Missing { missing: why.to_owned() }
    }

    /// The counters that a metric of this name needs.
    pub fn needs(&self, name: &str) -> Vec<String> {
        match self {
            Self::Same => vec![name.to_owned()],
            Self::Counted(expression) => expression.counters(),
            Self::Missing { .. } => Vec::new(),
        }
    }

    /// The number for a metric of this name, if all counters that it needs were counted and no divisor is 0.
    pub fn of(&self, name: &str, numbers: &Numbers) -> Option<f64> {
        match self {
            Self::Same => numbers.get(name).copied(),
            Self::Counted(expression) => expression.of(&|name| numbers.get(name).copied()),
            Self::Missing { .. } => None,
        }
    }

    /// The reason why the device does not have it.
    pub fn missing(&self) -> Option<&str> {
        match self {
            Self::Missing { missing } => Some(missing),
            _ => None,
        }
    }
}

/// The table of a TOML file that is compiled into this program.
///
/// # Panics
/// When the text is not such a table. Tests read every file.
pub fn embedded<T: DeserializeOwned>(file: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The rows of a TOML file that is compiled into this program and has a single array of tables.
///
/// # Panics
/// When the text does not have such rows. Tests read every file.
pub fn rows<T: DeserializeOwned>(file: &str, text: &str) -> Vec<T> {
    let arrays: BTreeMap<String, Vec<T>> = embedded(file, text);
    arrays.into_values().flatten().collect()
}
