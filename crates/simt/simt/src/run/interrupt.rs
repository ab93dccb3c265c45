//! Interruption of all launches of this process, for example by Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Returns a flag for signal handlers. While the flag is set, all running and new launches of this process end with
/// [`FaultKind::Interrupted`](crate::FaultKind::Interrupted).
#[must_use]
pub fn interruption() -> Arc<AtomicBool> {
    Arc::clone(&INTERRUPTED)
}

/// Returns whether the flag of [`interruption`] is set.
#[must_use]
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
