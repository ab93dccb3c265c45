//! Memory that streams allocate, free and prefetch, and memory that is freed once no stream uses it.

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::graph_memory::GraphMemory;
use crate::gpu::location::Location;
use crate::gpu::memory::managed;
use crate::gpu::op::Op;
use crate::gpu::pool::{self, Pool};
use crate::gpu::queue::queue;
use crate::gpu::ranges::{self, Kind};
use crate::gpu::state::driver;
use crate::gpu::stream::Stream;
use crate::gpu::{capture, context, graph_memory, hazards, memory, submit};

/// Frees the range that starts at an address, if its kind is one of `kinds`. First waits for work that may use the
/// range.
fn free(address: u64, kinds: &[Kind]) -> Result<()> {
    hazards::check()?;
    if address == 0 {
        return Ok(());
    }
    let context = context::current()?;
    let range = ranges::range_of(address).filter(|range| range.base == address && kinds.contains(&range.kind));
    range.filter(|range| !range.is_freed).ok_or(Code::INVALID_VALUE)?;
    queue()?.wait_for_context(context.handle);
    driver()?.print_printed();
    if graph_memory::free(address)? {
        return Ok(());
    }
    memory::free_now(&mut driver()?.simulator(), address)
}

/// Captures an allocation in a stream and returns its address; `None` if the stream is not captured.
fn capture_allocation(stream: &Stream, bytes: usize) -> Result<Option<u64>> {
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

/// Frees memory that a graph launch allocated, or captures that operation. Returns whether a graph owns the memory.
fn free_graph_memory(stream: &Stream, address: u64) -> Result<bool> {
    if !capture::is_captured(stream)? {
        hazards::check()?;
        return graph_memory::free(address);
    }
    match graph_memory::is_of_graph(address) {
        true => capture::take(stream, &Op::Free(address)),
        false => Err(Error::new(Code::INVALID_VALUE, "a graph can free only memory that a graph allocated")),
    }
}

/// Allocates memory from a pool.
fn allocate(pool: &Pool, bytes: usize, stream: Handle) -> Result<u64> {
    if let Some(address) = capture_allocation(&Stream::of(stream)?.0, bytes)? {
        return Ok(address);
    }
    if bytes == 0 {
        return Ok(0);
    }
    pool.allocate(bytes, || memory::allocate(bytes, pool.kind, 0, pool.handle))
}

fn prefetch(address: u64, bytes: usize, location: Location, flags: u64, stream: Handle) -> Result<()> {
    let (stream, _) = Stream::of(stream)?;
    if flags != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    managed::pages(address, bytes)?;
    capture::refuse(&stream)?;
    managed::prefetch(address, bytes, location)
}

/// The ranges of a batch, and for a prefetch the location of each range.
struct Batch {
    addresses: In<u64>,
    sizes: In<usize>,
    count: usize,
    flags: u64,
    stream: Handle,
}

impl Batch {
    /// Returns the ranges. Checks that all of them are managed memory, and that the stream is not captured.
    fn ranges(&self) -> Result<Vec<(u64, usize)>> {
        let stream = Stream::of_batch(self.stream)?;
        if self.count == 0 || self.flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let addresses = self.addresses.all(self.count)?;
        let ranges: Vec<(u64, usize)> = addresses.into_iter().zip(self.sizes.all(self.count)?).collect();
        ranges.iter().try_for_each(|(address, bytes)| managed::pages(*address, *bytes).map(drop))?;
        capture::refuse(&stream)?;
        Ok(ranges)
    }

    /// Prefetches each range to its location. Each location applies to the ranges from its index up to the next index.
    fn prefetch(&self, locations: In<Location>, indices: In<usize>, count: usize) -> Result<()> {
        let ranges = self.ranges()?;
        let (locations, indices) = (locations.all(count)?, indices.all(count)?);
        let has_order = indices.first() == Some(&0) && indices.is_sorted_by(|one, next| one < next);
        if count > self.count || !has_order || indices.iter().any(|index| *index >= self.count) {
            return Err(Code::INVALID_VALUE.into());
        }
        for location in &locations {
            location.checked()?;
        }
        ranges.iter().enumerate().try_for_each(|(at, (address, bytes))| {
            let location = locations[indices.partition_point(|index| *index <= at) - 1];
            managed::prefetch(*address, *bytes, location)
        })
    }
}

functions! {
    fn cuMemFree_v2(address: u64) {
        free(address, &[Kind::Device, Kind::Managed, Kind::Graph])
    }

    fn cuMemFreeHost(address: u64) {
        free(address, &[Kind::Host])
    }

    fn cuMemHostUnregister(memory: u64) {
        context::current()?;
        match ranges::range_of(memory) {
            Some(range) if range.base == memory && range.kind == Kind::Registered => free(memory, &[Kind::Registered]),
            Some(_) => Err(Code::INVALID_VALUE.into()),
            None => Err(Code::HOST_MEMORY_NOT_REGISTERED.into()),
        }
    }

    fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: Handle) {
        address.check()?;
        let (_, context) = Stream::of(stream)?;
        let pool = pool::of_device(context.device as i32)?;
        address.set(allocate(&pool, bytes, stream)?)
    }

    fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) {
        address.check()?;
        address.set(allocate(&*Pool::of(pool)?, bytes, stream)?)
    }

    fn cuMemFreeAsync(address: u64, stream: Handle) {
        if address == 0 || free_graph_memory(&Stream::of(stream)?.0, address)? {
            return Ok(());
        }
        let range = ranges::range_of(address).ok_or(Code::INVALID_VALUE)?;
        if range.kind == Kind::Managed && range.pool == 0 {
            return Err(Error::new(Code::NOT_SUPPORTED, "managed memory outside a pool must be freed with cuMemFree"));
        }
        memory::free_later(address)?;
        submit::enqueue(stream, Op::Free(address))
    }

    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: Handle) {
        prefetch(address, bytes, Location::of_number(device)?, 0, stream)
    }

    fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, location: Location, flags: u32, stream: Handle) {
        prefetch(address, bytes, location.checked()?, flags.into(), stream)
    }

    fn cuMemPrefetchBatchAsync | cuMemDiscardAndPrefetchBatchAsync(
        addresses: In<u64>, sizes: In<usize>, count: usize, locations: In<Location>, indices: In<usize>,
        location_count: usize, flags: u64, stream: Handle,
    ) {
        Batch { addresses, sizes, count, flags, stream }.prefetch(locations, indices, location_count)
    }

    // Discarded memory may have any value, so leaving it unchanged is correct.
    fn cuMemDiscardBatchAsync(addresses: In<u64>, sizes: In<usize>, count: usize, flags: u64, stream: Handle) {
        Batch { addresses, sizes, count, flags, stream }.ranges().map(drop)
    }

}
