//! Memory of a device.

use std::marker::PhantomData;

/// Memory of the device: `len` elements, freed at the end of the body.
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

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The argument for a parameter `&[T]` or `&mut [T]`.
    #[must_use]
    pub fn slice(self) -> Slice<T> {
        Slice(self)
    }
}

/// A buffer for a parameter `&[T]` or `&mut [T]`: its pointer and its length, which [`Buffer::slice`] gives.
#[derive(Debug, Clone, Copy)]
pub struct Slice<T>(pub(crate) Buffer<T>);
