//! Devices of a CUDA driver, through `cust`: a GPU, or a simulated one. All of this crate's `unsafe` is here and in the files below.

mod info;

use std::ffi::c_void;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use cust::context::{Context, CurrentContext};
use cust::device::Device as CudaDevice;
use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::function::{BlockSize, Function, FunctionAttribute};
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, mem_get_info};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use libcuda::{Resources, Simulation, Status, addresses, compiler_log};
use ptx::extract::SourceLines;
use simt::sanitize::{Checks, Finding, Sanitized};
use simt::{Machine, Schedule};

use super::code::{Codes, Compiled};
use super::{BufferId, Device, DeviceInfo, DeviceMemory, Enqueue, GpuStream, LaunchResult, Resident};
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Arg, Code, Launch};

/// The PTX of the two kernels that [`Device::hold`] and [`Device::read`] launch.
const TIMING_PTX: &str = include_str!("timing.ptx");

/// How long a launch may take where nobody has said it.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How long the end of a launch is waited for without letting other threads of the host run, and the pauses after that.
const IMPATIENT: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_micros(100);

/// A GPU, or a simulated one, whose calls are the same. It loads the kernels when they are first used.
pub struct Cuda<const SIMULATED: bool> {
    pub(super) state: Resources<State>,
    is_counting: bool,
    /// What the simulated GPU checks kernels for, and what it has found.
    checks: Checks,
    findings: Vec<Finding>,
    /// What it could not check.
    notes: Vec<String>,
    /// The simulated GPU's.
    schedule: Schedule,
}

/// The first GPU of the machine.
pub type Gpu = Cuda<false>;

/// The SIMT machine, which runs the same PTX on the CPU, warp by warp: a simulated GPU of one's own.
pub type Sim = Cuda<true>;

/// What a device has of its driver.
pub(super) struct State {
    // Fields are dropped in this order: buffers and modules have to be freed before the context that they live in.
    /// By their ids; `None` where one was freed.
    buffers: Vec<Option<DeviceBuffer<u8>>>,
    /// The program's kernels and the sources that were loaded later.
    codes: Codes<Module>,
    /// The code loaded from [`TIMING_PTX`].
    timing: Code,
    start: Event,
    stop: Event,
    stream: Rc<StreamInContext>,
    info: DeviceInfo,
    /// What a launch on a simulated GPU may execute, in instructions of warps, where it is observed, counted or checked; as many
    /// as the machine allows if `None`.
    pub(super) most_instructions: Option<u64>,
    /// How long a launch may take.
    time_limit: Duration,
    /// Whether a launch has taken longer, and may still be running.
    is_overdue: bool,
}

/// A stream together with its context. The stream is dropped first.
struct StreamInContext {
    stream: Stream,
    _context: Context,
}

impl Gpu {
    /// Opens the machine's first GPU and takes the newest of `kernels` that it can run. Where the environment asks for the
    /// simulated driver ([`libcuda::CHOICE`]), it is that driver's GPU, in the way in which any program has it.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without a CUDA driver or without a GPU, [`Error::Device`] when the GPU cannot be used.
    pub fn open(kernels: &'static Kernels) -> Result<Self, Error> {
        let status = libcuda::status();
        let is_asked_for = matches!(status, Status::Simulated { tried } if tried.is_empty());
        if let Some(what) = status.no_driver().filter(|_| !is_asked_for) {
            return Err(Error::NoGpu { what });
        }
        Self::open_on(None, |device| {
            let info = info::device_info(device)?;
            let codes = Codes::new(kernels.modules, info.compute_capability, SourceLines::Drop);
            Ok((info, codes))
        })
    }
}

