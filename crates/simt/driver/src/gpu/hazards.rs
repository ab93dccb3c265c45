//! Calls that a capture forbids because they would bypass it, such as allocations.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{PerDriver, lock};
use crate::abi::platform;
use crate::gpu::state::driver;

/// The modes of captures and of threads (`CUstreamCaptureMode`).
pub(crate) const GLOBAL: u32 = 0;
pub(crate) const THREAD_LOCAL: u32 = 1;
pub(crate) const RELAXED: u32 = 2;

/// The terms of all active captures.
static TERMS: PerDriver<Mutex<Vec<Weak<Terms>>>> = PerDriver::new();
/// The modes of threads, by thread number. The default is [`GLOBAL`].
static MODES: PerDriver<Mutex<HashMap<u64, u32>>> = PerDriver::new();

/// The terms of a capture: the threads whose calls must not bypass it, and whether a call has invalidated the capture.
pub(crate) struct Terms {
    pub(crate) mode: u32,
    /// The thread that began the capture.
    pub(crate) thread: u64,
    is_valid: AtomicBool,
}

impl Terms {
    /// Creates the terms of a capture that this thread begins.
    pub(crate) fn begin(mode: u32) -> Arc<Self> {
        let terms = Arc::new(Self { mode, thread: platform::thread(), is_valid: true.into() });
        let mut all = lock(TERMS.get());
        all.retain(|terms| terms.strong_count() > 0);
        all.push(Arc::downgrade(&terms));
        terms
    }

    /// Invalidates the capture.
    pub(crate) fn invalidate(&self) {
        self.is_valid.store(false, Ordering::Relaxed);
    }

    /// Returns whether the capture is still valid.
    pub(crate) fn is_valid(&self) -> bool {
        self.is_valid.load(Ordering::Relaxed)
    }

    /// Returns whether a call by `thread`, whose mode is `mode`, would invalidate the capture.
    fn forbids(&self, thread: u64, mode: u32) -> bool {
        match (self.thread == thread, mode) {
            (_, RELAXED) => false,
            (true, _) => self.mode != RELAXED,
            (false, THREAD_LOCAL) => false,
            (false, _) => self.mode == GLOBAL,
        }
    }
}

/// Refuses a call that a capture forbids to this thread, and invalidates that capture.
pub(crate) fn check() -> Result<()> {
    let thread = platform::thread();
    let mode = lock(MODES.get()).get(&thread).copied().unwrap_or(GLOBAL);
    let mut is_forbidden = false;
    for terms in lock(TERMS.get()).iter().filter_map(Weak::upgrade).filter(|terms| terms.forbids(thread, mode)) {
        terms.invalidate();
        is_forbidden = true;
    }
    match is_forbidden {
        true => Err(Error::new(Code::STREAM_CAPTURE_UNSUPPORTED, "this call is not allowed during a stream capture")),
        false => Ok(()),
    }
}

/// Sets the mode of this thread and returns the old mode.
pub(crate) fn exchange_mode(mode: u32) -> Result<u32> {
    driver()?;
    Ok(lock(MODES.get()).insert(platform::thread(), mode).unwrap_or(GLOBAL))
}
