//! Events: marks in streams, with the time at which they were reached.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, lock};
use crate::gpu::capture::events::{self as capture, Mark};
use crate::gpu::context::{self, Context};
use crate::gpu::op::Op;
use crate::gpu::state::driver;
use crate::gpu::stream::{self, Stream};

static EVENTS: Handles<Event> = Handles::new();

/// `CU_EVENT_DISABLE_TIMING` and `CU_EVENT_INTERPROCESS`.
const WITHOUT_TIME: u32 = 2;
const BETWEEN_PROCESSES: u32 = 4;
/// All flags that an event may be created with.
const FLAGS: u32 = 7;
/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL`.
const EXTERNAL: u32 = 1;

/// An event.
pub(crate) struct Event {
    pub(crate) handle: Handle,
    context: Handle,
    flags: u32,
    /// The number of the operation that records it; 0 as long as there is none.
    recorded: AtomicU64,
    /// When it was reached.
    time: Mutex<Option<Instant>>,
    /// Where in a capture it was recorded, if that was the last time.
    pub(crate) mark: Mutex<Option<Mark>>,
}

impl Event {
    /// Marks that it is reached now.
    pub(crate) fn reach(&self) {
        *lock(&self.time) = Some(Instant::now());
    }

    /// Says which operation records it.
    pub(crate) fn record(&self, number: u64) {
        self.recorded.store(number, Ordering::Relaxed);
        *lock(&self.mark) = None;
    }

    /// The number of the operation that recorded it last; 0 as long as there is none.
    pub(crate) fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Whether it measures time.
    pub(crate) fn has_time(&self) -> bool {
        self.flags & WITHOUT_TIME == 0
    }

    fn is_reached(&self) -> Result<bool> {
        Ok(driver()?.queue.is_done(self.recorded()))
    }

    /// Refuses an event of a context that is destroyed or that an error has ended.
    fn check(&self) -> Result<()> {
        match Context::of(self.context) {
            Ok(context) => context.check(),
            Err(_) => Err(Code::CONTEXT_IS_DESTROYED.into()),
        }
    }
}

/// The event of a handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Event>> {
    driver()?;
    EVENTS.get(handle)
}

/// Destroys the events of a context. Their handles stay known, and are refused.
pub(crate) fn remove_all(context: Handle) {
    if Context::of(context).is_ok_and(|context| context.is_primary()) {
        EVENTS.remove_where(|own| own.context == context);
    }
}

fn record(event: Handle, stream: Handle, flags: u32) -> Result<()> {
    let event = get(event)?;
    let (on, _) = Stream::of(stream)?;
    if flags > EXTERNAL {
        return Err(Code::INVALID_VALUE.into());
    }
    if on.context != event.context {
        return Err(Error::new(Code::INVALID_HANDLE, "an event and a stream of different contexts"));
    }
    if capture::record(&on, &event, flags == EXTERNAL)? {
        return Ok(());
    }
    match flags {
        EXTERNAL => Err(Code::ILLEGAL_STATE.into()),
        _ => stream::enqueue(stream, Op::Record(event)),
    }
}

/// Records an event behind a launch.
pub(crate) fn record_behind(event: Handle, stream: Handle) -> Result<()> {
    record(event, stream, 0)
}

fn elapsed(milliseconds: Out<f32>, start: Handle, end: Handle) -> Result<()> {
    let (start, end) = (get(start)?, get(end)?);
    [&start, &end].into_iter().try_for_each(|own| capture::check_elapsed(own))?;
    let is_known = |own: &Event| own.has_time() && own.recorded() != 0;
    if !is_known(&start) || !is_known(&end) || start.context != end.context {
        return Err(Code::INVALID_HANDLE.into());
    }
    milliseconds.check()?;
    if !start.is_reached()? || !end.is_reached()? {
        return Err(Code::NOT_READY.into());
    }
    start.check()?;
    // One after the other: they may be the same event.
    let time = |own: &Event| lock(&own.time).ok_or(Code::NOT_READY);
    let (start, end) = (time(&start)?, time(&end)?);
    let forwards = end.saturating_duration_since(start).as_secs_f64();
    let backwards = start.saturating_duration_since(end).as_secs_f64();
    milliseconds.set(((forwards - backwards) * 1e3) as f32)
}

functions! {
    fn cuEventCreate(event: Out<Handle>, flags: u32) {
        event.check()?;
        let context = context::current()?;
        if flags & !FLAGS != 0 || flags & (BETWEEN_PROCESSES | WITHOUT_TIME) == BETWEEN_PROCESSES {
            return Err(Code::INVALID_VALUE.into());
        }
        let made = EVENTS.add(|handle| Event {
            handle,
            context: context.handle,
            flags,
            recorded: 0.into(),
            time: Mutex::default(),
            mark: Mutex::default(),
        });
        event.set(made.handle)
    }

    fn cuEventDestroy_v2 | cuEventDestroy(event: Handle) {
        driver()?;
        EVENTS.remove(event).map(drop)
    }

    fn cuEventRecord(event: Handle, stream: Handle) {
        record(event, stream, 0)
    }

    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) {
        record(event, stream, flags)
    }

    fn cuEventQuery(event: Handle) {
        let event = get(event)?;
        capture::check_event(&event)?;
        event.check()?;
        match event.is_reached()? {
            true => Ok(()),
            false => Err(Code::NOT_READY.into()),
        }
    }

    fn cuEventSynchronize(event: Handle) {
        let event = get(event)?;
        capture::check_event(&event)?;
        driver()?.queue.wait(event.recorded());
        crate::gpu::memory::print_printed();
        event.check()
    }

    fn cuEventElapsedTime_v2 | cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        elapsed(milliseconds, start, end)
    }

    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) {
        let event = get(event)?;
        let (on, _) = Stream::of(stream)?;
        if flags > EXTERNAL {
            return Err(Code::INVALID_VALUE.into());
        }
        if capture::wait(&on, &event, flags == EXTERNAL)? {
            return Ok(());
        }
        match flags {
            EXTERNAL => Err(Code::ILLEGAL_STATE.into()),
            _ => stream::enqueue(stream, Op::Wait(event)),
        }
    }
}
