//! The options of a ladder: sizes, shapes, operations and data.
//!
//! A ladder declares its options as data ([`Opt`]); the command line, the sweeps and the JSON output are made from
//! these declarations. [`Options`] are the values: those that the user gave, and, once completed with the ladder's
//! defaults, those that a problem is made from.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::error::Error;
use crate::size::parse_size;

/// An option of a ladder: `--name VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// The name, without the dashes.
    pub name: &'static str,
    /// The placeholder for its value in the help text.
    pub metavar: &'static str,
    /// The kind of value that it takes.
    pub kind: Kind,
    /// The default value, as it is written on the command line.
    pub default: &'static str,
    /// The line of the help text.
    pub help: &'static str,
}

/// The kind of value that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size, as [`parse_size`] reads it.
    Size,
    /// A size or this word.
    SizeOr(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text. The ladder checks it.
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
    /// Declares an option that takes a size.
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

    /// Declares an option that takes one of these words; the first is its default.
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

    /// Parses a value of this option.
    ///
    /// # Errors
    /// [`Error::BadSize`] when the text is not a size, [`Error::BadWord`] when the option does not take this word.
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
    /// The ladder that completed these options, for messages; empty before that.
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
    /// Adds an option, with its value as it is written on the command line.
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

    /// The value of an option, when it was given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.values.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value)
    }

    /// Sorts the options in the order in which they are `declared`, and adds the defaults of those that are missing.
    ///
    /// # Errors
    /// [`Error::UnknownOption`] when an option is not declared, [`Error::BadSize`] or [`Error::BadWord`] when a value
    /// does not have the kind of its option.
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

    /// The value of a size option. The options must be complete.
    pub fn size(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Size(size)) => *size,
            other => unreachable!("`{name}` is declared a size and is {other:?}"),
        }
    }

    /// The value of a size option that has to be in this range. The options must be complete.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] when the size is not in the range.
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

    /// The value of a size option, or `None` when it is the word that is allowed instead of a size. The options must
    /// be complete.
    pub fn maybe_size(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Size(size)) => Some(*size),
            _ => None,
        }
    }

    /// Replaces an option by the size that the problem chose.
    #[must_use]
    pub fn with_size(mut self, name: &'static str, size: u64) -> Self {
        self.set(name, Value::Size(size));
        self
    }

    /// The value of a word or text option. The options must be complete.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(text)) => text,
            other => unreachable!("`{name}` is declared a text and is {other:?}"),
        }
    }
}

/// Every combination of the options' values; the last option changes fastest. Without options there is one
/// combination, which is empty.
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
