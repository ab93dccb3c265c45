//! A watcher of the program's launches, which a dependent crate provides.

use std::sync::OnceLock;

use simt::{Launch, Simulator};
use simt_check::{Checks, Sanitized};

use crate::abi::handles::is_private;

/// Watches the launches of the driver that the program's calls reach, but not those of a
/// [`Simulation`](crate::Simulation).
pub trait Watcher: Send + Sync {
    /// Runs a launch with these sanitizers, instead of the driver. The driver reports the findings.
    fn launch(&self, simulator: &mut Simulator, launch: &Launch<'_>, checks: Checks) -> Sanitized<()>;

    /// Receives a message that the driver writes.
    fn message(&self, text: &str);
}

static WATCHER: OnceLock<Box<dyn Watcher>> = OnceLock::new();

/// Lets this watcher run all later launches. Only the first call has an effect.
pub fn watch(watcher: Box<dyn Watcher>) {
    let _ = WATCHER.set(watcher);
}

/// Returns the watcher of the driver that this thread's calls reach, if there is one.
pub(crate) fn watcher() -> Option<&'static dyn Watcher> {
    WATCHER.get().filter(|_| !is_private()).map(|watcher| &**watcher)
}
