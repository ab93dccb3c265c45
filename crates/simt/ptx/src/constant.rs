//! Numbers and constant expressions (PTX ISA §4.5).

use std::cmp::Ordering;

use super::ast::Number;
use super::cursor::{Cursor, Parsed};
use super::token::Token;

/// The value of a constant expression during its evaluation. Integers are signed unless they do not fit or have the
/// suffix `U`. An operation is unsigned if one of its operands is unsigned (PTX ISA §4.5.6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Signed(i64),
    Unsigned(u64),
    /// The bits of an f32. Arithmetic converts the number to an f64.
    Single(u32),
    Double(f64),
}

use Value::{Double, Signed, Single, Unsigned};

impl From<Value> for Number {
    fn from(value: Value) -> Self {
        match value {
            Signed(value) => Self::Integer(value.cast_unsigned()),
            Unsigned(value) => Self::Integer(value),
            Single(bits) => Self::F32(bits),
            Double(value) => Self::F64(value.to_bits()),
        }
    }
}

impl Value {
    /// Returns the 64 bits of an integer.
    pub(super) fn bits(self) -> Option<u64> {
        match self {
            Signed(value) => Some(value.cast_unsigned()),
            Unsigned(value) => Some(value),
            Single(_) | Double(_) => None,
        }
    }

    fn double(self) -> f64 {
        match self {
            Signed(value) => value as f64,
            Unsigned(value) => value as f64,
            Single(bits) => f64::from(f32::from_bits(bits)),
            Double(value) => value,
        }
    }

    fn is_true(self) -> bool {
        self.bits().map_or_else(|| self.double() != 0.0, |bits| bits != 0)
    }
}

