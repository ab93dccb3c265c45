//! `book-pages TEXT FOLDER` renders the text that `book` wrote as pages, with mdBook. `cargo xtask site` runs both.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mdbook_driver::MDBook;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let made = match &arguments[..] {
        [source, to] => make(source, to),
        _ => Err("pass two folders: the text, and the pages".into()),
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
    let mut book = MDBook::load(source).map_err(|why| format!("{}: {why:#}", source.display()))?;
    book.config.build.build_dir = std::path::absolute(to)?;
    book.build().map_err(|why| format!("mdBook: {why:#}"))?;
    Ok(())
}
