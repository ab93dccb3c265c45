//! What runs a rung: buffers, launches and their times, behind a trait that a GPU and a simulator fit.

mod code;
mod gpu;
mod sim;
mod stream;

use std::fmt;

use serde::Serialize;

use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Code, Launch};

pub use gpu::Gpu;
pub use sim::Sim;
pub use simt::counters::{Metric, Value};
pub use stream::{DeviceMemory, Enqueue, GpuStream};

/// A buffer on a device, as [`Device::alloc`] gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// What a launch brought besides its outputs.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LaunchResult {
    /// How long the kernel ran, in nanoseconds of the device's own clock. `None` where a device has no
    /// such thing.
    pub time_ns: Option<f64>,
    /// What was counted of it. Empty where nothing was.
    pub counters: Vec<Metric>,
}

impl LaunchResult {
    /// A launch that took this long.
    pub fn timed(time_ns: f64) -> Self {
        Self {
            time_ns: Some(time_ns),
            counters: Vec::new(),
        }
    }
}

/// What is known of a device. `None` is what it does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceInfo {
    /// What `--device` calls it: `gpu` or `sim`.
    pub kind: &'static str,
    /// Its maker's name for it.
    pub name: String,
    /// The driver and its CUDA version.
    pub driver: Option<String>,
    /// Major and minor compute capability.
    pub compute_capability: Option<(u32, u32)>,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The highest clock of the multiprocessors, in MHz.
    pub clock_mhz: Option<f64>,
    /// The L2 cache in bytes.
    pub l2_bytes: Option<u64>,
    /// The memory in bytes.
    pub memory_bytes: Option<u64>,
    /// What the memory can move in a second, in bytes: twice its clock times the width of its bus.
    pub peak_bytes_per_s: Option<f64>,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some((major, minor)) = self.compute_capability {
            write!(f, ", compute capability {major}.{minor}")?;
        }
        if let Some(count) = self.multiprocessors {
            write!(f, ", {count} SMs")?;
        }
        if let Some(peak) = self.peak_bytes_per_s {
            write!(f, ", {:.0} GB/s at its peak", peak / 1e9)?;
        }
        if let Some(driver) = &self.driver {
            write!(f, ", driver {driver}")?;
        }
        Ok(())
    }
}

/// What a GPU's driver says of an entry, and of its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resident {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory that the entry declares for a block.
    pub static_shared: u32,
    /// Bytes of local memory of a thread: its stack, and registers that were spilled.
    pub local_bytes: u32,
    /// The most threads that a block of this entry can have.
    pub max_threads: u32,
    /// Blocks that a multiprocessor holds at once.
    pub blocks: u32,
}

/// A place where kernels run.
///
/// Everything happens in the order in which it is asked for: a launch sees the copies before it, a
/// download waits for the launches before it. Failures of a kernel surface at the latest in the
/// [`Device::launch`] that started it.
pub trait Device {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// Bytes that can be allocated now. `None` where it does not say.
    fn free_bytes(&self) -> Option<u64>;

    /// Allocates `bytes` bytes, 0 included. What they hold is undefined.
    ///
    /// # Errors
    /// [`Error::Device`] where there is no room.
    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error>;

    /// Gives a buffer back. An id that is not in use is ignored.
    fn free(&mut self, buffer: BufferId);

    /// Copies `bytes` from the host to the whole of `buffer`.
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer that is not in use or of another size, and for the device's own.
    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error>;

    /// Copies the first bytes of `buffer` to the host, as many as `bytes` holds.
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer that is not in use or is smaller, and for the device's own.
    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error>;

    /// Copies the whole of `from` to `to` on the device.
    ///
    /// # Errors
    /// [`Error::Device`] for buffers that are not in use or differ in size, and for the device's own.
    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error>;

    /// Sets every byte of `buffer`.
    ///
    /// # Errors
    /// [`Error::Device`] for a buffer that is not in use, and for the device's own.
    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error>;

    /// Whether launches from now on shall be counted. A device that cannot count does not.
    fn set_counting(&mut self, counting: bool) {
        let _ = counting;
    }

