//! The devices that run a rung: buffers, launches and their times, behind one trait for GPUs and the simulator.

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
pub use stream::{DeviceMemory, Enqueue, EnqueueBehind, GpuStream, Watch};

/// The handle of a buffer, returned by [`Device::alloc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// Memory of the host that a device copies at the full speed of its link, from [`Device::alloc_host`].
pub type HostBytes = Box<dyn DerefMut<Target = [u8]> + Send + Sync>;

/// The measurements of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LaunchResult {
    /// The duration of the kernel in nanoseconds of the device's own clock. `None` when the device has no clock.
    pub time_ns: Option<f64>,
    /// The counters of the launch. Empty when nothing was counted.
    pub counters: Vec<Metric>,
}

impl LaunchResult {
    /// The result of a launch that took this long.
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
    /// The name that its maker gave it.
    pub name: String,
    /// The version of the driver, and of CUDA as the driver supports it.
    pub driver: Option<String>,
    /// Major and minor compute capability; serialized as in `9.0`.
    #[serde(serialize_with = "with_point")]
    pub compute_capability: Option<(u32, u32)>,
    /// The number of streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The highest clock of the multiprocessors, in MHz.
    pub clock_mhz: Option<f64>,
    /// The size of the L2 cache in bytes.
    pub l2_bytes: Option<u64>,
    /// The size of the device's memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The peak bandwidth of the memory in bytes per second: twice its clock times the width of its bus. Serialized in
    /// 10^9 bytes per second.
    #[serde(rename = "peak_gb_per_s", serialize_with = "in_billions")]
    pub peak_bytes_per_s: Option<f64>,
}

impl DeviceInfo {
    /// The properties that launches depend on. A property that the device does not report is that of
    /// [`DeviceProperties::default`].
    pub fn properties(&self) -> DeviceProperties {
        let usual = DeviceProperties::default();
        DeviceProperties { multiprocessors: self.multiprocessors.unwrap_or(usual.multiprocessors) }
    }
}

fn with_point<S: Serializer>(own: &Option<(u32, u32)>, serializer: S) -> Result<S::Ok, S::Error> {
    own.map(|(major, minor)| format!("{major}.{minor}")).serialize(serializer)
}

fn in_billions<S: Serializer>(own: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    own.map(|value| value / 1e9).serialize(serializer)
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = [
            self.compute_capability.map(|(major, minor)| format!("compute capability {major}.{minor}")),
            self.multiprocessors.map(|count| format!("{count} SMs")),
            self.peak_bytes_per_s.map(|peak| format!("{:.0} GB/s at its peak", peak / 1e9)),
            self.driver.as_ref().map(|driver| format!("driver {driver}")),
        ];
        f.write_str(&self.name)?;
        facts.iter().flatten().try_for_each(|fact| write!(f, ", {fact}"))
    }
}

/// The figures of a GPU's driver for an entry and for blocks of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resident {
    /// The registers of a thread.
    pub registers: u32,
    /// The bytes of shared memory that the entry declares statically for a block.
    pub static_shared: u32,
    /// The bytes of local memory of a thread: its stack and its spilled registers.
    pub local_bytes: u32,
    /// The most threads that a block of this entry can have.
    pub max_threads: u32,
    /// The number of blocks that a multiprocessor holds at once.
    pub blocks: u32,
}

/// A place where kernels run.
///
/// The operations take effect in the order of the calls: a launch sees the copies before it, and a download waits for
/// the launches before it. A failure of a kernel is reported by the [`Device::launch`] that started it.
pub trait Device {
    /// The device's properties.
    fn info(&self) -> &DeviceInfo;

    /// The number of bytes that can be allocated now. `None` when the device does not report it.
    fn free_bytes(&self) -> Option<u64>;

    /// Allocates a buffer of `bytes` bytes, which may be 0. Its contents are undefined.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`] when the device has less than that free, [`Error::Device`] when it fails.
    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error>;

    /// Frees a buffer. An id that is not in use is ignored.
    fn free(&mut self, buffer: BufferId);

