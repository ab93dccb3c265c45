//! Tokens: words, numbers and punctuation (PTX ISA §4, "Syntax").

use logos::Logos;

/// Defines the tokens. The macro's argument lists the name and the text of each sign.
macro_rules! tokens {
    ($($sign:ident $text:tt),*) => {
        /// The kind of a token. The token's range gives its text.
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
            /// A decimal, octal, hexadecimal or binary integer.
            #[regex(r"([0-9]+|0[xX][0-9a-fA-F]+|0[bB][01]+)U?")]
            Integer,
            /// The bits of an f32: `0f3f800000`.
            #[regex(r"0[fF][0-9a-fA-F]+")]
            Bits32,
            /// The bits of an f64: `0d3ff0000000000000`.
            #[regex(r"0[dD][0-9a-fA-F]+")]
            Bits64,
            /// `1.0`, `3e-5`
            #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+")]
            Decimal,
            /// `"nounroll"`, including the quotes. A backslash is an ordinary character, as in ptxas.
            #[regex(r#""[^"\n]*""#)]
            String,
            /// The start of a comment without an end. (A comment with an end is a longer match, and is skipped.)
            #[token("/*")]
            Unclosed,
            $(
                #[token($text)]
                $sign,
            )*
            /// The end of the text. The lexer itself never generates it.
            End,
        }
    };
}

tokens! {
    OpenBrace "{", CloseBrace "}", OpenParen "(", CloseParen ")", OpenBracket "[", CloseBracket "]", Comma ",",
    Semicolon ";", Colon ":", AtSign "@", Assign "=", Not "!", Complement "~", Question "?", Plus "+", Minus "-",
    Star "*", Slash "/", Percent "%", ShiftLeft "<<", ShiftRight ">>", Less "<", Greater ">", LessEqual "<=",
    GreaterEqual ">=", Equal "==", NotEqual "!=", And "&", Or "|", Xor "^", AndAnd "&&", OrOr "||"
}

/// The kind of a [`Piece`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// A name, a register, or an opcode with its modifiers.
    Word,
    /// `.reg`, `.loc`
    Directive,
    /// A number in any form.
    Number,
    /// A string, including its quotes.
    String,
    /// Punctuation, and characters that have no meaning in PTX.
    Sign,
    /// A comment, including its delimiters.
    Comment,
    /// Blanks and line breaks.
    Blank,
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The kind.
    pub kind: PieceKind,
    /// The text of the piece.
    pub text: &'a str,
}

/// Splits any text into consecutive pieces that cover the whole text. An unclosed comment extends to the end of the
/// text.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for (token, span) in Token::lexer(text).spanned() {
        push_gap(&mut pieces, &text[end..span.start]);
        let kind = match token {
            Ok(Token::Unclosed) => {
                end = span.start;
                break;
            }
            Ok(Token::Word) => PieceKind::Word,
            Ok(Token::Directive) => PieceKind::Directive,
            Ok(Token::Integer | Token::Bits32 | Token::Bits64 | Token::Decimal) => PieceKind::Number,
            Ok(Token::String) => PieceKind::String,
            Ok(_) | Err(()) => PieceKind::Sign,
        };
        end = span.end;
        pieces.push(Piece { kind, text: &text[span] });
    }
    push_gap(&mut pieces, &text[end..]);
    pieces
}

/// Appends the pieces that the lexer skips: comments and blanks.
fn push_gap<'a>(pieces: &mut Vec<Piece<'a>>, mut gap: &'a str) {
    while !gap.is_empty() {
        let (kind, length) = if gap.starts_with("//") {
            (PieceKind::Comment, gap.find('\n'))
        } else if gap.starts_with("/*") {
            (PieceKind::Comment, gap.find("*/").map(|at| at + 2))
        } else {
            (PieceKind::Blank, gap.find('/'))
        };
        let (text, rest) = gap.split_at(length.unwrap_or(gap.len()));
        pieces.push(Piece { kind, text });
        gap = rest;
    }
}
