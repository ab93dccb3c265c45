//! Parses the bodies of functions.

use super::ast::{At, Guard, Instruction, Loc, Span, Statement, Variable};
use super::cursor::{Cursor, Parsed};
use super::token::Token;

impl<'a> Cursor<'a> {
    /// Parses `{ … }`.
    pub(super) fn body(&mut self) -> Parsed<Vec<Statement<'a>>> {
        self.nested(|cursor| {
            let opened = cursor.at;
            cursor.expect(Token::OpenBrace, "`{`")?;
            let mut statements = Vec::new();
            while !cursor.take(Token::CloseBrace)? {
                if cursor.token == Token::End {
                    return Err(cursor.error(opened, "this `{` is never closed"));
                }
                cursor.statement(&mut statements)?;
            }
            Ok(statements)
        })
    }

    fn statement(&mut self, out: &mut Vec<Statement<'a>>) -> Parsed<()> {
        match self.token {
            Token::OpenBrace => out.push(Statement::Scope(self.body()?)),
            Token::Word => {
                let (word, at) = (self.word, self.at);
                self.advance()?;
                if self.token == Token::Colon {
                    out.push(self.label(word, at)?);
                } else {
                    let instruction = self.instruction(at, None, word, at)?;
                    out.push(Statement::Instruction(instruction));
                }
            }
            Token::AtSign => {
                let start = self.at;
                self.advance()?;
                let negated = self.take(Token::Not)?;
                let (register, _) = self.name("a predicate register")?;
                let guard = Some(Guard { register, negated });
                let at = self.at;
                let opcode = self.expect(Token::Word, "an instruction")?;
                let instruction = self.instruction(start, guard, opcode, at)?;
                out.push(Statement::Instruction(instruction));
            }
            Token::Directive => self.directive(out)?,
            _ => return Err(self.expected("an instruction, a label, a directive or `}`")),
        }
        Ok(())
    }

    /// Parses the rest of the statement that begins with a label's name.
    fn label(&mut self, label: &'a str, at: At) -> Parsed<Statement<'a>> {
        if label.contains(['.', ':']) {
            return Err(self.error(at, format!("`{label}` is not a label: labels cannot contain dots or colons")));
        }
        self.expect(Token::Colon, "`:`")?;
        Ok(match self.word {
            ".branchtargets" => Statement::BranchTargets { label, targets: self.targets("a label")?, at },
            ".calltargets" => Statement::CallTargets { label, targets: self.targets("a function's name")?, at },
            ".callprototype" => {
                let (returns, params) = self.prototype()?;
                Statement::CallPrototype { label, returns, params, at }
            }
            _ => Statement::Label { name: label, at },
        })
    }

    /// Parses `a, b, c;`.
    fn targets(&mut self, what: &str) -> Parsed<Vec<&'a str>> {
        self.advance()?;
        self.list(Token::Semicolon, "`,` or `;`", |cursor| Ok(cursor.name(what)?.0))
    }

    /// Parses `(.param .b32 _) _ (.param .b64 _) .noreturn;`, and returns the return parameters and the parameters.
    fn prototype(&mut self) -> Parsed<(Vec<Variable<'a>>, Vec<Variable<'a>>)> {
        self.advance()?;
        let mut lists = [Vec::new(), Vec::new()];
        for (at, list) in lists.iter_mut().enumerate() {
            if self.token == Token::OpenParen {
                *list = self.parameters()?;
            }
            if at == 0 {
                self.name("`_`, a prototype's name")?;
            }
        }
        while self.take(Token::Directive)? {
            self.take(Token::Integer)?;
        }
        self.expect(Token::Semicolon, "`;`")?;
        let [returns, params] = lists;
        Ok((returns, params))
    }

    fn directive(&mut self, out: &mut Vec<Statement<'a>>) -> Parsed<()> {
        match self.word {
            ".loc" => out.push(Statement::Loc(self.loc()?)),
            ".reg" => {
                let at = self.at;
                let (ty, vector) = self.register_type()?;
                let names = self.list(Token::Semicolon, "`,`, `;` or `<`", |cursor| {
                    let (name, _) = cursor.name("a register's name")?;
                    let mut count = None;
                    if cursor.take(Token::Less)? {
                        count = Some(cursor.small("the number of registers")?);
                        cursor.expect(Token::Greater, "`>`")?;
                    }
                    Ok((name, count))
                })?;
                out.push(Statement::Registers { ty, vector, names, at });
            }
            ".pragma" => {
                self.pragma()?;
                out.push(Statement::Ignored);
            }
            ".file" => {
                self.file()?;
                out.push(Statement::Ignored);
            }
            _ => {
                let linkage = self.linkage()?;
                self.variables(linkage, "a declaration, `.loc` or `.pragma`", |variable| {
                    out.push(Statement::Variable(variable));
                })?;
            }
        }
        Ok(())
    }

    /// Parses `.loc 1 5 9[, function_name $L__info_string0[+4], inlined_at 1 20 3]`.
    pub(super) fn loc(&mut self) -> Parsed<Loc> {
        let at = self.at;
        self.advance()?;
        let (file, line, column) = self.place()?;
        let mut function_name = None;
        let mut inlined_at = None;
        while self.take(Token::Comma)? {
            match self.word {
                "function_name" => {
                    self.advance()?;
                    let start = self.at;
                    if !self.take(Token::Directive)? {
                        self.name("a label of the strings' section")?;
                    }
                    self.offset()?;
                    function_name = Some(Span { start, end: self.at });
                }
                "inlined_at" => {
                    self.advance()?;
                    inlined_at = Some(self.place()?);
                }
                _ => return Err(self.expected("`function_name` or `inlined_at`")),
            }
        }
        Ok(Loc { at, file, line, column, function_name, inlined_at })
    }

    /// Parses file, line and column.
    fn place(&mut self) -> Parsed<(u32, u32, u32)> {
        Ok((self.small("a file's number")?, self.small("a line")?, self.small("a column")?))
    }

    /// Parses the operands after the opcode.
    fn instruction(&mut self, start: At, guard: Option<Guard<'a>>, opcode: &'a str, at: At) -> Parsed<Instruction<'a>> {
        if !opcode.as_bytes()[0].is_ascii_alphabetic() {
            return Err(self.error(at, format!("expected an instruction or a label, found `{opcode}`")));
        }
        let call = opcode == "call" || opcode.starts_with("call.");
        let operands = if self.take(Token::Semicolon)? {
            Vec::new()
        } else {
            self.list(Token::Semicolon, "`,` or `;`", |cursor| cursor.operand(call))?
        };
        Ok(Instruction { guard, opcode, at, span: self.since(start), operands })
    }
}
