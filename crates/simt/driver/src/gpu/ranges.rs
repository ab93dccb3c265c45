//! The address ranges that kernels can access.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::abi::error::{Code, Result};
use crate::abi::handles::{Handle, PerDriver, lock};

/// All ranges, by first address.
static RANGES: PerDriver<Mutex<BTreeMap<u64, Range>>> = PerDriver::new();

/// The kind of memory in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Device memory.
    Device,
    /// Page-locked host memory, which kernels access at the same address.
    Host,
    /// Host memory that the program allocated and then registered.
    Registered,
    /// Managed memory.
    Managed,
    /// Physical device memory that the program mapped.
    Mapped,
    /// The memory of an array, whose address is hidden from the program.
    Array,
    /// A variable of a module, which owns the memory.
    Owned,
    /// Memory of a graph, which owns the memory.
    Graph,
}

impl Kind {
    /// Returns whether the memory is page-locked host memory.
    pub(crate) fn is_host(self) -> bool {
        matches!(self, Kind::Host | Kind::Registered)
    }

    /// Returns whether the memory is device memory.
    pub(crate) fn is_device(self) -> bool {
        matches!(self, Kind::Device | Kind::Mapped | Kind::Array | Kind::Owned)
    }
}

/// An address range that kernels can access.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    /// The handle of the context that allocated the memory.
    pub(crate) context: Handle,
    /// The flags of the allocation, if it has any.
    pub(crate) flags: u32,
    /// The handle of the memory's pool; 0 if it has no pool.
    pub(crate) pool: Handle,
    /// The unique number of the allocation.
    pub(crate) id: u64,
    /// Whether copies from and to the range are synchronous (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`).
    pub(crate) sync_copies: bool,
    /// Whether a stream will free the range.
    pub(crate) is_freed: bool,
    /// The address in the simulator.
    pub(crate) simulator_base: u64,
}

impl Range {
    /// Creates a range whose address is `base` both for the program and for the simulator.
    pub(crate) fn new(base: u64, bytes: u64, kind: Kind, context: Handle) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let sync_copies = !kind.is_host();
        let (simulator_base, flags, pool, is_freed) = (base, 0, 0, false);
        Self { base, bytes, kind, context, flags, pool, id, sync_copies, is_freed, simulator_base }
    }

    /// Returns whether the range is accessible. A mapping is accessible only after the program sets its access flags.
    pub(crate) fn is_accessible(&self) -> bool {
        self.kind != Kind::Mapped || self.flags != 0
    }
}

/// Locks and returns all ranges.
pub(crate) fn all() -> MutexGuard<'static, BTreeMap<u64, Range>> {
    lock(RANGES.get())
}

/// Returns the range that contains an address.
pub(crate) fn range_of(address: u64) -> Option<Range> {
    let ranges = all();
    let (_, range) = ranges.range(..=address).next_back()?;
    (address - range.base < range.bytes.max(1)).then(|| range.clone())
}

/// Returns the last range that overlaps `bytes` bytes from an address on.
pub(crate) fn overlapping(address: u64, bytes: u64) -> Option<Range> {
    let ranges = all();
    let (_, range) = ranges.range(..address.saturating_add(bytes)).next_back()?;
    (range.base + range.bytes > address).then(|| range.clone())
}

/// Adds a range.
pub(crate) fn add(range: Range) {
    all().insert(range.base, range);
}

/// Changes the range that contains an address. Returns `CUDA_ERROR_INVALID_VALUE` when there is none.
pub(crate) fn change(address: u64, change: impl FnOnce(&mut Range) -> Result<()>) -> Result<()> {
    let mut ranges = all();
    let range = ranges.range_mut(..=address).next_back().map(|(_, range)| range);
    change(range.filter(|range| address - range.base < range.bytes.max(1)).ok_or(Code::INVALID_VALUE)?)
}
