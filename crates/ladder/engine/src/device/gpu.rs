//! Devices of a CUDA driver, through `cust`: a GPU, or a simulated one.

mod info;
mod state;

use std::mem::{self, ManuallyDrop};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cust::device::Device as CudaDevice;
use cust::error::CudaError;
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer, mem_get_info};
use cust::module::Module;
use libcuda::{Resources, Simulation, Status};
use ptx::extract::SourceLines;
use simt::{Schedule, Simulator};
use simt_check::{Checks, Finding, Sanitized};

use super::code::Codes;
use super::{
    BufferId, Device, DeviceInfo, Enqueue, EnqueueBehind, GpuStream, HostBytes, LaunchResult, Resident, Watch,
    not_enough_memory,
};
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Arg, Code, Launch};

pub(super) use state::State;
use state::{failed, named};

/// Whether work still runs on a GPU that was given up.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Whether this process has left work on a GPU that may never end: an ordinary exit waits for it.
pub fn has_abandoned_work() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

/// A GPU, or a simulated one, whose calls are the same. It loads the kernels when they are first used.
pub struct Cuda<const SIMULATED: bool> {
    pub(super) state: ManuallyDrop<Resources<State>>,
    is_counting: bool,
    /// What the simulated GPU checks kernels for, and what it has found.
    checks: Checks,
    findings: Vec<Finding>,
    /// What it could not check.
    notes: Vec<String>,
    /// The simulated GPU's.
    schedule: Schedule,
}

/// A GPU of the simulator.
pub type Gpu = Cuda<false>;

/// The simulator, which runs the same PTX on the CPU, warp by warp: a simulated GPU of one's own.
pub type Sim = Cuda<true>;

impl Gpu {
    /// Opens the machine's first GPU and takes the newest of `kernels` that it can run. Where the environment asks for the
    /// simulated driver ([`libcuda::CHOICE`]), it is that driver's GPU, in the way in which any program has it.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without a CUDA driver or without a GPU, [`Error::Device`] when the GPU cannot be used.
    pub fn open(kernels: &'static Kernels) -> Result<Self, Error> {
        Self::open_number(kernels, 0)
    }

    /// Returns the number of GPUs that the driver has.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without a driver, and when the driver finds no GPU.
    pub fn count() -> Result<usize, Error> {
        let status = libcuda::status();
        if !status.is_loaded() && !status.is_simulated() {
            return Err(Error::NoGpu { what: status.to_string() });
        }
        let none = |error| Error::NoGpu { what: format!("{status} finds no GPU ({error:?})") };
        cust::init(cust::CudaFlags::empty()).map_err(none)?;
        CudaDevice::num_devices().map(|count| count as usize).map_err(none)
    }

    /// Opens a GPU by its number like [`Gpu::open`]. Its context is this thread's current one then: who opens several opens each
    /// in a thread of its own.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_number(kernels: &'static Kernels, number: u32) -> Result<Self, Error> {
        let status = libcuda::status();
        let is_asked_for = matches!(status, Status::Simulated { tried } if tried.is_empty());
        if let Some(what) = status.no_driver().filter(|_| !is_asked_for) {
            return Err(Error::NoGpu { what });
        }
        Self::open_on(None, number, |device| {
            let info = info::device_info(device)?;
            let codes = Codes::new(kernels.modules, info.compute_capability, SourceLines::Drop);
            Ok((info, codes))
        })
    }
}

impl<const SIMULATED: bool> Cuda<SIMULATED> {
    /// Opens a device of a driver. `describe` says what is known of it, and what code it runs.
    pub(super) fn open_on(
        simulation: Option<Simulation>,
        number: u32,
        describe: impl FnOnce(CudaDevice) -> Result<(DeviceInfo, Codes<Module>), CudaError>,
    ) -> Result<Self, Error> {
        Ok(Self {
            state: ManuallyDrop::new(Resources::new(simulation, || State::open(number, describe))?),
            is_counting: false,
            checks: Checks::NONE,
            findings: Vec::new(),
            notes: Vec::new(),
            schedule: Schedule::Fixed,
        })
    }

    /// Does something with what it has of its driver, perhaps for a launch. Of an error, a simulated driver gives the reason.
    pub(super) fn with<R>(
        &mut self,
        launch: Option<&Launch>,
        act: impl FnOnce(&mut State) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.state.with(act, |error, reason| error.because(launch, &reason))
    }
}

impl<const SIMULATED: bool> Drop for Cuda<SIMULATED> {
    fn drop(&mut self) {
        // What still runs is ended with the process.
        if !SIMULATED && self.state.get().is_stuck() {
            ABANDONED.store(true, Ordering::Relaxed);
            return;
        }
        // SAFETY: it is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.state) };
    }
}

impl<const SIMULATED: bool> Device for Cuda<SIMULATED> {
    fn info(&self) -> &DeviceInfo {
        &self.state.get().info
    }

