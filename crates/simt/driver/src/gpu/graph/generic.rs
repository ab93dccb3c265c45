//! One struct for the parameters of nodes of all types.

use super::kernel::KernelParams2;
use super::memory::AllocateParams;
use super::node::{self, Node, Work};
use super::nodes::{self, BatchNodeParams, HostParams, add, check_context, child_node, record_node, wait_node};
use super::transfer::{FillParams, copy_node};
use super::{EdgeData, get};
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::copy3d::Memcpy3d;
use crate::gpu::op::Op;

/// `CUgraphNodeParams`: the type, reserved zeros, the parameters for nodes of this type, and a final reserved zero.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Params {
    kind: u32,
    reserved: [u32; 3],
    params: [u64; 29],
    end: u64,
}

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct CopyParams {
    flags: u32,
    reserved: u32,
    context: Handle,
    copy: Memcpy3d,
}

/// `CUDA_MEMSET_NODE_PARAMS_v2`.
#[derive(Clone, Copy)]
#[repr(C)]
struct FillParams2 {
    fill: FillParams,
    context: Handle,
}

impl Params {
    fn read(params: In<Self>) -> Result<Self> {
        let read = params.get()?;
        match read.reserved == [0; 3] && read.end == 0 {
            true => Ok(read),
            false => Err(Error::new(Code::INVALID_VALUE, "reserved parts of CUgraphNodeParams must be zero")),
        }
    }

    /// Returns the parameters as type `T`.
    ///
    /// # Safety
    /// The caller must ensure that in `cuda.h`, the parameters of nodes of this kind have the type `T`.
    unsafe fn of<T: Copy>(&self) -> Result<T> {
        const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
        // SAFETY: the parameters of all types begin at `params`, and the assertion ensures that `params` is as large as
        // a `T`.
        unsafe { In::<T>::from_ptr(self.params.as_ptr().cast()) }.get()
    }

    /// Returns the node, and the address of the memory that it allocates.
    fn node(&self) -> Result<(Node, u64)> {
        let node = match self.kind {
            // SAFETY: the parameters of a kernel node are `CUDA_KERNEL_NODE_PARAMS_v3`.
            node::KERNEL => unsafe { self.of::<KernelParams2>() }?.node(),
            node::COPY => {
                // SAFETY: the parameters of a copy node are `CUDA_MEMCPY_NODE_PARAMS`.
                let CopyParams { flags, reserved, context, copy } = unsafe { self.of() }?;
                if flags != 0 || reserved != 0 {
                    return Err(Code::INVALID_VALUE.into());
                }
                check_context(context)?;
                copy_node(&copy)
            }
            node::FILL => {
                // SAFETY: the parameters of a fill node are `CUDA_MEMSET_NODE_PARAMS_v2`.
                let FillParams2 { fill, context } = unsafe { self.of() }?;
                check_context(context)?;
                fill.node()
            }
            // SAFETY: the parameters of a host node are `CUDA_HOST_NODE_PARAMS_v2`.
            node::HOST => unsafe { self.of::<HostParams>() }?.node(),
            node::CHILD => match self.params {
                [graph, 0, ..] => child_node(graph as Handle),
                _ => Err(Error::new(Code::NOT_SUPPORTED, "transferring ownership of a graph to a node is unsupported")),
            },
            node::EMPTY => Ok(Node::new(Work::Op(Op::Nothing))),
            node::RECORD => record_node(self.params[0] as Handle),
            node::WAIT => wait_node(self.params[0] as Handle),
            // SAFETY: the parameters of a batch are `CUDA_BATCH_MEM_OP_NODE_PARAMS_v2`.
            node::BATCH => unsafe { self.of::<BatchNodeParams>() }?.node(),
            node::ALLOCATE => {
                // SAFETY: the parameters of an allocation are `CUDA_MEM_ALLOC_NODE_PARAMS_v2`.
                let mut params = unsafe { self.of::<AllocateParams>() }?;
                let node = params.node()?;
                return Ok((node, params.address()));
            }
            8 | 9 | 13 => {
                Err(Error::new(Code::NOT_SUPPORTED, "external semaphore and conditional nodes are not supported"))
            }
            _ => Err(Code::INVALID_VALUE.into()),
        };
        Ok((node?, 0))
    }
}

/// Sets the parameters of a node in an executable graph.
fn set_in(exec: Handle, node: Handle, params: In<Params>) -> Result<()> {
    let params = Params::read(params)?;
    match params.kind {
        node::CHILD => super::update::child(exec, node, params.params[0] as Handle),
        kind => nodes::set_in(exec, node, kind, || Ok(params.node()?.0)),
    }
}

fn add_any(
    node: Out<Handle>,
    graph: Handle,
    dependencies: In<Handle>,
    data: In<EdgeData>,
    count: usize,
    place: Out<Params>,
) -> Result<()> {
    place.check()?;
    // SAFETY: `place` is not null, and `cuda.h` requires that it holds parameters, which the driver may change.
    let mut params = Params::read(unsafe { In::from_ptr(place.as_ptr()) })?;
    let owner = get(graph)?;
    let mut allocated = 0;
    add(node, graph, dependencies, data, count, || {
        if params.kind == node::FREE {
            return super::memory::free_node(&owner, params.params[0]);
        }
        let (node, address) = params.node()?;
        allocated = address;
        Ok(node)
    })?;
    if allocated != 0 {
        params.params[AllocateParams::ADDRESS] = allocated;
        place.offer(params);
    }
    Ok(())
}

functions! {
    fn cuGraphAddNode(node: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: Out<Params>) {
        add_any(node, graph, dependencies, In::none(), count, params)
    }

    fn cuGraphAddNode_v2(
        node: Out<Handle>, graph: Handle, dependencies: In<Handle>, data: In<EdgeData>, count: usize,
        params: Out<Params>,
    ) {
        add_any(node, graph, dependencies, data, count, params)
    }

    fn cuGraphNodeSetParams(node: Handle, params: In<Params>) {
        let params = Params::read(params)?;
        nodes::set(node, params.kind, || Ok(params.node()?.0))
    }

    fn cuGraphExecNodeSetParams(exec: Handle, node: Handle, params: In<Params>) {
        set_in(exec, node, params)
    }
}
