//! `cargo xtask site`: builds the book's pages, the playground and a first page, as a folder of static files.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::console::{Failure, Result, status};
use crate::process::{cargo, from_root, root, run_program, run_showing_output, target_folder};
use crate::{install, playground};

/// Builds the site into a folder, by default `site` in the target folder.
///
/// # Errors
/// Returns a failure when the folder contains anything but an earlier site, because no other files are overwritten.
pub(crate) fn build(folder: Option<&Path>, is_for_tests: bool) -> Result<ExitCode> {
    install::device()?;
    let target = target_folder();
    let folder = folder.map_or_else(|| target.join("site"), Path::to_owned);
    let create = |path: &Path| std::fs::create_dir_all(path).map_err(|error| Failure::file("create", path, &error));
    let is_other = std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_other && !folder.join("playground").is_dir() {
        return Err(Failure::request(format!("{} has other files, which the site would replace", folder.display()))
            .help("choose a folder that is empty or does not exist: `cargo xtask site FOLDER`"));
    }
    create(&folder)?;
    playground::build(Some(&folder.join("playground")), is_for_tests)?;

    let text = target.join("book-text").into_os_string();
    let written = run_program("book", "dev", std::slice::from_ref(&text))?;
    if written != ExitCode::SUCCESS {
        return Ok(written);
    }
    // mdBook is compiled in a separate run, because its features of shared crates would recompile those crates.
    let pages: [OsString; 2] = [text, folder.join("book").into()];
    run_showing_output(
        cargo()
            .args(["run", "--package", "book-pages", "--features", "mdbook", "--manifest-path"])
            .arg(root().join("Cargo.toml"))
            .arg("--")
            .args(pages),
    )?;

    let first = root().join("crates/ladder/book/pages/www/index.html");
    std::fs::copy(&first, folder.join("index.html")).map_err(|error| Failure::file("copy", &first, &error))?;
    status("Ready", from_root(&folder.join("index.html")));
    Ok(ExitCode::SUCCESS)
}
