//! The ranges of addresses that kernels can access.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::abi::error::{Code, Result};
use crate::abi::handles::{Handle, PerDriver, lock};

/// All ranges by their first addresses.
static RANGES: PerDriver<Mutex<BTreeMap<u64, Range>>> = PerDriver::new();

/// What a range of addresses is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Memory of the device.
    Device,
    /// Page-locked memory of the host, which kernels access at the same address.
    Host,
    /// Memory of the host that the program has allocated itself and registered.
    Registered,
    /// Managed memory.
    Managed,
    /// Physical memory of the device that the program has mapped itself.
    Mapped,
    /// The memory of an array, whose address the program does not know.
    Array,
    /// A variable of a module; freed with it.
    Owned,
    /// Memory of a graph; freed with it.
    Graph,
}

impl Kind {
    /// Whether it is page-locked memory of the host.
    pub(crate) fn is_host(self) -> bool {
        matches!(self, Kind::Host | Kind::Registered)
    }

    /// Whether it is memory of a device.
    pub(crate) fn is_device(self) -> bool {
        matches!(self, Kind::Device | Kind::Mapped | Kind::Array | Kind::Owned)
    }
}

/// A range of addresses that kernels can access.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    /// The handle of its context.
    pub(crate) context: Handle,
    /// The flags that it was allocated with, where there are some.
    pub(crate) flags: u32,
    /// The handle of the pool that it comes from; 0 without one.
    pub(crate) pool: Handle,
    /// The number of the allocation, which no other one has.
    pub(crate) id: u64,
    /// Whether copies from and to it are waited for (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`).
    pub(crate) sync_copies: bool,
    /// Whether a stream has been told to free it.
    pub(crate) is_freed: bool,
    /// What the machine knows it by.
    pub(crate) simulator_base: u64,
}

impl Range {
    /// A range of the current interface: `base` is its address for the program, and for the simulator.
    pub(crate) fn new(base: u64, bytes: u64, kind: Kind, context: Handle) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let sync_copies = !kind.is_host();
        let (simulator_base, flags, pool, is_freed) = (base, 0, 0, false);
        Self { base, bytes, kind, context, flags, pool, id, sync_copies, is_freed, simulator_base }
    }

    /// Whether it can be accessed: what a program has mapped only once it says so.
    pub(crate) fn is_accessible(&self) -> bool {
        self.kind != Kind::Mapped || self.flags != 0
    }
}

/// All ranges, locked.
pub(crate) fn all() -> MutexGuard<'static, BTreeMap<u64, Range>> {
    lock(RANGES.get())
}

/// The range that an address lies in.
pub(crate) fn range_of(address: u64) -> Option<Range> {
    let ranges = all();
    let (_, range) = ranges.range(..=address).next_back()?;
    (address - range.base < range.bytes.max(1)).then(|| range.clone())
}

/// The last range that has one of so many bytes from an address on.
pub(crate) fn overlapping(address: u64, bytes: u64) -> Option<Range> {
    let ranges = all();
    let (_, range) = ranges.range(..address.saturating_add(bytes)).next_back()?;
    (range.base + range.bytes > address).then(|| range.clone())
}

/// Adds a range.
pub(crate) fn add(range: Range) {
    all().insert(range.base, range);
}

/// Changes the range that an address lies in: `CUDA_ERROR_INVALID_VALUE` when there is none.
pub(crate) fn change(address: u64, change: impl FnOnce(&mut Range) -> Result<()>) -> Result<()> {
    let mut ranges = all();
    let range = ranges.range_mut(..=address).next_back().map(|(_, range)| range);
    change(range.filter(|range| address - range.base < range.bytes.max(1)).ok_or(Code::INVALID_VALUE)?)
}