impl<const SIMULATED: bool> Cuda<SIMULATED> {
    /// Opens the first device of a driver. `describe` says what is known of it, and what code it runs.
    pub(super) fn open_on(
        simulation: Option<Simulation>,
        describe: impl FnOnce(CudaDevice) -> Result<(DeviceInfo, Codes<Module>), CudaError>,
    ) -> Result<Self, Error> {
        Ok(Self {
            state: Resources::new(simulation, || State::open(describe))?,
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

impl State {
    /// Opens the first device of the driver that this thread's calls reach.
    fn open(
        describe: impl FnOnce(CudaDevice) -> Result<(DeviceInfo, Codes<Module>), CudaError>,
    ) -> Result<Self, Error> {
        let none = |error| Error::NoGpu { what: format!("{} finds no GPU ({error:?})", libcuda::status()) };
        cust::init(cust::CudaFlags::empty()).map_err(none)?;
        let device = CudaDevice::get_device(0).map_err(none)?;
        let opening = failed("opening the GPU");
        let context = Context::new(device).map_err(&opening)?;
        CurrentContext::set_current(&context).map_err(&opening)?;
        let (info, mut codes) = describe(device).map_err(&opening)?;
        Ok(Self {
            buffers: Vec::new(),
            timing: codes.load(TIMING_PTX.to_owned()),
            codes,
            most_instructions: None,
            time_limit: TIME_LIMIT,
            is_overdue: false,
            start: Event::new(EventFlags::DEFAULT).map_err(&opening)?,
            stop: Event::new(EventFlags::DEFAULT).map_err(&opening)?,
            // The stream synchronizes with the null stream, on which cust's synchronous copies run. Such a copy may
            // return while the last part of the host memory is still being transferred.
            stream: Rc::new(StreamInContext {
                stream: Stream::new(StreamFlags::DEFAULT, None).map_err(&opening)?,
                _context: context,
            }),
            info,
        })
    }

    /// Waits for the work that was enqueued since the event `start` was recorded, and measures its time.
    ///
    /// # Errors
    /// The driver's name for what is wrong, or that the work takes too long.
    fn finish(&mut self) -> Result<LaunchResult, String> {
        self.stop.record(&self.stream.stream).map_err(named)?;
        self.wait()?;
        let milliseconds = self.stop.elapsed_time_f32(&self.start).map_err(named)?;
        Ok(LaunchResult::timed(f64::from(milliseconds) * 1e6))
    }

    /// Waits for the event `stop`; on a GPU, whose kernels may never end, only as long as a launch may take.
    fn wait(&mut self) -> Result<(), String> {
        if self.info.kind == "sim" {
            return self.stop.synchronize().map_err(named);
        }
        let begin = Instant::now();
        while self.stop.query().map_err(named)? == EventStatus::NotReady {
            let waited = begin.elapsed();
            if waited > self.time_limit {
                self.is_overdue = true;
                return Err(format!("not at its end after {:?}", self.time_limit));
            }
            if waited > IMPATIENT {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// A launch of one of the kernels that time other launches.
    fn timing_launch(&self, entry: &str, blocks: u32, threads: u32, args: Vec<Arg>) -> Launch {
        Launch {
            code: self.timing,
            entry: entry.to_owned(),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            args,
        }
    }

    /// Enqueues a kernel on the stream, after the event `start`.
    fn enqueue(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<(), Error> {
        self.prepare(launch, bound, |function, args, start, stream| {
            let cuda = refused_by_cuda(launch);
            let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
            start.record(stream).map_err(&cuda)?;
            // SAFETY: there are as many arguments as parameters, of the same sizes, and each points to a value
            // that outlives the call, which copies it; the driver checks geometry and shared memory. What the
            // kernel accesses is the promise of the caller of `Device::launch`; the kernels of `timing.ptx` access the buffer
            // that they are given.
            unsafe { stream.launch(function, (gx, gy, gz), (bx, by, bz), launch.shared_bytes, args) }.map_err(cuda)
        })
    }

    /// Runs a kernel, timed by the device's clock.
    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        self.enqueue(launch, bound)?;
        self.finish().map_err(|reason| Error::launch(launch, reason))
    }

    /// Calls `run` with the launch's function, which may have its shared memory, the addresses of its arguments, as many and as
    /// large as the function's parameters, the event `start` and the stream.
    pub(super) fn prepare<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&Function<'_>, &[*mut c_void], &Event, &Stream) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let args = launch.args.iter().map(|arg| {
            Ok(match *arg {
                Arg::Buffer(index) => {
                    let missing = || Error::launch(launch, format!("buffer {index} of {} is an argument", bound.len()));
                    self.memory(*bound.get(index).ok_or_else(missing)?)?.address.to_ne_bytes().to_vec()
                }
                Arg::U32(value) => value.to_ne_bytes().to_vec(),
                Arg::I32(value) => value.to_ne_bytes().to_vec(),
                Arg::U64(value) => value.to_ne_bytes().to_vec(),
                Arg::F32(value) => value.to_ne_bytes().to_vec(),
            })
        });
        let args: Result<Vec<_>, Error> = args.collect();
        let Compiled { module, parameters } = self.codes.get(launch, compile)?;
        let unreadable = || Error::launch(launch, "its parameters cannot be read in the PTX");
        let parameters = parameters.get(&launch.entry).ok_or_else(unreadable)?;
        let mut args = args?;
        let given: Vec<u32> = args.iter().map(|arg| arg.len() as u32).collect();
        if *parameters != given {
            let problem = format!("the kernel's parameters have {parameters:?} bytes, the arguments {given:?}");
            return Err(Error::launch(launch, problem));
        }
        let function = module.get_function(&launch.entry).map_err(refused_by_cuda(launch))?;
        allow_shared(&function, launch.shared_bytes).map_err(refused_by_cuda(launch))?;
        run(&function, &addresses(&mut args), &self.start, &self.stream.stream)
    }

    /// # Errors
    /// [`Error::Device`] when the buffer is not in use.
    fn buffer(&self, id: BufferId) -> Result<&DeviceBuffer<u8>, Error> {
        let buffer = self.buffers.get(id.0 as usize).and_then(Option::as_ref);
        buffer.ok_or_else(|| Error::device("looking for a buffer", format!("{id:?} is not in use")))
    }

    /// The place of a buffer.
    pub(super) fn memory(&self, id: BufferId) -> Result<DeviceMemory, Error> {
        let buffer = self.buffer(id)?;
        Ok(DeviceMemory { address: buffer.as_device_ptr().as_raw(), bytes: buffer.len() as u64 })
    }

    /// The driver's figures for a launch's function, with the launch's threads and shared memory.
    fn resident(&mut self, launch: &Launch) -> Result<Resident, Error> {
        let cuda = refused_by_cuda(launch);
        let function = self.codes.get(launch, compile)?.module.get_function(&launch.entry).map_err(&cuda)?;
        let attribute = |which| function.get_attribute(which).map(i32::unsigned_abs).map_err(&cuda);
        let ([x, y, z], shared) = (launch.block, launch.shared_bytes as usize);
        let blocks = || function.max_active_blocks_per_multiprocessor(BlockSize::xyz(x, y, z), shared);
        Ok(Resident {
            registers: attribute(FunctionAttribute::NumRegisters)?,
            static_shared: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
            max_threads: attribute(FunctionAttribute::MaxThreadsPerBlock)?,
            // The device may not have as much shared memory.
            blocks: allow_shared(&function, launch.shared_bytes).map_or(Ok(0), |()| blocks()).map_err(&cuda)?,
        })
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
            return Err(Error::not_enough_memory("a buffer", bytes as u64, "device", free, "make it smaller"));
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
        let _ = self.with(None, |state| Ok(state.buffers.get_mut(buffer.0 as usize).and_then(Option::take).map(drop)));
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
        std::mem::take(&mut self.findings)
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn is_usable(&mut self) -> bool {
        SIMULATED || self.with(None, |state| Ok(!state.is_overdue && state.finish().is_ok())).unwrap_or(false)
    }

    fn set_time_limit(&mut self, limit: Duration) {
        // There is nothing in it that fails.
        let _ = self.with(None, |state| {
            state.time_limit = limit;
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
            let count = |machine: &mut Machine, prepared: &simt::Launch<'_>| {
                let usual = std::mem::replace(&mut machine.config_mut().schedule, schedule);
                let Sanitized { result, findings, notes } = machine.launch_sanitized(prepared, checks);
                machine.config_mut().schedule = usual;
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
        let timed = self.with(Some(launch), |state| state.launch(launch, bound))?;
        // The SIMT machine has no clock of its own.
        Ok(if SIMULATED { LaunchResult::default() } else { timed })
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

/// Compiles a text with the driver, which takes a while.
fn compile(ptx: &str) -> Result<Module, Error> {
    Module::from_ptx(ptx, &[]).map_err(|error| Error::Ptx { reason: format!("{error:?}"), log: compiler_log(ptx) })
}

fn refused_by_cuda(launch: &Launch) -> impl Fn(CudaError) -> Error {
    move |error| Error::launch(launch, named(error))
}

/// Lets `function` have this much dynamic shared memory.
fn allow_shared(function: &Function<'_>, bytes: u32) -> Result<(), CudaError> {
    // SAFETY: the function's module is loaded as long as the borrow lasts.
    let allowed = unsafe { libcuda::allow_shared(function.to_raw(), bytes) };
    // The driver reports a size beyond the device's limit as an invalid value.
    allowed.map_err(|_| CudaError::InvalidValue)
}

/// An error of cust, by its name. Its own text asks the driver for a message, and panics when there is none.
fn named(error: CudaError) -> String {
    format!("{error:?}")
}

fn failed(doing: &'static str) -> impl Fn(CudaError) -> Error {
    move |error| Error::device(doing, named(error))
}
