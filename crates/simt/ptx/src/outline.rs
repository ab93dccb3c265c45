//! The outline of a module: the range of each entry, function and variable, found without parsing their bodies (PTX
//! ISA, "Syntax" and "Directives").
//!
//! Parsing a whole module takes several times as long as creating its outline. A caller that needs only one of several
//! entries creates an [`Outline`], and gets the tree of that entry or [the entry's part of the text](crate::extract()).

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use logos::{Lexer, Logos};

use super::ast::{Function, Variable};
use super::cursor::Cursor;
use super::error::ParseError;
use super::token::Token;

/// A text and the items at its top level.
///
/// Every text has an outline. Unknown items are left out; if there are any, [`Outline::is_divisible`] returns false.
#[derive(Clone, Debug)]
pub struct Outline<'a> {
    text: Cow<'a, str>,
    items: Vec<Item>,
    /// The items that declare or define each name.
    by_name: HashMap<String, Vec<usize>>,
    is_divisible: bool,
}

/// One declaration, definition or directive.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) bytes: Range<usize>,
    /// The number of line breaks before the item.
    pub(super) line: usize,
    pub(super) kind: Kind,
    /// The range of the item's name; empty if the item has no name.
    name: Range<usize>,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `.version`, `.target`, `.address_size` and `.pragma`, which every extract needs.
    Header,
    /// `.file`.
    File,
    /// `.section`: debug information.
    Section,
    Entry,
    Function,
    /// Global memory, whose contents persist between launches.
    Global,
    /// Constant or shared memory, textures and similar variables.
    Variable,
}

/// A kernel's entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name.
    pub name: &'a str,
    /// The size of each parameter in bytes.
    pub parameter_bytes: Vec<u32>,
}

impl<'a> Outline<'a> {
    /// Creates the outline of a text in one pass over its tokens.
    #[must_use]
    pub fn new(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        let mut reader = Reader { lexer: Token::lexer(&text), is_divisible: true };
        let mut items: Vec<Item> = Vec::new();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        let (mut line, mut counted) = (0, 0);
        while let Some((token, word)) = reader.next() {
            let start = reader.lexer.span().start;
            let Some((kind, name)) = reader.item(token, word) else {
                reader.is_divisible = false;
                continue;
            };
            line += breaks(&text[counted..start]);
            counted = start;
            if !name.is_empty() {
                let places = by_name.entry(text[name.clone()].to_owned()).or_default();
                places.push(items.len());
            }
            items.push(Item { bytes: start..reader.lexer.span().end, line, kind, name });
        }
        let is_divisible = reader.is_divisible;
        Self { text, items, by_name, is_divisible }
    }

