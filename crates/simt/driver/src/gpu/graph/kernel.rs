//! Kernel nodes.

use std::ffi::c_void;

use super::node::{self, Node, Work};
use super::nodes::{add, set, set_in};
use super::with_node;
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::launch::Request;
use crate::gpu::launch_attributes::{CLUSTER, COOPERATIVE, Owner, Value, number};
use crate::gpu::op::{LaunchOp, Op};
use simt::Arg;

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct KernelParams {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    params: *const *const c_void,
    extra: *const usize,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`, and also `_v3`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct KernelParams2 {
    first: KernelParams,
    kernel: Handle,
    context: Handle,
}

impl KernelParams {
    /// Creates a node that launches the kernel.
    fn node(self) -> Result<Node> {
        let Self { function, grid, block, shared_bytes, params, extra } = self;
        if !params.is_null() && !extra.is_null() {
            return Err(Error::new(Code::INVALID_VALUE, "pass arguments either by address or in a buffer, not both"));
        }
        let request =
            Request { function, grid, block, shared_bytes, cluster: None, is_cooperative: false, params, extra };
        let mut node = Node::new(Work::Op(Op::Launch(request.prepare()?)));
        node.has_buffer = !extra.is_null();
        Ok(node)
    }
}

impl KernelParams2 {
    /// Creates a node that launches the kernel.
    pub(crate) fn node(self) -> Result<Node> {
        let function = if self.first.function == 0 { self.kernel } else { self.first.function };
        if self.context != 0 {
            crate::gpu::context::Context::of(self.context)?;
        }
        let mut node = KernelParams { function, ..self.first }.node()?;
        if self.kernel != 0 {
            launch(&mut node)?.handle = self.kernel;
        }
        Ok(node)
    }
}

/// Returns the launch of a kernel node.
fn launch(node: &mut Node) -> Result<&mut LaunchOp> {
    match &mut node.work {
        Work::Op(Op::Launch(launch)) => Ok(launch),
        _ => Err(Error::new(Code::INVALID_VALUE, "the node is not a kernel node")),
    }
}

/// Returns the parameters of a node. The arguments stay valid until the node changes.
fn params(node: &mut Node) -> Result<KernelParams2> {
    let launch = launch(node)?.clone();
    let LaunchOp { handle, function, grid, block, shared_bytes, args, .. } = launch;
    let places = &function.kernel.program().params;
    let bytes: usize = places.iter().map(|param| (param.offset + param.bytes) as usize).max().unwrap_or_default();
    let mut buffer = vec![0_u8; bytes.next_multiple_of(8)];
    for (place, arg) in places.iter().zip(&args) {
        let to = &mut buffer[place.offset as usize..][..place.bytes as usize];
        match arg {
            Arg::Pointer(word) => to.copy_from_slice(&word.to_le_bytes()),
            Arg::Bytes(bytes) => to.copy_from_slice(bytes),
            _ => {}
        }
    }
    let words: Box<[u64]> = buffer.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let start = words.as_ptr().expose_provenance();
    let list: Box<[u64]> = match node.has_buffer {
        // The size is stored after the list itself.
        true => [1, start as u64, 2, 0, 0, bytes as u64].into(),
        false => places.iter().map(|place| (start + place.offset as usize) as u64).collect(),
    };
    node.shown = vec![words, list];
    let list = &mut node.shown[1];
    let (mut params, mut extra) = (std::ptr::null(), std::ptr::null());
    if node.has_buffer {
        list[3] = (&raw const list[5]).expose_provenance() as u64;
        extra = list.as_ptr().cast();
    } else if !list.is_empty() {
        params = list.as_ptr().cast();
    }
    let context = function.context();
    let kernel = if handle == function.handle { 0 } else { handle };
    let first = KernelParams { function: function.handle, grid, block, shared_bytes, params, extra };
    Ok(KernelParams2 { first, kernel, context })
}

fn attribute(node: Handle, id: u32) -> Result<Value> {
    with_node(node, |node| {
        let launch = launch(node)?;
        match id {
            COOPERATIVE => Ok(number(launch.is_cooperative.into())),
            CLUSTER => {
                let mut value = number(0);
                value[..3].copy_from_slice(&launch.cluster.unwrap_or_default());
                Ok(value)
            }
            _ => node.attributes.get(Owner::Node, id),
        }
    })
}

fn set_attribute(node: Handle, id: u32, value: Value) -> Result<()> {
    with_node(node, |node| {
        let launch = launch(node)?;
        match id {
            COOPERATIVE => {
                let blocks: u64 = launch.grid.iter().map(|side| u64::from(*side)).product();
                if value[0] != 0 && blocks > launch.resident {
                    return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE.into());
                }
                launch.is_cooperative = value[0] != 0;
            }
            CLUSTER => {
                let cluster = (value[..3] != [0; 3]).then_some([value[0], value[1], value[2]]);
                if let Some(cluster) = cluster {
                    launch.function.check_cluster(launch.grid, cluster)?;
                }
                launch.cluster = cluster;
            }
            _ => return node.attributes.set(Owner::Node, id, value),
        }
        Ok(())
    })
}

functions! {
    fn cuGraphAddKernelNode(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: In<KernelParams>,
    ) {
        add(node, graph, dependencies, In::none(), count, || params.get()?.node())
    }

    fn cuGraphAddKernelNode_v2(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: In<KernelParams2>,
    ) {
        add(node, graph, dependencies, In::none(), count, || params.get()?.node())
    }

    fn cuGraphKernelNodeGetParams(node: Handle, params: Out<KernelParams>) {
        params.check()?;
        params.set(with_node(node, self::params)?.first)
    }

    fn cuGraphKernelNodeGetParams_v2(node: Handle, params: Out<KernelParams2>) {
        params.check()?;
        params.set(with_node(node, self::params)?)
    }

    fn cuGraphKernelNodeSetParams(node: Handle, params: In<KernelParams>) {
        set(node, node::KERNEL, || params.get()?.node())
    }

    fn cuGraphKernelNodeSetParams_v2(node: Handle, params: In<KernelParams2>) {
        set(node, node::KERNEL, || params.get()?.node())
    }

    fn cuGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: In<KernelParams>) {
        set_in(exec, node, node::KERNEL, || params.get()?.node())
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: Handle, params: In<KernelParams2>) {
        set_in(exec, node, node::KERNEL, || params.get()?.node())
    }

    fn cuGraphKernelNodeGetAttribute(node: Handle, id: u32, value: Out<Value>) {
        value.check()?;
        value.set(attribute(node, id)?)
    }

    fn cuGraphKernelNodeSetAttribute(node: Handle, id: u32, value: In<Value>) {
        set_attribute(node, id, value.get()?)
    }

    fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle) {
        let copied = with_node(from, |node| {
            let LaunchOp { cluster, is_cooperative, .. } = *launch(node)?;
            Ok((node.attributes.clone(), cluster, is_cooperative))
        })?;
        with_node(to, |node| {
            let launch = launch(node)?;
            (launch.cluster, launch.is_cooperative) = (copied.1, copied.2);
            node.attributes = copied.0;
            Ok(())
        })
    }
}
