//! Stream capture: operations of streams that become nodes of a graph instead of being done.
//!
//! A capture begins in one stream. An event that is recorded in one of its streams carries it into each stream that waits
//! for that event. What would break it ends it: the call fails, and so does everything else in the capture until
//! it is over.

pub(crate) mod calls;
pub(crate) mod events;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, PerDriver, lock};
use crate::abi::platform;
use crate::gpu::graph::node::{Node, Work};
use crate::gpu::graph::{Dependency, EdgeData, Graph};
use crate::gpu::hazards::{self, RELAXED, Terms};
use crate::gpu::launch_attributes::Attributes;
use crate::gpu::op::Op;
use crate::gpu::stream::{Stream, Waits};

/// Captures that are not over, by their numbers.
#[derive(Default)]
struct Captures(BTreeMap<u64, Capture>);

static CAPTURES: PerDriver<Mutex<Captures>> = PerDriver::new();

struct Capture {
    graph: Arc<Graph>,
    /// Whether the graph is the program's own.
    is_given: bool,
    terms: Arc<Terms>,
    /// The number of the stream in which it has begun.
    origin: u64,
    /// The handle of its context.
    context: Handle,
    /// Its streams, by their numbers.
    parts: HashMap<u64, Part>,
    /// What comes after the events that were recorded in it depends on this, by the handles of the events.
    marks: HashMap<Handle, Vec<Dependency>>,
}

/// A stream of a capture.
struct Part {
    stream: Arc<Stream>,
    /// What its next node depends on.
    after: Vec<Dependency>,
    /// What was shown of that last: nodes and the data of the edges.
    shown: (Vec<Handle>, Vec<EdgeData>),
}

/// Whether nothing is captured.
pub(crate) fn is_empty() -> bool {
    captures().0.is_empty()
}

/// The captures, locked.
fn captures() -> MutexGuard<'static, Captures> {
    lock(CAPTURES.get())
}

impl Captures {
    /// Refuses the default stream while a stream that it would wait for is captured.
    fn check_default(&mut self, stream: &Stream, invalidates: bool) -> Result<()> {
        if stream.waits() != Waits::IsDefault {
            return Ok(());
        }
        let mut is_refused = false;
        for capture in self.0.values_mut().filter(|capture| capture.context == stream.context) {
            if capture.parts.values().any(|part| part.stream.waits() == Waits::ForDefault) {
                if invalidates {
                    capture.terms.invalidate();
                }
                is_refused = true;
            }
        }
        match is_refused {
            true => Err(Error::new(Code::STREAM_CAPTURE_IMPLICIT, "the default stream would wait for a captured one")),
            false => Ok(()),
        }
    }

    /// The capture of a stream.
    fn of(&mut self, stream: &Stream) -> Option<&mut Capture> {
        self.0.get_mut(&stream.capture.load(Ordering::Relaxed))
    }

    fn invalidate(&mut self, capture: u64) {
        if let Some(capture) = self.0.get_mut(&capture) {
            capture.terms.invalidate();
        }
    }

    /// Takes a capture away from its streams.
    fn remove(&mut self, capture: u64) -> Option<Capture> {
        let capture = self.0.remove(&capture)?;
        for part in capture.parts.values() {
            part.stream.capture.store(0, Ordering::Relaxed);
        }
        capture.graph.set_captured(false);
        Some(capture)
    }
}

impl Capture {
    fn check(&self) -> Result<()> {
        if self.terms.is_valid() { Ok(()) } else { Err(Code::STREAM_CAPTURE_INVALIDATED.into()) }
    }

    /// Forgets the graph, unless it is the program's own.
    fn discard(self) {
        if !self.is_given {
            self.graph.destroy();
        }
    }

    /// Adds a node behind what a stream has had before.
    fn add(&mut self, stream: &Stream, op: Op) -> Result<()> {
        let Some(part) = self.parts.get_mut(&stream.id) else { return Ok(()) };
        let node = Node::new(Work::Op(op)).with_attributes(Attributes::with_priority(stream.priority()));
        let added = self.graph.add(node, &part.after)?;
        part.after = vec![Dependency::on(added)];
        Ok(())
    }
}

/// Refuses to wait for a context of which streams are captured.
pub(crate) fn check_context(context: Handle) -> Result<()> {
    let mut captures = captures();
    let mut is_captured = false;
    for capture in captures.0.values_mut().filter(|capture| capture.context == context) {
        capture.terms.invalidate();
        is_captured = true;
    }
    if is_captured { Err(Code::STREAM_CAPTURE_UNSUPPORTED.into()) } else { Ok(()) }
}

/// Refuses an operation of a captured stream that no node can stand for.
pub(crate) fn refuse(stream: &Stream) -> Result<()> {
    let mut captures = captures();
    captures.check_default(stream, true)?;
    match captures.of(stream) {
        Some(capture) => {
            capture.terms.invalidate();
            Err(Error::new(Code::STREAM_CAPTURE_UNSUPPORTED, "the stream is captured"))
        }
        None => Ok(()),
    }
}

/// Refuses an operation that a captured stream does not accept, and leaves the capture as it is.
pub(crate) fn refuse_gently(stream: &Stream) -> Result<()> {
    match captures().of(stream) {
        Some(_) => Err(Error::new(Code::STREAM_CAPTURE_UNSUPPORTED, "the stream is captured")),
        None => Ok(()),
    }
}

/// Refuses to wait for a stream that is captured, or beside a capture that forbids it.
pub(crate) fn check_synchronous(stream: &Stream) -> Result<()> {
    refuse(stream)?;
    hazards::check()
}

/// Ends the capture of a stream in which a launch was wrong.
pub(crate) fn invalidate(stream: &Stream) {
    if let Some(capture) = captures().of(stream) {
        capture.terms.invalidate();
    }
}

