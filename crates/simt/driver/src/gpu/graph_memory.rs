//! Memory of graphs: its address is known from the beginning, and each launch makes it usable anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{PerDriver, lock};
use crate::gpu::memory;
use crate::gpu::ranges::{self, Kind};
use crate::gpu::state::{self, Driver, driver};

static TABLE: PerDriver<Mutex<Table>> = PerDriver::new();

/// Memory of a graph. It is there as long as the graph, or one that was made of it, or the program has not freed it.
pub(crate) struct GraphMemory {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) device: usize,
    driver: &'static Driver,
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        // The last owner may be a thread that is inside of another driver by now.
        let free = || memory::free_now(&mut self.driver.simulator(), self.address);
        drop(state::within(self.driver, free));
    }
}

/// What is known of the memory of a driver's graphs.
#[derive(Default)]
struct Table {
    /// All by their addresses.
    all: BTreeMap<u64, Weak<GraphMemory>>,
    /// What was allocated by a launch and is not free again.
    live: BTreeMap<u64, Arc<GraphMemory>>,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

/// The table, locked.
fn table() -> Result<MutexGuard<'static, Table>> {
    driver()?;
    Ok(lock(TABLE.get()))
}

impl GraphMemory {
    pub(crate) fn new(bytes: usize, device: usize) -> Result<Arc<Self>> {
        let address = memory::allocate(bytes, Kind::Graph, 0, 0)?;
        let made = Arc::new(Self { address, bytes: bytes as u64, device, driver: driver()? });
        table()?.all.insert(address, Arc::downgrade(&made));
        Ok(made)
    }
}

/// Whether an address is that of memory of a graph.
pub(crate) fn is_of_graph(address: u64) -> bool {
    ranges::range_of(address).is_some_and(|range| range.base == address && range.kind == Kind::Graph)
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

/// Whether graphs have memory that begins at an address.
pub(crate) fn is_known(address: u64) -> Result<bool> {
    Ok(table()?.all.get(&address).is_some_and(|memory| memory.strong_count() > 0))
}

/// What a graph allocates and frees.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) allocated: Vec<Arc<GraphMemory>>,
    pub(crate) freed: BTreeSet<u64>,
}

impl Used {
    /// Notes that a launch allocates and frees it: `CUDA_ERROR_INVALID_VALUE` when something is still allocated from the
    /// launch before, unless the launch `frees` that, or when something that it frees is not allocated.
    pub(crate) fn launch(self, frees: bool) -> Result<()> {
        let mut table = table()?;
        let allocated: BTreeSet<u64> = self.allocated.iter().map(|memory| memory.address).collect();
        let is_allocated = allocated.iter().any(|address| table.live.contains_key(address));
        let mut others = self.freed.difference(&allocated);
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
        self.live.values().map(|memory| memory.bytes).sum()
    }

    /// Notes how much is allocated.
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
