//! Events in captures. An event extends a capture from one stream to another.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Part, captures, extend, take};
use crate::abi::error::{Code, Error, Result};
use crate::gpu::event::Event;
use crate::gpu::hazards;
use crate::gpu::op::Op;
use crate::gpu::stream::{Stream, Waits};

/// Records an event if the stream is captured, and returns whether it is. An external event becomes a node.
pub(crate) fn record(stream: &Stream, event: &Arc<Event>, is_external: bool) -> Result<bool> {
    if is_external {
        return take(stream, &Op::Record(event.clone()));
    }
    let mut captures = captures();
    captures.check_default(stream, true)?;
    let Some(capture) = captures.of(stream) else { return Ok(false) };
    capture.check()?;
    let dependencies = capture.parts.get(&stream.id).map(|part| part.dependencies.clone()).unwrap_or_default();
    capture.marks.insert(event.handle, dependencies);
    event.capture.store(stream.capture.load(Ordering::Relaxed), Ordering::Relaxed);
    Ok(true)
}

/// Makes a stream wait for an event if the stream is captured or the event was recorded in a capture. Returns whether
/// that is the case. An external event becomes a node.
pub(crate) fn wait(stream: &Arc<Stream>, event: &Arc<Event>, is_external: bool) -> Result<bool> {
    let marked = event.capture.load(Ordering::Relaxed);
    if marked == 0 {
        if is_external {
            return take(stream, &Op::Wait(event.clone()));
        }
        let mut captures = captures();
        captures.check_default(stream, true)?;
        let Some(capture) = captures.of(stream) else { return Ok(false) };
        capture.check()?;
        if event.recorded() == 0 {
            return Ok(true);
        }
        capture.terms.invalidate();
        return Err(Error::new(Code::STREAM_CAPTURE_ISOLATION, "the event was recorded outside the capture"));
    }
    let mut captures = captures();
    captures.check_default(stream, true)?;
    let current = stream.capture.load(Ordering::Relaxed);
    if !captures.0.contains_key(&marked) {
        captures.invalidate(current);
        return Err(Error::new(Code::INVALID_VALUE, "the event was recorded in a capture that has ended"));
    }
    if current != 0 && current != marked {
        captures.invalidate(current);
        captures.invalidate(marked);
        return Err(Error::new(Code::STREAM_CAPTURE_MERGE, "the event was recorded in another capture"));
    }
    let Some(capture) = captures.0.get_mut(&marked) else { return Ok(true) };
    capture.check()?;
    if stream.waits() == Waits::IsDefault {
        capture.terms.invalidate();
        return Err(Error::new(Code::STREAM_CAPTURE_IMPLICIT, "the default stream cannot be captured"));
    }
    stream.capture.store(marked, Ordering::Relaxed);
    let new = || Part { stream: stream.clone(), dependencies: Vec::new(), shown: Default::default() };
    let part = capture.parts.entry(stream.id).or_insert_with(new);
    extend(&mut part.dependencies, capture.marks.get(&event.handle).into_iter().flatten().copied());
    Ok(true)
}

/// Refuses to wait for an event that was recorded in a capture, and to wait while a capture forbids it.
pub(crate) fn check_event(event: &Event) -> Result<()> {
    let marked = event.capture.load(Ordering::Relaxed);
    if marked == 0 {
        return hazards::check();
    }
    match captures().0.get_mut(&marked) {
        Some(capture) => {
            capture.terms.invalidate();
            Err(Code::CAPTURED_EVENT.into())
        }
        None => Err(Code::INVALID_VALUE.into()),
    }
}

/// Refuses to measure the time of an event that was recorded in a capture.
pub(crate) fn check_elapsed(event: &Event) -> Result<()> {
    if event.capture.load(Ordering::Relaxed) != 0 { Err(Code::INVALID_VALUE.into()) } else { Ok(()) }
}
