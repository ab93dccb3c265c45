//! The simulator: its configuration, memory and buffers.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytemuck::Pod;

use super::heap::Heap;
use super::printf::Printed;
use super::schedule::Schedule;
use super::skipped::SkippedFaults;
use crate::memory::GlobalMemory;
use crate::memory::global::MemoryError;
use crate::memory::texture::{Image, Object, TextureDescription, TextureError};

/// The configuration of a simulator.
///
/// ```
/// // One host thread, and a limit of a million warp instructions per launch.
/// let config = simt::Config {
///     threads: 1,
///     max_instructions: 1_000_000,
///     ..simt::Config::default()
/// };
/// let simulator = simt::Simulator::new(config)?;
/// assert_eq!(simulator.threads(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The number of host threads. The default, 0, stands for one thread per core.
    pub threads: usize,
    /// The number of warp instructions that a launch may execute. A launch that exceeds the limit, such as an endless
    /// loop, ends with [`FaultKind::Budget`](crate::FaultKind::Budget). 2^32 by default.
    pub max_instructions: u64,
    /// The time limit of a launch. A launch that takes longer ends with
    /// [`FaultKind::TimeLimit`](crate::FaultKind::TimeLimit). No limit by default.
    pub time_limit: Option<Duration>,
    /// The order in which blocks, warps and diverged lanes are executed.
    pub schedule: Schedule,
    /// The number of multiprocessors of the device, 132 by default, as on an H100. The number of blocks that run on a
    /// multiprocessor at the same time depends on the blocks' threads and shared memory, and on the limits of an H100.
    pub multiprocessors: u32,
    /// The number of blocks that run at the same time, and may therefore wait for each other. The default, 0, stands
    /// for the number that fits on the [`multiprocessors`](Config::multiprocessors).
    pub resident_blocks: u64,
    /// The number of bytes that a thread may use for local memory and for registers saved by its calls. 2^19 by
    /// default, as on GPUs.
    pub max_local_bytes: u32,
    /// The number of bytes of device memory that may be allocated at a time, 64 GiB by default. The limit covers
    /// buffers, and the variables of loaded modules and of the running kernel. The host allocates memory only when the
    /// memory is first written. Without a limit, a program could therefore allocate more memory than the host has, and
    /// fail in the middle of a launch.
    pub max_memory_bytes: u64,
    /// The size in bytes of the heap for `malloc` in kernels, which all launches share. 8 MiB by default, as in CUDA.
    pub heap_bytes: u64,
    /// The size in bytes of the buffer that kernels print to; [`Simulator::take_printed`] empties the buffer. When the
    /// buffer is full, the oldest messages are dropped. 1 MiB by default, as in CUDA.
    pub printf_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threads: 0,
            max_instructions: 1 << 32,
            time_limit: None,
            schedule: Schedule::Fixed,
            multiprocessors: 132,
            resident_blocks: 0,
            max_local_bytes: 1 << 19,
            max_memory_bytes: 64 << 30,
            heap_bytes: 8 << 20,
            printf_bytes: 1 << 20,
        }
    }
}

/// A type that a buffer can hold: a number, or an array or struct of numbers without padding.
pub trait Element: Pod {}
impl<T: Pod> Element for T {}

