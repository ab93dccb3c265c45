//! The book as it stands: every directive resolves, every command runs, no link is dead, and no measured number stands
//! there by itself.

#![allow(clippy::unwrap_used)]

use std::env;
use std::path::Path;

use book::{Recorded, prepare};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

#[test]
fn the_book_is_whole() {
    let book = prepare(root(), false).unwrap_or_else(|faults| panic!("the book has faults:\n{faults}"));
    assert!(book.commands > 0 && !book.files.is_empty());
    for (name, text) in &book.chapters {
        assert!(text.trim_start().starts_with("# "), "{name} has no title");
    }
}

/// Where the tools are those that made a record. `UPDATE_RECORDED=1` makes them anew with the tools that there are.
#[test]
fn what_was_recorded_is_what_the_tools_say() {
    env::set_current_dir(root()).unwrap();
    for recorded in Recorded::all().unwrap() {
        let Some(now) = recorded.again().unwrap() else { return };
        if env::var_os("UPDATE_RECORDED").is_some() {
            now.write().unwrap();
        } else if now.made_by == recorded.made_by {
            let how = "`UPDATE_RECORDED=1 cargo test -p book` writes it anew";
            assert_eq!(now.printed, recorded.printed, "{}: {how}", recorded.path);
        }
    }
}
