//! `book-pages SOURCE TO`: has mdBook make pages of the text that `book` has written. `cargo xtask book` runs both.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mdbook_driver::MDBook;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let made = match &arguments[..] {
        [source, to] => make(source, to),
        _ => Err("it takes two folders: the text, and the pages".into()),
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why:#}");
            ExitCode::FAILURE
        }
    }
}

fn make(source: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    refuse_others_files(to)?;
    let mut book = MDBook::load(source).map_err(|why| format!("{}: {why:#}", source.display()))?;
    book.config.build.build_dir = std::path::absolute(to)?;
    book.build().map_err(|why| format!("mdBook: {why:#}"))?;
    println!("{}", to.join("index.html").display());
    Ok(())
}

/// Refuses a folder with files that are no book's, because mdBook replaces its contents.
fn refuse_others_files(folder: &Path) -> Result<(), String> {
    let is_empty = std::fs::read_dir(folder).map_or(true, |mut files| files.next().is_none());
    if is_empty || folder.join("toc.html").is_file() {
        return Ok(());
    }
    Err(format!("{} has files that are no book's, and they would be replaced: name an empty folder", folder.display()))
}
