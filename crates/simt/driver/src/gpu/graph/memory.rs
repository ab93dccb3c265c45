//! Nodes that allocate and free memory.

use super::node::{Node, Work};
use super::{Graph, Inner};
use crate::abi::error::{Code, Error, Result};
use crate::gpu::graph_memory::{self, GraphMemory, Used};
use crate::gpu::op::Op;
use crate::gpu::state::driver;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct AllocateParams {
    /// `CU_MEM_ALLOCATION_TYPE_PINNED`.
    kind: u32,
    handle_types: u32,
    location: u32,
    device: i32,
    security: usize,
    max_bytes: usize,
    usage: u16,
    reserved: [u8; 54],
    accesses: usize,
    access_count: usize,
    bytes: usize,
    address: u64,
}

const PINNED: u32 = 1;
/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: u32 = 1;

impl AllocateParams {
    /// Which of its words is the address.
    pub(crate) const ADDRESS: usize = std::mem::offset_of!(Self, address) / 8;

    /// Those of a node that allocates this memory.
    pub(crate) fn of(memory: &GraphMemory) -> Self {
        Self {
            kind: PINNED,
            handle_types: 0,
            location: DEVICE,
            device: memory.device as i32,
            security: 0,
            max_bytes: 0,
            usage: 0,
            reserved: [0; 54],
            accesses: 0,
            access_count: 0,
            bytes: memory.bytes as usize,
            address: memory.address,
        }
    }

    /// The address of the memory.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// A node that allocates memory, whose address is set.
    pub(crate) fn node(&mut self) -> Result<Node> {
        let is_valid = self.kind == PINNED && self.handle_types == 0 && self.location == DEVICE && self.bytes > 0;
        if !is_valid || driver()?.device(self.device).is_err() {
            return Err(Error::new(Code::INVALID_VALUE, "memory of no bytes, or not of a device"));
        }
        let memory = GraphMemory::new(self.bytes, self.device as usize)?;
        self.address = memory.address;
        Ok(Node::new(Work::Op(Op::Allocate(memory))))
    }
}

/// A node that frees memory which a graph has allocated: `CUDA_ERROR_INVALID_VALUE` for any other, for what the same
/// graph frees already, and for its own once it was executable, as others free that then.
pub(crate) fn free_node(graph: &Graph, address: u64) -> Result<Node> {
    let is_known = graph_memory::is_known(address)?;
    let (mut used, inner) = (Used::default(), graph.lock());
    collect(&inner, &mut used);
    let is_others = inner.was_executable && used.allocated.iter().any(|memory| memory.address == address);
    match is_known && !is_others && !used.freed.contains(&address) {
        true => Ok(Node::new(Work::Op(Op::Free(address)))),
        false => Err(Error::new(Code::INVALID_VALUE, "no memory of a graph, or freed by this one or others already")),
    }
}

/// Adds what a graph allocates and frees, with those in its nodes.
pub(crate) fn collect(inner: &Inner, used: &mut Used) {
    for node in inner.nodes.values() {
        match &node.work {
            Work::Op(Op::Allocate(memory)) => used.allocated.push(memory.clone()),
            Work::Op(Op::Free(address)) => drop(used.freed.insert(*address)),
            Work::Op(_) => {}
            Work::Child(child) => collect(&child.graph().lock(), used),
        }
    }
}
