//! Finds Chromium, which the tests use to open pages.

use std::path::PathBuf;

use crate::on_path;

/// The names of Chromium in Linux packages. The first is the headless variant, which starts fastest.
const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Instructions for installing Chromium.
pub const REMEDY: &str = "on Debian, `cargo xtask test` installs it; elsewhere, put Chromium or Google Chrome in PATH";

/// Returns the first Chromium in `PATH`.
#[must_use]
pub fn find() -> Option<PathBuf> {
    NAMES.iter().find_map(|name| on_path(name).into_iter().next())
}
