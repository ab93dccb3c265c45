//! The devices that run rungs. One trait covers buffers, launches and timing for GPUs and the simulator.

#[cfg(not(target_family = "wasm"))]
mod code;
#[cfg(not(target_family = "wasm"))]
mod gpu;
#[cfg(not(target_family = "wasm"))]
mod sim;
mod stream;

use std::fmt;
use std::ops::DerefMut;
use std::time::Duration;

use rung::DeviceProperties;
use serde::{Serialize, Serializer};

#[cfg(not(target_family = "wasm"))]
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Code, Launch};
use crate::size;

#[cfg(not(target_family = "wasm"))]
pub use gpu::{Cuda, Gpu, Sim, has_abandoned_work};
pub use simt::Schedule;
pub use simt::counters::{Metric, Value};
pub use simt_check::{Check, Checks, Finding};
pub use stream::{DeviceMemory, Enqueue, EnqueueAfter, GpuStream, Watch};

/// The handle of a buffer, from [`Device::alloc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// Host memory that a device copies at the full speed of its link, from [`Device::alloc_host`].
pub type HostBytes = Box<dyn DerefMut<Target = [u8]> + Send + Sync>;

/// The measurements of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LaunchResult {
    /// The duration of the kernel in nanoseconds on the device's clock. `None` when the device has no clock.
    pub time_ns: Option<f64>,
    /// The counters of the launch. Empty if nothing was counted.
    pub counters: Vec<Metric>,
}

impl LaunchResult {
    /// Creates the result of a launch that took `time_ns` nanoseconds.
    pub fn timed(time_ns: f64) -> Self {
        Self { time_ns: Some(time_ns), counters: Vec::new() }
    }
}

/// The properties of a device. A property that the device does not report is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// The device's name on the command line (`--device`): `gpu` or `sim`.
    #[serde(rename = "device")]
    pub kind: &'static str,
    /// The name that the manufacturer gave the device.
    pub name: String,
    /// The driver's version and the CUDA version that it supports.
    pub driver: Option<String>,
    /// Major and minor compute capability, serialized as in `9.0`.
    #[serde(serialize_with = "with_point")]
    pub compute_capability: Option<(u32, u32)>,
    /// The number of streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The highest clock rate of the multiprocessors, in MHz.
    pub clock_mhz: Option<f64>,
    /// The size of the L2 cache in bytes.
    pub l2_bytes: Option<u64>,
    /// The size of the device's memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The peak memory bandwidth in bytes per second: twice the memory clock times the bus width. Serialized in 10^9
    /// bytes per second.
    #[serde(rename = "peak_gb_per_s", serialize_with = "in_billions")]
    pub peak_bytes_per_s: Option<f64>,
}

impl DeviceInfo {
    /// Returns the properties that launches depend on. [`DeviceProperties::default`] supplies a property that the
    /// device does not report.
    pub fn properties(&self) -> DeviceProperties {
        let default = DeviceProperties::default();
        DeviceProperties { multiprocessors: self.multiprocessors.unwrap_or(default.multiprocessors) }
    }
}

fn with_point<S: Serializer>(capability: &Option<(u32, u32)>, serializer: S) -> Result<S::Ok, S::Error> {
    capability.map(|(major, minor)| format!("{major}.{minor}")).serialize(serializer)
}

fn in_billions<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    number.map(|value| value / 1e9).serialize(serializer)
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = [
            self.compute_capability.map(|(major, minor)| format!("compute capability {major}.{minor}")),
            self.multiprocessors.map(|count| format!("{count} SMs")),
            self.peak_bytes_per_s.map(|peak| format!("{:.0} GB/s peak bandwidth", peak / 1e9)),
            self.driver.as_ref().map(|driver| format!("driver {driver}")),
        ];
        f.write_str(&self.name)?;
        facts.iter().flatten().try_for_each(|fact| write!(f, ", {fact}"))
    }
}

/// The resource figures that the driver reports for an entry, and for the blocks of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resident {
    /// The number of registers per thread.
    pub registers: u32,
    /// The number of bytes of shared memory per block that the entry declares statically.
    pub static_shared: u32,
    /// The number of bytes of local memory per thread: its stack and its spilled registers.
    pub local_bytes: u32,
    /// The maximum number of threads in a block of this entry.
    pub max_threads: u32,
    /// The number of blocks that run on a multiprocessor at once.
    pub blocks: u32,
}

/// A device that runs kernels.
///
/// Operations take effect in the order in which they are called. A launch sees earlier copies, and a download waits for
/// earlier launches. [`Device::launch`] reports a failure of the kernel that it starts.
pub trait Device {
    /// Returns the device's properties.
    fn info(&self) -> &DeviceInfo;

    /// Returns the number of free bytes, or `None` when the device does not report it.
    fn free_bytes(&self) -> Option<u64>;

