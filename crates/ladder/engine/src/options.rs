//! The options of a ladder, such as sizes, shapes, operations and data.
//!
//! A ladder declares its options as data ([`Opt`]). The command line, the sweeps and the JSON output are derived from
//! these declarations. [`Options`] holds the values that the user gave. When completed with the ladder's defaults, it
//! describes a problem.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::error::{Error, options_hint};
use crate::size::parse_size;

/// An option of a ladder: `--name VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// The name, without the dashes.
    pub name: &'static str,
    /// The placeholder for the value in the help text.
    pub metavar: &'static str,
    /// The kind of the option's value.
    pub kind: Kind,
    /// The default value, as written on the command line.
    pub default: &'static str,
    /// The description in the help text, on one line.
    pub help: &'static str,
}

/// The kind of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size, in the syntax of [`parse_size`].
    Size,
    /// A size, or this word.
    SizeOr(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text. The ladder validates it.
    Text,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// The value of a [`Kind::Size`].
    Size(u64),
    /// The value of a [`Kind::Word`] or a [`Kind::Text`].
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => size.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Opt {
    /// Declares an option that accepts a size.
    pub const fn size(name: &'static str, metavar: &'static str, default: &'static str, help: &'static str) -> Self {
        Self { name, metavar, kind: Kind::Size, default, help }
    }

    /// Declares an option that accepts one of these words; the first word is the default.
    pub const fn word(
        name: &'static str,
        metavar: &'static str,
        words: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { kind: Kind::Word(words), ..Self::size(name, metavar, words[0], help) }
    }

    /// Parses a value of this option.
    ///
    /// # Errors
    /// Returns [`Error::BadValue`] when the text is not a size, [`Error::UnknownName`] when the option does not accept
    /// this word.
    pub fn parse(&self, text: &str) -> Result<Value, Error> {
        match self.kind {
            Kind::Size => parse_size(text).map(Value::Size),
            Kind::SizeOr(word) if word != text => parse_size(text).map(Value::Size),
            Kind::SizeOr(_) | Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Word(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Kind::Word(words) => Err(Error::UnknownName(format!(
                "`{text}` is not a valid value for --{}; the values are {}",
                self.name,
                words.join(", ")
            ))),
        }
    }
}

/// Option values by name, for example `Options::default().with("n", 1000)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Options {
    /// The ladder that completed these options, for error messages. Empty before completion.
    #[serde(skip)]
    ladder: &'static str,
    #[serde(serialize_with = "as_map")]
    values: Vec<(&'static str, Value)>,
}

fn as_map<S: serde::Serializer>(values: &[(&'static str, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, value)))
}

impl Options {
    /// Adds an option with its value as written on the command line.
    #[must_use]
    pub fn with(self, name: &'static str, value: impl ToString) -> Self {
        self.set(name, Value::Text(value.to_string()))
    }

    fn set(mut self, name: &'static str, value: Value) -> Self {
        match self.values.iter_mut().find(|(existing_name, _)| *existing_name == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name, value)),
        }
        self
    }

    /// Adds all options of `other`.
    #[must_use]
    pub fn with_all(self, other: &Self) -> Self {
        other.values.iter().fold(self, |all, (name, value)| all.set(name, value.clone()))
    }

    /// Returns the value of an option, or `None` if the option was not given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find_map(|(given_name, value)| (*given_name == name).then_some(value))
    }

    /// Returns the options as written on a command line: `--n 1000 --type f32`.
    pub fn command_line(&self) -> String {
        let options = self.values.iter().map(|(name, value)| format!("--{name} {value}"));
        options.collect::<Vec<_>>().join(" ")
    }

    /// Sorts the options into the order of `declared` and adds the defaults of missing options.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] when an option or a word is not declared, [`Error::BadValue`] when a text is not
    /// a size.
    pub fn complete(&self, ladder: &'static str, declared: &'static [Opt]) -> Result<Self, Error> {
        let is_unknown = |(name, _): &&(&str, Value)| declared.iter().all(|option| option.name != *name);
        if let Some((name, _)) = self.values.iter().find(is_unknown) {
            let known: Vec<_> = declared.iter().map(|option| option.name).collect();
            let hint = options_hint(&known);
            return Err(Error::UnknownName(format!("the ladder {ladder} has no option --{name}; {hint}")));
        }
        let value = |option: &Opt| match self.get(option.name) {
            None => option.parse(option.default),
            Some(value) => option.parse(&value.to_string()),
        };
        let values = declared.iter().map(|option| Ok((option.name, value(option)?)));
        let values = values.collect::<Result<_, Error>>()?;
        Ok(Self { ladder, values })
    }

    /// Returns the value of a size option. The options must be complete.
    pub fn size(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Size(size)) => *size,
            other => unreachable!("`{name}` is declared as a size and is {other:?}"),
        }
    }

    /// Returns the value of a size option that must be within this range. The options must be complete.
    ///
    /// # Errors
    /// Returns [`Error::BadValue`] when the size is not in the range.
    pub fn size_within(&self, name: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
        let value = self.size(name);
        match range.contains(&value) {
            true => Ok(value),
            false => {
                let takes = format!("{} to {}", range.start(), range.end());
                Err(Error::out_of_bounds(self.ladder, name, value, &takes))
            }
        }
    }

    /// Returns the value of a size option, or `None` when the value is the word that is allowed instead of a size. The
    /// options must be complete.
    pub fn maybe_size(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Size(size)) => Some(*size),
            _ => None,
        }
    }

    /// Replaces an option with the size that the problem chose.
    #[must_use]
    pub fn with_size(self, name: &'static str, size: u64) -> Self {
        self.set(name, Value::Size(size))
    }

    /// Returns the value of a word or text option. The options must be complete.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(text)) => text,
            other => unreachable!("`{name}` is declared as a text and is {other:?}"),
        }
    }
}

/// Returns every combination of the options' values; the last option changes fastest. Without options, the only
/// combination is empty.
pub fn combinations(choices: &[(&'static str, Vec<Value>)]) -> Vec<Options> {
    choices.iter().fold(vec![Options::default()], |all, (name, values)| {
        let with_each = |options: &Options| {
            let with = |value| options.clone().with(name, value);
            values.iter().map(with).collect::<Vec<_>>()
        };
        all.iter().flat_map(with_each).collect()
    })
}

#[cfg(test)]
mod tests;