    /// What keeps the device from running this launch whatever its arguments: [`Error::NeedsNewer`] for a
    /// kernel that is not compiled for one so old.
    fn check_supported(&self, launch: &Launch) -> Option<Error> {
        let _ = launch;
        None
    }

    /// What the driver says of a launch's entry and of blocks like the launch's; its grid and arguments play no
    /// part. `None` from a device without a driver.
    ///
    /// # Errors
    /// As [`Device::launch`] where the entry cannot be had.
    fn resident(&mut self, launch: &Launch) -> Result<Option<Resident>, Error> {
        let _ = launch;
        Ok(None)
    }

    /// Takes further code, in which launches can name entries. It is compiled when an entry is first
    /// launched, and stays as long as the device.
    ///
    /// # Errors
    /// [`Error::Device`] from a device that takes none.
    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        drop(ptx);
        Err(Error::Device {
            doing: "loading code",
            reason: format!(
                "a {} runs the kernels of this program only",
                self.info().kind
            ),
        })
    }

    /// Runs a kernel to its end. `bound[i]` is what
    /// [`Arg::Buffer(i)`](crate::launch::Arg::Buffer) stands for.
    ///
    /// # Errors
    /// [`Error::Launch`] where there is no such kernel, the arguments are not its parameters, or it fails;
    /// [`Error::NeedsNewer`] as [`Device::check_supported`] has it; [`Error::Ptx`] where its code cannot be loaded.
    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error>;

    /// Keeps the device busy for so many nanoseconds and does not wait for it: what is launched meanwhile is
    /// enqueued before the device comes to it, so that its time has nothing of the driver's. A device
    /// without a clock does nothing.
    ///
    /// # Errors
    /// [`Error::Ptx`] and [`Error::Device`] where the kernel for it cannot be run.
    fn hold(&mut self, nanoseconds: u64) -> Result<(), Error> {
        let _ = nanoseconds;
        Ok(())
    }

    /// Reads every byte of `buffer` once (but the last 15 at most) and does nothing else, timed as a launch
    /// is: to displace everything else from a cache, and to see how fast memory can be read. A device
    /// without a clock does nothing.
    ///
    /// # Errors
    /// As [`Device::launch`].
    fn read(&mut self, buffer: BufferId) -> Result<LaunchResult, Error> {
        let _ = buffer;
        Ok(LaunchResult::default())
    }

    /// Has other code than this program's kernels, such as a library of NVIDIA's, put work into the device's stream,
    /// waits for the end of that work, and times it as a launch. `enqueue` gets the stream, and where each of the
    /// buffers `bound` is; `what` names the work in messages.
    ///
    /// # Errors
    /// [`Error::Call`] when `enqueue` or its work fails, and from a device that has no stream.
    fn call(
        &mut self,
        what: &str,
        bound: &[BufferId],
        enqueue: Enqueue<'_>,
    ) -> Result<LaunchResult, Error> {
        let _ = (bound, enqueue);
        Err(Error::Call {
            what: what.to_owned(),
            reason: format!(
                "a {} runs the kernels of this program only",
                self.info().kind
            ),
        })
    }
}

/// Which device to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// The first GPU if there is one, else the SIMT machine.
    #[default]
    Auto,
    /// The first GPU.
    Gpu,
    /// The SIMT machine: the kernels' PTX run on the CPU, and counted instead of timed.
    Sim,
}

/// Opens a device.
///
/// # Errors
/// [`Error::NoGpu`] for [`Choice::Gpu`] on a machine without a CUDA driver or a GPU, [`Error::Device`] for a
/// GPU that cannot be used.
pub fn open(choice: Choice, kernels: &'static Kernels) -> Result<Box<dyn Device>, Error> {
    if choice == Choice::Sim {
        return Ok(Box::new(Sim::open(kernels, 0)?));
    }
    match (Gpu::open(kernels), choice) {
        (Ok(gpu), _) => Ok(Box::new(gpu)),
        (Err(Error::NoGpu { .. }), Choice::Auto) => Ok(Box::new(Sim::open(kernels, 0)?)),
        (Err(error), _) => Err(error),
    }
}
