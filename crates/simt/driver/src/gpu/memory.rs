//! Memory: allocations of the device's and the host's memory, by their addresses.

pub(crate) mod host;
pub(crate) mod managed;
pub(crate) mod pointer;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use simt::{Machine, MemoryError};

use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::gpu::context::{self, Context};
use crate::gpu::state::driver;
use crate::gpu::{capture, graph, pool};

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
    fn is_device(self) -> bool {
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
    is_freed: bool,
    /// What the machine knows it by.
    machine_base: u64,
}

impl Range {
    /// A range of the current interface: `base` is its address for the program, and for the machine.
    pub(crate) fn new(base: u64, bytes: u64, kind: Kind, context: Handle) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let sync_copies = !kind.is_host();
        let (machine_base, flags, pool, is_freed) = (base, 0, 0, false);
        Self { base, bytes, kind, context, flags, pool, id, sync_copies, is_freed, machine_base }
    }

    /// Whether it can be accessed: what a program has mapped only once it says so.
    pub(crate) fn is_accessible(&self) -> bool {
        self.kind != Kind::Mapped || self.flags != 0
    }
}

/// All ranges of the driver by their first addresses.
fn ranges() -> MutexGuard<'static, BTreeMap<u64, Range>> {
    /// Before the driver begins there are none.
    static NONE: Mutex<BTreeMap<u64, Range>> = Mutex::new(BTreeMap::new());
    lock(driver().map_or(&NONE, |driver| &driver.ranges))
}

/// The range that an address lies in.
pub(crate) fn range_of(address: u64) -> Option<Range> {
    let ranges = ranges();
    let (_, range) = ranges.range(..=address).next_back()?;
    (address - range.base < range.bytes.max(1)).then(|| range.clone())
}

/// The last range that has one of so many bytes from an address on.
pub(crate) fn overlapping(address: u64, bytes: u64) -> Option<Range> {
    let ranges = ranges();
    let (_, range) = ranges.range(..address.saturating_add(bytes)).next_back()?;
    (range.base + range.bytes > address).then(|| range.clone())
}

/// Adds a range.
pub(crate) fn add(range: Range) {
    ranges().insert(range.base, range);
}

/// Changes the range that an address lies in: `CUDA_ERROR_INVALID_VALUE` when there is none.
pub(crate) fn change(address: u64, change: impl FnOnce(&mut Range) -> Result<()>) -> Result<()> {
    let mut ranges = ranges();
    let range = ranges.range_mut(..=address).next_back().map(|(_, range)| range);
    change(range.filter(|range| address - range.base < range.bytes.max(1)).ok_or(Code::INVALID_VALUE)?)
}

/// Takes a range away; its memory stays.
pub(crate) fn forget(base: u64) {
    ranges().remove(&base);
}

/// Frees all memory of a context.
pub(crate) fn remove_all(context: Handle) {
    let Ok(driver) = driver() else { return };
    // The machine is always locked first.
    let mut machine = driver.machine();
    ranges().retain(|_, range| {
        let stays = matches!(range.kind, Kind::Owned | Kind::Mapped) || range.context != context;
        if !stays {
            give_back(&mut machine, range);
        }
        stays
    });
}

/// Allocates memory of a kind in the current context, and returns its address.
pub(crate) fn allocate(bytes: usize, kind: Kind, flags: u32, pool: Handle) -> Result<u64> {
    let context = context::current()?;
    if kind != Kind::Graph {
        capture::check_unsafe()?;
    }
    if bytes == 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let driver = driver()?;
    let mut machine = driver.machine();
    let memory = machine.memory_mut();
    let most = driver.devices[context.device].memory_bytes;
    // What all devices use together fits into the memory of one nearly always.
    if kind.is_device() && memory.used().saturating_add(bytes as u64) > most {
        let used = used_by(context.device);
        if used.saturating_add(bytes as u64) > most {
            let what = format!("{bytes} bytes of device memory; {used} of {most} are in use");
            return Err(Error::new(Code::OUT_OF_MEMORY, what));
        }
    }
    let allocated = match kind {
        Kind::Host | Kind::Managed => memory.allocate_for_both(bytes as u64),
        _ => memory.allocate_aligned(bytes as u64, 512),
    };
    let address = allocated.map_err(out_of_memory)?;
    if kind.is_device() {
        memory.set_unwritten(address);
    }
    drop(machine);
    add(Range { flags, pool, ..Range::new(address, bytes as u64, kind, context.handle) });
    Ok(address)
}