    /// Returns the whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether all items in the text are known, so that parts of it can be used separately. A text that is not
    /// divisible must be used as a whole.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        self.is_divisible
    }

    /// Returns whether the module has this entry.
    #[must_use]
    pub fn has_entry(&self, name: &str) -> bool {
        self.named(name).iter().any(|&place| self.items[place].kind == Kind::Entry)
    }

    /// Returns the entries with their parameters, in the order of the text. Entries whose head cannot be parsed have no
    /// parameters.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let entries = self.items.iter().filter(|item| item.kind == Kind::Entry);
        entries.map(|item| {
            let parameters = self.tree(item, false).map_or_else(|_| Vec::new(), |head| head.params);
            Entry {
                name: &self.text[item.name.clone()],
                parameter_bytes: parameters.iter().filter_map(Variable::bytes).collect(),
            }
        })
    }

    /// Returns the tree of an entry with its body, or `None` if the text has no such entry.
    ///
    /// # Errors
    /// Returns [`ParseError`] when the text of the entry is not PTX. The error contains the position of the first
    /// problem.
    pub fn entry(&self, name: &str) -> Option<Result<Function<'_>, ParseError>> {
        let place = self.named(name).iter().find(|&&place| self.items[place].kind == Kind::Entry)?;
        Some(self.tree(&self.items[*place], true))
    }

    /// Returns a description of the module from its directives, such as `PTX 6.3 for sm_75`. The description also
    /// contains the compilers if `cuda_builder` has written them into the first line.
    #[must_use]
    pub fn header(&self) -> String {
        let first = self.text.lines().next();
        let compilers = first
            .and_then(|line| line.strip_prefix("// cuda_builder ")?.split_once(": "))
            // The last word is the architecture, which the `.target` directive also names.
            .and_then(|(_, made_by)| made_by.rsplit_once(", "))
            .map_or(String::new(), |(compilers, _)| format!("{compilers}, "));
        let directive = |name: &str| {
            let headers = self.items.iter().filter(|item| item.kind == Kind::Header);
            headers
                .filter_map(|item| self.text[item.bytes.clone()].strip_prefix(name))
                .find_map(|rest| rest.trim_start().split([',', ' ']).next())
                .unwrap_or("?")
        };
        format!("{compilers}PTX {} for {}", directive(".version"), directive(".target"))
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns the items that declare or define a name.
    pub(super) fn named(&self, name: &str) -> &[usize] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the name that an item declares.
    pub(super) fn name_of(&self, item: &Item) -> &str {
        &self.text[item.name.clone()]
    }

    fn tree(&self, item: &Item, with_body: bool) -> Result<Function<'_>, ParseError> {
        Cursor::within(&self.text, item.bytes.start, item.bytes.end)?.only_function(with_body)
    }
}

/// Returns the number of line breaks in a text.
pub(super) fn breaks(text: &str) -> usize {
    // Line breaks are counted in chunks whose count fits in a byte. This lets the compiler vectorize the loop, which
    // makes the loop twenty times as fast.
    let in_chunk = |chunk: &[u8]| chunk.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
    let chunks = text.as_bytes().chunks(usize::from(u8::MAX));
    chunks.map(|chunk| usize::from(in_chunk(chunk))).sum()
}

/// Returns the length of a text up to the brace that closes an earlier opening brace.
fn closed(text: &[u8]) -> Option<usize> {
    let find = |from: usize, what: fn(&u8) -> bool| {
        let rest = text.get(from..)?;
        rest.iter().position(what).map(|at| from + at)
    };
    let (mut at, mut depth) = (0, 1_u32);
    while depth > 0 {
        at = find(at, |byte| matches!(byte, b'{' | b'}' | b'/' | b'"'))?;
        match (text[at], text.get(at + 1)) {
            (b'{', _) => depth += 1,
            (b'}', _) => depth -= 1,
            (b'/', Some(b'/')) => at = find(at, |&byte| byte == b'\n')?,
            (b'/', Some(b'*')) => {
                at += 2;
                while text.get(at..at + 2)? != b"*/" {
                    at += 1;
                }
                at += 1;
            }
            (b'"', _) => at = find(at + 1, |byte| matches!(byte, b'"' | b'\n'))?,
            _ => {}
        }
        at += 1;
    }
    Some(at)
}

/// Reads the items of a text.
struct Reader<'t> {
    lexer: Lexer<'t, Token>,
    is_divisible: bool,
}

/// The kind of an item, and the range of its name; the range is empty if the item has no name.
type Known = (Kind, Range<usize>);

impl<'t> Reader<'t> {
    /// Returns the next token. Text that the lexer cannot read is skipped and makes the module indivisible.
    fn next(&mut self) -> Option<(Token, &'t str)> {
        loop {
            match self.lexer.next()? {
                // The unclosed comment extends to the end of the text.
                Ok(Token::Unclosed) => {
                    self.is_divisible = false;
                    self.lexer.bump(self.lexer.remainder().len());
                    return None;
                }
                Err(()) => self.is_divisible = false,
                Ok(token) => return Some((token, self.lexer.slice())),
            }
        }
    }

