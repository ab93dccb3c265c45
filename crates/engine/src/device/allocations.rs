//! The buffers that are allocated on a device, by their handles.

use std::collections::BTreeMap;

use super::BufferId;
use crate::error::Error;
use crate::launch::Launch;

/// The allocated buffers of a device, each in the device's own form `B`.
pub(super) struct Allocations<B> {
    buffers: BTreeMap<BufferId, B>,
    next_id: u32,
}

impl<B> Allocations<B> {
    pub(super) fn new() -> Self {
        Self { buffers: BTreeMap::new(), next_id: 0 }
    }

    /// Adds a buffer and returns its handle, which no other buffer gets.
    pub(super) fn add(&mut self, buffer: B) -> BufferId {
        let id = BufferId(self.next_id);
        self.next_id += 1;
        self.buffers.insert(id, buffer);
        id
    }

    pub(super) fn remove(&mut self, id: BufferId) -> Option<B> {
        self.buffers.remove(&id)
    }

    /// # Errors
    /// [`Error::Device`] when the buffer is not in use.
    pub(super) fn get(&self, id: BufferId) -> Result<&B, Error> {
        self.buffers.get(&id).ok_or_else(|| not_in_use(id))
    }

    /// # Errors
    /// [`Error::Device`] when the buffer is not in use.
    pub(super) fn get_mut(&mut self, id: BufferId) -> Result<&mut B, Error> {
        self.buffers.get_mut(&id).ok_or_else(|| not_in_use(id))
    }

    /// The buffer that the argument `Arg::Buffer(index)` of a launch stands for, among those that are `bound`.
    ///
    /// # Errors
    /// [`Error::Launch`] when there are fewer bound buffers, [`Error::Device`] when the buffer is not in use.
    pub(super) fn argument(&self, launch: &Launch, bound: &[BufferId], index: usize) -> Result<&B, Error> {
        let id = bound
            .get(index)
            .ok_or_else(|| Error::launch(launch, format!("buffer {index} of {} is an argument", bound.len())))?;
        self.get(*id)
    }
}

fn not_in_use(id: BufferId) -> Error {
    Error::device("looking for a buffer", format!("{id:?} is not in use"))
}

/// # Errors
/// [`Error::Device`] when a buffer does not have as many bytes as are copied.
pub(super) fn check_size(doing: &'static str, buffer: usize, copied: usize) -> Result<(), Error> {
    match buffer == copied {
        true => Ok(()),
        false => Err(Error::device(doing, format!("the buffer has {buffer} bytes, not {copied}"))),
    }
}
