//! PTX text to tokens.

use winnow::combinator::{alt, delimited, repeat};
use winnow::error::ContextError;
use winnow::prelude::*;
use winnow::token::{any, rest, take_until, take_while};

use super::ParseError;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name, number, register, directive or opcode with its modifiers: `%r1`, `.loc`, `ld.global.b32`.
    Word,
    /// A string, with its quotes.
    String,
    /// One character of anything else.
    Punctuation,
    /// A comment, with its marks.
    Comment,
    /// White space.
    Space,
}

/// A piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// The text itself.
    pub text: &'a str,
    /// The line it starts on, from 1.
    pub line: usize,
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '%' | '.')
}

/// One token. A `::` inside a word belongs to it (`ld.shared::cta.b32`); a `:` after one does not.
fn token<'a>(input: &mut &'a str) -> Result<(Kind, &'a str), ContextError> {
    let word = (
        take_while(1.., is_word),
        repeat::<_, _, (), _, _>(0.., ("::", take_while(1.., is_word))),
    );
    alt((
        take_while(1.., char::is_whitespace).map(|text| (Kind::Space, text)),
        word.take().map(|text| (Kind::Word, text)),
        ("//", take_while(0.., |character| character != '\n'))
            .take()
            .map(|text| (Kind::Comment, text)),
        ("/*", alt(((take_until(0.., "*/"), "*/").take(), rest)))
            .take()
            .map(|text| (Kind::Comment, text)),
        delimited(
            '"',
            take_while(0.., |character| character != '"' && character != '\n'),
            '"',
        )
        .take()
        .map(|text| (Kind::String, text)),
        any.take().map(|text| (Kind::Punctuation, text)),
    ))
    .parse_next(input)
}

/// Splits a text into tokens that, put together again, are the text. A comment that does not end takes the
/// rest; a quote that has no partner on its line is punctuation.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut input = text;
    let mut line = 1;
    std::iter::from_fn(move || {
        // Every character is at least punctuation, so only the end of the text has no token.
        let (kind, text) = token(&mut input).ok()?;
        let token = Token { kind, text, line };
        line += text.matches('\n').count();
        Some(token)
    })
}

/// The tokens that mean something to the parser: all but white space. Comments stay for the notes that LLVM
/// leaves after `.loc`.
pub(super) fn significant(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    tokens(text)
        .filter(|token| token.kind != Kind::Space)
        .map(|token| {
            let unfinished = token.kind == Kind::Comment
                && token.text.starts_with("/*")
                && !token.text.ends_with("*/");
            if unfinished {
                let message = "this comment has no `*/`".to_owned();
                return Err(ParseError {
                    line: token.line,
                    message,
                });
            }
            Ok(token)
        })
        .collect()
}
