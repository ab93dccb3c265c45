//! Virtual memory management: addresses that a program reserves, and physical memory that it maps to them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use simt::PhysicalMemory;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, PerDriver, lock};
use crate::gpu::context::{self, Context};
use crate::gpu::location::{self, Access, Location, NO_ACCESS, READ, READ_WRITE};
use crate::gpu::memory;
use crate::gpu::queue::queue;
use crate::gpu::ranges::{self, Kind, Range};
use crate::gpu::state::driver;

/// The granularity of all sizes and addresses.
const GRANULARITY: u64 = 2 << 20;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const PINNED: u32 = 1;
/// `CU_MEM_ALLOC_GRANULARITY_RECOMMENDED`.
const RECOMMENDED: u32 = 1;

/// `CUmemAllocationProp`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Props {
    kind: u32,
    handle_types: u32,
    location: Location,
    security_attributes: usize,
    compression: u8,
    is_rdma_capable: u8,
    usage: u16,
    reserved: [u8; 4],
}

/// Physical memory.
struct Physical {
    handle: Handle,
    props: Props,
    bytes: u64,
    memory: PhysicalMemory,
    /// The number of times that the program must release the memory.
    references: AtomicUsize,
}

/// A mapping of physical memory.
struct Mapping {
    bytes: u64,
    physical: Arc<Physical>,
    /// The `CUmemAccess_flags` of the memory's device.
    access: u32,
}

static PHYSICAL: Handles<Physical> = Handles::new();

/// The sizes of the reservations, by first address.
static RESERVED: PerDriver<Mutex<BTreeMap<u64, u64>>> = PerDriver::new();
/// The mappings, by first address.
static MAPPED: PerDriver<Mutex<BTreeMap<u64, Mapping>>> = PerDriver::new();

/// Returns the start and size of the reservation that contains an address.
pub(crate) fn reservation_of(address: u64) -> Option<(u64, u64)> {
    let reserved = lock(RESERVED.get());
    let (base, bytes) = reserved.range(..=address).next_back()?;
    (address - base < *bytes).then_some((*base, *bytes))
}

/// Returns an error unless all addresses and sizes are multiples of the granularity.
fn check_granularity(numbers: &[u64]) -> Result<()> {
    match numbers.iter().all(|number| number.is_multiple_of(GRANULARITY)) {
        true => Ok(()),
        false => {
            Err(Error::new(Code::INVALID_VALUE, format!("sizes and addresses must be multiples of {GRANULARITY}")))
        }
    }
}

impl Props {
    fn check(&self) -> Result<()> {
        if self.kind != PINNED {
            return Err(Code::INVALID_VALUE.into());
        }
        location::check_handle_types(self.handle_types)?;
        match self.location.kind {
            location::DEVICE => driver()?.device(self.location.id).map(drop),
            _ => self.location.checked().map(drop),
        }
    }
}

impl Physical {
    /// Returns the memory with this handle, or `CUDA_ERROR_INVALID_VALUE` when there is none.
    fn of(handle: Handle) -> Result<Arc<Self>> {
        driver()?;
        let found = PHYSICAL.find(handle).filter(|physical| physical.references.load(Ordering::Relaxed) > 0);
        found.ok_or_else(|| Code::INVALID_VALUE.into())
    }

    /// Releases the memory if it is neither mapped nor referenced by the program.
    fn forget_if_unused(&self) -> Result<()> {
        let is_mapped = lock(MAPPED.get()).values().any(|mapping| mapping.physical.handle == self.handle);
        if self.references.load(Ordering::Relaxed) == 0 && !is_mapped && PHYSICAL.remove(self.handle).is_ok() {
            driver()?.simulator().memory_mut().release(&self.memory);
        }
        Ok(())
    }
}

/// Returns the first address of each mapping in a range. Returns `CUDA_ERROR_INVALID_VALUE` when the range contains
/// only part of a mapping.
fn between(base: u64, bytes: usize) -> Result<Vec<u64>> {
    let mapped = lock(MAPPED.get());
    let end = base.checked_add(bytes as u64).ok_or(Code::INVALID_VALUE)?;
    let is_first_cut = mapped.range(..base).next_back().is_some_and(|(at, mapping)| at + mapping.bytes > base);
    let is_last_cut = mapped.range(base..end).next_back().is_some_and(|(at, mapping)| at + mapping.bytes > end);
    if is_first_cut || is_last_cut || bytes == 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    Ok(mapped.range(base..end).map(|(at, _)| *at).collect())
}

/// Sets the access of kernels and copies to a mapping.
fn set_access(base: u64, access: u32) -> Result<()> {
    let mut simulator = driver()?.simulator();
    let mut mapped = lock(MAPPED.get());
    let mapping = mapped.get_mut(&base).ok_or(Code::INVALID_VALUE)?;
    let (was_accessible, is_accessible) = (mapping.access != NO_ACCESS, access != NO_ACCESS);
    let memory = simulator.memory_mut();
    let is_done = match (was_accessible, is_accessible) {
        (false, true) => memory.map_physical(base, mapping.bytes, &mapping.physical.memory, 0),
        (true, false) => memory.free(base),
        _ => true,
    };
    if !is_done {
        return Err(Code::INVALID_VALUE.into());
    }
    mapping.access = access;
    ranges::change(base, |range| {
        range.flags = access;
        Ok(())
    })
}

