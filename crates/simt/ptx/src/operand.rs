//! Operands (PTX ISA §6).

use super::ast::{AddressBase, Operand};
use super::constant::Value;
use super::cursor::{Cursor, Parsed};
use super::token::Token;

const WHAT: &str = "an operand";

impl<'a> Cursor<'a> {
    /// Parses one operand. In a call, parentheses enclose a list; otherwise, they enclose a constant.
    pub(super) fn operand(&mut self, call: bool) -> Parsed<Operand<'a>> {
        match self.token {
            Token::Word if self.word != "WARP_SZ" => self.named(),
            Token::Not if self.second_word().is_some() => {
                self.advance()?;
                Ok(Operand::Not(self.name("a predicate register")?.0))
            }
            Token::Minus if self.second_word().is_some_and(|word| word != "WARP_SZ") => {
                self.advance()?;
                Ok(Operand::Neg(self.advance()?))
            }
            Token::OpenBracket => self.address(),
            Token::OpenBrace => self.nested(|cursor| {
                cursor.advance()?;
                let what = "`,` or `}`";
                let all = cursor.list(Token::CloseBrace, what, |item| item.operand(false))?;
                Ok(match cursor.take(Token::Or)? {
                    true => Operand::VectorPair(all, cursor.name("a predicate")?.0),
                    false => Operand::Vector(all),
                })
            }),
            Token::OpenParen if call => self.nested(|cursor| {
                cursor.advance()?;
                if cursor.take(Token::CloseParen)? {
                    return Ok(Operand::List(Vec::new()));
                }
                let what = "`,` or `)`";
                Ok(Operand::List(cursor.list(Token::CloseParen, what, |item| item.operand(false))?))
            }),
            _ => Ok(Operand::Number(self.number(WHAT)?)),
        }
    }

    /// Parses an operand that starts with a name.
    fn named(&mut self) -> Parsed<Operand<'a>> {
        let word = self.advance()?;
        match self.token {
            Token::Plus | Token::Minus => Ok(Operand::NameOffset(word, self.offset()?)),
            Token::Or => {
                self.advance()?;
                Ok(Operand::Pair(word, self.name("the second register of a pair")?.0))
            }
            Token::OpenBracket => {
                self.advance()?;
                let index = self.integer("an element's index")?;
                self.expect(Token::CloseBracket, "`]`")?;
                Ok(Operand::Indexed(word, index))
            }
            _ => Ok(selected(word)),
        }
    }

    /// Parses `[name+8]`, `[1024]` or `[texture, {%f1, %f2}]`.
    fn address(&mut self) -> Parsed<Operand<'a>> {
        self.advance()?;
        let base = match self.token {
            Token::Word if self.word != "WARP_SZ" => AddressBase::Name(self.advance()?),
            _ => AddressBase::Absolute(self.integer("a register, a variable or a number")?),
        };
        let offset = self.offset()?;
        if self.take(Token::CloseBracket)? {
            return Ok(Operand::Address { base, offset });
        }
        self.expect(Token::Comma, "`]`, `+`, `-` or `,`")?;
        let first = match base {
            AddressBase::Absolute(number) => {
                Operand::Number(Value::Unsigned(number.wrapping_add_signed(offset)).into())
            }
            AddressBase::Name(name) if offset == 0 => Operand::Name(name),
            AddressBase::Name(name) => Operand::NameOffset(name, offset),
        };
        self.nested(|cursor| {
            let rest = cursor.list(Token::CloseBracket, "`,` or `]`", |item| item.operand(false))?;
            Ok(Operand::Tuple(std::iter::once(first).chain(rest).collect()))
        })
    }

    /// Parses any number of offsets such as `+8` and `-8`, and returns their sum.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        let mut offset = 0_i64;
        loop {
            let negative = match self.token {
                Token::Plus => false,
                Token::Minus => true,
                _ => return Ok(offset),
            };
            self.advance()?;
            let at = self.at;
            let Some(value) = self.term()?.bits() else {
                return Err(self.error(at, "an offset must be an integer"));
            };
            let value = value.cast_signed();
            offset = if negative { offset.wrapping_sub(value) } else { offset.wrapping_add(value) };
        }
    }
}

/// Returns a name, or an element of a vector register. The name includes selectors that do not name an element of a
/// vector (`.b0`, `.h1`).
fn selected(word: &str) -> Operand<'_> {
    if let Some((name, element @ ("x" | "y" | "z" | "w" | "r" | "g" | "b" | "a"))) = word.split_once('.')
        && !is_special(name)
    {
        return Operand::Element(name, char::from(element.as_bytes()[0]));
    }
    Operand::Name(word)
}

/// Returns whether a name is a special register that is a vector (PTX ISA §10).
fn is_special(name: &str) -> bool {
    matches!(
        name,
        "%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%clusterid" | "%nclusterid" | "%cluster_ctaid" | "%cluster_nctaid"
    )
}
