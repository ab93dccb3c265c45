//! Expressions of counters: `a`, `a + b`, `a / b * 100`, `(a + b) / c`, `a and b`, `a where b`.

use std::iter::Peekable;
use std::str::{FromStr, SplitWhitespace};

use serde::Deserialize;

/// A number that is computed from counters, parsed from text. Operators are surrounded by blanks. `*` and `/` bind more
/// tightly than `+`, `-` and `and`, which bind more tightly than `where`. Operators of the same precedence associate to
/// the left.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Expression {
    /// The counter with this name.
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
    /// `a and b`: `a + b`, or the only operand that has a value.
    And,
    /// `a - b`.
    Subtract,
    /// `a * b`.
    Multiply,
    /// `a / b`, if `b` is more than 0.
    Divide,
    /// `a where b`: `a`, if `b` is more than 0. Nsight Compute reports 0 for a quotient whose divisor is 0.
    Where,
}

impl Operator {
    /// Returns the operator with this symbol, and its precedence.
    fn read(text: &str) -> Option<(Self, u8)> {
        Some(match text {
            "where" => (Self::Where, 0),
            "+" => (Self::Add, 1),
            "and" => (Self::And, 1),
            "-" => (Self::Subtract, 1),
            "*" => (Self::Multiply, 2),
            "/" => (Self::Divide, 2),
            _ => return None,
        })
    }
}

impl Expression {
    /// Returns the value, or `None` when a required counter was not counted or a divisor is 0.
    pub fn of(&self, counter: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        match self {
            Self::Counter(name) => counter(name),
            Self::Number(number) => Some(*number),
            Self::Operation(sides, operator) => {
                let (left, right) = (sides[0].of(counter), sides[1].of(counter));
                if *operator == Operator::And {
                    return left.into_iter().chain(right).reduce(|a, b| a + b);
                }
                let (left, right) = (left?, right?);
                match operator {
                    Operator::Add | Operator::And => Some(left + right),
                    Operator::Subtract => Some(left - right),
                    Operator::Multiply => Some(left * right),
                    Operator::Divide => (right > 0.0).then(|| left / right),
                    Operator::Where => (right > 0.0).then_some(left),
                }
            }
        }
    }

    /// Returns the names of the counters that the expression uses.
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
            (_, Some(word)) => Err(format!("`{text}` has an unexpected `{word}`")),
        }
    }
}

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Parses operands and the operators between them, while the precedence is at least `least`.
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
        Some(word) if Operator::read(word).is_none() && word.chars().all(is_name) => {
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
mod tests;