    /// Allocates a buffer of `bytes` bytes, possibly 0. Its contents are undefined.
    ///
    /// # Errors
    /// Returns [`Error::NotEnoughMemory`] when the device has fewer than `bytes` bytes free, [`Error::Device`] when the
    /// device fails.
    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error>;

    /// Frees a buffer. An id that is not in use is ignored.
    fn free(&mut self, buffer: BufferId);

    /// Allocates `bytes` zeroed bytes of host memory, which a GPU's driver pins. The caller must drop the memory before
    /// the device, on the device's thread.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the driver cannot pin the memory.
    fn alloc_host(&mut self, bytes: usize) -> Result<HostBytes, Error> {
        Ok(Box::new(vec![0; bytes]))
    }

    /// Returns the start address of a buffer.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the buffer is not in use, or when the device does not report addresses.
    fn address(&self, buffer: BufferId) -> Result<u64, Error> {
        let _ = buffer;
        Err(Error::device("looking for a buffer", format!("a {} does not report addresses", self.info().kind)))
    }

    /// Copies `bytes` from the host to `buffer`, which must have the same size.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the buffer is not in use or has another size, and when the device fails.
    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error>;

    /// Copies `bytes` from the host into `buffer`, starting at the byte `start`.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the buffer is not in use or too short, and when the device fails or does not
    /// support partial copies.
    fn overwrite(&mut self, buffer: BufferId, start: usize, bytes: &[u8]) -> Result<(), Error> {
        let _ = (buffer, start, bytes);
        Err(Error::device("copying to the device", format!("a {} copies only whole buffers", self.info().kind)))
    }

    /// Copies the first `bytes.len()` bytes of `buffer` to the host.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the buffer is not in use or is smaller than `bytes`, and when the device fails.
    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error>;

    /// Copies all of `from` to `to` on the device.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when a buffer is not in use, when the sizes of the buffers differ, and when the device
    /// fails.
    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error>;

    /// Sets every byte of `buffer` to `byte`.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the buffer is not in use, and when the device fails.
    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error>;

    /// Turns counting on or off for the following launches. A device that cannot count ignores the call.
    fn set_counting(&mut self, _counting: bool) {}

    /// Selects the sanitizers for the following launches. A device without sanitizers ignores the call.
    fn set_checks(&mut self, _checks: Checks) {}

    /// Returns the sanitizers that launches run with.
    fn checks(&self) -> Checks {
        Checks::NONE
    }

    /// Sets the order in which the following launches execute blocks, warps and diverged lanes. A device that cannot
    /// choose the order ignores the call.
    fn set_schedule(&mut self, _schedule: Schedule) {}

    /// Returns the schedule: the order in which launches execute blocks, warps and diverged lanes, as far as it is
    /// known.
    fn schedule(&self) -> Schedule {
        Schedule::Fixed
    }

