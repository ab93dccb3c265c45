//! Executable graphs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::memory;
use super::node::{Node, Work};
use super::{CopyKind, Graph, Inner, get as graph};
use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles};
use crate::gpu::context::Context;
use crate::gpu::graph_memory::Used;
use crate::gpu::hazards;
use crate::gpu::op::Op;
use crate::gpu::queue::{Piece, queue};
use crate::gpu::state::driver;
use crate::gpu::stream::Stream;

static EXECS: Handles<Exec> = Handles::new();

/// `CUgraphInstantiate_flags`.
const AUTO_FREE: u64 = 1;
const UPLOAD: u64 = 2;
const DEVICE_LAUNCH: u64 = 4;
const NODE_PRIORITY: u64 = 8;

/// `CUgraphInstantiateResult`.
const SUCCESS: u32 = 0;
const FAILURE: u32 = 1;
const INVALID_STRUCTURE: u32 = 2;

/// An executable graph.
pub(crate) struct Exec {
    handle: Handle,
    flags: u64,
    /// A copy of the source graph.
    pub(crate) graph: Arc<Graph>,
    source: Weak<Graph>,
    /// The number of the last operation of the last launch.
    last: AtomicU64,
}

/// Returns the executable graph with this handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Exec>> {
    driver()?;
    EXECS.find(handle).ok_or_else(|| Error::new(Code::INVALID_VALUE, "the executable graph does not exist"))
}

/// The reason why a graph cannot be instantiated, with a result code and the invalid node.
struct InstantiateError {
    error: Error,
    result: u32,
    node: Handle,
}

impl From<Error> for InstantiateError {
    fn from(error: Error) -> Self {
        Self { error, result: FAILURE, node: 0 }
    }
}

impl From<Code> for InstantiateError {
    fn from(code: Code) -> Self {
        Error::from(code).into()
    }
}

fn check_order(inner: &Inner) -> std::result::Result<(), InstantiateError> {
    inner.order().map_err(|node| {
        let error = Error::new(Code::INVALID_VALUE, "the graph has a cycle");
        InstantiateError { error, result: INVALID_STRUCTURE, node }
    })?;
    inner.nodes.values().try_for_each(|node| match &node.work {
        Work::Child(child) => check_order(&child.graph().lock()),
        Work::Op(_) => Ok(()),
    })
}

fn instantiate(source: Handle, flags: u64) -> std::result::Result<Arc<Exec>, InstantiateError> {
    hazards::check()?;
    let source = graph(source)?;
    if flags & !(AUTO_FREE | UPLOAD | DEVICE_LAUNCH | NODE_PRIORITY) != 0
        || flags & (AUTO_FREE | DEVICE_LAUNCH) == AUTO_FREE | DEVICE_LAUNCH
        || source.is_captured()
    {
        return Err(Code::INVALID_VALUE.into());
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(Error::new(Code::NOT_SUPPORTED, "launching graphs from kernels is not supported").into());
    }
    let mut inner = source.lock();
    check_order(&inner)?;
    if inner.has_memory() && inner.executables > 0 {
        let what = "a graph with memory nodes can have only one executable graph";
        return Err(Error::new(Code::NOT_SUPPORTED, what).into());
    }
    inner.executables += 1;
    inner.was_executable = true;
    drop(inner);
    let copy = source.copy(CopyKind::Executable);
    let source = Arc::downgrade(&source);
    Ok(EXECS.add(|handle| Exec { handle, flags: flags & !UPLOAD, graph: copy, source, last: 0.into() }))
}

impl Exec {
    /// Runs `work` on this graph's copy of a node.
    pub(crate) fn with_node<R>(&self, node: Handle, work: impl FnOnce(&mut Node) -> Result<R>) -> Result<R> {
        driver()?;
        let found = find(&self.graph, node);
        let (graph, handle) =
            found.ok_or_else(|| Error::new(Code::INVALID_VALUE, "the executable graph has no such node"))?;
        let mut inner = graph.lock();
        inner.nodes.get_mut(&handle).map_or_else(|| Err(Code::INVALID_VALUE.into()), work)
    }

    /// Enqueues the graph's operations.
    pub(crate) fn launch(self: &Arc<Self>, stream: &Stream, context: &Arc<Context>) -> Result<()> {
        let mut used = Used::default();
        memory::collect(&self.graph.lock(), &mut used);
        used.launch(self.flags & AUTO_FREE != 0)?;
        let mut pieces = Vec::new();
        let dependencies = expand(&self.graph, &mut pieces, &[]);
        pieces.push(Piece { op: Op::End(self.clone()), dependencies });
        let last = self.last.load(Ordering::Relaxed);
        let number = queue()?.push(context, stream, pieces, &[last])?;
        self.last.store(number, Ordering::Relaxed);
        Ok(())
    }
}

/// Finds the copy of a node in a graph and its child graphs.
fn find(graph: &Arc<Graph>, original: Handle) -> Option<(Arc<Graph>, Handle)> {
    let inner = graph.lock();
    let copy = inner.nodes.iter().find(|(_, node)| node.original == original && original != 0);
    if let Some((handle, _)) = copy {
        return Some((graph.clone(), *handle));
    }
    inner.nodes.values().find_map(|node| match &node.work {
        Work::Child(child) => find(child.graph(), original),
        Work::Op(_) => None,
    })
}

