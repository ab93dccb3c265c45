//! What a ladder can be asked for besides a block: sizes, shapes, operations, data.
//!
//! A ladder declares its options as data ([`Opt`]); the command line, the sweeps and JSON are made from
//! that. What was asked for and what a problem is made from are both [`Options`], without and with the
//! ladder's defaults.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::error::Error;
use crate::size::parse_size;

/// An option of a ladder: `--name VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// What stands for its value in help.
    pub metavar: &'static str,
    /// What kind of value it takes.
    pub kind: Kind,
    /// The value where none is given, as it is written on the command line.
    pub default: &'static str,
    /// What it says, in one line.
    pub help: &'static str,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size, as [`parse_size`] reads it.
    Size,
    /// A size or this word.
    SizeOr(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text; what it has to be is the ladder's to say.
    Text,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Of [`Kind::Size`].
    Size(u64),
    /// Of [`Kind::Word`] and [`Kind::Text`].
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
    /// An option that takes a size.
    pub const fn size(
        name: &'static str,
        metavar: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            metavar,
            kind: Kind::Size,
            default,
            help,
        }
    }

    /// An option that takes one of these words; the first is its default.
    pub const fn word(
        name: &'static str,
        metavar: &'static str,
        words: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self {
            name,
            metavar,
            kind: Kind::Word(words),
            default: words[0],
            help,
        }
    }

    /// Reads a value of this option.
    ///
    /// # Errors
    /// [`Error::BadSize`], or [`Error::BadWord`] with the words that there are.
    pub fn parse(&self, text: &str) -> Result<Value, Error> {
        match self.kind {
            Kind::Size => parse_size(text).map(Value::Size),
            Kind::SizeOr(word) if word != text => parse_size(text).map(Value::Size),
            Kind::SizeOr(_) | Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Word(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Kind::Word(words) => Err(Error::BadWord {
                option: self.name,
                given: text.to_owned(),
                known: words.to_vec(),
            }),
        }
    }
}

/// Values of options, by name: `Options::default().with("n", 1000)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Options {
    /// The ladder that completed them, for messages; empty before.
    #[serde(skip)]
    ladder: &'static str,
    #[serde(serialize_with = "as_map")]
    values: Vec<(&'static str, Value)>,
}

fn as_map<S: serde::Serializer>(
    values: &[(&'static str, Value)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, value)))
}

impl Options {
    /// These options and this one, its value as it is written on the command line.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.set(name, Value::Text(value.to_string()));
        self
    }

    /// Sets an option.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.values.iter_mut().find(|(own, _)| *own == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name, value)),
        }
    }

    /// The value of an option, where it has one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.values.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value)
    }

    /// These options in the order in which they are `declared`, with the defaults of those that are missing.
    ///
    /// # Errors
    /// [`Error::UnknownOption`] for one that is not declared, and as [`Opt::parse`] for a value that is not
    /// of its option's kind.
    pub fn complete(&self, ladder: &'static str, declared: &'static [Opt]) -> Result<Self, Error> {
        let known = || declared.iter().map(|option| option.name).collect();
        if let Some((name, _)) = self
            .values
            .iter()
            .find(|(name, _)| declared.iter().all(|option| option.name != *name))
        {
            return Err(Error::UnknownOption {
                ladder,
                name: (*name).to_owned(),
                known: known(),
            });
        }
        let mut complete = Self {
            ladder,
            values: Vec::new(),
        };
        for option in declared {
            let value = match self.get(option.name) {
                None => option.parse(option.default)?,
                Some(value) => option.parse(&value.to_string())?,
            };
            complete.values.push((option.name, value));
        }
        Ok(complete)
    }

    /// A size that the ladder declares. Only for options that are complete.
    pub fn size(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Size(size)) => *size,
            other => unreachable!("`{name}` is declared a size and is {other:?}"),
        }
    }

    /// A size that the ladder declares, and that has to be in this range. Only for options that are complete.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] when it is not in the range.
    pub fn size_within(
        &self,
        name: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, Error> {
        let value = self.size(name);
        match range.contains(&value) {
            true => Ok(value),
            false => Err(Error::OutOfBounds {
                ladder: self.ladder,
                option: name,
                value,
                takes: format!("{} to {}", range.start(), range.end()),
            }),
        }
    }

    /// A size that the ladder declares, or `None` for the word in its place. Only for options that are complete.
    pub fn maybe_size(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Size(size)) => Some(*size),
            _ => None,
        }
    }

    /// These options with the size that a problem settled on.
    #[must_use]
    pub fn with_size(mut self, name: &'static str, size: u64) -> Self {
        self.set(name, Value::Size(size));
        self
    }

    /// A word or a text that the ladder declares. Only for options that are complete.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(text)) => text,
            other => unreachable!("`{name}` is declared a text and is {other:?}"),
        }
    }
}

/// Every combination of values of options, the last option changing fastest. One combination, of nothing,
/// for no options.
pub fn combinations(choices: &[(&'static str, Vec<Value>)]) -> Vec<Options> {
    choices
        .iter()
        .fold(vec![Options::default()], |all, (name, values)| {
            all.iter()
                .flat_map(|options| {
                    values
                        .iter()
                        .map(|value| options.clone().with(name, value.clone()))
                })
                .collect()
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const DECLARED: &[Opt] = &[
        Opt {
            name: "n",
            metavar: "N",
            kind: Kind::Size,
            default: "2^10",
            help: "",
        },
        Opt {
            name: "op",
            metavar: "OP",
            kind: Kind::Word(&["sum", "min"]),
            default: "sum",
            help: "",
        },
    ];

    #[test]
    fn what_is_missing_has_its_default_and_what_is_unknown_is_refused() {
        let none = Options::default().complete("test", DECLARED).unwrap();
        assert_eq!((none.size("n"), none.text("op")), (1024, "sum"));
        let some = Options::default().with("op", "min").with("n", 7);
        let complete = some.complete("test", DECLARED).unwrap();
        assert_eq!((complete.size("n"), complete.text("op")), (7, "min"));
        assert_eq!(
            serde_json::to_string(&complete).unwrap(),
            r#"{"n":7,"op":"min"}"#
        );
        for (options, message) in [
            (
                Options::default().with("m", 7),
                "the ladder test has no option --m; it has --n, --op",
            ),
            (
                Options::default().with("op", "mni"),
                "`mni` is not possible for --op; did you mean `min`?",
            ),
            (Options::default().with("n", "x"), "`x` is not a size"),
        ] {
            let error = options.complete("test", DECLARED).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
            assert!(!error.is_failure());
        }
    }

    #[test]
    fn combinations_are_all_there_in_order() {
        let sizes = vec![Value::Size(1), Value::Size(2)];
        let words = ["a", "b", "c"].map(|word| Value::Text(word.to_owned()));
        let all = combinations(&[("n", sizes), ("op", words.to_vec())]);
        assert_eq!(all.len(), 6);
        let second: Vec<String> = all[1].values.iter().map(|(_, v)| v.to_string()).collect();
        assert_eq!(second, ["1", "b"]);
        assert_eq!(combinations(&[]), [Options::default()]);
    }
}