    /// Allocates `bytes` zeros in the host's memory, which a GPU's driver pins. The memory must be dropped before the device,
    /// in the device's thread.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver cannot pin this much.
    fn alloc_host(&mut self, bytes: usize) -> Result<HostBytes, Error> {
        Ok(Box::new(vec![0; bytes]))
    }

    /// The first address of a buffer.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use, or when the device gives no addresses.
    fn address(&self, buffer: BufferId) -> Result<u64, Error> {
        let _ = buffer;
        Err(Error::device("looking for a buffer", format!("a {} gives no addresses", self.info().kind)))
    }

    /// Copies `bytes` from the host to the whole of `buffer`.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use or has another size, and when the device fails.
    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error>;

    /// Copies `bytes` from the host into `buffer`, from the byte `start` on.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use or ends before the copy, and when the device fails or cannot do this.
    fn overwrite(&mut self, buffer: BufferId, start: usize, bytes: &[u8]) -> Result<(), Error> {
        let _ = (buffer, start, bytes);
        Err(Error::device("copying to the device", format!("a {} takes whole buffers", self.info().kind)))
    }

    /// Copies the first `bytes.len()` bytes of `buffer` to the host.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use or is smaller than `bytes`, and when the device fails.
    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error>;

    /// Copies the whole of `from` to `to` on the device.
    ///
    /// # Errors
    /// [`Error::Device`] when a buffer is not in use, when their sizes differ, and when the device fails.
    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error>;

    /// Sets every byte of `buffer` to `byte`.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use, and when the device fails.
    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error>;

    /// Turns counting on or off for the following launches. A device that cannot count ignores this.
    fn set_counting(&mut self, _counting: bool) {}

    /// Turns checks on or off for the following launches. A device that cannot check kernels ignores this.
    fn set_checks(&mut self, _checks: Checks) {}

    /// What launches are checked for.
    fn checks(&self) -> Checks {
        Checks::NONE
    }

    /// In which order the following launches execute blocks, warps and diverged lanes. A device that cannot choose ignores
    /// this.
    fn set_schedule(&mut self, _schedule: Schedule) {}

    /// In which order launches execute blocks, warps and diverged lanes, as far as it is known.
    fn schedule(&self) -> Schedule {
        Schedule::Fixed
    }