impl Cursor<'_> {
    /// Parses a constant. `what` is the expected item for the error message.
    pub(super) fn number(&mut self, what: &str) -> Parsed<Number> {
        Ok(self.constant(what)?.into())
    }

    /// Parses an integer constant.
    pub(super) fn integer(&mut self, what: &str) -> Parsed<u64> {
        let at = self.at;
        let value = self.constant(what)?;
        value.bits().ok_or_else(|| self.error(at, format!("expected {what}, found a floating-point number")))
    }

    /// Parses one integer of at most 32 bits without operators, as in directives.
    pub(super) fn small(&mut self, what: &str) -> Parsed<u32> {
        let at = self.at;
        if self.token != Token::Integer {
            return Err(self.expected(what));
        }
        let value = self.literal()?.bits().and_then(|value| u32::try_from(value).ok());
        value.ok_or_else(|| self.error(at, format!("{what} must fit in 32 bits")))
    }

    /// Parses a product, or an expression that binds more tightly: a term between the `+` and `-` of an offset.
    pub(super) fn term(&mut self) -> Parsed<Value> {
        self.binary("a number", PRODUCT)
    }

    /// Parses `condition ? a : b`, or an expression that binds more tightly.
    fn constant(&mut self, what: &str) -> Parsed<Value> {
        let value = self.binary(what, 0)?;
        if self.token != Token::Question {
            return Ok(value);
        }
        self.nested(|cursor| {
            cursor.advance()?;
            let yes = cursor.constant("a number")?;
            cursor.expect(Token::Colon, "`:`")?;
            let no = cursor.constant("a number")?;
            Ok(if value.is_true() { yes } else { no })
        })
    }

    /// Parses operators that bind at least as tightly as `weakest`.
    fn binary(&mut self, what: &str, weakest: u8) -> Parsed<Value> {
        let mut left = self.unary(what)?;
        while let Some(strength) = strength(self.token).filter(|&strength| strength >= weakest) {
            let (operator, at) = (self.token, self.at);
            let word = self.advance()?;
            let right = self.nested(|cursor| cursor.binary("a number", strength + 1))?;
            left = apply(operator, left, right).map_err(|reason| self.error(at, format!("`{word}` {reason}")))?;
        }
        Ok(left)
    }

    fn unary(&mut self, what: &str) -> Parsed<Value> {
        let operator = self.token;
        match operator {
            Token::OpenParen => self.nested(|cursor| {
                cursor.advance()?;
                if cursor.token == Token::Directive {
                    return cursor.cast();
                }
                let value = cursor.constant("a number")?;
                cursor.expect(Token::CloseParen, "`)`")?;
                Ok(value)
            }),
            Token::Plus | Token::Minus | Token::Not | Token::Complement => self.nested(|cursor| {
                let at = cursor.at;
                cursor.advance()?;
                let value = cursor.unary("a number")?;
                Ok(match (operator, value) {
                    (Token::Plus, value) => value,
                    (Token::Minus, Signed(value)) => Signed(value.wrapping_neg()),
                    (Token::Minus, Unsigned(value)) => Unsigned(value.wrapping_neg()),
                    (Token::Minus, Single(bits)) => Single(bits ^ 1 << 31),
                    (Token::Minus, Double(value)) => Double(-value),
                    (Token::Complement, Signed(value)) => Signed(!value),
                    (Token::Complement, Unsigned(value)) => Unsigned(!value),
                    (Token::Complement, _) => {
                        return Err(cursor.error(at, "`~` needs an integer"));
                    }
                    (_, value) => Signed(i64::from(!value.is_true())),
                })
            }),
            Token::Word if self.word == "WARP_SZ" => {
                self.advance()?;
                Ok(Signed(32))
            }
            Token::Integer | Token::Bits32 | Token::Bits64 | Token::Decimal => self.literal(),
            _ => Err(self.expected(what)),
        }
    }

    /// Parses `.s64) value` or `.u64) value`, after the parenthesis.
    fn cast(&mut self) -> Parsed<Value> {
        let signed = match self.word {
            ".s64" => true,
            ".u64" => false,
            _ => return Err(self.expected("`.s64` or `.u64`")),
        };
        self.advance()?;
        self.expect(Token::CloseParen, "`)`")?;
        let at = self.at;
        let bits = self.unary("a number")?.bits();
        let bits = bits.ok_or_else(|| self.error(at, "only an integer can be cast"))?;
        Ok(if signed { Signed(bits.cast_signed()) } else { Unsigned(bits) })
    }

    fn literal(&mut self) -> Parsed<Value> {
        let value = match self.token {
            Token::Integer => integer(self.word),
            Token::Bits32 => match self.word.len() {
                10 => u32::from_str_radix(&self.word[2..], 16).map(Single).map_err(|_| DIGITS),
                _ => Err("`0f` takes 8 hexadecimal digits, the bits of an f32"),
            },
            Token::Bits64 => match self.word.len() {
                18 => u64::from_str_radix(&self.word[2..], 16)
                    .map(|bits| Double(f64::from_bits(bits)))
                    .map_err(|_| DIGITS),
                _ => Err("`0d` takes 16 hexadecimal digits, the bits of an f64"),
            },
            _ => self.word.parse().map(Double).map_err(|_| DIGITS),
        };
        let value = value.map_err(|reason| self.error(self.at, reason))?;
        self.advance()?;
        Ok(value)
    }
}

/// The reason for an invalid digit. The lexer accepts only digits of the number's base, except that an octal number may
/// contain an 8 or a 9, so only octal numbers can fail here.
const DIGITS: &str = "a digit that does not exist in the number's base (a leading 0 means octal)";

/// Parses `12`, `0x1F`, `017` or `0b101`, each with or without `U`.
fn integer(word: &str) -> Result<Value, &'static str> {
    let (digits, signed) = word.strip_suffix('U').map_or((word, true), |digits| (digits, false));
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    let value = u64::from_str_radix(digits, radix).map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => "the number does not fit in 64 bits",
        _ => DIGITS,
    })?;
    Ok(match i64::try_from(value) {
        Ok(value) if signed => Signed(value),
        _ => Unsigned(value),
    })
}

/// The precedence of `*`, `/` and `%`.
const PRODUCT: u8 = 10;