/// Captures an operation, if its stream is captured, and says whether it is.
pub(crate) fn take(stream: &Stream, op: &Op) -> Result<bool> {
    let mut captures = captures();
    captures.check_default(stream, true)?;
    let Some(capture) = captures.of(stream) else { return Ok(false) };
    capture.check()?;
    capture.add(stream, op.clone())?;
    Ok(true)
}

/// Whether a stream is captured; refuses one whose capture has failed.
pub(crate) fn is_captured(stream: &Stream) -> Result<bool> {
    let mut captures = captures();
    captures.check_default(stream, true)?;
    captures.of(stream).map_or(Ok(false), |capture| capture.check().map(|()| true))
}

fn extend(after: &mut Vec<Dependency>, more: impl IntoIterator<Item = Dependency>) {
    for dependency in more {
        if !after.contains(&dependency) {
            after.push(dependency);
        }
    }
}

/// Begins a capture into a new graph, or into one of the program's own behind some of its nodes.
pub(crate) fn begin(stream: Arc<Stream>, mode: u32, into: Option<(Arc<Graph>, Vec<Dependency>)>) -> Result<()> {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    if mode > RELAXED {
        return Err(Code::INVALID_VALUE.into());
    }
    if stream.waits() == Waits::IsDefault {
        return Err(Error::new(Code::STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot be captured"));
    }
    let mut captures = captures();
    if captures.of(&stream).is_some() {
        return Err(Error::new(Code::ILLEGAL_STATE, "the stream is captured already"));
    }
    let is_given = into.is_some();
    let (graph, after) = into.unwrap_or_else(|| (Graph::create(), Vec::new()));
    graph.set_captured(true);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    stream.capture.store(id, Ordering::Relaxed);
    let (origin, context, terms) = (stream.id, stream.context, Terms::begin(mode));
    let parts = HashMap::from([(origin, Part { stream, after, shown: Default::default() })]);
    captures.0.insert(id, Capture { graph, is_given, terms, origin, context, parts, marks: HashMap::new() });
    Ok(())
}

/// Ends the capture of a stream, and returns the graph.
pub(crate) fn end(stream: &Stream) -> Result<Arc<Graph>> {
    let id = stream.capture.load(Ordering::Relaxed);
    let mut captures = captures();
    let Some(capture) = captures.of(stream) else {
        return Err(Error::new(Code::ILLEGAL_STATE, "the stream is not captured"));
    };
    if capture.origin != stream.id {
        capture.terms.invalidate();
        return Err(Error::new(Code::STREAM_CAPTURE_UNMATCHED, "the capture has begun in another stream"));
    }
    let capture = captures.remove(id).ok_or(Code::ILLEGAL_STATE)?;
    drop(captures);
    let finish = || {
        capture.check()?;
        if capture.terms.mode != RELAXED && capture.terms.thread != platform::thread() {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD.into());
        }
        let nodes = |part: &Part| part.after.iter().map(|dependency| dependency.node).collect::<Vec<_>>();
        let joined =
            capture.parts.get(&stream.id).map(|part| capture.graph.ancestors(&nodes(part))).unwrap_or_default();
        match capture.parts.values().flat_map(nodes).all(|node| joined.contains(&node)) {
            true => Ok(()),
            false => Err(Error::new(Code::STREAM_CAPTURE_UNJOINED, "work of another stream was not waited for")),
        }
    };
    match finish() {
        Ok(()) => Ok(capture.graph),
        Err(error) => {
            capture.discard();
            Err(error)
        }
    }
}

/// Forgets a stream that is destroyed. The capture that began in it is over; in another one, its work stays.
pub(crate) fn forget(stream: &Stream) {
    let mut captures = captures();
    let id = stream.capture.load(Ordering::Relaxed);
    let is_origin = captures.of(stream).is_some_and(|capture| capture.origin == stream.id);
    let removed = if is_origin { captures.remove(id) } else { None };
    drop(captures);
    if let Some(capture) = removed {
        capture.discard();
    }
}

/// Whether a stream is captured, as `CUstreamCaptureStatus`.
pub(crate) fn status(stream: &Stream) -> Result<u32> {
    let mut captures = captures();
    captures.check_default(stream, false)?;
    Ok(match captures.of(stream) {
        None => 0,
        Some(capture) if capture.terms.is_valid() => 1,
        Some(_) => 2,
    })
}

/// Shows what is known of the capture of a stream, if there is one that has not failed: its number, the handle of its graph, and
/// what the next node depends on. Both lists stay where they are until they are shown again.
pub(crate) fn show(stream: &Stream, to: impl FnOnce(u64, Handle, &[Handle], &[EdgeData]) -> Result<()>) -> Result<()> {
    let mut captures = captures();
    let capture = captures.of(stream).filter(|capture| capture.terms.is_valid());
    let Some(Capture { graph, parts, .. }) = capture else { return Ok(()) };
    let Some(Part { after, shown, .. }) = parts.get_mut(&stream.id) else { return Ok(()) };
    *shown = after.iter().map(|dependency| (dependency.node, dependency.data)).unzip();
    to(stream.capture.load(Ordering::Relaxed), graph.handle, &shown.0, &shown.1)
}

/// Changes what the next node of a captured stream depends on.
pub(crate) fn update(stream: &Stream, after: Vec<Dependency>, replaces: bool) -> Result<()> {
    let mut captures = captures();
    let capture = captures.of(stream).ok_or(Code::ILLEGAL_STATE)?;
    capture.check()?;
    capture.graph.check(&after)?;
    let part = capture.parts.get_mut(&stream.id).ok_or(Code::ILLEGAL_STATE)?;
    if replaces {
        part.after.clear();
    }
    extend(&mut part.after, after);
    Ok(())
}
