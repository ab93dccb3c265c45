//! Finds Chromium, in which the tests open pages.

use std::path::PathBuf;

use crate::on_path;

/// The names under which Linux's packages have it. The first is the one without windows, which starts soonest.
const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// How to get it.
pub const REMEDY: &str = "`cargo xtask test` installs it on Debian; any Chromium or Google Chrome in PATH will do";

/// The first one in `PATH`.
#[must_use]
pub fn find() -> Option<PathBuf> {
    NAMES.iter().find_map(|name| on_path(name).into_iter().next())
}
