//! Nodes for host functions, events, waits on memory, child graphs, and empty nodes.

use std::sync::Arc;

use super::exec;
use super::memory::{AllocateParams, free_node};
use super::node::{self, Child, Node, Work};
use super::{Dependency, EdgeData, get, with_node};
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::context::{self, Context};
use crate::gpu::event::{self, Event};
use crate::gpu::mem_op::{BatchParams, Interface};
use crate::gpu::op::{HostCall, HostFunction, Op};

/// Adds the node that `make` returns to a graph and writes its handle.
pub(crate) fn add(
    place: Out<Handle>,
    graph: Handle,
    dependencies: In<Handle>,
    data: In<EdgeData>,
    count: usize,
    make: impl FnOnce() -> Result<Node>,
) -> Result<()> {
    place.check()?;
    let graph = get(graph)?;
    let dependencies = Dependency::read(dependencies, data, count)?;
    graph.check(&dependencies)?;
    place.set(graph.add(make()?, &dependencies)?)
}

/// Replaces the work of a node of this type with that of the node that `make` returns.
pub(crate) fn set(node: Handle, kind: u32, make: impl FnOnce() -> Result<Node>) -> Result<()> {
    with_node(node, |node| check_kind(node, kind))?;
    let new = make()?;
    with_node(node, |node| node.set(new))
}

/// Replaces the work of a node of this type in an executable graph. `node` is the handle of the node in the source
/// graph.
pub(crate) fn set_in(exec: Handle, node: Handle, kind: u32, make: impl FnOnce() -> Result<Node>) -> Result<()> {
    let exec = exec::get(exec)?;
    exec.with_node(node, |node| check_kind(node, kind))?;
    let new = make()?;
    exec.with_node(node, |node| node.set(new))
}

/// Refuses a context that does not exist; 0 means the current context.
pub(crate) fn check_context(context: Handle) -> Result<()> {
    match context {
        0 => context::current().map(drop),
        _ => Context::of(context).map(drop),
    }
}

fn check_kind(node: &Node, kind: u32) -> Result<()> {
    match node.kind() == kind {
        true => Ok(()),
        false => Err(Error::new(Code::INVALID_VALUE, "the node type does not match the called function")),
    }
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct HostParams {
    function: Option<HostFunction>,
    data: usize,
}

impl HostParams {
    /// Creates a node that calls the function.
    pub(crate) fn node(self) -> Result<Node> {
        let function = self.function.ok_or(Code::INVALID_VALUE)?;
        Ok(Node::new(Work::Op(Op::Host(HostCall::Function(function, self.data)))))
    }
}

/// `CUDA_BATCH_MEM_OP_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct BatchNodeParams {
    context: Handle,
    count: u32,
    ops: In<BatchParams>,
    flags: u32,
}

impl BatchNodeParams {
    /// Creates a node that runs the batch.
    pub(crate) fn node(self) -> Result<Node> {
        if self.context == 0 || self.flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        check_context(self.context)?;
        Ok(Node::new(Work::Op(Op::Batch(BatchParams::read(self.ops, self.count, Interface::Second)?))))
    }
}

/// Returns the event that a node records or waits for. An unknown handle is `CUDA_ERROR_INVALID_VALUE` here.
fn event(handle: Handle) -> Result<Arc<Event>> {
    event::get(handle).map_err(|_| Error::new(Code::INVALID_VALUE, "the event does not exist"))
}

/// Creates a node that records an event.
pub(crate) fn record_node(handle: Handle) -> Result<Node> {
    Ok(Node::new(Work::Op(Op::Record(event(handle)?))))
}

/// Creates a node that waits for an event.
pub(crate) fn wait_node(handle: Handle) -> Result<Node> {
    Ok(Node::new(Work::Op(Op::Wait(event(handle)?))))
}

/// Creates a node that runs a copy of a graph in its current state.
pub(crate) fn child_node(graph: Handle) -> Result<Node> {
    let graph = get(graph)?;
    if graph.lock().has_memory() {
        return Err(Error::new(Code::NOT_SUPPORTED, "child graphs with memory nodes are not supported"));
    }
    Ok(Node::new(Work::Child(Child::new(&graph))))
}

