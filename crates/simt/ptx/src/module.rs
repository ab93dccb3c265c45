//! Parses module-scope directives (PTX ISA §11, "Directives").

use std::borrow::Cow;

use super::ast::{At, Function, Linkage, Module, Statement};
use super::cursor::{Cursor, Parsed};
use super::token::Token;

impl<'a> Cursor<'a> {
    /// Parses the whole text.
    pub(super) fn module(mut self) -> Parsed<Module<'a>> {
        self.version()?;
        self.target()?;
        while self.token != Token::End {
            self.item()?;
        }
        Ok(self.tree)
    }

    /// Parses `.version 7.8`.
    fn version(&mut self) -> Parsed<()> {
        if (self.token, self.word) != (Token::Directive, ".version") {
            return Err(self.expected("`.version`, with which every PTX text starts"));
        }
        self.advance()?;
        let numbers = self.word.split_once('.').filter(|_| self.token == Token::Decimal);
        let version = numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        self.tree.version = version.ok_or_else(|| self.expected("a version such as `7.8`"))?;
        self.advance()?;
        Ok(())
    }

    /// Parses `.target sm_75, debug`.
    fn target(&mut self) -> Parsed<()> {
        if (self.token, self.word) != (Token::Directive, ".target") {
            return Err(self.expected("`.target`, which follows `.version`"));
        }
        self.advance()?;
        loop {
            let (target, _) = self.name("a target such as `sm_75`")?;
            self.tree.target.push(target);
            if !self.take(Token::Comma)? {
                return Ok(());
            }
        }
    }

    /// Parses one module-scope directive.
    fn item(&mut self) -> Parsed<()> {
        const WHAT: &str = "a function, a variable or another directive";
        if self.token != Token::Directive {
            return Err(self.expected(WHAT));
        }
        match self.word {
            ".address_size" => {
                self.advance()?;
                if self.token != Token::Integer || !matches!(self.word, "32" | "64") {
                    return Err(self.expected("32 or 64"));
                }
                self.tree.address_size = self.small("32 or 64")?;
                Ok(())
            }
            ".file" => self.file(),
            ".section" => {
                self.advance()?;
                let name = self.expect(Token::Directive, "a section's name such as `.debug_str`")?;
                let body = self.raw_braces()?;
                self.tree.sections.push((name, body));
                Ok(())
            }
            ".pragma" => self.pragma(),
            ".loc" => self.loc().map(drop),
            ".alias" => {
                self.advance()?;
                let (alias, _) = self.name("the alias")?;
                self.expect(Token::Comma, "`,`")?;
                let (function, _) = self.name("the aliased function")?;
                self.expect(Token::Semicolon, "`;`")?;
                self.tree.aliases.push((alias, function));
                Ok(())
            }
            ".target" => self.target(),
            ".version" => Err(self.error(self.at, "a second `.version`")),
            _ => {
                let start = self.at;
                let linkage = self.linkage()?;
                match (self.token, self.word) {
                    (Token::Directive, ".entry" | ".func") => {
                        let function = self.function(start, linkage, Self::body)?;
                        self.tree.functions.push(function);
                        Ok(())
                    }
                    (Token::Directive, ".reg") => Err(self.error(
                        self.at,
                        "registers of the module's scope do not exist with PTX's ABI: declare them in a function",
                    )),
                    _ => {
                        let mut variables = std::mem::take(&mut self.tree.variables);
                        self.variables(linkage, WHAT, |variable| variables.push(variable))?;
                        self.tree.variables = variables;
                        Ok(())
                    }
                }
            }
        }
    }

    /// Parses `.file 1 "name.cu"[, time, size]`.
    pub(super) fn file(&mut self) -> Parsed<()> {
        self.advance()?;
        let number = self.small("a file's number")?;
        let quoted = self.expect(Token::String, "a file's name in quotes")?;
        if self.take(Token::Comma)? {
            self.expect(Token::Integer, "the file's time")?;
            self.expect(Token::Comma, "`,`")?;
            self.expect(Token::Integer, "the file's size")?;
        }
        self.tree.files.push((number, file_name(&quoted[1..quoted.len() - 1])));
        Ok(())
    }

    /// Parses `.pragma "nounroll", "…";`.
    pub(super) fn pragma(&mut self) -> Parsed<()> {
        self.advance()?;
        self.list(Token::Semicolon, "`,` or `;`", |cursor| cursor.expect(Token::String, "a pragma in quotes"))?;
        Ok(())
    }

    /// Parses `.extern`, `.visible`, `.weak`, `.common`, or nothing.
    pub(super) fn linkage(&mut self) -> Parsed<Linkage> {
        let linkage = match self.word {
            ".extern" => Linkage::Extern,
            ".visible" => Linkage::Visible,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => return Ok(Linkage::Internal),
        };
        self.advance()?;
        Ok(linkage)
    }

    /// Parses a text that consists of one function. Skips the function's statements unless `with_body` is true.
    pub(super) fn only_function(mut self, with_body: bool) -> Parsed<Function<'a>> {
        let start = self.at;
        let linkage = self.linkage()?;
        if !matches!(self.word, ".entry" | ".func") {
            return Err(self.expected("`.entry` or `.func`"));
        }
        let body = if with_body { Self::body } else { |_: &mut Self| Ok(Vec::new()) };
        self.function(start, linkage, body)
    }

    /// Parses `.entry name (params) directives { … }` or `.func (returns) name (params) directives { … }`, or either of
    /// these with `;` instead of a body.
    fn function(
        &mut self,
        start: At,
        linkage: Linkage,
        body: impl FnOnce(&mut Self) -> Parsed<Vec<Statement<'a>>>,
    ) -> Parsed<Function<'a>> {
        let entry = self.advance()? == ".entry";
        let mut directives = Vec::new();
        while self.token == Token::Directive && self.word == ".attribute" {
            directives.push(self.function_directive()?);
        }
        let returns = if !entry && self.token == Token::OpenParen { self.parameters()? } else { Vec::new() };
        let (name, at) = self.name(if entry { "the entry's name" } else { "the function's name" })?;
        let params = if self.token == Token::OpenParen { self.parameters()? } else { Vec::new() };
        let body = loop {
            match self.token {
                Token::OpenBrace => break Some(body(self)?),
                Token::Semicolon => {
                    self.advance()?;
                    break None;
                }
                Token::Directive if self.word == ".pragma" => self.pragma()?,
                Token::Directive if !DECLARATIONS.contains(&self.word) => {
                    directives.push(self.function_directive()?);
                }
                _ => return Err(self.expected("`{`, `;` or a directive such as `.maxntid`")),
            }
        };
        Ok(Function { linkage, entry, name, at, span: self.since(start), returns, params, directives, body })
    }

    /// Parses `.maxntid 128, 1, 1`, `.noreturn` or `.attribute(.unified(1, 2))`. For `.attribute`, only the name is
    /// recorded.
    fn function_directive(&mut self) -> Parsed<(&'a str, Vec<u64>)> {
        let name = &self.word[1..];
        if name == "attribute" {
            self.attribute()?;
            return Ok((name, Vec::new()));
        }
        self.advance()?;
        let mut numbers = Vec::new();
        if self.token == Token::Integer {
            numbers.push(self.integer("a number")?);
            while self.take(Token::Comma)? {
                numbers.push(self.integer("a number")?);
            }
        }
        Ok((name, numbers))
    }
}

/// Directives that begin a declaration, and therefore cannot be part of a function's head.
const DECLARATIONS: [&str; 16] = [
    ".reg", ".param", ".const", ".global", ".local", ".shared", ".tex", ".entry", ".func", ".visible", ".extern",
    ".weak", ".common", ".loc", ".section", ".file",
];

/// Decodes the name of a file. Compilers write non-ASCII bytes as octal numbers, because drivers accept only ASCII.
fn file_name(text: &str) -> Cow<'_, str> {
    let mut parts = text.split('\\');
    let mut name = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|byte| !byte.is_ascii()) {
            Some(byte) => {
                name.push(byte);
                name.extend(&part.as_bytes()[3..]);
            }
            None => {
                name.push(b'\\');
                name.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8(name).map_or(Cow::Borrowed(text), Cow::Owned)
}
