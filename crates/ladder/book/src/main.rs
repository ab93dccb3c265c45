//! `book` writes the finished chapters to `docs/book/rendered`; `cargo xtask book` runs it. `book FOLDER` writes the
//! text of the site's book to a folder, for mdBook; `cargo xtask site` runs this form.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use book::{Destination, FOLDER, RENDERED, prepare};

fn main() -> ExitCode {
    match run(std::env::args_os().nth(1).map(PathBuf::from)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(site: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let site = site.map(std::path::absolute).transpose()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).ok_or("the crate is in crates/ladder/book")?;
    let destination = if site.is_some() { Destination::Site } else { Destination::Repository };
    let book = prepare(root, destination)?;

    let folder = site.as_ref().map_or_else(|| root.join(RENDERED), |folder| folder.join("src"));
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    for (name, text) in book.all_files() {
        let path = folder.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    if let Some(folder) = site {
        for name in ["book.toml", "book.css"] {
            fs::copy(format!("{FOLDER}/{name}"), folder.join(name))?;
        }
        // Documents that are chapters use these pictures. The pictures in the subfolder belong to the site's home page
        // and are not copied.
        fs::create_dir_all(folder.join("src/screenshots"))?;
        for picture in fs::read_dir("docs/screenshots")? {
            let picture = picture?;
            if picture.file_type()?.is_file() {
                fs::copy(picture.path(), folder.join("src/screenshots").join(picture.file_name()))?;
            }
        }
    }
    let (chapters, figures, commands) = (book.chapters.len() - 1, book.files.len(), book.commands);
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{chapters} chapters, {figures} figures, {commands} commands, in {seconds:.1} s");
    Ok(())
}
