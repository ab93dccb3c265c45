//! Tokens to statements.

mod pieces;

use std::collections::BTreeMap;

use super::lex::{Kind, Token, significant};
use super::{Function, Instruction, Module, ParseError, Statement, Variable};
use pieces::{location, operands, words};

pub(super) fn module(text: &str) -> Result<Module, ParseError> {
    let tokens = significant(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        files: BTreeMap::new(),
    };
    let mut module = Module {
        text: text.to_owned(),
        version: None,
        target: Vec::new(),
        files: BTreeMap::new(),
        variables: Vec::new(),
        functions: Vec::new(),
    };
    // The line of the linkage directive in front of a function, which is where its text begins.
    let mut start = None;
    while let Some(token) = parser.next() {
        match token.text {
            ".version" => module.version = Some(parser.version()?),
            ".target" => module.target = words(parser.rest_of_line(token.line)),
            ".address_size" => drop(parser.number("a number of bits")?),
            ".file" => parser.file(token.line)?,
            ".loc" => drop(parser.rest_of_line(token.line)),
            ".section" => parser.section(token.line)?,
            ".visible" | ".extern" | ".weak" | ".common" => {
                start.get_or_insert(token.line);
                continue;
            }
            ".entry" | ".func" => {
                let start = start.unwrap_or(token.line);
                module
                    .functions
                    .extend(parser.function(token.text == ".entry", start)?);
            }
            ".global" | ".const" | ".shared" | ".local" => {
                module.variables.push(parser.variable(token)?);
            }
            ";" => {}
            directive if directive.starts_with('.') && token.kind == Kind::Word => {
                drop(parser.until_semicolon(token)?);
            }
            other => {
                let message =
                    format!("expected a directive such as `.visible` or `.entry`, found `{other}`");
                return Err(ParseError {
                    line: token.line,
                    message,
                });
            }
        }
        start = None;
    }
    module.files = parser.files;
    Ok(module)
}

struct Parser<'t, 'a> {
    /// White space is gone; comments are in it and are passed over.
    tokens: &'t [Token<'a>],
    at: usize,
    files: BTreeMap<u32, String>,
}

