//! Any text gives a result, in linear time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::HEAD;
use super::compilers::ALL;
use ptx::{PieceKind, Source, parse, pieces};

/// Parts of PTX, for texts that get further in the parser than arbitrary characters do.
const PIECES: &str = r#".version .target .entry .func .reg .b32 .global .section .loc .file .align .ptr .v4 .branchtargets
.callprototype .attribute .pragma k %r1 %tid.x _ $L ld.global.L1::x.v4.f32 call generic WARP_SZ 0 7 0x
0f3f800000 0d1 1.5e 018 99999999999999999999 "s" " ( ) [ ] { } < > << , ; : @ ! | + - * / % = ? // /* */ . ::
é"#;

/// Returns one of the pieces, a line break, or a character without a meaning.
fn piece() -> impl Strategy<Value = &'static str> {
    let words = PIECES.split_whitespace().chain(["\n", "\0"]);
    select(words.collect::<Vec<_>>())
}

/// Checks that the parser returns a tree, or an error whose place is in the text.
fn gives_a_result(text: &str) -> Result<(), TestCaseError> {
    if let Err(error) = parse(text) {
        prop_assert!(error.at as usize <= text.len());
        let source = Source::new(text);
        prop_assert_eq!((error.line, error.column), source.line_column(error.at));
        prop_assert_eq!(&error.source_line, source.line_text(error.line));
        prop_assert!(error.to_string().starts_with("line "));
    }
    Ok(())
}

proptest! {
    #[test]
    fn arbitrary_text_gives_a_result(text in any::<String>()) {
        gives_a_result(&text)?;
        gives_a_result(&format!("{HEAD}{text}"))?;
        gives_a_result(&format!("{HEAD}.entry k() {{ {text}"))?;
    }

    #[test]
    fn arbitrary_pieces_give_a_result(pieces in prop::collection::vec(piece(), 0..40)) {
        for glue in ["", " "] {
            let text = pieces.join(glue);
            gives_a_result(&format!("{HEAD}{text}"))?;
            gives_a_result(&format!("{HEAD}.entry k() {{ {text}"))?;
            gives_a_result(&format!("{HEAD}.entry k() {{ add.s32 {text}"))?;
            gives_a_result(&format!("{HEAD}.global .u64 x = {text}"))?;
        }
    }

    #[test]
    fn mutated_modules_give_a_result(
        text in select(&ALL[..]),
        changes in prop::collection::vec((any::<Index>(), 0..5_u8, any::<Index>(), piece()), 1..6),
    ) {
        let tokens = pieces(text).into_iter().filter(|piece| !matches!(piece.kind, PieceKind::Blank | PieceKind::Comment));
        let mut tokens: Vec<&str> = tokens.map(|piece| piece.text).collect();
        for (at, change, other, piece) in changes {
            let (at, other) = (at.index(tokens.len()), other.index(tokens.len()));
            match change {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, tokens[at]),
                2 => tokens[at] = piece,
                3 => tokens.swap(at, other),
                _ => tokens.truncate(at + 1),
            }
            if tokens.is_empty() {
                break;
            }
        }
        gives_a_result(&tokens.join(" "))?;
    }

    #[test]
    fn modules_cut_anywhere_give_a_result(text in select(&ALL[..]), end in any::<Index>()) {
        let end = text.floor_char_boundary(end.index(text.len()));
        gives_a_result(&text[..end])?;
    }
}

/// Texts for which a naive lexer or parser would take quadratic time. Each has a few megabytes, and the parser must
/// return within seconds even without optimization.
#[test]
fn time_is_linear() {
    let many = 500_000;
    let mut instructions = format!("{HEAD}.entry k() {{");
    for number in 0..100_000 {
        write!(instructions, " @!%p1 add.s32 %r{number}, %r1, !{number};").unwrap();
    }
    let texts = [
        instructions,
        format!("{HEAD}.section .debug_str {{ {}", "/*".repeat(many)),
        format!("{HEAD}.section .debug_str {{ {}", "\"".repeat(many)),
        format!("{HEAD}.section .debug_str {{ {}", "{".repeat(many)),
        format!("{HEAD}{}", "/*".repeat(many)),
        format!("{HEAD}/{}", "*".repeat(many)),
        format!("{HEAD}{};", "/**/".repeat(many)),
        format!("{HEAD}.entry {}", "a.".repeat(many)),
        format!("{HEAD}.entry k() {{ {}", "a:".repeat(many)),
        format!("{HEAD}.global .b32 x = {}", "1+".repeat(many)),
        format!("{HEAD}.global .b32 x = y{}", "+1".repeat(many)),
        format!("{HEAD}.global .b32 x = {{{}", "0xFF(y),".repeat(many)),
        format!("{HEAD}.global .b32 x{}", "[]".repeat(many)),
        format!("{HEAD}.global .b32 x{}", "9".repeat(many)),
    ];
    for text in texts {
        let start_of_text = &text[..80.min(text.len())];
        let time = || {
            let start = Instant::now();
            assert!(parse(&text).is_err(), "{start_of_text}");
            start.elapsed()
        };
        // Other programs may slow down a run, but not every run.
        let is_quick = (0..3).any(|_| time() < Duration::from_secs(5));
        assert!(is_quick, "{start_of_text}");
    }
}