    /// Returns the sanitizers' findings since the last call, including those of failed launches.
    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }

    /// Returns notes on what the sanitizers could not check since the last call, one sentence each:
    /// [`simt_check::Sanitized::notes`].
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether the device can run further launches after a failed launch. A kernel fault destroys everything
    /// that a process has on a GPU, so only another process can continue.
    fn is_usable(&mut self) -> bool {
        true
    }

    /// Sets the time limit of a launch. A launch that exceeds the limit fails. A device without a clock ignores the
    /// call.
    fn set_time_limit(&mut self, _limit: Duration) {}

    /// Sets a function that is called while the device waits for work, and that decides whether to abandon the work. A
    /// device that does not wait ignores the call.
    fn set_watch(&mut self, _watch: Watch) {}

    /// Returns the reason why the device cannot run this launch with any arguments: [`Error::NeedsNewer`] when the
    /// kernel is only compiled for newer devices.
    fn check_supported(&self, _launch: &Launch) -> Option<Error> {
        None
    }

    /// Returns the driver's resource figures for the launch's entry and block size. The grid and the arguments do not
    /// affect the figures. A device without a driver returns `None`.
    ///
    /// # Errors
    /// Returns [`Error::Launch`] when the entry does not exist, and [`Error::NeedsNewer`] when only newer devices have
    /// the entry. Returns [`Error::Ptx`] when the entry's code cannot be loaded, and [`Error::Device`] when the device
    /// fails.
    fn resident(&mut self, _launch: &Launch) -> Result<Option<Resident>, Error> {
        Ok(None)
    }

    /// Adds PTX whose entries can then be launched. An entry is compiled when it is first launched. The code stays
    /// loaded until the device is dropped.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the device does not accept further code.
    fn load(&mut self, ptx: String) -> Result<Code, Error>;

    /// Runs a kernel and waits for its end. `bound[i]` is the buffer that
    /// [`Arg::Buffer(i)`](crate::launch::Arg::Buffer) stands for.
    ///
    /// # Errors
    /// Returns [`Error::Launch`] when the kernel does not exist, when the arguments do not match its parameters, or
    /// when the kernel fails; [`Error::NeedsNewer`] when only newer devices have the kernel; [`Error::Ptx`] when its
    /// code cannot be loaded.
    ///
    /// # Safety
    /// The caller must ensure that the kernel, with these arguments, only accesses the buffers in `bound`. On systems
    /// where a GPU and the host share one address space, any other address can reach host memory. Such an address can
    /// be an argument ([`Arg::U64`](crate::launch::Arg::U64)), or the kernel can compute it. On [`Sim`] every kernel
    /// meets this condition, because the simulator checks each address.
    unsafe fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error>;

    /// Runs kernels one after another on one stream, each `times` times, with other work before and after them. Then
    /// waits until all work has ended. `before` and `after` enqueue this other work like [`Device::call`]. `after` is
    /// called with the index of each launch after enqueuing it, or once when there are no launches. The measured time
    /// starts when the work of `before` has ended.
    ///
    /// # Errors
    /// Returns the errors of [`Device::launch`], and [`Error::Device`] when the device has no stream.
    ///
    /// # Safety
    /// The conditions of [`Device::launch`] apply to each kernel. In addition, each kernel must be able to run on the
    /// results of the previous kernels.
    unsafe fn launch_with(
        &mut self,
        (launches, times): (&[Launch], usize),
        bound: &[BufferId],
        before: Enqueue<'_>,
        after: EnqueueAfter<'_>,
    ) -> Result<LaunchResult, Error> {
        let _ = (launches, times, bound, before, after);
        Err(Error::device("launching several kernels", format!("a {} has no stream", self.info().kind)))
    }

    /// Keeps the device busy for the given number of nanoseconds. The call returns at once. Work that is launched in
    /// the meantime is enqueued before the device reaches it, so the time of this work does not include the driver's
    /// overhead. A device without a clock does nothing.
    ///
    /// # Errors
    /// Returns [`Error::Ptx`] when the kernel that keeps the device busy cannot be loaded, [`Error::Device`] when the
    /// device fails.
    fn hold(&mut self, _nanoseconds: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Reads every byte of `buffer` once, except for at most the last 15, and times the read like a launch. The read
    /// evicts other data from the caches. Its time shows the read bandwidth of the memory. A device without a clock
    /// does nothing.
    ///
    /// # Errors
    /// Returns [`Error::Ptx`] when the read kernel cannot be loaded, [`Error::Launch`] when it fails.
    fn read(&mut self, _buffer: BufferId) -> Result<LaunchResult, Error> {
        Ok(LaunchResult::default())
    }

    /// Runs code that is not one of this program's kernels, such as an NVIDIA library, and times it like a launch.
    /// `enqueue` enqueues the work on the device's stream; it receives the stream and the address of each buffer in
    /// `bound`. The call waits until that work has ended. `what` names the work in messages.
    ///
    /// # Errors
    /// Returns [`Error::Call`] when `enqueue` or its work fails, and when the device has no stream.
    fn call(&mut self, what: &str, bound: &[BufferId], enqueue: Enqueue<'_>) -> Result<LaunchResult, Error>;
}

/// The choice of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(target_family = "wasm"), derive(clap::ValueEnum))]
pub enum Choice {
    /// The first GPU if there is one, otherwise the simulator.
    #[default]
    Auto,
    /// The first GPU.
    Gpu,
    /// The simulator, which runs the kernels' PTX on the CPU and counts instead of timing.
    Sim,
}

/// Opens a device.
///
/// # Errors
/// Returns [`Error::NoGpu`] for [`Choice::Gpu`] on a computer without a CUDA driver or a GPU, [`Error::Device`] when
/// the GPU cannot be used or the simulator cannot be started.
#[cfg(not(target_family = "wasm"))]
pub fn open(choice: Choice, kernels: &'static Kernels) -> Result<Box<dyn Device>, Error> {
    kernels.check_readable()?;
    let sim = || Ok(Box::new(Sim::open(kernels, 0)?) as Box<dyn Device>);
    if choice == Choice::Sim {
        return sim();
    }
    if choice == Choice::Auto && libcuda::status().is_simulated() {
        return sim();
    }
    match Gpu::open(kernels) {
        Err(Error::NoGpu { .. }) if choice == Choice::Auto => sim(),
        gpu => Ok(Box::new(gpu?)),
    }
}

/// Returns the error for a request that exceeds the free memory of `place` ("device" or "host"). `hint` tells the user
/// what to do.
pub(crate) fn not_enough_memory(what: &str, need: u64, place: &str, free: u64, hint: &str) -> Error {
    let (need, free) = (size::bytes(need), size::bytes(free));
    Error::NotEnoughMemory(format!("{what} needs {need} of the {place}'s memory, which has {free} free; {hint}"))
}