functions! {
    fn cuMemGetAllocationGranularity(granularity: Out<usize>, props: In<Props>, option: u32) {
        granularity.check()?;
        props.get()?.check()?;
        match option {
            0 | RECOMMENDED => granularity.set(GRANULARITY as usize),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    fn cuMemAddressReserve(address: Out<u64>, bytes: usize, align: usize, hint: u64, flags: u64) {
        address.check()?;
        context::current()?;
        let has_align = align == 0 || align.is_power_of_two();
        if bytes == 0 || !has_align || flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        check_granularity(&[bytes as u64, hint])?;
        let align = GRANULARITY.max(align as u64);
        let base = driver()?.simulator().memory_mut().reserve(bytes as u64, align).map_err(memory::out_of_memory)?;
        lock(RESERVED.get()).insert(base, bytes as u64);
        address.set(base)
    }

    fn cuMemAddressFree(address: u64, bytes: usize) {
        driver()?;
        if !between(address, bytes)?.is_empty() {
            return Err(Error::new(Code::INVALID_VALUE, "the range has mapped memory; unmap it first"));
        }
        let mut reserved = lock(RESERVED.get());
        match reserved.get(&address) {
            Some(size) if *size == bytes as u64 => drop(reserved.remove(&address)),
            _ => return Err(Code::INVALID_VALUE.into()),
        }
        Ok(())
    }

    fn cuMemCreate(handle: Out<Handle>, bytes: usize, props: In<Props>, flags: u64) {
        handle.check()?;
        let props = props.get()?;
        props.check()?;
        if bytes == 0 || flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        check_granularity(&[bytes as u64])?;
        if !props.location.is_device() {
            return Err(Error::new(Code::NOT_SUPPORTED, "physical host memory is not supported; use device memory"));
        }
        let memory = driver()?.simulator().memory_mut().physical(bytes as u64).map_err(memory::out_of_memory)?;
        let (bytes, references) = (bytes as u64, 1.into());
        handle.set(PHYSICAL.add(|handle| Physical { handle, props, bytes, memory, references }).handle)
    }

    fn cuMemRelease(handle: Handle) {
        let physical = Physical::of(handle)?;
        physical.references.fetch_sub(1, Ordering::Relaxed);
        physical.forget_if_unused()
    }

    fn cuMemRetainAllocationHandle(handle: Out<Handle>, address: u64) {
        driver()?;
        handle.check()?;
        let mapped = lock(MAPPED.get());
        let found = mapped.range(..=address).next_back().filter(|(base, mapping)| address - *base < mapping.bytes);
        let (_, mapping) = found.ok_or(Code::INVALID_VALUE)?;
        mapping.physical.references.fetch_add(1, Ordering::Relaxed);
        handle.set(mapping.physical.handle)
    }

    fn cuMemGetAllocationPropertiesFromHandle(props: Out<Props>, handle: Handle) {
        props.set(Physical::of(handle)?.props)
    }

    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: Handle, flags: u64) {
        let physical = Physical::of(handle)?;
        if flags != 0 || bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        check_granularity(&[address])?;
        if offset != 0 || bytes as u64 != physical.bytes {
            return Err(Error::new(Code::NOT_SUPPORTED, "mapping part of an allocation is not supported"));
        }
        let end = address.checked_add(bytes as u64).ok_or(Code::INVALID_VALUE)?;
        let is_reserved = reservation_of(address).is_some_and(|(base, bytes)| end <= base + bytes);
        if !is_reserved || !between(address, bytes)?.is_empty() {
            return Err(Code::INVALID_VALUE.into());
        }
        let bytes = bytes as u64;
        let device = Context::primary(physical.props.location.id)?;
        ranges::add(Range::new(address, bytes, Kind::Mapped, device.handle));
        lock(MAPPED.get()).insert(address, Mapping { bytes, physical, access: NO_ACCESS });
        Ok(())
    }

    fn cuMemUnmap(address: u64, bytes: usize) {
        let driver = driver()?;
        check_granularity(&[address, bytes as u64])?;
        let is_reserved = reservation_of(address).is_some_and(|(base, size)| bytes as u64 <= base + size - address);
        let all = between(address, bytes)?;
        if !is_reserved {
            return Err(Code::INVALID_VALUE.into());
        }
        queue()?.wait_for_all();
        driver.print_printed();
        all.into_iter().try_for_each(|base| {
            set_access(base, NO_ACCESS)?;
            ranges::all().remove(&base);
            let mapping = lock(MAPPED.get()).remove(&base);
            mapping.map_or(Ok(()), |mapping| mapping.physical.forget_if_unused())
        })
    }

    fn cuMemSetAccess(address: u64, bytes: usize, access: In<Access>, count: usize) {
        driver()?;
        if count == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let all = between(address, bytes)?;
        let mapped = lock(MAPPED.get());
        let covered: u64 = all.iter().filter_map(|base| mapped.get(base)).map(|mapping| mapping.bytes).sum();
        drop(mapped);
        if covered != bytes as u64 {
            return Err(Code::INVALID_VALUE.into());
        }
        for Access { location, flags } in access.all(count)? {
            if !matches!(flags, NO_ACCESS | READ | READ_WRITE) {
                return Err(Code::INVALID_VALUE.into());
            }
            if !location.checked()?.is_device() {
                return Err(Error::new(Code::NOT_SUPPORTED, "host access to mapped device memory is not supported"));
            }
            all.iter().try_for_each(|base| set_access(*base, flags))?;
        }
        Ok(())
    }

    fn cuMemGetAccess(flags: Out<u64>, location: In<Location>, address: u64) {
        driver()?;
        flags.check()?;
        let location = location.get()?.checked()?;
        let mapped = lock(MAPPED.get());
        let found = mapped.range(..=address).next_back().filter(|(base, mapping)| address - *base < mapping.bytes);
        let (_, mapping) = found.ok_or(Code::INVALID_VALUE)?;
        flags.set(if location.is_device() { mapping.access } else { NO_ACCESS }.into())
    }
}
