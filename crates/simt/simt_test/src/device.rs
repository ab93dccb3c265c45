//! The device that the body of a test uses.

use std::fmt;

use bytemuck::Pod;

use crate::argument::Values;
use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::error::{Error, Result, located};
use crate::grid::Grid;
use crate::launched::Launched;
use crate::number::Number;

/// A device with the kernels under test. Its `Display` form is its name and the size: `sim, size 33`.
pub struct Device {
    backend: Backend,
    buffers: usize,
    size: usize,
    tolerance: f64,
}

impl Device {
    pub(crate) fn new(backend: Backend, size: usize, tolerance: f64) -> Self {
        Self { backend, buffers: 0, size, tolerance }
    }

    /// Returns the size to test: one of [`Test::sizes`](crate::Test::sizes).
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Creates a buffer with these elements.
    ///
    /// # Errors
    /// Returns an error when there is not enough memory.
    #[track_caller]
    pub fn upload<T: Pod>(&mut self, elements: &[T]) -> Result<Buffer<T>> {
        located(self.backend.upload(bytemuck::cast_slice(elements)))?;
        self.buffers += 1;
        Ok(Buffer::new(self.buffers - 1, elements.len()))
    }

    /// Creates a buffer of zeros with this number of elements.
    ///
    /// # Errors
    /// Returns an error when there is not enough memory.
    #[track_caller]
    pub fn zeroed<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>> {
        self.upload(&vec![T::zeroed(); len])
    }

    /// Returns the elements of a buffer.
    ///
    /// # Errors
    /// Returns an error when the buffer belongs to another device, or when the device fails.
    #[track_caller]
    pub fn read<T: Pod>(&mut self, buffer: Buffer<T>) -> Result<Vec<T>> {
        let bytes = located(self.backend.read(buffer.number))?;
        match bytes.len() == buffer.len() * size_of::<T>() {
            true => Ok(bytemuck::pod_collect_to_vec(&bytes)),
            false => Err(Error::new("the buffer belongs to another device")),
        }
    }

    /// Runs a kernel by name and waits until it finishes. The counters of the launch can be
    /// [checked](Launched::expect): `device.launch("copy", grid, args)?.expect(Counter::SectorsPerRequest, ..=4)?`.
    ///
    /// # Errors
    /// Returns an error when the kernel does not exist, the arguments do not match its parameters, no device can launch
    /// the grid, or the kernel fails. On the simulator, the error contains the thread and the line of the kernel.
    #[track_caller]
    pub fn launch(&mut self, kernel: &str, grid: Grid, values: Values) -> Result<Launched> {
        let counted = located(self.backend.launch(kernel, grid, &values.0))?;
        Ok(Launched::new(kernel, counted))
    }

    /// Compares a buffer with its expected contents. Floats may differ within the test's
    /// [tolerance](crate::Test::tolerance).
    ///
    /// # Errors
    /// Returns an error when an element differs. The error contains the index and both values of the first such
    /// element, and the number of elements that differ.
    #[track_caller]
    pub fn expect<T: Number>(&mut self, buffer: Buffer<T>, expected: &[T]) -> Result {
        let found = self.read(buffer)?;
        if found.len() != expected.len() {
            return Err(Error::new(format!("the buffer has {} elements, expected {}", found.len(), expected.len())));
        }
        let pairs = found.iter().zip(expected).enumerate();
        let mut wrong = pairs.filter(|(_, (found, expected))| !found.is_near(**expected, self.tolerance));
        match wrong.next() {
            None => Ok(()),
            Some((index, (found, expected))) => {
                let (others, len) = (wrong.count(), buffer.len());
                Err(Error::new(format!(
                    "element {index} is {found:?}, expected {expected:?}; {} of {len} differ",
                    others + 1
                )))
            }
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, size {}", self.backend, self.size)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
