//! Snapshots of the output of `ladder ptx` for a small PTX file. The tests need neither a compiler nor NVIDIA's tools.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proptest::prelude::*;
use ptx::{PieceKind, pieces};
use toolkit::usage;

use super::Listing;
use super::source::Interleave;
use super::{diff, list, print, sass, stats};
use crate::output::OutputStyle;

const PTX: &str = include_str!("../../../../simt/ptx/tests/fixtures/ptx/sums.ptx");
const PTXAS: &str = include_str!("fixtures/sums.ptxas");

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ptx/fixtures")
}

fn listing() -> Listing<'static> {
    Listing::new(PTX).unwrap()
}

/// Returns the index of a function in the fixture.
fn function(name: &str) -> usize {
    let listing = listing();
    let mut functions = listing.tree.functions.iter();
    functions.position(|function| function.name == name).unwrap()
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn printed(name: &str, verbatim: bool, rust: bool) -> String {
    let listing = listing();
    let interleave = rust.then(|| Interleave::new(&[fixtures()]));
    let function = &listing.tree.functions[function(name)];
    print::function(&listing, function, verbatim, interleave)
}

#[test]
fn the_list() {
    let listing = listing();
    let list = |assembled| list::document(&list::rows(list::entries(&listing.tree), assembled));
    let assembled = list(Some(("sm_75", usage::parse(PTXAS))));
    assert_snapshot!(assembled.text(OutputStyle::default()));
    assert_snapshot!("the_list_as_json", assembled.json());
    assert_snapshot!("the_list_without_ptxas", list(None).text(OutputStyle::default()));
}

#[test]
fn one_kernel_verbatim_equals_the_text_of_the_file() {
    let text = plain(&printed("sum_64", true, false));
    assert!(PTX.contains(&text), "{text}");
    assert!(text.contains(".loc\t1 14 0 ") && text.contains("$L__tmp0:"), "{text}");
}

#[test]
fn one_kernel_in_colour() {
    assert_snapshot!(printed("sum_64", false, false).replace('\u{1b}', "␛"));
}

#[test]
fn one_kernel_with_its_rust() {
    assert_snapshot!(plain(&printed("sum_64", false, true)));
}

/// Parses a text and prints everything in it. For any text, the parser must return either a module or an error that
/// names a line of the text. It must never panic.
fn read_and_show(text: &str) {
    let listing = match Listing::new(text) {
        Ok(listing) => listing,
        Err(error) => {
            assert!((1..=text.lines().count().max(1) + 1).contains(&(error.line as usize)), "{error} in:\n{text}");
            return;
        }
    };
    for function in &listing.tree.functions {
        for verbatim in [false, true] {
            let interleave = Interleave::new(&[]);
            let _ = print::function(&listing, function, verbatim, Some(interleave));
        }
        let _ = stats::text(function);
        let _ = diff::text(&listing, function, &listing.tree.functions[0]);
    }
    let _ = list::document(&list::rows(list::entries(&listing.tree), None));
}

/// Generates a fragment of PTX.
fn piece() -> impl Strategy<Value = &'static str> {
    let words: Vec<_> =
        pieces(PTX).into_iter().filter(|piece| piece.kind != PieceKind::Blank).map(|piece| piece.text).collect();
    prop::sample::select(words)
}

proptest! {
    #[test]
    fn random_text(text in "\\PC*") {
        read_and_show(&text);
        read_and_show(&format!(".version 6.3\n.target sm_75\n{text}"));
    }

    #[test]
    fn random_pieces(pieces in prop::collection::vec((piece(), prop::sample::select(vec![" ", "\n", ""])), 0..200)) {
        let text: String = pieces.iter().flat_map(|(word, space)| [*word, *space]).collect();
        read_and_show(&text);
        read_and_show(&format!(".version 6.3\n.target sm_75\n.entry k() {{ {text} ; }}"));
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
    fn tools_may_say_anything(text in "(\\PC|\n)*", at in any::<prop::sample::Index>(), name in "[a-z]{0,3}") {
        let _ = usage::parse(&text);
        let (before, after) = PTXAS.split_at(at.index(PTXAS.len()));
        let _ = usage::parse(&format!("{before}{text}{after}"));
        let _ = sass::function(&format!(".text.{name}:\n{text}"), &name, None);
    }
}
