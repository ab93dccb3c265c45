//! `book SOURCE`: writes the book's finished text into a folder, for mdBook. `cargo xtask book` runs it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use book::{FOLDER, prepare};

fn main() -> ExitCode {
    let Some(to) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("error: it takes the folder for the text");
        return ExitCode::FAILURE;
    };
    match run(&to) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(to: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let to = std::path::absolute(to)?;
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).ok_or("the crate lies in crates/ladder/book")?;
    // Where `cargo xtask playground` puts it.
    let playground = root.join("target/playground");
    let has_playground = playground.join("index.html").is_file();
    let book = prepare(root, has_playground)?;

    let pages = to.join("src");
    if pages.is_dir() {
        fs::remove_dir_all(&pages)?;
    }
    for (name, text) in book.chapters.iter().chain(&book.files) {
        let path = pages.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    fs::copy(format!("{FOLDER}/src/SUMMARY.md"), pages.join("SUMMARY.md"))?;
    for name in ["book.toml", "book.css"] {
        fs::copy(format!("{FOLDER}/{name}"), to.join(name))?;
    }
    if has_playground {
        copy(&playground, &pages.join("playground"))?;
    }
    let (chapters, figures, commands) = (book.chapters.len(), book.files.len(), book.commands);
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{chapters} chapters, {figures} figures, {commands} commands, in {seconds:.1} s");
    Ok(())
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