/// Device memory of `len` elements.
///
/// A buffer is a handle, as cheap to copy as an address. The memory belongs to the simulator that allocated it, and
/// lives until [`Simulator::free`] frees it or the simulator is dropped; other simulators reject the handle. The memory
/// of an [instance's variable](crate::Instance::variable) lives as long as the instance.
#[derive(Debug)]
pub struct Buffer<T> {
    /// The number of the simulator that the buffer belongs to.
    pub(super) simulator: u64,
    pub(super) address: u64,
    pub(super) len: usize,
    /// Whether the buffer is a variable of a loaded module.
    pub(super) is_variable: bool,
    pub(super) element: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

impl<T> Buffer<T> {
    /// Returns the buffer's address on the device, a multiple of 256.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A simulator and its device memory.
///
/// ```
/// let mut simulator = simt::Simulator::new(simt::Config::default())?;
/// let numbers = simulator.upload(&[1.0f32, 2.0, 3.0])?;
/// let result = simulator.zeroed::<f32>(3)?;
/// // … launches that read `numbers` and write `result` …
/// assert_eq!(simulator.read(numbers)?, [1.0, 2.0, 3.0]);
/// assert_eq!(simulator.read(result)?, [0.0; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    /// The number of this simulator, unique within the process.
    pub(super) number: u64,
    /// The numbers of the loaded instances.
    pub(super) instances: HashSet<u64>,
    pub(crate) config: Config,
    pub(crate) global: GlobalMemory,
    /// The heap of `malloc` in kernels.
    pub(super) heap: Mutex<Heap>,
    /// The number of instructions that all launches have executed, which is the start of the next launch's clock.
    pub(super) clock: u64,
    pub(super) printed: Mutex<Printed>,
    /// The accesses that the last launch skipped.
    pub(super) skipped: SkippedFaults,
    /// The host threads; `None` if launches run on the calling thread.
    pub(crate) pool: Option<rayon::ThreadPool>,
    pub(crate) simd: &'static crate::host_simd::HostSimd,
}

impl Simulator {
    /// Creates a simulator without allocated memory.
    ///
    /// ```
    /// let simulator = simt::Simulator::new(simt::Config::default())?;
    /// assert!(simulator.threads() >= 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error when the host cannot start the threads.
    pub fn new(config: Config) -> Result<Self, rayon::ThreadPoolBuildError> {
        static SIMULATORS: AtomicU64 = AtomicU64::new(0);
        // WebAssembly has no threads to start.
        let is_alone = config.threads == 1 || cfg!(target_family = "wasm");
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(config.threads).build();
        Ok(Self {
            number: SIMULATORS.fetch_add(1, Ordering::Relaxed),
            instances: HashSet::new(),
            config,
            global: GlobalMemory::with_limit(config.max_memory_bytes),
            heap: Mutex::default(),
            clock: 0,
            printed: Mutex::default(),
            skipped: SkippedFaults::default(),
            pool: (!is_alone).then(pool).transpose()?,
            simd: crate::host_simd::best(),
        })
    }

    /// Returns the device memory: the memory of buffers, variables and kernels, by address.
    pub fn memory(&self) -> &GlobalMemory {
        &self.global
    }

