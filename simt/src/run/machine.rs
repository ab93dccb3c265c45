//! The machine: its configuration, memory and buffers.

use std::marker::PhantomData;

use bytemuck::Pod;

use crate::memory::GlobalMemory;

/// How a machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Host threads; 0 for one each core.
    pub threads: usize,
    /// Instructions of warps that a launch may execute.
    pub max_instructions: u64,
    /// Bytes of local memory that a thread may have, calls included.
    pub max_local_bytes: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threads: 0,
            max_instructions: 1 << 32,
            max_local_bytes: 1 << 19,
        }
    }
}

/// A type that a buffer can hold.
pub trait Element: Pod {}
impl<T: Pod> Element for T {}

/// Device memory of `len` elements.
///
/// It belongs to the machine that made it, and lives until [`Machine::free`] or the machine's end.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) address: u64,
    pub(crate) len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

impl<T> Buffer<T> {
    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many elements it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A SIMT machine with its device memory.
#[derive(Debug)]
pub struct Machine {
    pub(crate) config: Config,
    pub(crate) global: GlobalMemory,
    pub(crate) pool: rayon::ThreadPool,
    pub(crate) isa: &'static crate::isa::Isa,
}

impl Machine {
    /// A machine without any memory allocated.
    ///
    /// # Errors
    /// If the host gives it no threads.
    pub fn new(config: Config) -> Result<Self, rayon::ThreadPoolBuildError> {
        Ok(Self {
            config,
            global: GlobalMemory::default(),
            pool: rayon::ThreadPoolBuilder::new()
                .num_threads(config.threads)
                .build()?,
            isa: crate::isa::best(),
        })
    }

    /// How many host threads it runs on.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Allocates `len` elements, all zero.
    pub fn zeroed<T: Element>(&mut self, len: usize) -> Buffer<T> {
        let bytes = len * size_of::<T>();
        Buffer {
            address: self.global.allocate(bytes as u64),
            len,
            element: PhantomData,
        }
    }

    /// Allocates memory and copies `data` to it.
    pub fn upload<T: Element>(&mut self, data: &[T]) -> Buffer<T> {
        let buffer = self.zeroed(data.len());
        self.write(buffer, data);
        buffer
    }

    /// Copies `data` to the start of a buffer.
    ///
    /// # Panics
    /// If the buffer is shorter, or is none of this machine's.
    pub fn write<T: Element>(&mut self, buffer: Buffer<T>, data: &[T]) {
        assert!(data.len() <= buffer.len, "the buffer has room for the data");
        if !data.is_empty() {
            let allocation = self
                .global
                .find_mut(buffer.address)
                .expect("a buffer of this machine");
            allocation.write(0, bytemuck::cast_slice(data));
        }
    }

    /// Copies a buffer to the host.
    ///
    /// # Panics
    /// If the buffer is none of this machine's.
    pub fn read<T: Element>(&self, buffer: Buffer<T>) -> Vec<T> {
        let mut data = vec![T::zeroed(); buffer.len];
        if !data.is_empty() {
            let allocation = self
                .global
                .find(buffer.address)
                .expect("a buffer of this machine");
            allocation.read(0, bytemuck::cast_slice_mut(&mut data));
        }
        data
    }

    /// Frees a buffer. An access to it is a fault from now on.
    pub fn free<T>(&mut self, buffer: Buffer<T>) {
        self.global.free(buffer.address);
    }
}
