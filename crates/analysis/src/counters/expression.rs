//! Expressions of counters: `a`, `a + b`, `a / b * 100`, `(a + b) / c`, `a where b`.

use std::iter::Peekable;
use std::str::{FromStr, SplitWhitespace};

use serde::Deserialize;

/// A number that is computed from counters, parsed from text. Operators are surrounded by blanks. `*` and `/` bind
/// more strongly than `+` and `-`, and these more strongly than `where`; operators of the same precedence associate to
/// the left.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Expression {
    /// The counter of this name.
    Counter(String),
    /// A number.
    Number(f64),
    /// An operation on two expressions.
    Operation(Box<[Expression; 2]>, Operator),
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `a + b`.
    Add,
    /// `a - b`.
    Subtract,
    /// `a * b`.
    Multiply,
    /// `a / b`, where `b` is more than 0.
    Divide,
    /// `a where b`: `a`, where `b` is more than 0. Nsight Compute writes 0 for a quotient that has nothing to divide by.
    Where,
}

impl Operator {
    /// The operator with this symbol, and its precedence.
    fn read(text: &str) -> Option<(Self, u8)> {
        Some(match text {
            "where" => (Self::Where, 0),
            "+" => (Self::Add, 1),
            "-" => (Self::Subtract, 1),
            "*" => (Self::Multiply, 2),
            "/" => (Self::Divide, 2),
            _ => return None,
        })
    }
}

impl Expression {
    /// The value; `None` when a counter that it needs was not counted, or when a divisor is 0.
    pub fn of(&self, counter: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        match self {
            Self::Counter(name) => counter(name),
            Self::Number(number) => Some(*number),
            Self::Operation(sides, operator) => {
                let (left, right) = (sides[0].of(counter)?, sides[1].of(counter)?);
                match operator {
                    Operator::Add => Some(left + right),
                    Operator::Subtract => Some(left - right),
                    Operator::Multiply => Some(left * right),
                    Operator::Divide => (right > 0.0).then(|| left / right),
                    Operator::Where => (right > 0.0).then_some(left),
                }
            }
        }
    }

    /// The counters that the expression uses.
    pub fn counters(&self) -> Vec<String> {
        match self {
            Self::Counter(name) => vec![name.clone()],
            Self::Number(_) => Vec::new(),
            Self::Operation(sides, _) => sides.iter().flat_map(Self::counters).collect(),
        }
    }
}

impl FromStr for Expression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace().peekable();
        match (read(&mut words, 0)?, words.next()) {
            (expression, None) => Ok(expression),
            (_, Some(word)) => Err(format!("`{text}` cannot be read from `{word}` on")),
        }
    }
}

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Parses operands and the operators between them, as long as the precedence is at least `least`.
fn read(words: &mut Peekable<SplitWhitespace<'_>>, least: u8) -> Result<Expression, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut left = match words.next() {
        Some("(") => {
            let inner = read(words, 0)?;
            match words.next() {
                Some(")") => inner,
                _ => return Err("a parenthesis is not closed".to_owned()),
            }
        }
        Some(word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
            let number = word.parse();
            Expression::Number(number.map_err(|error| format!("`{word}`: {error}"))?)
        }
        Some(word) if word != "where" && word.chars().all(is_name) => {
            Expression::Counter(word.to_owned())
        }
        Some(word) => return Err(format!("`{word}` is not a counter")),
        None => return Err("a counter is missing at the end".to_owned()),
    };
    while let Some((operator, strength)) = words.peek().copied().and_then(Operator::read)
        && strength >= least
    {
        words.next();
        let right = read(words, strength + 1)?;
        left = Expression::Operation(Box::new([left, right]), operator);
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(text: &str) -> Option<f64> {
        let expression: Expression = text.parse().unwrap();
        expression.of(&|name| match name {
            "zero" => Some(0.0),
            "two" => Some(2.0),
            "a.three" => Some(3.0),
            _ => None,
        })
    }

    #[test]
    fn expressions_are_computed_from_the_left_and_products_first() {
        for (text, number) in [
            ("a.three", 3.0),
            ("two + a.three * 2", 8.0),
            ("two - 1 - 1", 0.0),
            ("(two + a.three) / two * 100", 250.0),
            ("two / (a.three - 1)", 1.0),
            ("zero / two", 0.0),
            ("zero where two", 0.0),
            ("two + 1 where a.three - 2.5", 3.0),
        ] {
            assert_eq!(of(text), Some(number), "{text}");
        }
    }

    #[test]
    fn there_is_no_number_where_a_counter_is_missing_or_there_is_nothing_to_divide_by() {
        for text in [
            "none",
            "two + none",
            "two / none",
            "two / zero",
            "two where zero",
            "two where none",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn the_counters_that_it_needs_are_known() {
        let expression: Expression = "(a + b) / c * 100 where d".parse().unwrap();
        assert_eq!(expression.counters(), ["a", "b", "c", "d"]);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (text, why) in [
            ("", "missing at the end"),
            ("a +", "missing at the end"),
            ("a b", "cannot be read from `b` on"),
            ("(a", "not closed"),
            ("a)", "cannot be read from `)` on"),
            ("where a", "`where` is not a counter"),
            ("a+b", "`a+b` is not a counter"),
            ("1x", "`1x`"),
        ] {
            let error = text.parse::<Expression>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
