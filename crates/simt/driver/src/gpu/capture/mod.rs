//! Stream capture: operations of streams become nodes of a graph instead of running.
//!
//! A capture begins in one stream. When another stream waits for an event that was recorded in the capture, that stream
//! joins the capture. An operation that is not allowed invalidates the capture: the call fails, and so does every later
//! operation of the capture until it ends.

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

/// The active captures, by number.
#[derive(Default)]
struct Captures(BTreeMap<u64, Capture>);

static CAPTURES: PerDriver<Mutex<Captures>> = PerDriver::new();

struct Capture {
    graph: Arc<Graph>,
    /// Whether the program provided the graph.
    is_given: bool,
    terms: Arc<Terms>,
    /// The number of the stream in which the capture began.
    origin: u64,
    /// The handle of the stream's context.
    context: Handle,
    /// The captured streams, by number.
    parts: HashMap<u64, Part>,
    /// For each event recorded in the capture, by handle, the dependencies of the work that waits for the event.
    marks: HashMap<Handle, Vec<Dependency>>,
}

/// A stream of a capture.
struct Part {
    stream: Arc<Stream>,
    /// The dependencies of the stream's next node.
    dependencies: Vec<Dependency>,
    /// The copy of `dependencies` that a program last received: nodes and edge data.
    shown: (Vec<Handle>, Vec<EdgeData>),
}

/// Returns whether no stream is being captured.
pub(crate) fn is_empty() -> bool {
    captures().0.is_empty()
}

/// Locks and returns the captures.
fn captures() -> MutexGuard<'static, Captures> {
    lock(CAPTURES.get())
}

impl Captures {
    /// Refuses an operation in the default stream if that stream would have to wait for a captured stream.
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
            true => {
                Err(Error::new(Code::STREAM_CAPTURE_IMPLICIT, "the default stream would wait for a captured stream"))
            }
            false => Ok(()),
        }
    }

    /// Returns the capture of a stream.
    fn of(&mut self, stream: &Stream) -> Option<&mut Capture> {
        self.0.get_mut(&stream.capture.load(Ordering::Relaxed))
    }

    fn invalidate(&mut self, capture: u64) {
        if let Some(capture) = self.0.get_mut(&capture) {
            capture.terms.invalidate();
        }
    }

    /// Removes a capture and detaches its streams.
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

    /// Destroys the graph, unless the program provided it.
    fn discard(self) {
        if !self.is_given {
            self.graph.destroy();
        }
    }

    /// Adds a node after the stream's previous work.
    fn add(&mut self, stream: &Stream, op: Op) -> Result<()> {
        let Some(part) = self.parts.get_mut(&stream.id) else { return Ok(()) };
        let node = Node::new(Work::Op(op)).with_attributes(Attributes::with_priority(stream.priority()));
        let added = self.graph.add(node, &part.dependencies)?;
        part.dependencies = vec![Dependency::on(added)];
        Ok(())
    }
}

/// Refuses to wait for a context that has captured streams.
pub(crate) fn check_context(context: Handle) -> Result<()> {
    let mut captures = captures();
    let mut is_captured = false;
    for capture in captures.0.values_mut().filter(|capture| capture.context == context) {
        capture.terms.invalidate();
        is_captured = true;
    }
    if is_captured { Err(Code::STREAM_CAPTURE_UNSUPPORTED.into()) } else { Ok(()) }
}

/// Refuses an operation that cannot be captured, and invalidates the capture of its stream.
pub(crate) fn refuse(stream: &Stream) -> Result<()> {
    let mut captures = captures();
    captures.check_default(stream, true)?;
    match captures.of(stream) {
        Some(capture) => {
            capture.terms.invalidate();
            Err(Error::new(Code::STREAM_CAPTURE_UNSUPPORTED, "the stream is being captured"))
        }
        None => Ok(()),
    }
}

/// Refuses an operation that a captured stream does not accept, without invalidating the capture.
pub(crate) fn refuse_gently(stream: &Stream) -> Result<()> {
    match captures().of(stream) {
        Some(_) => Err(Error::new(Code::STREAM_CAPTURE_UNSUPPORTED, "the stream is being captured")),
        None => Ok(()),
    }
}

/// Refuses to wait for a captured stream, and to wait while a capture forbids it.
pub(crate) fn check_synchronous(stream: &Stream) -> Result<()> {
    refuse(stream)?;
    hazards::check()
}

/// Invalidates the capture of a stream after an invalid launch.
pub(crate) fn invalidate(stream: &Stream) {
    if let Some(capture) = captures().of(stream) {
        capture.terms.invalidate();
    }
}