    fn free_bytes(&self) -> Option<u64> {
        if SIMULATED {
            return simt::run::available_memory();
        }
        mem_get_info().ok().map(|(free, _)| free as u64)
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        // The simulated driver says as much by itself.
        if let Some(free) = self.free_bytes().filter(|&free| !SIMULATED && bytes as u64 > free) {
            return Err(not_enough_memory("a buffer", bytes as u64, "device", free, "make it smaller"));
        }
        self.with(None, |State { buffers, .. }| {
            // SAFETY: any bytes are valid u8, so that uninitialized device memory can be copied from.
            let buffer = unsafe { DeviceBuffer::uninitialized(bytes) }.map_err(failed("allocating a buffer"))?;
            buffers.push(Some(buffer));
            Ok(BufferId(buffers.len() as u32 - 1))
        })
    }

    fn free(&mut self, buffer: BufferId) {
        // What fails there is for who waits for the device next.
        let _ = self.with(None, |state| {
            let freed = state.buffers.get_mut(buffer.0 as usize).and_then(Option::take);
            if SIMULATED || !state.is_stuck() {
                drop(freed);
            } else {
                mem::forget(freed);
            }
            Ok(())
        });
    }

    fn alloc_host(&mut self, bytes: usize) -> Result<HostBytes, Error> {
        if SIMULATED {
            return Ok(Box::new(vec![0; bytes]));
        }
        self.with(None, |_| {
            let pinned = LockedBuffer::new(&0u8, bytes).map_err(failed("allocating pinned memory of the host"))?;
            Ok(Box::new(pinned) as HostBytes)
        })
    }

    fn address(&self, buffer: BufferId) -> Result<u64, Error> {
        Ok(self.state.get().memory(buffer)?.address)
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        let doing = "copying to the device";
        self.with(None, |state| {
            let mut to = state.buffer(buffer)?.index(..);
            check_size(doing, to.len(), bytes.len())?;
            to.copy_from(bytes).map_err(failed(doing))
        })
    }

    fn overwrite(&mut self, buffer: BufferId, start: usize, bytes: &[u8]) -> Result<(), Error> {
        let doing = "copying to the device";
        self.with(None, |state| {
            let to = state.buffer(buffer)?;
            check_size(doing, to.len().saturating_sub(start).min(bytes.len()), bytes.len())?;
            to.index(start..start + bytes.len()).copy_from(bytes).map_err(failed(doing))
        })
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        let doing = "copying from the device";
        self.with(None, |state| {
            let from = state.buffer(buffer)?;
            check_size(doing, from.len().min(bytes.len()), bytes.len())?;
            from.index(..bytes.len()).copy_to(bytes).map_err(failed(doing))
        })
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        let doing = "copying on the device";
        self.with(None, |state| {
            let (source, target) = (state.buffer(from)?, state.buffer(to)?);
            check_size(doing, target.len(), source.len())?;
            // SAFETY: both buffers stay allocated until the copy is over: freeing device memory waits for the
            // work that was given to the device before.
            unsafe { source.async_copy_to(&mut target.index(..), &state.stream.stream) }.map_err(failed(doing))
        })
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        self.with(None, |state| {
            let mut target = state.buffer(buffer)?.index(..);
            // SAFETY: as in `copy`; any bytes are valid u8.
            unsafe { target.set_8_async(byte, &state.stream.stream) }.map_err(failed("filling a buffer"))
        })
    }

    fn set_counting(&mut self, counting: bool) {
        self.is_counting = counting;
    }

    fn set_checks(&mut self, checks: Checks) {
        self.checks = if SIMULATED { checks } else { Checks::NONE };
    }

    fn checks(&self) -> Checks {
        self.checks
    }

    fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = if SIMULATED { schedule } else { Schedule::Fixed };
    }

    fn schedule(&self) -> Schedule {
        self.schedule
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        mem::take(&mut self.findings)
    }

    fn take_notes(&mut self) -> Vec<String> {
        mem::take(&mut self.notes)
    }

    fn is_usable(&mut self) -> bool {
        SIMULATED || self.with(None, |state| Ok(state.given_up.is_none() && state.finish().is_ok())).unwrap_or(false)
    }

    fn set_time_limit(&mut self, limit: Duration) {
        // There is nothing in it that fails.
        let _ = self.with(None, |state| {
            state.time_limit = limit;
            Ok(())
        });
    }

    fn set_watch(&mut self, watch: Watch) {
        let _ = self.with(None, |state| {
            state.watch = Some(watch);
            Ok(())
        });
    }

    fn check_supported(&self, launch: &Launch) -> Option<Error> {
        self.state.get().codes.check_supported(launch)
    }

    fn resident(&mut self, launch: &Launch) -> Result<Option<Resident>, Error> {
        if SIMULATED {
            return Ok(None);
        }
        self.with(Some(launch), |state| state.resident(launch).map(Some))
    }

    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        self.with(None, |state| Ok(state.codes.load(ptx)))
    }

    fn hold(&mut self, nanoseconds: u64) -> Result<(), Error> {
        if SIMULATED {
            return Ok(());
        }
        self.with(None, |state| {
            let launch = state.timing_launch("ladder_hold", 1, 1, vec![Arg::U64(nanoseconds)]);
            state.enqueue(&launch, &[])
        })
    }

    fn read(&mut self, buffer: BufferId) -> Result<LaunchResult, Error> {
        if SIMULATED {
            return Ok(LaunchResult::default());
        }
        self.with(None, |state| {
            let vectors = state.memory(buffer)?.bytes / 16;
            // Launches as many threads as all multiprocessors can hold at once.
            let blocks = 8 * state.info.multiprocessors.unwrap_or(1);
            let args = vec![Arg::Buffer(0), Arg::U64(vectors)];
            let launch = state.timing_launch("ladder_read", blocks, 256, args);
            state.launch(&launch, &[buffer])
        })
    }

    unsafe fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        if SIMULATED && (self.is_counting || !self.checks.is_empty() || self.schedule != Schedule::Fixed) {
            let (checks, schedule, mut found, mut left) = (self.checks, self.schedule, Vec::new(), Vec::new());
            let count = |simulator: &mut Simulator, prepared: &simt::Launch<'_>| {
                let usual = mem::replace(&mut simulator.config_mut().schedule, schedule);
                let Sanitized { result, findings, notes } = checks.launch(simulator, prepared);
                simulator.config_mut().schedule = usual;
                (found, left) = (findings, notes);
                result
            };
            let counters = self.with(Some(launch), |state| state.launch_with(launch, bound, count));
            self.findings.append(&mut found);
            left.retain(|note| !self.notes.contains(note));
            self.notes.append(&mut left);
            let counters = counters?.metrics();
            return Ok(LaunchResult { time_ns: None, counters: if self.is_counting { counters } else { Vec::new() } });
        }
        let timed = self.with(Some(launch), |state| {
            // The simulator reports a deadlock of blocks that wait for others.
            if !SIMULATED {
                state.check_blocks_run_together(launch)?;
            }
            state.launch(launch, bound)
        })?;
        // The simulator has no clock of its own.
        Ok(if SIMULATED { LaunchResult::default() } else { timed })
    }

    unsafe fn launch_with(
        &mut self,
        (launches, times): (&[Launch], usize),
        bound: &[BufferId],
        before: Enqueue<'_>,
        behind: EnqueueBehind<'_>,
    ) -> Result<LaunchResult, Error> {
        let failed = |reason: String| match launches.last() {
            Some(launch) => Error::launch(launch, reason),
            None => Error::Call { what: "what is in the stream".to_owned(), reason },
        };
        self.with(launches.last(), |state| {
            if !SIMULATED {
                launches.iter().try_for_each(|launch| state.check_blocks_run_together(launch))?;
            }
            let memory = bound.iter().map(|&id| state.memory(id)).collect::<Result<Vec<_>, _>>()?;
            let owner = Rc::clone(&state.stream);
            // SAFETY: as in `call`.
            let stream = unsafe { GpuStream::new(state.stream.stream.as_inner().cast(), owner) };
            before(&stream, &memory).map_err(failed)?;
            if launches.is_empty() {
                state.start.record(&state.stream.stream).map_err(|error| failed(named(error)))?;
                behind(0, &stream, &memory).map_err(failed)?;
            }
            for (place, launch) in launches.iter().enumerate() {
                state.enqueue_often(launch, bound, times, place == 0)?;
                behind(place, &stream, &memory).map_err(failed)?;
            }
            let timed = state.finish().map_err(failed)?;
            Ok(if SIMULATED { LaunchResult::default() } else { timed })
        })
    }

    fn call(&mut self, what: &str, bound: &[BufferId], enqueue: Enqueue<'_>) -> Result<LaunchResult, Error> {
        let failed = |reason| Error::Call { what: what.to_owned(), reason };
        if SIMULATED {
            return Err(failed("a sim runs the kernels of this program only".to_owned()));
        }
        let cuda = |error| failed(named(error));
        self.with(None, |state| {
            let memory = bound.iter().map(|&id| state.memory(id)).collect::<Result<Vec<_>, _>>()?;
            let owner = Rc::clone(&state.stream);
            // SAFETY: `owner` has the stream and its context, which cust opens as the device's primary one.
            let stream = unsafe { GpuStream::new(state.stream.stream.as_inner().cast(), owner) };
            state.start.record(&state.stream.stream).map_err(cuda)?;
            enqueue(&stream, &memory).map_err(failed)?;
            state.finish().map_err(failed)
        })
    }
}

/// # Errors
/// [`Error::Device`] when a buffer does not have as many bytes as are copied.
fn check_size(doing: &'static str, buffer: usize, copied: usize) -> Result<(), Error> {
    let other = || Error::device(doing, format!("the buffer has {buffer} bytes, not {copied}"));
    (buffer == copied).then_some(()).ok_or_else(other)
}
