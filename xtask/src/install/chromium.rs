//! Chromium, in which the tests open pages.

use super::apt;
use crate::console::Result;

/// Installs Debian's package of the Chromium that has no windows, if there is no Chromium in `PATH`.
/// Fails when it cannot be installed from here.
pub(crate) fn install_if_missing() -> Result<()> {
    if locate::chromium::find().is_some() {
        return Ok(());
    }
    apt::install(&["chromium-headless-shell"], "Chromium (100 MB)")
}
