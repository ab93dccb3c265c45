//! What the body of a test works with.

use std::fmt;

use bytemuck::Pod;

use crate::argument::Values;
use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::error::{Error, Result, located};
use crate::grid::Grid;
use crate::launched::Launched;
use crate::number::Number;

/// A device with the kernels under test. It shows itself as its name and the size: `sim, size 33`.
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

    /// The size to test; one of [`Test::sizes`](crate::Test::sizes).
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// A buffer with these elements.
    ///
    /// # Errors
    /// When there is not enough memory.
    #[track_caller]
    pub fn upload<T: Pod>(&mut self, elements: &[T]) -> Result<Buffer<T>> {
        located(self.backend.upload(bytemuck::cast_slice(elements)))?;
        self.buffers += 1;
        Ok(Buffer::new(self.buffers - 1, elements.len()))
    }

    /// A buffer with so many zeros.
    ///
    /// # Errors
    /// When there is not enough memory.
    #[track_caller]
    pub fn zeroed<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>> {
        self.upload(&vec![T::zeroed(); len])
    }

    /// The elements of a buffer.
    ///
    /// # Errors
    /// When the buffer is another device's, and when the device fails.
    #[track_caller]
    pub fn read<T: Pod>(&mut self, buffer: Buffer<T>) -> Result<Vec<T>> {
        let bytes = located(self.backend.read(buffer.number))?;
        match bytes.len() == buffer.len() * size_of::<T>() {
            true => Ok(bytemuck::pod_collect_to_vec(&bytes)),
            false => Err(Error::new("the buffer belongs to another device")),
        }
    }

    /// Runs a kernel, by its name, and waits for its end. What it counted can be [held](Launched::expect):
    /// `device.launch("copy", grid, args)?.expect(Counter::SectorsPerRequest, ..=4)?`.
    ///
    /// # Errors
    /// When there is no such kernel, when the arguments do not fit its parameters, when no device can launch such a grid,
    /// and when the kernel fails; on the simulator the error has the thread and the line of the kernel.
    #[track_caller]
    pub fn launch(&mut self, kernel: &str, grid: Grid, values: Values) -> Result<Launched> {
        let counted = located(self.backend.launch(kernel, grid, &values.0))?;
        Ok(Launched::new(kernel, counted))
    }

    /// Compares a buffer with what it should hold, floats within the test's [tolerance](crate::Test::tolerance).
    ///
    /// # Errors
    /// When an element differs: the error has the first's index and both values, and how many differ.
    #[track_caller]
    pub fn expect<T: Number>(&mut self, buffer: Buffer<T>, expected: &[T]) -> Result {
        let found = self.read(buffer)?;
        if found.len() != expected.len() {
            return Err(Error::new(format!(
                "the buffer has {} elements, expected are {}",
                found.len(),
                expected.len()
            )));
        }
        let pairs = found.iter().zip(expected).enumerate();
        let mut wrong = pairs.filter(|(_, (own, expected))| !own.is_near(**expected, self.tolerance));
        match wrong.next() {
            None => Ok(()),
            Some((index, (found, expected))) => {
                let (others, len) = (wrong.count(), buffer.len());
                Err(Error::new(format!(
                    "element {index} is {found:?}, expected is {expected:?}; {} of {len} differ",
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
