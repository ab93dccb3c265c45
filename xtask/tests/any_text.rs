//! Any text gives a module or an error with a line of that text, never a panic; and what a module gives can
//! be shown.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use toolkit::usage;
use xtask::ptx::{Kind, Module, tokens};
use xtask::show::source::Sources;
use xtask::show::{diff, list, print, sass, stats};

const PTX: &str = include_str!("fixtures/sums.ptx");
const PTXAS: &str = include_str!("fixtures/sums.ptxas");

/// Reads a text and shows all that is in it.
fn read_and_show(text: &str) {
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(error) => {
            assert!(
                (1..=text.lines().count().max(1) + 1).contains(&error.line),
                "{error} in:\n{text}"
            );
            return;
        }
    };
    let mut sources = Sources::new(Vec::new());
    for function in &module.functions {
        for verbatim in [false, true] {
            let _ = print::function(
                &module,
                function,
                print::Options { verbatim },
                Some(&mut sources),
            );
        }
        let _ = stats::text(function);
        let _ = diff::text(
            &module,
            function,
            &module.functions[0],
            diff::Layout::SideBySide(90),
        );
    }
    let _ = list::text(&list::rows(&module, None));
}

/// Pieces that PTX is made of.
fn piece() -> impl Strategy<Value = &'static str> {
    let words: Vec<_> = tokens(PTX)
        .filter(|token| token.kind != Kind::Space)
        .map(|token| token.text)
        .collect();
    prop::sample::select(words)
}

proptest! {
    #[test]
    fn random_text(text in "\\PC*") {
        read_and_show(&text);
    }

    #[test]
    fn random_pieces(pieces in prop::collection::vec((piece(), prop::sample::select(vec![" ", "\n", ""])), 0..200)) {
        let text: String = pieces.iter().flat_map(|(word, space)| [*word, *space]).collect();
        read_and_show(&text);
    }

    #[test]
    fn changed_ptx(cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..30, piece()), 1..6)) {
        let mut characters: Vec<char> = PTX.chars().collect();
        for (at, length, inserted) in cuts {
            let at = at.index(characters.len());
            let end = (at + length).min(characters.len());
            characters.splice(at..end, inserted.chars());
        }
        read_and_show(&characters.into_iter().collect::<String>());
    }

    #[test]
    fn tokens_put_together_are_the_text(text in "(\\PC|[ \n\t/*\".:%$])*") {
        prop_assert_eq!(tokens(&text).map(|token| token.text).collect::<String>(), text);
    }

    #[test]
    fn tools_may_say_anything(text in "(\\PC|\n)*", at in any::<prop::sample::Index>(), name in "[a-z]{0,3}") {
        let _ = usage::parse(&text);
        let (before, after) = PTXAS.split_at(at.index(PTXAS.len()));
        let _ = usage::parse(&format!("{before}{text}{after}"));
        let _ = sass::function(&format!(".text.{name}:\n{text}"), &name, None);
    }
}
