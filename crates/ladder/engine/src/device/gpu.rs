//! Devices that are driven through `cust`: a GPU of the CUDA driver, or the device `sim` of Ladder's driver.

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
    BufferId, Device, DeviceInfo, Enqueue, EnqueueAfter, GpuStream, HostBytes, LaunchResult, Resident, Watch,
    not_enough_memory,
};
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Arg, Code, Launch};

pub(super) use state::State;
use state::{failed, named};

/// Whether abandoned work is still running on a GPU.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Returns whether this process has abandoned work on a GPU that might never end. A normal process exit would wait for
/// this work.
pub fn has_abandoned_work() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

/// A GPU or the device `sim`, which share one implementation. Each kernel is loaded when it is first used.
pub struct Cuda<const SIMULATED: bool> {
    pub(super) state: ManuallyDrop<Resources<State>>,
    is_counting: bool,
    /// The sanitizers that the device `sim` runs.
    checks: Checks,
    findings: Vec<Finding>,
    /// Notes on what the sanitizers could not check.
    notes: Vec<String>,
    /// The schedule of the device `sim`.
    schedule: Schedule,
}

/// A GPU of the installed driver, or of Ladder's `libcuda.so.1` if the environment selects that driver.
pub type Gpu = Cuda<false>;

/// The device `sim`: the simulator, which runs the same PTX on the CPU, warp by warp.
pub type Sim = Cuda<true>;

impl Gpu {
    /// Opens the computer's first GPU, with the newest of `kernels` that it can run. When the environment selects
    /// Ladder's `libcuda.so.1` ([`libcuda::CHOICE`]), this opens the GPU of that driver, as any CUDA program would.
    ///
    /// # Errors
    /// Returns [`Error::NoGpu`] without a CUDA driver or without a GPU, [`Error::Device`] when the GPU cannot be used.
    pub fn open(kernels: &'static Kernels) -> Result<Self, Error> {
        Self::open_number(kernels, 0)
    }

    /// Returns the number of GPUs that the driver has.
    ///
    /// # Errors
    /// Returns [`Error::NoGpu`] without a driver, and when the driver finds no GPU.
    pub fn count() -> Result<usize, Error> {
        let status = libcuda::status();
        if !status.is_loaded() && !status.is_simulated() {
            return Err(Error::NoGpu { what: status.to_string() });
        }
        let none = |error| Error::NoGpu { what: format!("{status} finds no GPU ({error:?})") };
        cust::init(cust::CudaFlags::empty()).map_err(none)?;
        CudaDevice::num_devices().map(|count| count as usize).map_err(none)
    }