/// The bytes of a device's memory that are in use.
fn used_by(device: usize) -> u64 {
    let is_own = |range: &&Range| {
        range.kind.is_device() && Context::of(range.context).is_ok_and(|context| context.device == device)
    };
    ranges().values().filter(is_own).map(|range| range.bytes).sum()
}

/// The driver's code for memory that is not to be had.
pub(crate) fn out_of_memory(error: MemoryError) -> Error {
    Error::new(Code::OUT_OF_MEMORY, error.to_string())
}

/// Frees the range that begins at an address, if it is one of these kinds. Work that may use it is waited for.
fn free(address: u64, kinds: &[Kind]) -> Result<()> {
    capture::check_unsafe()?;
    if address == 0 {
        return Ok(());
    }
    let context = context::current()?;
    let range = range_of(address).filter(|range| range.base == address && kinds.contains(&range.kind));
    range.filter(|range| !range.is_freed).ok_or(Code::INVALID_VALUE)?;
    driver()?.queue.wait_for_context(context.handle);
    print_printed();
    if graph::memory::free(address)? {
        return Ok(());
    }
    free_now(&mut driver()?.machine(), address)
}

/// Takes note that a stream will free the range of device memory that begins at an address:
/// `CUDA_ERROR_INVALID_VALUE` when there is none, or another stream will.
pub(crate) fn free_later(address: u64) -> Result<()> {
    change(address, |range| {
        let is_meant = range.base == address && (range.kind == Kind::Device || range.pool != 0);
        if !is_meant || range.is_freed {
            return Err(Code::INVALID_VALUE.into());
        }
        range.is_freed = true;
        pool::note_unused(range);
        Ok(())
    })
}

/// Frees the range that begins at an address.
pub(crate) fn free_now(machine: &mut Machine, address: u64) -> Result<()> {
    let range = ranges().remove(&address).ok_or(Code::INVALID_VALUE)?;
    give_back(machine, &range);
    Ok(())
}

/// Gives the memory of a range back that is known no more.
fn give_back(machine: &mut Machine, range: &Range) {
    machine.memory_mut().free(range.machine_base);
    if !range.is_freed {
        pool::note_unused(range);
    }
    pool::note_freed(range);
    managed::forget(range.base);
}

/// Keeps what a kernel has printed until somebody waits for the kernel.
pub(crate) fn keep_printed(bytes: Vec<u8>) {
    if let Ok(driver) = driver() {
        lock(&driver.printed).extend(bytes);
    }
}

/// Prints what kernels have printed, by way of C's `stdout`, so that it comes between the program's own output.
pub(crate) fn print_printed() {
    let Ok(driver) = driver() else { return };
    let printed = std::mem::take(&mut *lock(&driver.printed));
    if !printed.is_empty() {
        crate::abi::platform::print(&printed);
    }
}

/// `CU_MEM_ATTACH_GLOBAL` and `CU_MEM_ATTACH_HOST`.
const ATTACH_GLOBAL: u32 = 1;
const ATTACH_HOST: u32 = 2;
functions! {
    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) {
        address.check()?;
        address.set(allocate(bytes, Kind::Device, 0, 0)?)
    }

    fn cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) {
        address.check()?;
        pitch.check()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(Code::INVALID_VALUE.into());
        }
        let row = width.checked_next_multiple_of(512).ok_or(Code::OUT_OF_MEMORY)?;
        let bytes = row.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?;
        address.set(allocate(bytes, Kind::Device, 0, 0)?)?;
        pitch.set(row)
    }

    fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) {
        address.check()?;
        if !matches!(flags, ATTACH_GLOBAL | ATTACH_HOST) {
            return Err(Code::INVALID_VALUE.into());
        }
        address.set(allocate(bytes, Kind::Managed, flags, 0)?)
    }

    fn cuMemFree_v2(address: u64) {
        free(address, &[Kind::Device, Kind::Managed, Kind::Graph])
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let context = context::current()?;
        let driver = driver()?;
        let all = driver.devices[context.device].memory_bytes;
        // The host may have less memory than the device.
        let mut machine = driver.machine();
        let left = machine.config_mut().max_memory_bytes.saturating_sub(machine.memory().used());
        drop(machine);
        free.set(all.saturating_sub(used_by(context.device)).min(left) as usize)?;
        total.set(all as usize)
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) {
        context::current()?;
        let range = range_of(address).ok_or(Code::NOT_FOUND)?;
        base.offer(range.base);
        bytes.offer(range.bytes as usize);
        Ok(())
    }
}
