//! Memory of graphs: the address is fixed when the node is created, and each launch makes the memory usable again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{PerDriver, lock};
use crate::gpu::memory;
use crate::gpu::ranges::{self, Kind};
use crate::gpu::state::{self, Driver, driver};

static TABLE: PerDriver<Mutex<Table>> = PerDriver::new();

/// Memory of a graph. It exists until the graph and its executable graph are destroyed and the program has freed it.
pub(crate) struct GraphMemory {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) device: usize,
    driver: &'static Driver,
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        // The thread that drops the last reference may be inside another driver.
        let free = || memory::free_now(&mut self.driver.simulator(), self.address);
        drop(state::within(self.driver, free));
    }
}

/// The memory of all graphs of a driver.
#[derive(Default)]
struct Table {
    /// All graph memory, by address.
    all: BTreeMap<u64, Weak<GraphMemory>>,
    /// The memory that a launch allocated and that has not been freed yet.
    live: BTreeMap<u64, Arc<GraphMemory>>,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

/// Locks and returns the table.
fn table() -> Result<MutexGuard<'static, Table>> {
    driver()?;
    Ok(lock(TABLE.get()))
}

impl GraphMemory {
    pub(crate) fn new(bytes: usize, device: usize) -> Result<Arc<Self>> {
        let address = memory::allocate(bytes, Kind::Graph, 0, 0)?;
        let memory = Arc::new(Self { address, bytes: bytes as u64, device, driver: driver()? });
        table()?.all.insert(address, Arc::downgrade(&memory));
        Ok(memory)
    }
}

/// Returns whether memory of a graph starts at an address.
pub(crate) fn is_of_graph(address: u64) -> bool {
    ranges::range_of(address).is_some_and(|range| range.base == address && range.kind == Kind::Graph)
}

/// Frees memory that a launch allocated. Returns whether the address is memory of a graph.
pub(crate) fn free(address: u64) -> Result<bool> {
    if !is_of_graph(address) {
        return Ok(false);
    }
    // Dropping the last reference frees the memory, which must not happen while the table is locked.
    let freed = table()?.live.remove(&address);
    freed.map(|_| true).ok_or_else(|| Error::new(Code::INVALID_VALUE, "the graph's memory is not currently allocated"))
}

/// Returns whether a graph has memory that starts at an address.
pub(crate) fn is_known(address: u64) -> Result<bool> {
    Ok(table()?.all.get(&address).is_some_and(|memory| memory.strong_count() > 0))
}

/// The memory that a graph allocates and frees.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) allocated: Vec<Arc<GraphMemory>>,
    pub(crate) freed: BTreeSet<u64>,
}

impl Used {
    /// Records the allocations and frees of a launch. Returns `CUDA_ERROR_INVALID_VALUE` in two cases: `frees` is false
    /// and memory from the previous launch is still allocated, or the launch frees memory that is not allocated.
    pub(crate) fn launch(self, frees: bool) -> Result<()> {
        let mut table = table()?;
        let allocated: BTreeSet<u64> = self.allocated.iter().map(|memory| memory.address).collect();
        let is_allocated = allocated.iter().any(|address| table.live.contains_key(address));
        let mut others = self.freed.difference(&allocated);
        if (is_allocated && !frees) || others.any(|address| !table.live.contains_key(address)) {
            return Err(Error::new(
                Code::INVALID_VALUE,
                "memory of the last launch is still allocated, or the graph frees memory that is not allocated",
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
        self.live.values().map(|memory| memory.bytes).sum()
    }

    /// Updates the high-water marks.
    fn note(&mut self) {
        self.all.retain(|_, memory| memory.strong_count() > 0);
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
