//! Words, numbers and punctuation (PTX ISA §4, "Syntax").

use logos::Logos;

/// What a token is; its text comes from its place.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\x0b\x0c]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*[^*]*\*+([^/*][^*]*\*+)*/")]
pub(super) enum Token {
    /// A name, an opcode with its modifiers, or a name with a selector: `%r1`, `_`, `%tid.x`,
    /// `ld.global.L1::no_allocate.f32`.
    #[regex(r"([A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+|_)((\.|::)[A-Za-z0-9_$]+)*")]
    Word,
    /// `.reg`, `.b32`, `.debug_str`
    #[regex(r"\.[A-Za-z_][A-Za-z0-9_$]*")]
    Directive,
    /// Decimal, octal, hexadecimal or binary.
    #[regex(r"([0-9]+|0[xX][0-9a-fA-F]+|0[bB][01]+)U?")]
    Integer,
    /// An f32 by its bits: `0f3f800000`.
    #[regex(r"0[fF][0-9a-fA-F]+")]
    Bits32,
    /// An f64 by its bits: `0d3ff0000000000000`.
    #[regex(r"0[dD][0-9a-fA-F]+")]
    Bits64,
    /// `1.0`, `3e-5`
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+")]
    Decimal,
    /// `"nounroll"`, quotes included. A backslash is a character like any other, as ptxas has it.
    #[regex(r#""[^"\n]*""#)]
    String,
    /// The start of a comment that has no end. (One that has is longer, and skipped.)
    #[token("/*")]
    Unclosed,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("@")]
    AtSign,
    #[token("=")]
    Assign,
    #[token("!")]
    Not,
    #[token("~")]
    Complement,
    #[token("?")]
    Question,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("<=")]
    LessEqual,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    /// The end of the text. Never made by the lexer itself.
    End,
}
