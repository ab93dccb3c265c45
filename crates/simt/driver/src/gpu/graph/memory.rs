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
    /// The index of the word that holds the address.
    pub(crate) const ADDRESS: usize = std::mem::offset_of!(Self, address) / 8;

    /// Returns the parameters of a node that allocates this memory.
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

    /// Returns the address of the memory.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Creates a node that allocates memory and sets the address in the parameters.
    pub(crate) fn node(&mut self) -> Result<Node> {
        let is_valid = self.kind == PINNED && self.handle_types == 0 && self.location == DEVICE && self.bytes > 0;
        if !is_valid || driver()?.device(self.device).is_err() {
            return Err(Error::new(Code::INVALID_VALUE, "a memory node must allocate at least one byte on a device"));
        }
        let memory = GraphMemory::new(self.bytes, self.device as usize)?;
        self.address = memory.address;
        Ok(Node::new(Work::Op(Op::Allocate(memory))))
    }
}

/// Creates a node that frees memory that a graph allocated. Returns `CUDA_ERROR_INVALID_VALUE` for other memory, for
/// memory that `graph` already frees, and for memory that `graph` allocates if `graph` was ever instantiated.
pub(crate) fn free_node(graph: &Graph, address: u64) -> Result<Node> {
    let is_known = graph_memory::is_known(address)?;
    let (mut used, inner) = (Used::default(), graph.lock());
    collect(&inner, &mut used);
    let is_others = inner.was_executable && used.allocated.iter().any(|memory| memory.address == address);
    match is_known && !is_others && !used.freed.contains(&address) {
        true => Ok(Node::new(Work::Op(Op::Free(address)))),
        false => {
            Err(Error::new(Code::INVALID_VALUE, "the address is not a graph's memory, or a graph frees it already"))
        }
    }
}

/// Collects the memory that a graph and its child graphs allocate and free.
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