impl<'t, 'a> Parser<'t, 'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens[self.at..]
            .iter()
            .find(|token| token.kind != Kind::Comment)
            .copied()
    }

    fn next(&mut self) -> Option<Token<'a>> {
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            if token.kind != Kind::Comment {
                return Some(*token);
            }
        }
        None
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text);
        if found {
            self.next();
        }
        found
    }

    fn last_line(&self) -> usize {
        self.tokens.last().map_or(1, |token| token.line)
    }

    fn expected<T>(&self, what: &str, found: Option<Token<'_>>) -> Result<T, ParseError> {
        Err(match found {
            Some(token) => ParseError {
                line: token.line,
                message: format!("expected {what}, found `{}`", token.text),
            },
            None => ParseError {
                line: self.last_line(),
                message: format!("expected {what}, found the end of the text"),
            },
        })
    }

    fn word(&mut self, what: &str) -> Result<Token<'a>, ParseError> {
        match self.next() {
            Some(token) if token.kind == Kind::Word => Ok(token),
            other => self.expected(what, other),
        }
    }

    fn number(&mut self, what: &str) -> Result<u32, ParseError> {
        let token = self.word(what)?;
        token
            .text
            .parse()
            .or_else(|_| self.expected(what, Some(token)))
    }

    fn version(&mut self) -> Result<(u32, u32), ParseError> {
        let token = self.word("a version such as `6.4`")?;
        token
            .text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
            .map_or_else(|| self.expected("a version such as `6.4`", Some(token)), Ok)
    }

    /// The tokens left on a line, comments among them.
    fn rest_of_line(&mut self, line: usize) -> &'t [Token<'a>] {
        let rest = &self.tokens[self.at..];
        let length = rest.iter().take_while(|token| token.line == line).count();
        self.at += length;
        &rest[..length]
    }

    /// The tokens up to the `;` that ends a statement, without comments and without the `;`.
    fn until_semicolon(&mut self, first: Token<'_>) -> Result<Vec<Token<'a>>, ParseError> {
        let mut depth = 0usize;
        let mut statement = Vec::new();
        while let Some(token) = self.next() {
            match token.text {
                ";" if depth == 0 => return Ok(statement),
                "{" | "[" | "(" => depth += 1,
                "}" | "]" | ")" if depth > 0 => depth -= 1,
                "}" => break,
                _ => {}
            }
            statement.push(token);
        }
        Err(ParseError {
            line: first.line,
            message: format!("`{}` has no `;`", first.text),
        })
    }

    /// `.file 1 "path"`, after `.file`.
    fn file(&mut self, line: usize) -> Result<(), ParseError> {
        let number = self.number("a file's number")?;
        match self.next() {
            Some(token) if token.kind == Kind::String => {
                self.files
                    .insert(number, token.text.trim_matches('"').to_owned());
            }
            other => return self.expected("a file's path in quotes", other),
        }
        self.rest_of_line(line);
        Ok(())
    }

    /// `.section name { … }`, after `.section`: debug information, which nothing here reads.
    fn section(&mut self, line: usize) -> Result<(), ParseError> {
        while let Some(token) = self.next() {
            if token.text == "{" {
                return self.block(token.line);
            }
        }
        Err(ParseError {
            line,
            message: "`.section` has no `{`".to_owned(),
        })
    }

    /// To the brace that closes the one just read.
    fn block(&mut self, line: usize) -> Result<(), ParseError> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.next() {
                Some(token) if token.text == "{" => depth += 1,
                Some(token) if token.text == "}" => depth -= 1,
                Some(_) => {}
                None => {
                    return Err(ParseError {
                        line,
                        message: "this `{` is not closed".to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    fn variable(&mut self, directive: Token<'_>) -> Result<Variable, ParseError> {
        let statement = self.until_semicolon(directive)?;
        // `.shared .align 4 .b8 name[16] = {…}`: the name is the last word in front of `[`, `=` or the end.
        let name = statement
            .iter()
            .take_while(|token| !matches!(token.text, "[" | "=" | ","))
            .filter(|token| token.kind == Kind::Word && !token.text.starts_with('.'))
            .last();
        match name {
            Some(name) => Ok(Variable {
                space: directive.text.trim_start_matches('.').to_owned(),
                name: name.text.to_owned(),
                line: directive.line,
            }),
            None => {
                let message = format!("this `{}` names no variable", directive.text);
                Err(ParseError {
                    line: directive.line,
                    message,
                })
            }
        }
    }

    /// `( .param .u64 a, .param .u32 b )`, if there is one: the names.
    fn parameters(&mut self) -> Result<Vec<String>, ParseError> {
        let mut names = Vec::new();
        if !self.take("(") {
            return Ok(names);
        }
        let mut name = None;
        loop {
            let Some(token) = self.next() else {
                return self.expected("`)`", None);
            };
            match token.text {
                ")" | "," => names.extend(name.take()),
                "[" => {
                    // An array's length is not a name.
                    while !matches!(self.next().map(|token| token.text), Some("]") | None) {}
                }
                "{" | "}" | ";" => return self.expected("a parameter or `)`", Some(token)),
                word if token.kind == Kind::Word && !word.starts_with('.') => {
                    name = Some(word.to_owned());
                }
                _ => {}
            }
            if token.text == ")" {
                return Ok(names);
            }
        }
    }

    /// A function, after `.entry` or `.func`; `None` for a declaration.
    fn function(&mut self, entry: bool, start: usize) -> Result<Option<Function>, ParseError> {
        if !entry {
            // What it returns: not a parameter that a caller passes.
            self.parameters()?;
        }
        let name = self.word("a function's name")?;
        let mut function = Function {
            name: name.text.to_owned(),
            entry,
            parameters: self.parameters()?,
            directives: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
            locations: Vec::new(),
            lines: start..=start,
        };
        loop {
            match self.next() {
                Some(token) if token.text == "{" => break,
                Some(token) if token.text == ";" => return Ok(None),
                Some(token) if token.text.starts_with('.') => {
                    function.directives.push(token.text.to_owned());
                }
                Some(token) if token.text == "}" => {
                    return self.expected("`{` or `;`", Some(token));
                }
                Some(token) => match function.directives.last_mut() {
                    Some(directive) if token.text == "," => directive.push(','),
                    Some(directive) => {
                        directive.push(' ');
                        directive.push_str(token.text);
                    }
                    None => {
                        return self
                            .expected("`{`, `;` or a directive such as `.maxntid`", Some(token));
                    }
                },
                None => return self.expected(&format!("the body of `{}`", name.text), None),
            }
        }
        let end = self.body(&mut function, start)?;
        function.lines = start..=end;
        Ok(Some(function))
    }

    /// A function's statements, to its closing brace, whose line it returns.
    fn body(&mut self, function: &mut Function, start: usize) -> Result<usize, ParseError> {
        let mut depth = 1usize;
        while let Some(token) = self.next() {
            match token.text {
                "{" => depth += 1,
                "}" if depth == 1 => return Ok(token.line),
                "}" => depth -= 1,
                ";" => {}
                ".loc" => {
                    let line = self.rest_of_line(token.line);
                    function.locations.push(location(token.line, line)?);
                }
                ".file" => self.file(token.line)?,
                ".section" => self.section(token.line)?,
                ".shared" | ".global" | ".const" | ".local" | ".param" => {
                    function.variables.push(self.variable(token)?);
                }
                "@" => {
                    let negated = self.take("!");
                    let predicate = self.word("a predicate register")?;
                    let guard = format!("@{}{}", if negated { "!" } else { "" }, predicate.text);
                    let opcode = self.word("an instruction")?;
                    let instruction = self.instruction(Some(guard), opcode, function)?;
                    function.body.push(instruction);
                }
                _ if token.kind != Kind::Word => {
                    return self.expected("an instruction, a label or a directive", Some(token));
                }
                directive if directive.starts_with('.') => drop(self.until_semicolon(token)?),
                name if self.take(":") => {
                    function.body.push(Statement::Label {
                        name: name.to_owned(),
                        line: token.line,
                    });
                }
                _ => {
                    let instruction = self.instruction(None, token, function)?;
                    function.body.push(instruction);
                }
            }
        }
        let message = format!("the body of `{}` is not closed", function.name);
        Err(ParseError {
            line: start,
            message,
        })
    }

    fn instruction(
        &mut self,
        guard: Option<String>,
        opcode: Token<'a>,
        function: &Function,
    ) -> Result<Statement, ParseError> {
        let statement = self.until_semicolon(opcode)?;
        Ok(Statement::Instruction(Instruction {
            guard,
            opcode: opcode.text.to_owned(),
            operands: operands(&statement),
            line: opcode.line,
            location: function.locations.len().checked_sub(1),
        }))
    }
}