/// Captures an operation if its stream is captured, and returns whether it is.
pub(crate) fn take(stream: &Stream, op: &Op) -> Result<bool> {
    let mut captures = captures();
    captures.check_default(stream, true)?;
    let Some(capture) = captures.of(stream) else { return Ok(false) };
    capture.check()?;
    capture.add(stream, op.clone())?;
    Ok(true)
}

/// Returns whether a stream is captured. Returns an error if the capture is invalid.
pub(crate) fn is_captured(stream: &Stream) -> Result<bool> {
    let mut captures = captures();
    captures.check_default(stream, true)?;
    captures.of(stream).map_or(Ok(false), |capture| capture.check().map(|()| true))
}

fn extend(dependencies: &mut Vec<Dependency>, more: impl IntoIterator<Item = Dependency>) {
    for dependency in more {
        if !dependencies.contains(&dependency) {
            dependencies.push(dependency);
        }
    }
}

/// Begins a capture into a new graph, or into the program's graph after some of that graph's nodes.
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
        return Err(Error::new(Code::ILLEGAL_STATE, "the stream is already being captured"));
    }
    let is_given = into.is_some();
    let (graph, dependencies) = into.unwrap_or_else(|| (Graph::create(), Vec::new()));
    graph.set_captured(true);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    stream.capture.store(id, Ordering::Relaxed);
    let (origin, context, terms) = (stream.id, stream.context, Terms::begin(mode));
    let parts = HashMap::from([(origin, Part { stream, dependencies, shown: Default::default() })]);
    captures.0.insert(id, Capture { graph, is_given, terms, origin, context, parts, marks: HashMap::new() });
    Ok(())
}

/// Ends the capture of a stream and returns the graph.
pub(crate) fn end(stream: &Stream) -> Result<Arc<Graph>> {
    let id = stream.capture.load(Ordering::Relaxed);
    let mut captures = captures();
    let Some(capture) = captures.of(stream) else {
        return Err(Error::new(Code::ILLEGAL_STATE, "the stream is not being captured"));
    };
    if capture.origin != stream.id {
        capture.terms.invalidate();
        return Err(Error::new(Code::STREAM_CAPTURE_UNMATCHED, "the capture began in another stream"));
    }
    let capture = captures.remove(id).ok_or(Code::ILLEGAL_STATE)?;
    drop(captures);
    let finish = || {
        capture.check()?;
        if capture.terms.mode != RELAXED && capture.terms.thread != platform::thread() {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD.into());
        }
        let nodes = |part: &Part| part.dependencies.iter().map(|dependency| dependency.node).collect::<Vec<_>>();
        let joined =
            capture.parts.get(&stream.id).map(|part| capture.graph.ancestors(&nodes(part))).unwrap_or_default();
        match capture.parts.values().flat_map(nodes).all(|node| joined.contains(&node)) {
            true => Ok(()),
            false => Err(Error::new(Code::STREAM_CAPTURE_UNJOINED, "another stream's captured work was not joined")),
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

/// Forgets a destroyed stream. A capture that began in this stream ends; the stream's work stays in any other capture.
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

/// Returns the `CUstreamCaptureStatus` of a stream.
pub(crate) fn status(stream: &Stream) -> Result<u32> {
    let mut captures = captures();
    captures.check_default(stream, false)?;
    Ok(match captures.of(stream) {
        None => 0,
        Some(capture) if capture.terms.is_valid() => 1,
        Some(_) => 2,
    })
}

/// Passes the state of a stream's valid capture to `to`: the capture's number, the handle of its graph, and the
/// dependencies of the next node. The two lists stay at the same address until the next call.
pub(crate) fn show(stream: &Stream, to: impl FnOnce(u64, Handle, &[Handle], &[EdgeData]) -> Result<()>) -> Result<()> {
    let mut captures = captures();
    let capture = captures.of(stream).filter(|capture| capture.terms.is_valid());
    let Some(Capture { graph, parts, .. }) = capture else { return Ok(()) };
    let Some(Part { dependencies, shown, .. }) = parts.get_mut(&stream.id) else { return Ok(()) };
    *shown = dependencies.iter().map(|dependency| (dependency.node, dependency.data)).unzip();
    to(stream.capture.load(Ordering::Relaxed), graph.handle, &shown.0, &shown.1)
}

/// Changes the dependencies of a captured stream's next node.
pub(crate) fn update(stream: &Stream, dependencies: Vec<Dependency>, replaces: bool) -> Result<()> {
    let mut captures = captures();
    let capture = captures.of(stream).ok_or(Code::ILLEGAL_STATE)?;
    capture.check()?;
    capture.graph.check(&dependencies)?;
    let part = capture.parts.get_mut(&stream.id).ok_or(Code::ILLEGAL_STATE)?;
    if replaces {
        part.dependencies.clear();
    }
    extend(&mut part.dependencies, dependencies);
    Ok(())
}