fn recorded(node: &mut Node) -> Result<Handle> {
    match &node.work {
        Work::Op(Op::Record(event)) => Ok(event.handle),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

fn waited(node: &mut Node) -> Result<Handle> {
    match &node.work {
        Work::Op(Op::Wait(event)) => Ok(event.handle),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

/// Returns the parameters of a batch node. The operations stay valid until the node changes.
fn batch_params(node: &mut Node) -> Result<BatchNodeParams> {
    let Work::Op(Op::Batch(ops)) = &node.work else { return Err(Code::INVALID_VALUE.into()) };
    let context = context::current()?.handle;
    let words: Box<[u64]> = ops.iter().flat_map(|op| BatchParams::from(*op).words()).collect();
    let count = ops.len() as u32;
    node.shown = vec![words];
    // SAFETY: `shown[0]` contains the words of `count` operations, and stays in place until the node changes.
    let ops = unsafe { In::from_ptr(node.shown[0].as_ptr().cast()) };
    Ok(BatchNodeParams { context, count, ops, flags: 0 })
}

functions! {
    fn cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize) {
        add(node, graph, dependencies, In::none(), count, || Ok(Node::new(Work::Op(Op::Nothing))))
    }

    fn cuGraphAddHostNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: In<HostParams>,
    ) {
        add(node, graph, dependencies, In::none(), count, || params.get()?.node())
    }

    fn cuGraphHostNodeGetParams(node: Handle, params: Out<HostParams>) {
        params.check()?;
        params.set(with_node(node, |node| match node.work {
            Work::Op(Op::Host(HostCall::Function(function, data))) => Ok(HostParams { function: Some(function), data }),
            _ => Err(Code::INVALID_VALUE.into()),
        })?)
    }

    fn cuGraphHostNodeSetParams(node: Handle, params: In<HostParams>) {
        set(node, node::HOST, || params.get()?.node())
    }

    fn cuGraphExecHostNodeSetParams(exec: Handle, node: Handle, params: In<HostParams>) {
        set_in(exec, node, node::HOST, || params.get()?.node())
    }

    fn cuGraphAddChildGraphNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, child: Handle,
    ) {
        add(node, graph, dependencies, In::none(), count, || child_node(child))
    }

    fn cuGraphChildGraphNodeGetGraph(node: Handle, graph: Out<Handle>) {
        graph.check()?;
        graph.set(with_node(node, |node| match &node.work {
            Work::Child(child) => Ok(child.graph().handle),
            Work::Op(_) => Err(Code::INVALID_VALUE.into()),
        })?)
    }

    fn cuGraphAddEventRecordNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, event: Handle,
    ) {
        add(node, graph, dependencies, In::none(), count, || record_node(event))
    }

    fn cuGraphEventRecordNodeGetEvent(node: Handle, event: Out<Handle>) {
        event.set(with_node(node, recorded)?)
    }

    fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) {
        set(node, node::RECORD, || record_node(event))
    }

    fn cuGraphExecEventRecordNodeSetEvent(exec: Handle, node: Handle, event: Handle) {
        set_in(exec, node, node::RECORD, || record_node(event))
    }

    fn cuGraphAddEventWaitNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, event: Handle,
    ) {
        add(node, graph, dependencies, In::none(), count, || wait_node(event))
    }

    fn cuGraphEventWaitNodeGetEvent(node: Handle, event: Out<Handle>) {
        event.set(with_node(node, waited)?)
    }

    fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) {
        set(node, node::WAIT, || wait_node(event))
    }

    fn cuGraphExecEventWaitNodeSetEvent(exec: Handle, node: Handle, event: Handle) {
        set_in(exec, node, node::WAIT, || wait_node(event))
    }

    fn cuGraphAddBatchMemOpNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: In<BatchNodeParams>,
    ) {
        add(node, graph, dependencies, In::none(), count, || params.get()?.node())
    }

    fn cuGraphBatchMemOpNodeGetParams(node: Handle, params: Out<BatchNodeParams>) {
        params.check()?;
        params.set(with_node(node, batch_params)?)
    }

    fn cuGraphBatchMemOpNodeSetParams(node: Handle, params: In<BatchNodeParams>) {
        set(node, node::BATCH, || params.get()?.node())
    }

    fn cuGraphExecBatchMemOpNodeSetParams(exec: Handle, node: Handle, params: In<BatchNodeParams>) {
        set_in(exec, node, node::BATCH, || params.get()?.node())
    }

    fn cuGraphAddMemAllocNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: Out<AllocateParams>,
    ) {
        params.check()?;
        // SAFETY: the place is not null, which was checked above, and `cuda.h` requires that it holds the parameters.
        let mut request = unsafe { params.as_ptr().read_unaligned() };
        add(node, graph, dependencies, In::none(), count, || request.node())?;
        params.set(request)
    }

    fn cuGraphMemAllocNodeGetParams(node: Handle, params: Out<AllocateParams>) {
        params.check()?;
        params.set(with_node(node, |node| match &node.work {
            Work::Op(Op::Allocate(memory)) => Ok(AllocateParams::of(memory)),
            _ => Err(Code::INVALID_VALUE.into()),
        })?)
    }

    fn cuGraphAddMemFreeNode(node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, address: u64) {
        let owner = get(graph)?;
        add(node, graph, dependencies, In::none(), count, || free_node(&owner, address))
    }

    fn cuGraphMemFreeNodeGetParams(node: Handle, address: Out<u64>) {
        address.check()?;
        address.set(with_node(node, |node| match node.work {
            Work::Op(Op::Free(address)) => Ok(address),
            _ => Err(Code::INVALID_VALUE.into()),
        })?)
    }
}
