//! Installs the linker and the emulator for programs for Linux on aarch64.

use super::apt;
use crate::console::Result;

/// The emulator.
pub(crate) const EMULATOR: &str = "qemu-aarch64";
/// The linker, invoked through the C compiler.
pub(crate) const LINKER: &str = "aarch64-linux-gnu-gcc";

/// Installs Debian's emulator and linker, unless both are in `PATH`.
///
/// # Errors
/// Returns a failure when they cannot be installed.
pub(crate) fn install_if_missing() -> Result<()> {
    if [EMULATOR, LINKER].iter().all(|program| !locate::on_path(program).is_empty()) {
        return Ok(());
    }
    apt::install(&["qemu-user", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"], "an emulator of aarch64")
}