    /// Returns the device memory mutably, for changes between launches.
    pub fn memory_mut(&mut self) -> &mut GlobalMemory {
        &mut self.global
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configuration mutably, for changes between launches. The number of threads is fixed at creation, and
    /// the size of the heap is fixed by the first launch that uses it.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Takes the accesses that the last launch skipped, if its observer requested skipping
    /// ([`Requests::SKIPS`](crate::observe::Requests::SKIPS)).
    pub fn take_skipped(&mut self) -> SkippedFaults {
        std::mem::take(&mut self.skipped)
    }

    /// Returns whether a kernel has used the heap, whose size is then fixed.
    pub fn has_heap(&mut self) -> bool {
        self.heap.get_mut().expect("the heap does not panic").base.is_some()
    }

    /// Frees the heap, including everything that kernels have allocated and not freed.
    pub fn free_heap(&mut self) {
        let heap = std::mem::take(self.heap.get_mut().expect("the heap does not panic"));
        if let Some(base) = heap.base {
            self.global.free(base);
        }
    }

    /// Returns the number of host threads.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Returns the number and the total size in bytes of the blocks that kernels have allocated and not freed.
    #[must_use]
    pub fn heap_in_use(&self) -> (usize, u64) {
        self.heap.lock().expect("the heap does not panic").in_use()
    }

    /// Takes the messages that kernels have printed with `printf` since the last call, ordered by block number. If the
    /// messages exceed [`Config::printf_bytes`], only the last messages are returned.
    ///
    /// After a fault, the messages of blocks after the faulting block are dropped.
    pub fn take_printed(&mut self) -> Vec<u8> {
        let printed = self.printed.get_mut();
        printed.expect("printing does not panic").take()
    }

    /// Allocates `len` elements, all zero.
    ///
    /// ```
    /// use simt::{Config, Simulator, MemoryError};
    ///
    /// let mut simulator = Simulator::new(Config::default())?;
    /// let buffer = simulator.zeroed::<i32>(4)?;
    /// assert_eq!(simulator.read(buffer)?, [0; 4]);
    ///
    /// let error = simulator.zeroed::<i32>(1_000_000_000_000).unwrap_err();
    /// assert!(matches!(error, MemoryError::Limit { bytes: 4_000_000_000_000, .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns one of these errors:
    /// - [`MemoryError::TooLarge`] when the size in bytes does not fit into 64 bits.
    /// - [`MemoryError::Limit`] when the simulator's limit would be exceeded.
    /// - [`MemoryError::Addresses`] when no addresses are left.
    /// - [`MemoryError::Host`] when the host has no more memory.
    pub fn zeroed<T: Element>(&mut self, len: usize) -> Result<Buffer<T>, MemoryError> {
        let bytes = (len as u64)
            .checked_mul(size_of::<T>() as u64)
            .ok_or(MemoryError::TooLarge { len, element_bytes: size_of::<T>() })?;
        Ok(Buffer {
            simulator: self.number,
            address: self.global.allocate(bytes)?,
            len,
            is_variable: false,
            element: PhantomData,
        })
    }

    /// Allocates `len` elements without initializing them, as `cudaMalloc` does. Their bytes are zero, but the
    /// sanitizer `init` reports kernels that read an element before writing it.
    ///
    /// # Errors
    /// Returns the errors of [`Simulator::zeroed`].
    pub fn uninitialized<T: Element>(&mut self, len: usize) -> Result<Buffer<T>, MemoryError> {
        let buffer = self.zeroed(len)?;
        self.global.set_unwritten(buffer.address);
        Ok(buffer)
    }

    /// Allocates memory and copies `data` to it.
    ///
    /// ```
    /// let mut simulator = simt::Simulator::new(simt::Config::default())?;
    /// let buffer = simulator.upload(&[[1u32, 2], [3, 4]])?;
    /// assert_eq!(buffer.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Simulator::zeroed`].
    pub fn upload<T: Element>(&mut self, data: &[T]) -> Result<Buffer<T>, MemoryError> {
        let buffer = self.zeroed(data.len())?;
        self.write(buffer, data)?;
        Ok(buffer)
    }

    /// Copies `data` to the start of a buffer; the remaining elements keep their values.
    ///
    /// ```
    /// let mut simulator = simt::Simulator::new(simt::Config::default())?;
    /// let buffer = simulator.zeroed::<u16>(3)?;
    /// simulator.write(buffer, &[7, 8])?;
    /// assert_eq!(simulator.read(buffer)?, [7, 8, 0]);
    /// assert!(simulator.write(buffer, &[1, 2, 3, 4]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`MemoryError::TooLong`] if the buffer is shorter than `data`; nothing is written in this case. Returns
    /// [`MemoryError::Freed`] if the buffer was freed, and [`MemoryError::Foreign`] if another simulator allocated it.
    pub fn write<T: Element>(&mut self, buffer: Buffer<T>, data: &[T]) -> Result<(), MemoryError> {
        let address = self.checked_address(buffer)?;
        if data.len() > buffer.len {
            return Err(MemoryError::TooLong { data: data.len(), buffer: buffer.len });
        }
        let bytes: &[u8] = bytemuck::cast_slice(data);
        if self.global.at(address).is_none() {
            return Err(MemoryError::Freed { address });
        }
        if let Some((allocation, at)) = self.global.span_mut(address, bytes.len() as u64) {
            allocation.write(at, bytes);
        }
        Ok(())
    }

    /// Copies a buffer to the host.
    ///
    /// ```
    /// let mut simulator = simt::Simulator::new(simt::Config::default())?;
    /// let buffer = simulator.upload(b"warp")?;
    /// assert_eq!(simulator.read(buffer)?, b"warp");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`MemoryError::Freed`] if the buffer was freed, [`MemoryError::Foreign`] if another simulator allocated
    /// it, and [`MemoryError::Host`] if the host has no memory for the copy.
    pub fn read<T: Element>(&self, buffer: Buffer<T>) -> Result<Vec<T>, MemoryError> {
        let address = self.checked_address(buffer)?;
        let allocation = self.global.at(address).ok_or(MemoryError::Freed { address })?;
        let mut data = bytemuck::try_zeroed_slice_box::<T>(buffer.len)
            .map_err(|()| MemoryError::Host { bytes: allocation.bytes })?
            .into_vec();
        allocation.read(0, bytemuck::cast_slice_mut(&mut data));
        Ok(data)
    }

    /// Frees a buffer. Further accesses to the buffer are errors on the host and faults in kernels.
    ///
    /// ```
    /// use simt::{Config, Simulator, MemoryError};
    ///
    /// let mut simulator = Simulator::new(Config::default())?;
    /// let buffer = simulator.zeroed::<u8>(100)?;
    /// simulator.free(buffer)?;
    /// assert!(matches!(simulator.read(buffer), Err(MemoryError::Freed { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`MemoryError::Freed`] if the buffer was already freed, [`MemoryError::Foreign`] if another simulator
    /// allocated it, and [`MemoryError::Variable`] if it is a variable of a loaded module.
    pub fn free<T>(&mut self, buffer: Buffer<T>) -> Result<(), MemoryError> {
        let address = self.checked_address(buffer)?;
        if buffer.is_variable {
            return Err(MemoryError::Variable { address });
        }
        match self.global.free(address) {
            true => Ok(()),
            false => Err(MemoryError::Freed { address }),
        }
    }

    /// Creates a texture from memory of this simulator, and returns its handle, which is the kernel's argument for a
    /// `cudaTextureObject_t`. Each fetch reads the current contents of the memory.
    ///
    /// ```
    /// use simt::memory::texture::{Channels, Image, Sides, TexelFormat, TextureDescription};
    ///
    /// let mut simulator = simt::Simulator::new(simt::Config::default())?;
    /// let texels = simulator.upload(&[0.0f32, 1.0, 2.0, 3.0])?;
    /// let format = TexelFormat { channels: Channels::Float, bits: 32, count: 1 };
    /// let image = Image::packed(texels.address(), format, Sides::Two([2, 2]));
    /// let handle = simulator.texture(TextureDescription::new(image))?;
    /// assert_ne!(handle, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error when the format does not exist or the image is not inside one allocation. Also returns an error
    /// when the format cannot be read as described.
    pub fn texture(&mut self, description: TextureDescription) -> Result<u64, TextureError> {
        self.global.create_object(Object::Texture(description))
    }

    /// Creates a surface from memory of this simulator, and returns its handle, which is the kernel's argument for a
    /// `cudaSurfaceObject_t`.
    ///
    /// # Errors
    /// Returns an error when the format does not exist, when the image is not inside one allocation, or when the image
    /// is linear memory.
    pub fn surface(&mut self, image: Image) -> Result<u64, TextureError> {
        self.global.create_object(Object::Surface(image))
    }

    /// Destroys the texture or surface of a handle, and returns whether it existed.
    pub fn destroy_object(&mut self, handle: u64) -> bool {
        self.global.destroy_object(handle)
    }

    /// Returns the address of a buffer, if the buffer belongs to this simulator.
    fn checked_address<T>(&self, buffer: Buffer<T>) -> Result<u64, MemoryError> {
        let address = buffer.address;
        match buffer.simulator == self.number {
            true => Ok(address),
            false => Err(MemoryError::Foreign { address }),
        }
    }
}
