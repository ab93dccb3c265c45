//! Memory of the host that the ranks of one process share, and the combination of their data in it.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rayon::prelude::*;

use crate::divide::{ElementType, Operation};

/// The bytes that one thread combines or copies at a time: a multiple of every element's size.
pub(crate) const CHUNK: usize = 256 << 10;

/// Memory that the ranks of one process share.
#[derive(Debug)]
pub(crate) struct HostMemory {
    /// Each rank's data.
    pub(crate) data: Vec<RwLock<Vec<u8>>>,
    /// The bytes that each rank has combined.
    pub(crate) combined: Vec<RwLock<Vec<u8>>>,
}

impl HostMemory {
    /// Makes empty memory for `ranks` ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        let empty = || (0..ranks).map(|_| RwLock::default()).collect();
        Self { data: empty(), combined: empty() }
    }

    /// Combines a range of all ranks' data, in the order of the ranks.
    pub(crate) fn combine(&self, rank: usize, range: &Range<usize>, element: ElementType, operation: Operation) {
        let data: Vec<_> = self.data.iter().map(read).collect();
        let mut combined = write(&self.combined[rank]);
        combined.resize(range.len(), 0);
        combined.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, combined)| {
            let start = range.start + chunk * CHUNK;
            let part = start..start + combined.len();
            combined.copy_from_slice(&data[0][part.clone()]);
            data[1..].iter().for_each(|other| element.combine(operation, combined, &other[part.clone()]));
        });
    }
}

// A rank that panicked has failed, and the others learn that at the next barrier.
pub(crate) fn read(memory: &RwLock<Vec<u8>>) -> RwLockReadGuard<'_, Vec<u8>> {
    memory.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn write(memory: &RwLock<Vec<u8>>) -> RwLockWriteGuard<'_, Vec<u8>> {
    memory.write().unwrap_or_else(PoisonError::into_inner)
}
