//! Memory: allocations of the device's and the host's memory, and what is known of an address.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Mutex;

use simt::{Machine, MemoryError};

use crate::call::{Out, functions};
use crate::context::{self, Context};
use crate::error::{Code, Error, Result};
use crate::handles::{Handle, lock};
use crate::op::Op;
use crate::state::driver;
use crate::{capture, graph, stream};

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
    /// A variable of a module, or an array; freed with it.
    Owned,
    /// Memory of a graph; freed with it.
    Graph,
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
    /// The number of the allocation, which no other one has.
    pub(crate) id: u64,
    /// What the machine knows it by.
    machine_base: u64,
}

/// All ranges by their first addresses.
static RANGES: Mutex<BTreeMap<u64, Range>> = Mutex::new(BTreeMap::new());

/// What kernels have printed and nobody has waited for yet.
static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The range that an address lies in.
pub(crate) fn range_of(address: u64) -> Option<Range> {
    let ranges = lock(&RANGES);
    let (_, range) = ranges.range(..=address).next_back()?;
    (address - range.base < range.bytes.max(1)).then(|| range.clone())
}

/// Adds a range.
pub(crate) fn add(base: u64, bytes: u64, kind: Kind, context: Handle, flags: u32) {
    add_mapped(base, base, bytes, kind, context, flags);
}

fn add_mapped(base: u64, machine_base: u64, bytes: u64, kind: Kind, context: Handle, flags: u32) {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    lock(&RANGES).insert(base, Range { base, bytes, kind, context, flags, id, machine_base });
}

/// Takes a range away; its memory stays.
pub(crate) fn forget(base: u64) {
    lock(&RANGES).remove(&base);
}

/// Frees all memory of a context.
pub(crate) fn remove_all(context: Handle) {
    let Ok(driver) = driver() else { return };
    // The machine is always locked first.
    let mut machine = driver.machine();
    lock(&RANGES).retain(|_, range| {
        let is_meant = range.context == context && !matches!(range.kind, Kind::Owned | Kind::Graph);
        if is_meant {
            machine.memory_mut().free(range.machine_base);
        }
        !is_meant
    });
}

/// Allocates memory of a kind in the current context, and returns its address.
pub(crate) fn allocate(bytes: usize, kind: Kind, flags: u32) -> Result<u64> {
    capture::check_unsafe()?;
    allocate_unchecked(bytes, kind, flags)
}

/// Allocates memory that captures may allocate too.
pub(crate) fn reserve(bytes: usize, kind: Kind) -> Result<u64> {
    allocate_unchecked(bytes, kind, 0)
}

fn allocate_unchecked(bytes: usize, kind: Kind, flags: u32) -> Result<u64> {
    let context = context::current()?;
    if bytes == 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let mut machine = driver()?.machine();
    let memory = machine.memory_mut();
    let allocated = match kind {
        Kind::Device | Kind::Owned | Kind::Graph => memory.allocate_aligned(bytes as u64, 512),
        _ => memory.allocate_for_both(bytes as u64),
    };
    let address = allocated.map_err(out_of_memory)?;
    drop(machine);
    add(address, bytes as u64, kind, context.handle, flags);
    Ok(address)
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
    range.ok_or(Code::INVALID_VALUE)?;
    driver()?.queue.wait_for_context(context.handle);
    print_printed();
    if graph::memory::free(address)? {
        return Ok(());
    }
    free_now(&mut driver()?.machine(), address)
}

/// Frees the range that begins at an address.
pub(crate) fn free_now(machine: &mut Machine, address: u64) -> Result<()> {
    let range = lock(&RANGES).remove(&address).ok_or(Code::INVALID_VALUE)?;
    machine.memory_mut().free(range.machine_base);
    Ok(())
}

/// Keeps what a kernel has printed until somebody waits for the kernel.
pub(crate) fn keep_printed(bytes: Vec<u8>) {
    lock(&PRINTED).extend(bytes);
}

/// Prints what kernels have printed, by way of C's `stdout`, so that it comes between the program's own output.
pub(crate) fn print_printed() {
    let printed = std::mem::take(&mut *lock(&PRINTED));
    if !printed.is_empty() {
        crate::platform::print(&printed);
    }
}