/// Appends the operations of a graph after `predecessors` and returns the operations that end the graph.
fn expand(graph: &Graph, pieces: &mut Vec<Piece>, predecessors: &[usize]) -> Vec<usize> {
    let inner = graph.lock();
    let mut ends = std::collections::BTreeMap::new();
    for handle in inner.order().unwrap_or_default() {
        let Some(node) = inner.nodes.get(&handle) else { continue };
        let mut dependencies: Vec<usize> = match node.dependencies.is_empty() {
            true => predecessors.to_vec(),
            false => node
                .dependencies
                .iter()
                .filter_map(|dependency| ends.get(&dependency.node))
                .flatten()
                .copied()
                .collect(),
        };
        dependencies.sort_unstable();
        dependencies.dedup();
        let end = match &node.work {
            Work::Child(child) => {
                let dependencies = expand(child.graph(), pieces, &dependencies);
                join(pieces, dependencies)
            }
            Work::Op(op) if node.is_enabled && !matches!(op, Op::Nothing) => {
                pieces.push(Piece { op: op.clone(), dependencies });
                vec![pieces.len() - 1]
            }
            Work::Op(_) => join(pieces, dependencies),
        };
        ends.insert(handle, end);
    }
    if inner.nodes.is_empty() {
        return predecessors.to_vec();
    }
    inner.leaves().iter().filter_map(|leaf| ends.get(leaf)).flatten().copied().collect()
}

/// Replaces several predecessors with one empty operation that follows all of them.
fn join(pieces: &mut Vec<Piece>, dependencies: Vec<usize>) -> Vec<usize> {
    if dependencies.len() <= 1 {
        return dependencies;
    }
    pieces.push(Piece { op: Op::Nothing, dependencies });
    vec![pieces.len() - 1]
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct InstantiateParams {
    flags: u64,
    upload: Handle,
    node: Handle,
    result: u32,
}

fn make(exec: Out<Handle>, source: Handle, flags: u64) -> Result<()> {
    exec.check()?;
    if flags & UPLOAD != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    exec.set(instantiate(source, flags).map_err(|refusal| refusal.error)?.handle)
}

/// Implements the first two versions of instantiation, with places for an invalid node and for a log.
fn make_with_log(
    exec: Out<Handle>,
    source: Handle,
    node: Out<Handle>,
    text: Out<std::ffi::c_char>,
    capacity: usize,
) -> Result<()> {
    exec.check()?;
    let (wrong, reason) = match instantiate(source, 0) {
        Ok(made) => return exec.set(made.handle),
        Err(refusal) => (refusal.node, refusal.error),
    };
    node.offer(wrong);
    if text.is_requested() && capacity > 0 {
        text.set_text(&reason.reason, capacity)?;
    }
    Err(reason)
}

functions! {
    fn cuGraphInstantiate | cuGraphInstantiate_v2(
        exec: Out<Handle>, source: Handle, node: Out<Handle>, text: Out<std::ffi::c_char>, capacity: usize,
    ) {
        make_with_log(exec, source, node, text, capacity)
    }

    fn cuGraphInstantiateWithFlags(exec: Out<Handle>, source: Handle, flags: u64) {
        make(exec, source, flags)
    }

    fn cuGraphInstantiateWithParams(exec: Out<Handle>, source: Handle, params: Out<InstantiateParams>) {
        exec.check()?;
        params.check()?;
        // SAFETY: the place is not null, which was checked above, and `cuda.h` requires that it holds the parameters.
        let mut read = unsafe { params.as_ptr().read_unaligned() };
        let instantiated = instantiate(source, read.flags);
        (read.result, read.node) = match &instantiated {
            Ok(_) => (SUCCESS, 0),
            Err(refusal) => (refusal.result, refusal.node),
        };
        params.set(read)?;
        let instantiated = instantiated.map_err(|refusal| refusal.error)?;
        if read.flags & UPLOAD != 0 {
            Stream::of(read.upload)?;
        }
        exec.set(instantiated.handle)
    }

    fn cuGraphExecGetFlags(exec: Handle, flags: Out<u64>) {
        let exec = get(exec)?;
        let has_kernels = exec.graph.lock().nodes.values().any(|node| node.kind() == super::node::KERNEL);
        flags.set(exec.flags & if has_kernels { u64::MAX } else { !NODE_PRIORITY })
    }

    fn cuGraphExecDestroy(exec: Handle) {
        hazards::check()?;
        let exec = get(exec)?;
        EXECS.remove(exec.handle)?;
        if let Some(source) = exec.source.upgrade() {
            source.lock().executables -= 1;
        }
        Ok(())
    }

    fn cuGraphNodeSetEnabled(exec: Handle, node: Handle, is_enabled: u32) {
        get(exec)?.with_node(node, |node| {
            check_can_be_disabled(node)?;
            node.is_enabled = is_enabled != 0;
            Ok(())
        })
    }

    fn cuGraphNodeGetEnabled(exec: Handle, node: Handle, is_enabled: Out<u32>) {
        is_enabled.check()?;
        is_enabled.set(get(exec)?.with_node(node, |node| {
            check_can_be_disabled(node)?;
            Ok(node.is_enabled.into())
        })?)
    }


}

/// Returns an error unless the node is a kernel, a copy or a fill.
fn check_can_be_disabled(node: &Node) -> Result<()> {
    match node.kind() {
        super::node::KERNEL | super::node::COPY | super::node::FILL => Ok(()),
        _ => Err(Error::new(Code::INVALID_VALUE, "only kernels, copies and fills can be disabled")),
    }
}
