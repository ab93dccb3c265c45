//! Memory that graphs allocate and free: its address is known from the beginning, and each launch makes it usable anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, Weak};

use super::node::{Node, Work};
use super::{Graph, Inner};
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::lock;
use crate::gpu::capture;
use crate::gpu::context;
use crate::gpu::memory::{self, Kind};
use crate::gpu::op::Op;
use crate::gpu::state::{self, Driver, driver};
use crate::gpu::stream::Stream;

/// Memory of a graph. It is there as long as the graph, or one that was made of it, or the program has not freed it.
pub(crate) struct GraphMemory {
    pub(crate) address: u64,
    bytes: u64,
    device: usize,
    driver: &'static Driver,
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        // The last owner may be a thread that is inside of another driver by now.
        let free = || memory::free_now(&mut self.driver.machine(), self.address);
        drop(state::within(self.driver, free));
    }
}

/// What is known of the memory of a driver's graphs.
#[derive(Default)]
pub(crate) struct Table {
    /// All by their addresses.
    all: BTreeMap<u64, Weak<GraphMemory>>,
    /// What was allocated by a launch and is not free again.
    live: BTreeMap<u64, Arc<GraphMemory>>,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

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

/// What is known of the memory of all graphs, locked.
fn table() -> Result<MutexGuard<'static, Table>> {
    Ok(lock(&driver()?.graph_memory))
}

impl GraphMemory {
    fn new(bytes: usize, device: usize) -> Result<Arc<Self>> {
        let address = memory::allocate(bytes, Kind::Graph, 0, 0)?;
        let made = Arc::new(Self { address, bytes: bytes as u64, device, driver: driver()? });
        table()?.all.insert(address, Arc::downgrade(&made));
        Ok(made)
    }

    /// The parameters of a node that allocates it.
    pub(crate) fn params(&self) -> AllocateParams {
        AllocateParams {
            kind: PINNED,
            handle_types: 0,
            location: DEVICE,
            device: self.device as i32,
            security: 0,
            max_bytes: 0,
            usage: 0,
            reserved: [0; 54],
            accesses: 0,
            access_count: 0,
            bytes: self.bytes as usize,
            address: self.address,
        }
    }
}

/// A node that frees memory which a graph has allocated: `CUDA_ERROR_INVALID_VALUE` for any other, for what the same
/// graph frees already, and for its own once it was executable, as others free that then.
pub(crate) fn free_node(graph: &Graph, address: u64) -> Result<Node> {
    let is_known = table()?.all.get(&address).is_some_and(|own| own.strong_count() > 0);
    let (mut used, inner) = (Used::default(), graph.lock());
    used.collect(&inner);
    let is_others = inner.was_executable && used.allocated.iter().any(|own| own.address == address);
    match is_known && !is_others && !used.freed.contains(&address) {
        true => Ok(Node::new(Work::Op(Op::Free(address)))),
        false => Err(Error::new(Code::INVALID_VALUE, "no memory of a graph, or freed by this one or others already")),
    }
}

/// Whether an address is that of memory of a graph.
pub(crate) fn is_of_graph(address: u64) -> bool {
    memory::range_of(address).is_some_and(|range| range.base == address && range.kind == Kind::Graph)
}

/// Frees what a launch has allocated, if it is memory of a graph, and says whether it is.
pub(crate) fn free(address: u64) -> Result<bool> {
    if !is_of_graph(address) {
        return Ok(false);
    }
    // The memory itself may go with it, so not while the table is locked.
    let freed = table()?.live.remove(&address);
    freed.map(|_| true).ok_or_else(|| Error::new(Code::INVALID_VALUE, "memory of a graph that is not allocated now"))
}

/// Captures an allocation in a stream, and says its address; `None` when the stream is not captured.
pub(crate) fn capture_allocation(stream: &Stream, bytes: usize) -> Result<Option<u64>> {
    if !capture::is_captured(stream)? {
        return Ok(None);
    }
    if bytes == 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let memory = GraphMemory::new(bytes, context::current()?.device)?;
    capture::take(stream, &Op::Allocate(memory.clone()))?;
    Ok(Some(memory.address))
}