/// `CU_MEM_ATTACH_GLOBAL` and the others.
const ATTACH_FLAGS: u32 = 7;
/// `CU_MEMHOSTREGISTER_READ_ONLY` and the others.
const REGISTER_FLAGS: u32 = 15;

functions! {
    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) {
        address.check()?;
        address.set(allocate(bytes, Kind::Device, 0)?)
    }

    fn cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) {
        address.check()?;
        pitch.check()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(Code::INVALID_VALUE.into());
        }
        let row = width.checked_next_multiple_of(512).ok_or(Code::OUT_OF_MEMORY)?;
        let bytes = row.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?;
        address.set(allocate(bytes, Kind::Device, 0)?)?;
        pitch.set(row)
    }

    fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) {
        address.check()?;
        if flags == 0 || flags & !ATTACH_FLAGS != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        address.set(allocate(bytes, Kind::Managed, flags)?)
    }

    fn cuMemFree_v2(address: u64) {
        free(address, &[Kind::Device, Kind::Managed, Kind::Graph])
    }

    fn cuMemAllocHost_v2(address: Out<u64>, bytes: usize) {
        address.check()?;
        address.set(allocate(bytes, Kind::Host, 3)?)
    }

    fn cuMemHostAlloc(address: Out<u64>, bytes: usize, flags: u32) {
        address.check()?;
        if flags & !7 != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        address.set(allocate(bytes, Kind::Host, flags | 3)?)
    }

    fn cuMemFreeHost(address: u64) {
        free(address, &[Kind::Host])
    }

    fn cuMemHostRegister_v2(memory: *mut c_void, bytes: usize, flags: u32) {
        let context = context::current()?;
        capture::check_unsafe()?;
        if flags & !REGISTER_FLAGS != 0 || bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let address = memory as u64;
        if range_of(address).is_some() || range_of(address + bytes as u64 - 1).is_some() {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED.into());
        }
        let start = NonNull::new(memory.cast::<u8>()).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: the program says that it has this memory, and keeps it until it takes the registration back. Words
        // of eight bytes never reach into another page.
        let mapped = unsafe { driver()?.machine().memory_mut().map(start, bytes as u64) };
        let base = mapped.ok_or(Code::INVALID_VALUE)?;
        add_mapped(address, base, bytes as u64, Kind::Registered, context.handle, flags | 3);
        Ok(())
    }

    fn cuMemHostUnregister(memory: u64) {
        let range = range_of(memory).filter(|range| range.base == memory && range.kind == Kind::Registered);
        range.ok_or(Code::HOST_MEMORY_NOT_REGISTERED)?;
        free(memory, &[Kind::Registered])
    }

    fn cuMemHostGetDevicePointer_v2(address: Out<u64>, memory: u64, flags: u32) {
        context::current()?;
        let range = range_of(memory).filter(|range| matches!(range.kind, Kind::Host | Kind::Registered));
        match range {
            Some(_) if flags == 0 => address.set(memory),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    fn cuMemHostGetFlags(flags: Out<u32>, memory: u64) {
        context::current()?;
        let range = range_of(memory).filter(|range| range.kind == Kind::Host);
        flags.set(range.ok_or(Code::INVALID_VALUE)?.flags)
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let context = context::current()?;
        let driver = driver()?;
        let all = driver.devices[context.device].memory_bytes;
        let used = driver.machine().memory().used();
        free.set(all.saturating_sub(used) as usize)?;
        total.set(all as usize)
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) {
        context::current()?;
        let range = range_of(address).ok_or(Code::NOT_FOUND)?;
        base.offer(range.base);
        bytes.offer(range.bytes as usize);
        Ok(())
    }

    fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: Handle) {
        address.check()?;
        let captured = graph::memory::capture_allocation(&*stream::Stream::of(stream)?.0, bytes)?;
        address.set(captured.map_or_else(|| allocate(bytes, Kind::Device, 0), Ok)?)
    }

    fn cuMemFreeAsync(address: u64, stream: Handle) {
        let is_captured = capture::is_captured(&*stream::Stream::of(stream)?.0)?;
        if !is_captured {
            capture::check_unsafe()?;
        }
        let is_meant = |range: &Range| range.base == address && matches!(range.kind, Kind::Device | Kind::Graph);
        range_of(address).filter(is_meant).ok_or(Code::INVALID_VALUE)?;
        if !is_captured && graph::memory::free(address)? {
            return Ok(());
        }
        stream::enqueue(stream, Op::Free(address))
    }

    fn cuMemPrefetchAsync(address: u64, _bytes: usize, _device: i32, stream: Handle) {
        range_of(address).ok_or(Code::INVALID_VALUE)?;
        stream::Stream::of(stream).map(drop)
    }

    fn cuMemPrefetchAsync_v2(address: u64, _bytes: usize, _location: u64, _flags: u32, stream: Handle) {
        range_of(address).ok_or(Code::INVALID_VALUE)?;
        stream::Stream::of(stream).map(drop)
    }

    fn cuMemAdvise(address: u64, _bytes: usize, _advice: u32, _device: i32) {
        context::current()?;
        range_of(address).map(drop).ok_or_else(|| Code::INVALID_VALUE.into())
    }

    fn cuMemAdvise_v2(address: u64, _bytes: usize, _advice: u32, _location: u64) {
        context::current()?;
        range_of(address).map(drop).ok_or_else(|| Code::INVALID_VALUE.into())
    }

    fn cuPointerGetAttribute(value: Out<c_void>, attribute: u32, address: u64) {
        driver()?;
        value.check()?;
        let range = range_of(address).ok_or(Code::INVALID_VALUE)?;
        pointer_attribute(value, attribute, address, &range)
    }

    fn cuPointerGetAttributes(count: u32, attributes: crate::call::In<u32>, values: crate::call::In<Out<c_void>>, address: u64) {
        driver()?;
        let attributes = attributes.all(count as usize)?;
        for (attribute, value) in attributes.into_iter().zip(values.all(count as usize)?) {
            match range_of(address) {
                Some(range) => pointer_attribute(value, attribute, address, &range)?,
                // What is unknown is zero, and no error, when several are asked for at once.
                None => unknown_attribute(value, attribute),
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: crate::call::In<c_void>, _attribute: u32, address: u64) {
        driver()?;
        range_of(address).map(drop).ok_or_else(|| Code::INVALID_VALUE.into())
    }
}

/// Writes an attribute of an address (`CUpointer_attribute`).
fn pointer_attribute(value: Out<c_void>, attribute: u32, address: u64, range: &Range) -> Result<()> {
    let is_host = matches!(range.kind, Kind::Host | Kind::Registered);
    let word = |number: u32| Out::<u32>::at(value).set(number);
    let long = |number: u64| Out::<u64>::at(value).set(number);
    let flag = |is: bool| Out::<u8>::at(value).set(is.into());
    match attribute {
        1 => long(range.context as u64),
        2 => word(if is_host { 1 } else { 2 }),
        3 => long(address),
        4 if is_host || range.kind == Kind::Managed => long(address),
        4 | 5 => Err(Code::INVALID_VALUE.into()),
        6 => flag(false),
        7 => long(range.id),
        8 => flag(range.kind == Kind::Managed),
        9 => word(Context::of(range.context).map_or(0, |context| context.device as u32)),
        10 => word(0),
        11 => long(range.base),
        12 => long(range.bytes),
        13 => flag(true),
        14 => long(0),
        15 => word(1),
        16 => word(3),
        17 => long(0),
        20 => word(0),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

/// Writes what `cuPointerGetAttributes` answers for memory that it knows nothing of.
fn unknown_attribute(value: Out<c_void>, attribute: u32) {
    match attribute {
        2 | 15 | 16 | 20 => Out::<u32>::at(value).offer(0),
        9 => Out::<i32>::at(value).offer(-2),
        6 | 8 | 13 => Out::<u8>::at(value).offer(0),
        _ => Out::<u64>::at(value).offer(0),
    }
}