    /// Opens a GPU by its number, like [`Gpu::open`]. The GPU's context becomes current in this thread, so open each of
    /// several GPUs in a separate thread.
    ///
    /// # Errors
    /// Returns the errors of [`Gpu::open`].
    pub fn open_number(kernels: &'static Kernels, number: u32) -> Result<Self, Error> {
        let status = libcuda::status();
        let is_selected = matches!(status, Status::Simulated { tried } if tried.is_empty());
        if let Some(what) = status.no_driver().filter(|_| !is_selected) {
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
    /// Opens a device of a driver. `describe` returns the device's properties and the code that the device runs.
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

    /// Calls `act` with the device's driver resources. When a call to Ladder's driver fails, the driver's reason is
    /// added to the error, along with `launch` if there is one.
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
        // Any work that is still running ends when the process exits.
        if !SIMULATED && self.state.get().is_stuck() {
            ABANDONED.store(true, Ordering::Relaxed);
            return;
        }
        // SAFETY: `self` is being dropped, so the state is not used again.
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
        // Ladder's driver reports this error itself.
        if let Some(free) = self.free_bytes().filter(|&free| !SIMULATED && bytes as u64 > free) {
            return Err(not_enough_memory("a buffer", bytes as u64, "device", free, "make it smaller"));
        }
        self.with(None, |State { buffers, .. }| {
            // SAFETY: every byte is a valid `u8`, so copying from uninitialized device memory is sound.
            let buffer = unsafe { DeviceBuffer::uninitialized(bytes) }.map_err(failed("allocating a buffer"))?;
            buffers.push(Some(buffer));
            Ok(BufferId(buffers.len() as u32 - 1))
        })
    }

    fn free(&mut self, buffer: BufferId) {
        // A failure here is reported by the next operation that waits for the device.
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
            let pinned = LockedBuffer::new(&0u8, bytes).map_err(failed("allocating pinned host memory"))?;
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
            // SAFETY: both buffers stay allocated until the copy ends, because freeing device memory waits for all work
            // that was enqueued earlier.
            unsafe { source.async_copy_to(&mut target.index(..), &state.stream.stream) }.map_err(failed(doing))
        })
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        self.with(None, |state| {
            let mut target = state.buffer(buffer)?.index(..);
            // SAFETY: the buffer stays allocated until the fill ends, because freeing device memory waits for the fill.
            // Every byte is a valid `u8`.
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
        // The closure never fails.
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
            // Launches enough threads to fill all multiprocessors.
            let blocks = 8 * state.info.multiprocessors.unwrap_or(1);
            let args = vec![Arg::Buffer(0), Arg::U64(vectors)];
            let launch = state.timing_launch("ladder_read", blocks, 256, args);
            state.launch(&launch, &[buffer])
        })
    }

    unsafe fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        if SIMULATED && (self.is_counting || !self.checks.is_empty() || self.schedule != Schedule::Fixed) {
            let (checks, schedule, mut new_findings, mut new_notes) =
                (self.checks, self.schedule, Vec::new(), Vec::new());
            let count = |simulator: &mut Simulator, prepared: &simt::Launch<'_>| {
                let previous_schedule = mem::replace(&mut simulator.config_mut().schedule, schedule);
                let Sanitized { result, findings, notes } = checks.launch(simulator, prepared);
                simulator.config_mut().schedule = previous_schedule;
                (new_findings, new_notes) = (findings, notes);
                result
            };
            let counters = self.with(Some(launch), |state| state.launch_with(launch, bound, count));
            self.findings.append(&mut new_findings);
            new_notes.retain(|note| !self.notes.contains(note));
            self.notes.append(&mut new_notes);
            let counters = counters?.metrics();
            return Ok(LaunchResult { time_ns: None, counters: if self.is_counting { counters } else { Vec::new() } });
        }
        let timed = self.with(Some(launch), |state| {
            // The simulator itself reports a deadlock of blocks that wait for each other.
            if !SIMULATED {
                state.check_blocks_run_together(launch)?;
            }
            state.launch(launch, bound)
        })?;
        // The simulator has no clock.
        Ok(if SIMULATED { LaunchResult::default() } else { timed })
    }

    unsafe fn launch_with(
        &mut self,
        (launches, times): (&[Launch], usize),
        bound: &[BufferId],
        before: Enqueue<'_>,
        after: EnqueueAfter<'_>,
    ) -> Result<LaunchResult, Error> {
        let failed = |reason: String| match launches.last() {
            Some(launch) => Error::launch(launch, reason),
            None => Error::Call { what: "the work in the stream".to_owned(), reason },
        };
        self.with(launches.last(), |state| {
            if !SIMULATED {
                launches.iter().try_for_each(|launch| state.check_blocks_run_together(launch))?;
            }
            let memory = bound.iter().map(|&id| state.memory(id)).collect::<Result<Vec<_>, _>>()?;
            let owner = Rc::clone(&state.stream);
            // SAFETY: `owner` keeps the stream and its context open, and cust opens the device's primary context.
            let stream = unsafe { GpuStream::new(state.stream.stream.as_inner().cast(), owner) };
            before(&stream, &memory).map_err(failed)?;
            if launches.is_empty() {
                state.start.record(&state.stream.stream).map_err(|error| failed(named(error)))?;
                after(0, &stream, &memory).map_err(failed)?;
            }
            for (place, launch) in launches.iter().enumerate() {
                state.enqueue_often(launch, bound, times, place == 0)?;
                after(place, &stream, &memory).map_err(failed)?;
            }
            let timed = state.finish().map_err(failed)?;
            Ok(if SIMULATED { LaunchResult::default() } else { timed })
        })
    }

    fn call(&mut self, what: &str, bound: &[BufferId], enqueue: Enqueue<'_>) -> Result<LaunchResult, Error> {
        let failed = |reason| Error::Call { what: what.to_owned(), reason };
        if SIMULATED {
            return Err(failed("the device sim only runs kernels of this program".to_owned()));
        }
        let cuda = |error| failed(named(error));
        self.with(None, |state| {
            let memory = bound.iter().map(|&id| state.memory(id)).collect::<Result<Vec<_>, _>>()?;
            let owner = Rc::clone(&state.stream);
            // SAFETY: `owner` keeps the stream and its context open, and cust opens the device's primary context.
            let stream = unsafe { GpuStream::new(state.stream.stream.as_inner().cast(), owner) };
            state.start.record(&state.stream.stream).map_err(cuda)?;
            enqueue(&stream, &memory).map_err(failed)?;
            state.finish().map_err(failed)
        })
    }
}

/// Checks that the size of a buffer equals the number of copied bytes.
///
/// # Errors
/// Returns [`Error::Device`] when the sizes differ.
fn check_size(doing: &'static str, buffer: usize, copied: usize) -> Result<(), Error> {
    let other = || Error::device(doing, format!("the buffer has {buffer} bytes, but the copy has {copied}"));
    (buffer == copied).then_some(()).ok_or_else(other)
}