/// Lets a stream free what a launch has allocated, or captures that, and says whether it is memory of a graph.
pub(crate) fn free_later(stream: &Stream, address: u64) -> Result<bool> {
    if !capture::is_captured(stream)? {
        capture::check_unsafe()?;
        return free(address);
    }
    match is_of_graph(address) {
        true => capture::take(stream, &Op::Free(address)),
        false => Err(Error::new(Code::INVALID_VALUE, "a graph frees only what graphs allocate")),
    }
}

/// What a graph allocates and frees.
#[derive(Default)]
pub(crate) struct Used {
    allocated: Vec<Arc<GraphMemory>>,
    freed: BTreeSet<u64>,
}

impl Used {
    /// Adds what a graph allocates and frees, with those in its nodes.
    pub(crate) fn collect(&mut self, inner: &Inner) {
        for node in inner.nodes.values() {
            match &node.work {
                Work::Op(Op::Allocate(memory)) => self.allocated.push(memory.clone()),
                Work::Op(Op::Free(address)) => drop(self.freed.insert(*address)),
                Work::Op(_) => {}
                Work::Child(child) => self.collect(&child.graph().lock()),
            }
        }
    }

    /// Whether there is anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.allocated.is_empty() && self.freed.is_empty()
    }

    /// Notes that a launch allocates and frees it: `CUDA_ERROR_INVALID_VALUE` when something is still allocated from the
    /// launch before, unless the launch `frees` that, or when something that it frees is not allocated.
    pub(crate) fn launch(self, frees: bool) -> Result<()> {
        let mut table = table()?;
        let own: BTreeSet<u64> = self.allocated.iter().map(|memory| memory.address).collect();
        let is_allocated = own.iter().any(|address| table.live.contains_key(address));
        let mut others = self.freed.difference(&own);
        if (is_allocated && !frees) || others.any(|address| !table.live.contains_key(address)) {
            return Err(Error::new(
                Code::INVALID_VALUE,
                "memory of the graph is still allocated by its last launch, or what it frees is not allocated",
            ));
        }
        table.live.extend(self.allocated.into_iter().map(|memory| (memory.address, memory)));
        table.note();
        let freed: Vec<_> = self.freed.iter().filter_map(|address| table.live.remove(address)).collect();
        drop(table);
        drop(freed);
        Ok(())
    }
}

impl Table {
    fn used(&self) -> u64 {
        self.live.values().map(|own| own.bytes).sum()
    }

    /// Notes how much is allocated.
    fn note(&mut self) {
        self.all.retain(|_, own| own.strong_count() > 0);
        self.used_high = self.used_high.max(self.used());
        self.reserved = self.reserved.max(self.used().next_multiple_of(2 << 20));
        self.reserved_high = self.reserved_high.max(self.reserved);
    }
}

functions! {
    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: Out<u64>) {
        driver()?.device(device)?;
        value.check()?;
        let table = table()?;
        value.set(match attribute {
            0 => table.used(),
            1 => table.used_high,
            2 => table.reserved,
            3 => table.reserved_high,
            _ => return Err(Code::INVALID_VALUE.into()),
        })
    }

    fn cuDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: In<u64>) {
        driver()?.device(device)?;
        let value = value.get()?;
        let mut table = table()?;
        match (attribute, value) {
            (1, 0) => table.used_high = table.used(),
            (3, 0) => table.reserved_high = table.reserved,
            _ => return Err(Code::INVALID_VALUE.into()),
        }
        Ok(())
    }

    fn cuDeviceGraphMemTrim(device: i32) {
        driver()?.device(device)?;
        let mut table = table()?;
        table.reserved = table.used().next_multiple_of(2 << 20);
        Ok(())
    }
}
