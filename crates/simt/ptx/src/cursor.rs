//! The parser's position in the text, with one token of lookahead, and the methods that advance it.

use logos::{Lexer, Logos};

use super::ast::{At, Module, Span};
use super::error::ParseError;
use super::source::Source;
use super::token::Token;

/// The result of a parser function.
pub(super) type Parsed<T> = Result<T, ParseError>;

/// The maximum nesting depth of braces, parentheses and operators. The limit prevents the parser and recursive
/// traversals of the tree from overflowing the stack.
const MAX_DEPTH: u32 = 64;

/// A parser between two tokens.
pub(super) struct Cursor<'a> {
    text: &'a str,
    lexer: Lexer<'a, Token>,
    /// The next token and its text.
    pub(super) token: Token,
    pub(super) word: &'a str,
    pub(super) at: At,
    /// The end of the previous token.
    previous_end: At,
    depth: u32,
    /// The parts of the module that have been read so far.
    pub(super) tree: Module<'a>,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor before the first token of the text.
    pub(super) fn new(text: &'a str) -> Parsed<Self> {
        Self::within(text, 0, text.len())
    }

    /// Returns a cursor before the first token of a part of the text. The cursor treats the end of the part as the end
    /// of the text.
    pub(super) fn within(text: &'a str, start: usize, end: usize) -> Parsed<Self> {
        if At::try_from(text.len()).is_err() {
            let message = "the PTX text is longer than the maximum of 4 GiB";
            return Err(ParseError::new(&Source::new(""), 0, message));
        }
        let mut lexer = Token::lexer(&text[..end]);
        lexer.bump(start);
        let tree = Module { address_size: 32, ..Module::default() };
        let mut cursor = Self { text, lexer, token: Token::End, word: "", at: 0, previous_end: 0, depth: 0, tree };
        cursor.advance()?;
        Ok(cursor)
    }

    /// Returns the text of the comment (`// …`) that follows a position on the same line, or an empty text.
    pub(super) fn comment_after(&self, at: At) -> &'a str {
        let line = self.text[at as usize..].lines().next().unwrap_or_default();
        line.split_once("//").map_or("", |(_, comment)| comment)
    }

    /// Advances past the next token and returns its text.
    pub(super) fn advance(&mut self) -> Parsed<&'a str> {
        let word = self.word;
        self.previous_end = place(self.lexer.span().end);
        let token = self.lexer.next();
        self.word = self.lexer.slice();
        self.at = place(self.lexer.span().start);
        self.token = match token {
            Some(Ok(Token::Unclosed) | Err(())) => return Err(self.not_a_token(self.at)),
            Some(Ok(token)) => token,
            None => Token::End,
        };
        Ok(word)
    }

    /// Advances past one `{ … }` with arbitrary contents, and returns the text between the braces.
    pub(super) fn raw_braces(&mut self) -> Parsed<&'a str> {
        if self.token != Token::OpenBrace {
            return Err(self.expected("`{`"));
        }
        let opened = self.at;
        let start = self.lexer.span().end;
        let mut depth = 1_u32;
        while depth > 0 {
            match self.lexer.next() {
                Some(Ok(Token::OpenBrace)) => depth += 1,
                Some(Ok(Token::CloseBrace)) => depth -= 1,
                Some(Ok(Token::Unclosed) | Err(())) => {
                    return Err(self.not_a_token(place(self.lexer.span().start)));
                }
                Some(Ok(_)) => {}
                None => return Err(self.error(opened, "this `{` is never closed")),
            }
        }
        let body = &self.text[start..self.lexer.span().start];
        self.advance()?;
        Ok(body)
    }

    /// Returns the range from a position to the end of the previous token.
    pub(super) fn since(&self, start: At) -> Span {
        Span { start, end: self.previous_end }
    }

    /// Returns the word after the next token, if there is one.
    pub(super) fn second_word(&self) -> Option<&'a str> {
        let mut lexer = self.lexer.clone();
        (lexer.next() == Some(Ok(Token::Word))).then(|| lexer.slice())
    }

    /// Advances past the next token if it is `token`.
    pub(super) fn take(&mut self, token: Token) -> Parsed<bool> {
        let found = self.token == token;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Advances past `token` and returns its text.
    pub(super) fn expect(&mut self, token: Token, what: &str) -> Parsed<&'a str> {
        if self.token != token {
            return Err(self.expected(what));
        }
        self.advance()
    }

    /// Parses a name without selectors, and returns the name and its position.
    pub(super) fn name(&mut self, what: &str) -> Parsed<(&'a str, At)> {
        let (word, at) = (self.word, self.at);
        if self.token != Token::Word {
            return Err(self.expected(what));
        }
        if word.contains(['.', ':']) {
            return Err(self.expected(&format!("{what} without dots or colons")));
        }
        self.advance()?;
        Ok((word, at))
    }

    /// Parses `item, item, … close`: at least one item, and the closing token.
    pub(super) fn list<T>(
        &mut self,
        close: Token,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        loop {
            items.push(item(self)?);
            if self.take(close)? {
                return Ok(items);
            }
            self.expect(Token::Comma, what)?;
        }
    }

    /// Runs `parse` one nesting level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(self.error(self.at, message));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Creates an error at a position.
    pub(super) fn error(&self, at: At, message: impl Into<String>) -> ParseError {
        ParseError::new(&Source::new(self.text), at, message)
    }

    /// Creates an error that states what was expected instead of the next token.
    pub(super) fn expected(&self, what: &str) -> ParseError {
        let found = match self.token {
            Token::End => "the end of the text".to_owned(),
            _ => format!("`{}`", clipped(self.word)),
        };
        self.error(self.at, format!("expected {what}, found {found}"))
    }

    /// Creates an error for text that the lexer could not read.
    fn not_a_token(&self, at: At) -> ParseError {
        let rest = self.text.get(at as usize..).unwrap_or_default();
        let message = match rest.chars().next() {
            Some('"') => "this string has no closing quote on its line".to_owned(),
            Some('/') => "this comment is never closed: `*/` is missing".to_owned(),
            Some(c) => format!("`{}` has no meaning in PTX", c.escape_debug()),
            None => "the text ends in the middle of a token".to_owned(),
        };
        self.error(at, message)
    }
}

fn place(offset: usize) -> At {
    At::try_from(offset).expect("`new` refuses texts of more than 4 GiB")
}

/// Shortens a token's text for a message.
fn clipped(word: &str) -> String {
    const MAX_LENGTH: usize = 60;
    match word.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}