    /// What the checks have found since the last time, also in launches that failed.
    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }

    /// What the checks could not do since the last time, a sentence each: [`simt_check::Sanitized::notes`].
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the device runs further launches after one that has failed. A fault of a kernel ends all that a process has on a
    /// GPU, and only another process can go on.
    fn is_usable(&mut self) -> bool {
        true
    }

    /// How long a launch may take: one that takes longer fails. A device that does not know the time ignores this.
    fn set_time_limit(&mut self, _limit: Duration) {}

    /// What is asked, while work is waited for, whether it is given up. A device that does not wait ignores this.
    fn set_watch(&mut self, _watch: Watch) {}

    /// Why the device cannot run this launch, whatever its arguments: [`Error::NeedsNewer`] when the kernel is only
    /// compiled for newer devices.
    fn check_supported(&self, _launch: &Launch) -> Option<Error> {
        None
    }

    /// The driver's figures for the launch's entry and for blocks of the launch's size; the grid and the arguments
    /// play no part. `None` from a device without a driver.
    ///
    /// # Errors
    /// [`Error::Launch`] when the entry does not exist, [`Error::NeedsNewer`] when only newer devices have it,
    /// [`Error::Ptx`] when its code cannot be loaded, and [`Error::Device`] when the device fails.
    fn resident(&mut self, _launch: &Launch) -> Result<Option<Resident>, Error> {
        Ok(None)
    }

    /// Adds PTX whose entries launches can then name. An entry is compiled when it is first launched. The code stays
    /// loaded until the device is dropped.
    ///
    /// # Errors
    /// [`Error::Device`] when the device does not take further code.
    fn load(&mut self, ptx: String) -> Result<Code, Error>;

    /// Runs a kernel and waits for its end. `bound[i]` is the buffer that
    /// [`Arg::Buffer(i)`](crate::launch::Arg::Buffer) stands for.
    ///
    /// # Errors
    /// [`Error::Launch`] when there is no such kernel, when the arguments do not match its parameters, or when it
    /// fails; [`Error::NeedsNewer`] when only newer devices have the kernel; [`Error::Ptx`] when its code cannot be
    /// loaded.
    ///
    /// # Safety
    /// With these arguments, the kernel accesses only the buffers in `bound`. On systems where a GPU and the host have one address
    /// space, another address reaches the host's memory, whether it is an argument ([`Arg::U64`](crate::launch::Arg::U64)) or made by
    /// the kernel. On [`Sim`] every kernel keeps this, for the machine checks each address.
    unsafe fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error>;

    /// Runs kernels one after the other, each so many times, with other work around them, all in one stream, and waits for the end. `before` and
    /// `behind`, which is called behind each launch with the launch's place, or once if there is none, put their work into the stream like that of
    /// [`Device::call`]; the time begins behind `before`.
    ///
    /// # Errors
    /// As [`Device::launch`], and when the device has no stream.
    ///
    /// # Safety
    /// As [`Device::launch`]; each kernel can run on what those before it have left.
    unsafe fn launch_with(
        &mut self,
        (launches, times): (&[Launch], usize),
        bound: &[BufferId],
        before: Enqueue<'_>,
        behind: EnqueueBehind<'_>,
    ) -> Result<LaunchResult, Error> {
        let _ = (launches, times, bound, before, behind);
        Err(Error::device("launching several kernels", format!("a {} has no stream", self.info().kind)))
    }

    /// Keeps the device busy for so many nanoseconds and returns at once. What is launched meanwhile is enqueued
    /// before the device reaches it, so that its time does not include the driver's. A device without a clock does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Ptx`] when the kernel that keeps it busy cannot be loaded, [`Error::Device`] when it fails.
    fn hold(&mut self, _nanoseconds: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Reads every byte of `buffer` once (except at most the last 15) and does nothing else, timed like a launch. This
    /// displaces everything else from a cache and measures how fast memory can be read. A device without a clock does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Ptx`] when the kernel that reads cannot be loaded, [`Error::Launch`] when it fails.
    fn read(&mut self, _buffer: BufferId) -> Result<LaunchResult, Error> {
        Ok(LaunchResult::default())
    }

    /// Runs code that is not one of this program's kernels, such as a library of NVIDIA's, and times it like a launch.
    /// `enqueue` puts the work into the device's stream; it receives the stream and the address of each buffer in
    /// `bound`. The call waits for the end of that work. `what` names the work in messages.
    ///
    /// # Errors
    /// [`Error::Call`] when `enqueue` or its work fails, and when the device has no stream.
    fn call(&mut self, what: &str, bound: &[BufferId], enqueue: Enqueue<'_>) -> Result<LaunchResult, Error>;
}

/// Which device to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(target_family = "wasm"), derive(clap::ValueEnum))]
pub enum Choice {
    /// The first GPU if there is one, else the simulator.
    #[default]
    Auto,
    /// The first GPU.
    Gpu,
    /// The simulator: the kernels' PTX run on the CPU, and counted instead of timed.
    Sim,
}

/// Opens a device.
///
/// # Errors
/// [`Error::NoGpu`] for [`Choice::Gpu`] on a machine without a CUDA driver or a GPU, [`Error::Device`] when the GPU
/// cannot be used or the simulator cannot be started.
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

/// The error for what does not fit into the memory of the `place`, the device or the host. `hint` says what to do.
pub(crate) fn not_enough_memory(what: &str, need: u64, place: &str, free: u64, hint: &str) -> Error {
    let (need, free) = (size::bytes(need), size::bytes(free));
    Error::NotEnoughMemory(format!("{what} needs {need} of the {place}'s memory, which has {free} free; {hint}"))
}
