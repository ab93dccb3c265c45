//! Memory of a device.

use std::marker::PhantomData;

/// Memory on the device: `len` elements, freed at the end of the test's body.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) number: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

impl<T> Buffer<T> {
    pub(crate) fn new(number: usize, len: usize) -> Self {
        Self { number, len, element: PhantomData }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the argument for a parameter `&[T]` or `&mut [T]`.
    #[must_use]
    pub fn slice(self) -> Slice<T> {
        Slice(self)
    }
}

/// A buffer for a parameter `&[T]` or `&mut [T]`: its pointer and its length. [`Buffer::slice`] creates it.
#[derive(Debug, Clone, Copy)]
pub struct Slice<T>(pub(crate) Buffer<T>);