/// Returns the precedence of a binary operator, as in C.
fn strength(token: Token) -> Option<u8> {
    Some(match token {
        Token::OrOr => 1,
        Token::AndAnd => 2,
        Token::Or => 3,
        Token::Xor => 4,
        Token::And => 5,
        Token::Equal | Token::NotEqual => 6,
        Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => 7,
        Token::ShiftLeft | Token::ShiftRight => 8,
        Token::Plus | Token::Minus => 9,
        Token::Star | Token::Slash | Token::Percent => PRODUCT,
        _ => return None,
    })
}

fn apply(operator: Token, left: Value, right: Value) -> Result<Value, &'static str> {
    let truth = |value: bool| Ok(Signed(i64::from(value)));
    match operator {
        Token::OrOr => return truth(left.is_true() || right.is_true()),
        Token::AndAnd => return truth(left.is_true() && right.is_true()),
        _ => {}
    }
    let (Some(a), Some(b)) = (left.bits(), right.bits()) else {
        return apply_double(operator, left.double(), right.double());
    };
    let both = if let (Signed(a), Signed(b)) = (left, right) { Some((a, b)) } else { None };
    if let Some(holds) = ordered(operator, Some(both.map_or(a.cmp(&b), |(a, b)| a.cmp(&b)))) {
        return truth(holds);
    }
    // A shift by 64 or more shifts out all bits.
    let count = u32::try_from(b).unwrap_or(u32::MAX);
    let bits = match operator {
        Token::ShiftLeft => a.checked_shl(count).unwrap_or(0),
        Token::ShiftRight => match left {
            Signed(a) => (a >> b.min(63)).cast_unsigned(),
            _ => a.checked_shr(count).unwrap_or(0),
        },
        Token::Slash
            if let Some((a, b)) = both
                && b != 0 =>
        {
            a.wrapping_div(b).cast_unsigned()
        }
        Token::Percent
            if let Some((a, b)) = both
                && b != 0 =>
        {
            a.wrapping_rem(b).cast_unsigned()
        }
        Token::Or => a | b,
        Token::Xor => a ^ b,
        Token::And => a & b,
        Token::Plus => a.wrapping_add(b),
        Token::Minus => a.wrapping_sub(b),
        Token::Star => a.wrapping_mul(b),
        Token::Slash => a.checked_div(b).ok_or("divides by zero")?,
        Token::Percent => a.checked_rem(b).ok_or("divides by zero")?,
        _ => return Err("is not an operator for constants"),
    };
    // A shift has the signedness of its left operand (PTX ISA §4.5.6).
    let is_shift = matches!(operator, Token::ShiftLeft | Token::ShiftRight);
    Ok(match both.is_some() || is_shift && matches!(left, Signed(_)) {
        true => Signed(bits.cast_signed()),
        false => Unsigned(bits),
    })
}

/// Returns the result of a comparison, or `None` if the operator is not a comparison. `order` is the order of the
/// operands, or `None` if an operand is NaN.
fn ordered(operator: Token, order: Option<Ordering>) -> Option<bool> {
    Some(match operator {
        Token::Equal => order == Some(Ordering::Equal),
        Token::NotEqual => order != Some(Ordering::Equal),
        Token::Less => order.is_some_and(Ordering::is_lt),
        Token::LessEqual => order.is_some_and(Ordering::is_le),
        Token::Greater => order.is_some_and(Ordering::is_gt),
        Token::GreaterEqual => order.is_some_and(Ordering::is_ge),
        _ => return None,
    })
}

fn apply_double(operator: Token, a: f64, b: f64) -> Result<Value, &'static str> {
    Ok(match operator {
        Token::Plus => Double(a + b),
        Token::Minus => Double(a - b),
        Token::Star => Double(a * b),
        Token::Slash => Double(a / b),
        _ => Signed(ordered(operator, a.partial_cmp(&b)).ok_or("needs integers")?.into()),
    })
}
