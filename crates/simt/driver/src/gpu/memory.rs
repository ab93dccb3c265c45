//! Allocations of device and host memory, by address.

pub(crate) mod host;
pub(crate) mod managed;

use simt::{MemoryError, Simulator};

use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::context::{self, Context};
use crate::gpu::ranges::{self, Kind, Range};
use crate::gpu::state::driver;
use crate::gpu::{hazards, pool};

/// Frees all memory of a context.
pub(crate) fn remove_all(context: Handle) {
    let Ok(driver) = driver() else { return };
    // Lock order: the simulator is locked before the ranges.
    let mut simulator = driver.simulator();
    ranges::all().retain(|_, range| {
        let stays = matches!(range.kind, Kind::Owned | Kind::Mapped) || range.context != context;
        if !stays {
            give_back(&mut simulator, range);
        }
        stays
    });
}

/// Allocates memory of a kind in the current context and returns its address.
pub(crate) fn allocate(bytes: usize, kind: Kind, flags: u32, pool: Handle) -> Result<u64> {
    let context = context::current()?;
    if kind != Kind::Graph {
        hazards::check()?;
    }
    if bytes == 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let driver = driver()?;
    let mut simulator = driver.simulator();
    let memory = simulator.memory_mut();
    let limit = driver.devices[context.device].memory_bytes;
    // Check the total of all devices first, because it almost always fits in one device's memory.
    if kind.is_device() && memory.used().saturating_add(bytes as u64) > limit {
        let used = used_by(context.device);
        if used.saturating_add(bytes as u64) > limit {
            let what = format!("cannot allocate {bytes} bytes of device memory; {used} of {limit} bytes are in use");
            return Err(Error::new(Code::OUT_OF_MEMORY, what));
        }
    }
    let allocated = match kind {
        Kind::Host | Kind::Managed => memory.allocate_host_visible(bytes as u64),
        _ => memory.allocate_aligned(bytes as u64, 512),
    };
    let address = allocated.map_err(out_of_memory)?;
    if kind.is_device() {
        memory.set_unwritten(address);
    }
    drop(simulator);
    ranges::add(Range { flags, pool, ..Range::new(address, bytes as u64, kind, context.handle) });
    Ok(address)
}

/// Returns the number of bytes of a device's memory that are in use.
fn used_by(device: usize) -> u64 {
    let is_on_device = |range: &&Range| {
        range.kind.is_device() && Context::of(range.context).is_ok_and(|context| context.device == device)
    };
    ranges::all().values().filter(is_on_device).map(|range| range.bytes).sum()
}

/// Returns the driver's error for memory that cannot be allocated.
pub(crate) fn out_of_memory(error: MemoryError) -> Error {
    Error::new(Code::OUT_OF_MEMORY, error.to_string())
}

/// Records that a stream will free the range of device memory that starts at an address. Returns
/// `CUDA_ERROR_INVALID_VALUE` when the address does not start such a range, or when a free of the range is already
/// pending.
pub(crate) fn free_later(address: u64) -> Result<()> {
    ranges::change(address, |range| {
        let is_match = range.base == address && (range.kind == Kind::Device || range.pool != 0);
        if !is_match || range.is_freed {
            return Err(Code::INVALID_VALUE.into());
        }
        range.is_freed = true;
        pool::note_unused(range);
        Ok(())
    })
}

/// Frees the range that starts at an address.
pub(crate) fn free_now(simulator: &mut Simulator, address: u64) -> Result<()> {
    let range = ranges::all().remove(&address).ok_or(Code::INVALID_VALUE)?;
    give_back(simulator, &range);
    Ok(())
}

/// Frees the memory of a range that has been removed from the table.
fn give_back(simulator: &mut Simulator, range: &Range) {
    simulator.memory_mut().free(range.simulator_base);
    if !range.is_freed {
        pool::note_unused(range);
    }
    pool::note_freed(range);
    managed::forget(range.base);
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

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let context = context::current()?;
        let driver = driver()?;
        let all = driver.devices[context.device].memory_bytes;
        // The host may have less memory than the device.
        let mut simulator = driver.simulator();
        let left = simulator.config_mut().max_memory_bytes.saturating_sub(simulator.memory().used());
        drop(simulator);
        free.set(all.saturating_sub(used_by(context.device)).min(left) as usize)?;
        total.set(all as usize)
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) {
        context::current()?;
        let range = ranges::range_of(address).ok_or(Code::NOT_FOUND)?;
        base.offer(range.base);
        bytes.offer(range.bytes as usize);
        Ok(())
    }
}
