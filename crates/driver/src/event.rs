//! Events: marks in streams, with the time at which they were reached.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::call::{Out, functions};
use crate::context;
use crate::error::{Code, Result};
use crate::handles::{Handle, Handles, lock};
use crate::op::Op;
use crate::state::driver;
use crate::stream::{self, Stream};

static EVENTS: Handles<Event> = Handles::new();

/// `CU_EVENT_DISABLE_TIMING`.
const WITHOUT_TIME: u32 = 2;
/// All flags that an event may be created with.
const FLAGS: u32 = 7;

/// An event.
pub(crate) struct Event {
    pub(crate) handle: Handle,
    context: Handle,
    flags: u32,
    /// The number of the operation that records it; 0 as long as there is none.
    recorded: AtomicU64,
    /// When it was reached.
    time: Mutex<Option<Instant>>,
}

impl Event {
    /// Marks that it is reached now.
    pub(crate) fn reach(&self) {
        *lock(&self.time) = Some(Instant::now());
    }

    fn is_reached(&self) -> Result<bool> {
        Ok(driver()?.queue.is_done(self.recorded.load(Ordering::Relaxed)))
    }
}

/// The event of a handle.
pub(crate) fn get(handle: Handle) -> Result<std::sync::Arc<Event>> {
    driver()?;
    EVENTS.get(handle)
}

/// Destroys the events of a context.
pub(crate) fn remove_all(context: Handle) {
    EVENTS.remove_where(|own| own.context == context);
}

fn record(event: Handle, stream: Handle) -> Result<()> {
    let event = get(event)?;
    stream::enqueue(stream, Op::Record(event.clone()))?;
    let last = Stream::of(stream)?.0.last_number();
    event.recorded.store(last, Ordering::Relaxed);
    Ok(())
}

fn elapsed(milliseconds: Out<f32>, start: Handle, end: Handle) -> Result<()> {
    milliseconds.check()?;
    let (start, end) = (get(start)?, get(end)?);
    if start.flags & WITHOUT_TIME != 0 || end.flags & WITHOUT_TIME != 0 {
        return Err(Code::INVALID_HANDLE.into());
    }
    if start.recorded.load(Ordering::Relaxed) == 0 || end.recorded.load(Ordering::Relaxed) == 0 {
        return Err(Code::INVALID_HANDLE.into());
    }
    if !start.is_reached()? || !end.is_reached()? {
        return Err(Code::NOT_READY.into());
    }
    let (start, end) = (*lock(&start.time), *lock(&end.time));
    let (start, end) = (start.ok_or(Code::NOT_READY)?, end.ok_or(Code::NOT_READY)?);
    let forwards = end.saturating_duration_since(start).as_secs_f32();
    let backwards = start.saturating_duration_since(end).as_secs_f32();
    milliseconds.set((forwards - backwards) * 1e3)
}

functions! {
    fn cuEventCreate(event: Out<Handle>, flags: u32) {
        event.check()?;
        let context = context::current()?;
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let made = EVENTS.add(|handle| Event {
            handle,
            context: context.handle,
            flags,
            recorded: 0.into(),
            time: Mutex::default(),
        });
        event.set(made.handle)
    }

    fn cuEventDestroy_v2 | cuEventDestroy(event: Handle) {
        driver()?;
        EVENTS.remove(event).map(drop)
    }

    fn cuEventRecord(event: Handle, stream: Handle) {
        record(event, stream)
    }

    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) {
        if flags > 1 {
            return Err(Code::INVALID_VALUE.into());
        }
        record(event, stream)
    }

    fn cuEventQuery(event: Handle) {
        context::current()?;
        match get(event)?.is_reached()? {
            true => Ok(()),
            false => Err(Code::NOT_READY.into()),
        }
    }

    fn cuEventSynchronize(event: Handle) {
        let event = get(event)?;
        driver()?.queue.wait(event.recorded.load(Ordering::Relaxed));
        crate::memory::print_printed();
        context::current().map(drop)
    }

    fn cuEventElapsedTime_v2 | cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        elapsed(milliseconds, start, end)
    }

    fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) {
        let event = get(event)?;
        stream::enqueue(stream, Op::Wait(event))
    }
}
