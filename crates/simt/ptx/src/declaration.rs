//! Variables, parameters and their initializers (PTX ISA §5.4).

use super::ast::{At, Init, Linkage, Number, Space, Variable};
use super::cursor::{Cursor, Parsed};
use super::token::Token;

/// The part of a declaration before a variable's name.
struct Head<'a> {
    linkage: Linkage,
    space: Space,
    align: Option<u32>,
    ty: &'a str,
    vector: u32,
    is_managed: bool,
    is_pointer: bool,
}

impl<'a> Cursor<'a> {
    /// Parses `.shared .align 4 .b8 a[512], b = 1;`, and passes each variable to `push`. `what` is the expected item
    /// for the error message if there is no state space.
    pub(super) fn variables(&mut self, linkage: Linkage, what: &str, mut push: impl FnMut(Variable<'a>)) -> Parsed<()> {
        let head = self.head(linkage, what)?;
        loop {
            let (name, at) = self.name("a variable's name")?;
            push(self.variable(&head, name, at)?);
            if self.take(Token::Semicolon)? {
                return Ok(());
            }
            self.expect(Token::Comma, "`,`, `;`, `=` or `[`")?;
        }
    }

    /// Parses `(.param .u64 a, .param .align 8 .b8 b[16])`, possibly empty.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable<'a>>> {
        self.expect(Token::OpenParen, "`(`")?;
        if self.take(Token::CloseParen)? {
            return Ok(Vec::new());
        }
        self.list(Token::CloseParen, "`,` or `)`", |cursor| {
            let head = cursor.head(Linkage::Internal, "`.param` or `.reg`")?;
            let (name, at) = cursor.name("a parameter's name")?;
            Ok(Variable { comment: cursor.comment_after(at), ..cursor.variable(&head, name, at)? })
        })
    }

    /// Parses `.reg .v4 .f32`, and returns the type and the number of its elements.
    pub(super) fn register_type(&mut self) -> Parsed<(&'a str, u32)> {
        let head = self.head(Linkage::Internal, "`.reg`")?;
        Ok((head.ty, head.vector))
    }

    /// Parses `.attribute(.managed)`, and returns whether `.managed` is among the attributes.
    pub(super) fn attribute(&mut self) -> Parsed<bool> {
        let mut is_managed = false;
        self.advance()?;
        self.expect(Token::OpenParen, "`(`")?;
        self.list(Token::CloseParen, "`,` or `)`", |cursor| {
            is_managed |= cursor.word == ".managed";
            cursor.expect(Token::Directive, "an attribute such as `.managed`")?;
            if cursor.take(Token::OpenParen)? {
                cursor.list(Token::CloseParen, "`,` or `)`", |cursor| cursor.integer("a number"))?;
            }
            Ok(())
        })?;
        Ok(is_managed)
    }

    /// Parses the part of a declaration before the name.
    fn head(&mut self, linkage: Linkage, what: &str) -> Parsed<Head<'a>> {
        let space = self.word.strip_prefix('.').and_then(Space::named);
        let space = space.ok_or_else(|| self.expected(what))?;
        self.advance()?;
        let mut head = Head { linkage, space, align: None, ty: "", vector: 1, is_managed: false, is_pointer: false };
        while self.token == Token::Directive {
            match self.word {
                ".attribute" => head.is_managed |= self.attribute()?,
                ".align" if head.ty.is_empty() || head.is_pointer => {
                    self.advance()?;
                    let at = self.at;
                    let align = self.small("an alignment in bytes")?;
                    if !align.is_power_of_two() {
                        return Err(self.error(at, format!("an alignment of {align} is not a power of two")));
                    }
                    // After `.ptr`, `.align` is the alignment of the memory that the parameter points to.
                    head.align = if head.is_pointer { head.align } else { Some(align) };
                }
                ".v2" | ".v4" | ".v8" if head.ty.is_empty() => {
                    head.vector = u32::from(self.advance()?.as_bytes()[2] - b'0');
                }
                ".ptr" if !head.ty.is_empty() => {
                    head.is_pointer = true;
                    self.advance()?;
                }
                ".const" | ".global" | ".local" | ".shared" if head.is_pointer => {
                    self.advance()?;
                }
                word if head.ty.is_empty() && TYPES.contains(&&word[1..]) => {
                    head.ty = &word[1..];
                    self.advance()?;
                }
                _ if head.ty.is_empty() => return Err(self.expected("a type such as `.b32`")),
                _ => return Err(self.expected("a name")),
            }
        }
        if head.ty.is_empty() {
            return Err(self.expected("a type such as `.b32`"));
        }
        Ok(head)
    }

    /// Parses the part of a declaration after the name.
    fn variable(&mut self, head: &Head<'a>, name: &'a str, at: At) -> Parsed<Variable<'a>> {
        let mut dims = Vec::new();
        while self.take(Token::OpenBracket)? {
            dims.push(match self.token {
                Token::CloseBracket => None,
                _ => Some(self.integer("the number of elements")?),
            });
            self.expect(Token::CloseBracket, "`]`")?;
        }
        let init = if self.take(Token::Assign)? { Some(self.init()?) } else { None };
        let &Head { linkage, space, align, ty, vector, is_managed, is_pointer } = head;
        Ok(Variable { linkage, space, align, ty, vector, name, at, dims, init, is_managed, is_pointer, comment: "" })
    }

    fn init(&mut self) -> Parsed<Init<'a>> {
        match self.token {
            Token::OpenBrace => self.nested(|cursor| {
                cursor.advance()?;
                if cursor.take(Token::CloseBrace)? {
                    return Ok(Init::List(Vec::new()));
                }
                Ok(Init::List(cursor.list(Token::CloseBrace, "`,` or `}`", Self::init)?))
            }),
            Token::Word if self.word != "WARP_SZ" => self.init_address(),
            _ => {
                let at = self.at;
                let number = self.number("a number, an address or `{`")?;
                if self.token != Token::OpenParen {
                    return Ok(Init::Number(number));
                }
                let Number::Integer(mask) = number else {
                    return Err(self.error(at, "a mask must be an integer such as `0xFF00`"));
                };
                self.nested(|cursor| {
                    cursor.advance()?;
                    let of = Box::new(cursor.init()?);
                    cursor.expect(Token::CloseParen, "`)`")?;
                    Ok(Init::Mask { mask, of })
                })
            }
        }
    }

    /// Parses `name`, `name+8` or `generic(name)+8`.
    fn init_address(&mut self) -> Parsed<Init<'a>> {
        let (mut name, _) = self.name("a variable's or a function's name")?;
        let generic = name == "generic" && self.take(Token::OpenParen)?;
        if generic {
            name = self.name("a variable's or a function's name")?.0;
            self.expect(Token::CloseParen, "`)`")?;
        }
        Ok(Init::Address { name, offset: self.offset()?, generic })
    }
}

/// The types of variables (PTX ISA §5.2 and §5.3).
const TYPES: [&str; 24] = [
    "pred",
    "b8",
    "b16",
    "b32",
    "b64",
    "b128",
    "u8",
    "u16",
    "u32",
    "u64",
    "s8",
    "s16",
    "s32",
    "s64",
    "f16",
    "f16x2",
    "f32",
    "f64",
    "bf16",
    "bf16x2",
    "tf32",
    "texref",
    "samplerref",
    "surfref",
];
