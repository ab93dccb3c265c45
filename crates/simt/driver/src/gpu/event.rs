//! Events: marks in streams, each with the time at which the stream reached it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Result};
use crate::abi::handles::{Handle, Handles, lock};
use crate::gpu::context::{self, Context};
use crate::gpu::state::driver;

static EVENTS: Handles<Event> = Handles::new();

/// `CU_EVENT_DISABLE_TIMING` and `CU_EVENT_INTERPROCESS`.
const WITHOUT_TIME: u32 = 2;
const BETWEEN_PROCESSES: u32 = 4;
/// All flags that an event may be created with.
const FLAGS: u32 = 7;

/// An event.
pub(crate) struct Event {
    pub(crate) handle: Handle,
    pub(crate) context: Handle,
    flags: u32,
    /// The number of the operation that last recorded the event; 0 before the first record.
    recorded: AtomicU64,
    /// The time at which the event was reached.
    pub(crate) time: Mutex<Option<Instant>>,
    /// The number of the capture in which the event was last recorded; 0 if it was recorded outside a capture.
    pub(crate) capture: AtomicU64,
}

impl Event {
    /// Marks the event as reached now.
    pub(crate) fn reach(&self) {
        *lock(&self.time) = Some(Instant::now());
    }

    /// Sets the operation that records the event.
    pub(crate) fn record(&self, number: u64) {
        self.recorded.store(number, Ordering::Relaxed);
        self.capture.store(0, Ordering::Relaxed);
    }

    /// Returns the number of the operation that last recorded the event; 0 before the first record.
    pub(crate) fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Returns whether the event measures time.
    pub(crate) fn has_time(&self) -> bool {
        self.flags & WITHOUT_TIME == 0
    }

    /// Returns an error when the event's context is destroyed, or ended by an error.
    pub(crate) fn check(&self) -> Result<()> {
        match Context::of(self.context) {
            Ok(context) => context.check(),
            Err(_) => Err(Code::CONTEXT_IS_DESTROYED.into()),
        }
    }
}

/// Returns the event with this handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Event>> {
    driver()?;
    EVENTS.get(handle)
}

/// Destroys the events of a context. Using their handles afterwards returns an error.
pub(crate) fn remove_all(context: Handle) {
    if Context::of(context).is_ok_and(|context| context.is_primary) {
        EVENTS.remove_where(|event| event.context == context);
    }
}

functions! {
    fn cuEventCreate(event: Out<Handle>, flags: u32) {
        event.check()?;
        let context = context::current()?;
        if flags & !FLAGS != 0 || flags & (BETWEEN_PROCESSES | WITHOUT_TIME) == BETWEEN_PROCESSES {
            return Err(Code::INVALID_VALUE.into());
        }
        let created = EVENTS.add(|handle| Event {
            handle,
            context: context.handle,
            flags,
            recorded: 0.into(),
            time: Mutex::default(),
            capture: 0.into(),
        });
        event.set(created.handle)
    }

    fn cuEventDestroy_v2 | cuEventDestroy(event: Handle) {
        driver()?;
        EVENTS.remove(event).map(drop)
    }
}
