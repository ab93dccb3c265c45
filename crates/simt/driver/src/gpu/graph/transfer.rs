//! Nodes that copy and fill memory.

use super::node::{self, Node, Work};
use super::nodes::{add, check_context, set, set_in};
use super::with_node;
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::copy::Fill;
use crate::gpu::copy3d::{self, Memcpy3d};
use crate::gpu::op::Op;

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FillParams {
    address: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

impl FillParams {
    /// Creates a node that fills the memory.
    pub(crate) fn node(self) -> Result<Node> {
        let Self { address, pitch, value, element, width, height } = self;
        if !matches!(element, 1 | 2 | 4) || width == 0 || height == 0 {
            return Err(Error::new(Code::INVALID_VALUE, "a fill needs at least one value of 1, 2 or 4 bytes"));
        }
        let (pitch, size, width, rows) = (pitch as u64, element.into(), width as u64, height as u64);
        let row = width.checked_mul(size).ok_or(Code::INVALID_VALUE)?;
        if rows > 1 && pitch < row || pitch.checked_mul(rows).is_none() {
            return Err(Error::new(Code::INVALID_VALUE, "the pitch is smaller than a row"));
        }
        let fill = Fill { address, pitch, value, size, width, rows };
        fill.check()?;
        Ok(Node::new(Work::Op(Op::Fill(fill))))
    }
}

/// Creates a node that copies memory.
pub(crate) fn copy_node(params: &Memcpy3d) -> Result<Node> {
    let copy = copy3d::read(params)?;
    if copy.is_empty() {
        return Err(Error::new(Code::INVALID_VALUE, "a copy node must copy at least one byte"));
    }
    Ok(Node { copied: Some(*params), ..Node::new(Work::Op(Op::Copy(copy))) })
}

fn copy_params(node: &mut Node) -> Result<Memcpy3d> {
    match &node.work {
        Work::Op(Op::Copy(copy)) => Ok(node.copied.unwrap_or_else(|| copy3d::describe(copy))),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

fn fill_params(node: &mut Node) -> Result<FillParams> {
    match node.work {
        Work::Op(Op::Fill(Fill { address, pitch, value, size, width, rows })) => {
            let [pitch, width, height] = [pitch, width, rows].map(|side| side as usize);
            Ok(FillParams { address, pitch, value, element: size as u32, width, height })
        }
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

functions! {
    fn cuGraphAddMemcpyNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: In<Memcpy3d>, context: Handle,
    ) {
        check_context(context)?;
        add(node, graph, dependencies, In::none(), count, || copy_node(&params.get()?))
    }

    fn cuGraphMemcpyNodeGetParams(node: Handle, params: Out<Memcpy3d>) {
        params.check()?;
        params.set(with_node(node, copy_params)?)
    }

    fn cuGraphMemcpyNodeSetParams(node: Handle, params: In<Memcpy3d>) {
        set(node, node::COPY, || copy_node(&params.get()?))
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, params: In<Memcpy3d>, context: Handle) {
        check_context(context)?;
        set_in(exec, node, node::COPY, || copy_node(&params.get()?))
    }

    fn cuGraphAddMemsetNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: In<FillParams>,
        context: Handle,
    ) {
        check_context(context)?;
        add(node, graph, dependencies, In::none(), count, || params.get()?.node())
    }

    fn cuGraphMemsetNodeGetParams(node: Handle, params: Out<FillParams>) {
        params.check()?;
        params.set(with_node(node, fill_params)?)
    }

    fn cuGraphMemsetNodeSetParams(node: Handle, params: In<FillParams>) {
        set(node, node::FILL, || params.get()?.node())
    }

    fn cuGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: In<FillParams>, context: Handle) {
        check_context(context)?;
        set_in(exec, node, node::FILL, || params.get()?.node())
    }
}