    /// Skips the next token if it is `token`.
    fn take(&mut self, token: Token) -> bool {
        let found = self.lexer.clone().next() == Some(Ok(token));
        if found {
            self.lexer.next();
        }
        found
    }

    /// Skips everything up to a token or to the end of the text.
    fn until(&mut self, last: Token) -> Option<()> {
        while self.next()?.0 != last {}
        Some(())
    }

    /// Skips everything up to the parenthesis that closes an open parenthesis.
    fn close_parenthesis(&mut self) -> Option<()> {
        let mut depth = 1_u32;
        while depth > 0 {
            match self.next()?.0 {
                Token::OpenParen => depth += 1,
                Token::CloseParen => depth -= 1,
                _ => {}
            }
        }
        Some(())
    }

    /// Skips everything up to the brace that closes an open brace, or to the end of the text. Nearly all of a text is
    /// in braces, so this method reads bytes instead of tokens, which is faster.
    fn close_brace(&mut self) -> Option<()> {
        let rest = self.lexer.remainder().as_bytes();
        let length = closed(rest);
        self.lexer.bump(length.unwrap_or(rest.len()));
        length.map(drop)
    }

    /// Reads the rest of an item, and returns its kind and the range of the name that it declares. Returns `None` if
    /// the item is unknown, or if the text ends within it.
    fn item(&mut self, token: Token, word: &str) -> Option<Known> {
        let kind = match word {
            _ if token != Token::Directive => return None,
            ".version" | ".address_size" => {
                self.next()?;
                Kind::Header
            }
            ".target" => {
                self.next()?;
                while self.take(Token::Comma) {
                    // Debug information is valid only as a whole.
                    self.is_divisible &= self.next()?.1 != "debug";
                }
                Kind::Header
            }
            ".pragma" => {
                self.until(Token::Semicolon)?;
                Kind::Header
            }
            ".file" => {
                self.next()?;
                self.next()?;
                // The time and the size of the file.
                while self.take(Token::Comma) {
                    self.next()?;
                }
                Kind::File
            }
            ".section" => {
                self.until(Token::OpenBrace)?;
                self.close_brace()?;
                Kind::Section
            }
            ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" | ".global" | ".const" | ".shared" => {
                return self.declaration(word);
            }
            _ => return None,
        };
        Some((kind, 0..0))
    }

    /// Reads an entry, a function or a variable, with its body or its value.
    fn declaration(&mut self, first: &str) -> Option<Known> {
        let (mut kind, mut declared) = (Kind::Variable, None);
        let (mut token, mut word) = (Token::Directive, first);
        loop {
            let is_code = matches!(kind, Kind::Entry | Kind::Function);
            match token {
                Token::Directive => match word {
                    ".entry" => kind = Kind::Entry,
                    ".func" => kind = Kind::Function,
                    ".global" => kind = Kind::Global,
                    _ => {}
                },
                Token::OpenParen => self.close_parenthesis()?,
                Token::Semicolon => break,
                Token::OpenBrace => {
                    // An entry without an end is still an entry, but cannot be extracted.
                    let is_whole = self.close_brace().is_some();
                    self.is_divisible &= is_whole;
                    if is_code || !is_whole {
                        break;
                    }
                }
                // The initial value of a variable, which mentions names without declaring them.
                Token::Assign => {
                    self.value()?;
                    break;
                }
                // Commas also separate the numbers of `.maxntid`.
                Token::Comma if !is_code => self.is_divisible = false,
                Token::Word => declared = declared.or(Some(self.lexer.span())),
                _ => {}
            }
            (token, word) = self.next()?;
        }
        Some((kind, declared?))
    }

    /// Skips the initializer after `=`, including its `;`.
    fn value(&mut self) -> Option<()> {
        loop {
            match self.next()?.0 {
                Token::Semicolon => return Some(()),
                Token::OpenBrace => self.close_brace()?,
                // A second variable in the same declaration.
                Token::Comma => self.is_divisible = false,
                _ => {}
            }
        }
    }
}
