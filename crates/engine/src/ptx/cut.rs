//! One entry out of a module: what a driver has to compile to run it, and no more.
//!
//! A module of all kernels takes a driver seconds to compile, an entry of it milliseconds. An [`Index`] knows
//! the statements at the top of a module (PTX ISA, "Syntax" and "Directives"); [`Index::cut`] keeps those that
//! an entry mentions, directly or through others, and puts empty lines in place of the rest, so that line
//! numbers stay the module's.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What becomes of the Rust or C++ lines in a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLines {
    /// `.file` and `.loc` stay.
    Keep,
    /// They go: a driver reads them for nothing.
    Drop,
}

/// The statements at the top of a module.
#[derive(Clone, Debug)]
pub struct Index {
    items: Vec<Item>,
    /// Which statements declare or define a name.
    by_name: BTreeMap<String, Vec<usize>>,
}

#[derive(Clone, Debug)]
struct Item {
    bytes: Range<usize>,
    /// Line breaks before it.
    line: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `.version`, `.target`, `.address_size`, `.pragma`: every part needs it.
    Header,
    /// `.file`.
    File,
    /// `.section`: debug information.
    Section,
    Entry,
    Function,
    /// Global memory, which launches can leave something in.
    Global,
    /// Constant or shared memory, textures and the like.
    Variable,
}

impl Index {
    /// Reads a module. `None` where it has a statement that is not known here; such a module is best used
    /// whole.
    pub fn new(ptx: &str) -> Option<Self> {
        let mut tokens = Tokens::new(ptx);
        let mut index = Self {
            items: Vec::new(),
            by_name: BTreeMap::new(),
        };
        let (mut line, mut counted) = (0, 0);
        while let Some(first) = tokens.next()? {
            line += breaks(&ptx[counted..first.at]);
            counted = first.at;
            let (kind, name) = statement(&mut tokens, first.text)?;
            if let Some(name) = name {
                let places = index.by_name.entry(name.to_owned()).or_default();
                places.push(index.items.len());
            }
            index.items.push(Item {
                bytes: first.at..tokens.at,
                line,
                kind,
            });
        }
        Some(index)
    }

    /// Whether the module has this entry.
    pub fn has_entry(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|places| {
            places
                .iter()
                .any(|&place| self.items[place].kind == Kind::Entry)
        })
    }

    /// The part of the module that an entry needs. `ptx` is the text that the index was made from. `None`
    /// where there is no such entry, and where it shares a variable in global memory with other code: in parts,
    /// each would have its own.
    pub fn cut(&self, ptx: &str, entry: &str, lines: SourceLines) -> Option<String> {
        if !self.has_entry(entry) {
            return None;
        }
        let needed = self.needed(ptx, entry)?;
        if self.shares_globals(ptx, &needed) {
            return None;
        }
        let mut out = String::new();
        let mut line = 0;
        for (place, item) in self.items.iter().enumerate() {
            let is_kept = match item.kind {
                Kind::Header => true,
                Kind::File => lines == SourceLines::Keep,
                Kind::Section => false,
                _ => needed.contains(&place),
            };
            if is_kept {
                let text = ptx.get(item.bytes.clone())?;
                // Two statements may share a line.
                out.push(' ');
                out.extend(std::iter::repeat_n('\n', item.line - line));
                match lines {
                    SourceLines::Keep => out.push_str(text),
                    SourceLines::Drop => push_without_lines(&mut out, text),
                }
                line = item.line + breaks(text);
            }
        }
        out.push('\n');
        Some(out)
    }

    /// The statements that an entry mentions, and those that they mention.
    fn needed(&self, ptx: &str, entry: &str) -> Option<BTreeSet<usize>> {
        let mut needed = BTreeSet::new();
        let mut open: Vec<usize> = self.by_name.get(entry)?.clone();
        while let Some(place) = open.pop() {
            if !needed.insert(place) {
                continue;
            }
            let mut tokens = Tokens::new(ptx.get(self.items[place].bytes.clone())?);
            while let Some(token) = tokens.next()? {
                if let Some(places) = name(token.text).and_then(|name| self.by_name.get(name)) {
                    open.extend(places);
                }
            }
        }
        Some(needed)
    }

    fn shares_globals(&self, ptx: &str, needed: &BTreeSet<usize>) -> bool {
        let globals: Vec<&str> = self
            .by_name
            .iter()
            .filter(|(_, places)| {
                let mut places = places.iter();
                places
                    .any(|place| self.items[*place].kind == Kind::Global && needed.contains(place))
            })
            .map(|(name, _)| name.as_str())
            .collect();
        let is_code = |kind| !matches!(kind, Kind::Header | Kind::File | Kind::Section);
        !globals.is_empty()
            && self.items.iter().enumerate().any(|(place, item)| {
                let text = ptx.get(item.bytes.clone()).unwrap_or_default();
                is_code(item.kind)
                    && !needed.contains(&place)
                    && globals.iter().any(|name| text.contains(name))
            })
    }
}

