//! Installs Chromium, in which the tests open pages.

use super::apt;
use crate::console::Result;

/// Installs Debian's package of the headless Chromium, if there is no Chromium in `PATH`.
///
/// # Errors
/// Returns a failure when the package cannot be installed.
pub(crate) fn install_if_missing() -> Result<()> {
    if locate::chromium::find().is_some() {
        return Ok(());
    }
    apt::install(&["chromium-headless-shell"], "Chromium (100 MB)")
}
