//! The end of all launches of this process, which a person asks for with Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// A flag that ends all launches of this process while it is set, those that are running and those that begin, with
/// [`FaultKind::Interrupted`](crate::FaultKind::Interrupted). Handlers of signals set it.
#[must_use]
pub fn interruption() -> Arc<AtomicBool> {
    Arc::clone(&INTERRUPTED)
}

/// Whether [`interruption`] is set.
#[must_use]
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
