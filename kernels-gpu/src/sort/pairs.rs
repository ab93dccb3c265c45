//! Arrays of keys with their values, in global or shared memory.

use cuda_std::thread;

use super::key::{Key, Value};

/// The addresses of an array of keys and of the array of their values.
#[derive(Clone, Copy)]
pub(super) struct Pairs<K, V> {
    pub(super) keys: *mut K,
    pub(super) values: *mut V,
}

impl<K: Key, V: Value> Pairs<K, V> {
    /// Returns the arrays with these addresses.
    #[inline(always)]
    pub(super) fn new(keys: *const K, values: *const V) -> Self {
        Self { keys: keys.cast_mut(), values: values.cast_mut() }
    }

    /// Returns the addresses of the elements with this index.
    #[inline(always)]
    pub(super) fn at(self, index: u32) -> Self {
        Self { keys: self.keys.wrapping_add(index as usize), values: self.values.wrapping_add(index as usize) }
    }

    /// Returns the ordered bits of the key with this index.
    ///
    /// # Safety
    /// The key exists, and no thread writes it.
    #[inline(always)]
    pub(super) unsafe fn ordered(self, index: u32) -> K::Ordered {
        // SAFETY: the key exists.
        unsafe { *self.keys.add(index as usize) }.to_ordered()
    }

    /// Copies the key with index `from`, and its value, to index `to` of other arrays.
    ///
    /// # Safety
    /// The arrays have elements with these indices, and nothing else accesses the elements at `to`.
    #[inline(always)]
    pub(super) unsafe fn copy_one(self, from: u32, others: Self, to: u32) {
        // SAFETY: both elements exist, and no other thread accesses the written element.
        unsafe {
            *others.keys.add(to as usize) = *self.keys.add(from as usize);
            *others.values.add(to as usize) = *self.values.add(from as usize);
        }
    }

    /// Copies `count` elements to other arrays. Neighboring threads copy neighboring elements.
    ///
    /// # Safety
    /// All threads of a block of `BLOCK` call the function together. All arrays have `count` elements. No thread writes
    /// the elements of this array, and nothing else accesses the elements of the other arrays.
    #[inline(always)]
    pub(super) unsafe fn copy_all<const BLOCK: u32>(self, others: Self, count: u32) {
        for i in (thread::thread_idx_x()..count).step_by(BLOCK as usize) {
            // SAFETY: i < count, and each element has one writer.
            unsafe { self.copy_one(i, others, i) };
        }
    }

    /// Swaps two elements.
    ///
    /// # Safety
    /// The elements exist and differ, and no other thread accesses them.
    #[inline(always)]
    pub(super) unsafe fn swap(self, first: u32, second: u32) {
        let (first, second) = (first as usize, second as usize);
        // SAFETY: both elements exist, and only this thread accesses them.
        unsafe {
            (*self.keys.add(first), *self.keys.add(second)) = (*self.keys.add(second), *self.keys.add(first));
            (*self.values.add(first), *self.values.add(second)) = (*self.values.add(second), *self.values.add(first));
        }
    }
}
