//! Host memory that the ranks of one process share, and the combination of their data in this memory.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use engine::Error;
use engine::device::{BufferId, Device, HostBytes};
use rayon::prelude::*;

use crate::divide::{ElementType, Operation};

/// The number of bytes that one thread combines at a time: a multiple of every element size, and a fraction of a core's
/// L2 cache.
const CHUNK: usize = 64 << 10;

/// Memory that the ranks of one process share. The memory only grows, so it may be longer than the data in it.
pub(crate) struct HostMemory {
    /// Each rank's data.
    pub(crate) data: Vec<RwLock<HostBytes>>,
    /// The bytes that each rank has combined.
    pub(crate) combined: Vec<RwLock<HostBytes>>,
}

impl HostMemory {
    /// Creates empty memory for `ranks` ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        let empty = || (0..ranks).map(|_| RwLock::new(none())).collect();
        Self { data: empty(), combined: empty() }
    }

    /// Frees a rank's memory.
    pub(crate) fn free(&self, rank: usize) {
        *write(&self.data[rank]) = none();
        *write(&self.combined[rank]) = none();
    }

    /// Downloads the first bytes of a rank's buffer.
    pub(crate) fn download(
        &self,
        rank: usize,
        device: &mut dyn Device,
        from: BufferId,
        bytes: usize,
    ) -> Result<(), Error> {
        let mut memory = write(&self.data[rank]);
        let memory = grown(&mut memory, device, bytes)?;
        device.download(from, memory)
    }

    /// Combines a range of all ranks' data, in the order of the ranks.
    pub(crate) fn combine(
        &self,
        rank: usize,
        device: &mut dyn Device,
        range: &Range<usize>,
        (element, operation): (ElementType, Operation),
    ) -> Result<(), Error> {
        let data: Vec<_> = self.data.iter().map(read).collect();
        let mut combined = write(&self.combined[rank]);
        let combined = grown(&mut combined, device, range.len())?;
        combined.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, combined)| {
            let start = range.start + chunk * CHUNK;
            let part = start..start + combined.len();
            combined.copy_from_slice(&data[0][part.clone()]);
            data[1..].iter().for_each(|other| element.combine(operation, combined, &other[part.clone()]));
        });
        Ok(())
    }
}

/// Uploads the first bytes of `memory` to a range of a buffer.
pub(crate) fn upload(
    memory: &RwLock<HostBytes>,
    device: &mut dyn Device,
    to: BufferId,
    range: &Range<usize>,
) -> Result<(), Error> {
    device.overwrite(to, range.start, &read(memory)[..range.len()])
}

fn none() -> HostBytes {
    Box::new(Vec::new())
}

/// Returns the first bytes of the memory, and reallocates the memory if it is too short.
fn grown<'a>(memory: &'a mut HostBytes, device: &mut dyn Device, bytes: usize) -> Result<&'a mut [u8], Error> {
    if memory.len() < bytes {
        *memory = device.alloc_host(bytes)?;
    }
    Ok(&mut memory[..bytes])
}

// Ignore a poisoned lock: its rank panicked, and the other ranks learn of the failure at the next barrier.
fn read(memory: &RwLock<HostBytes>) -> RwLockReadGuard<'_, HostBytes> {
    memory.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(memory: &RwLock<HostBytes>) -> RwLockWriteGuard<'_, HostBytes> {
    memory.write().unwrap_or_else(PoisonError::into_inner)
}