/// Reads the rest of a statement: what it is, and the name that it declares.
fn statement<'a>(tokens: &mut Tokens<'a>, first: &'a str) -> Option<(Kind, Option<&'a str>)> {
    match first {
        ".version" | ".address_size" => {
            tokens.next()??;
            Some((Kind::Header, None))
        }
        ".target" => {
            tokens.next()??;
            while tokens.skip(",")? {
                // All of its debug information has to be there.
                if tokens.next()??.text == "debug" {
                    return None;
                }
            }
            Some((Kind::Header, None))
        }
        ".pragma" => {
            while tokens.next()??.text != ";" {}
            Some((Kind::Header, None))
        }
        ".file" => {
            tokens.next()??;
            tokens.next()??;
            // A time and a size.
            while tokens.skip(",")? {
                tokens.next()??;
            }
            Some((Kind::File, None))
        }
        ".section" => {
            while tokens.next()??.text != "{" {}
            tokens.close("{", "}")?;
            Some((Kind::Section, None))
        }
        ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" | ".global"
        | ".const" | ".shared" => declaration(tokens, first),
        _ => None,
    }
}

/// An entry, a function or a variable, with its body or its value.
fn declaration<'a>(tokens: &mut Tokens<'a>, first: &'a str) -> Option<(Kind, Option<&'a str>)> {
    let (mut kind, mut declared) = (Kind::Variable, None);
    let mut word = first;
    loop {
        match word {
            ".entry" => kind = Kind::Entry,
            ".func" => kind = Kind::Function,
            ".global" => kind = Kind::Global,
            "(" => tokens.close("(", ")")?,
            ";" => break,
            "{" => {
                tokens.close("{", "}")?;
                if matches!(kind, Kind::Entry | Kind::Function) {
                    break;
                }
            }
            // The value of a variable: what it mentions is not what it declares.
            "=" => {
                loop {
                    match tokens.next()??.text {
                        ";" => break,
                        "{" => tokens.close("{", "}")?,
                        // Of a second variable.
                        "," => return None,
                        _ => {}
                    }
                }
                break;
            }
            // The numbers of `.maxntid` have commas as well.
            "," if !matches!(kind, Kind::Entry | Kind::Function) => return None,
            word => declared = declared.or(name(word)),
        }
        word = tokens.next()??.text;
    }
    declared.map(|name| (kind, Some(name)))
}

/// The name that a word is or begins with; none for directives, registers and numbers.
fn name(word: &str) -> Option<&str> {
    let name = word.split('.').next()?;
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    name.starts_with(is_name).then_some(name)
}

fn breaks(text: &str) -> usize {
    text.matches('\n').count()
}

/// A text without its `.loc` directives, each of which is a line of its own.
fn push_without_lines(out: &mut String, text: &str) {
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default().trim_start();
        let is_loc = code.strip_prefix(".loc").is_some_and(|rest| {
            rest.starts_with([' ', '\t']) && !rest.contains(['{', '}', ';', '*'])
        });
        if is_loc {
            out.push('\n');
        } else {
            out.push_str(line);
        }
    }
}

struct Token<'a> {
    at: usize,
    text: &'a str,
}

/// The words, strings and signs of a text, without its comments.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token; the inner `None` at the end, the outer in the middle of a comment or string that does
    /// not end, and for what is no ASCII.
    #[allow(clippy::should_implement_trait, reason = "an iterator has no failure")]
    fn next(&mut self) -> Option<Option<Token<'a>>> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at..)? {
                [] => return Some(None),
                [b, ..] if b.is_ascii_whitespace() => self.at += 1,
                [b'/', b'/', ..] => {
                    self.at = self.find(self.at, "\n").unwrap_or(bytes.len());
                }
                [b'/', b'*', ..] => self.at = self.find(self.at + 2, "*/")? + 2,
                _ => break,
            }
        }
        let start = self.at;
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%' | b'.');
        let length = match bytes[start] {
            b'"' => self.find(start + 1, "\"")? + 1 - start,
            b if is_word(&b) => bytes[start..].iter().take_while(|b| is_word(b)).count(),
            b if b.is_ascii() => 1,
            _ => return None,
        };
        self.at += length;
        Some(Some(Token {
            at: start,
            text: &self.text[start..self.at],
        }))
    }

    /// Takes the next token if it is this one.
    fn skip(&mut self, expected: &str) -> Option<bool> {
        let before = self.at;
        let is_it = self.next()?.is_some_and(|token| token.text == expected);
        if !is_it {
            self.at = before;
        }
        Some(is_it)
    }

    /// Takes everything up to the sign that closes an open one.
    fn close(&mut self, open: &str, close: &str) -> Option<()> {
        let mut depth = 1;
        while depth > 0 {
            let token = self.next()??.text;
            if token == open {
                depth += 1;
            } else if token == close {
                depth -= 1;
            }
        }
        Some(())
    }

    fn find(&self, from: usize, what: &str) -> Option<usize> {
        Some(from + self.text.get(from..)?.find(what)?)
    }
}

#[cfg(test)]
mod tests;
