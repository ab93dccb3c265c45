//! The driver resources of a device, and the launches that use them.

use std::ffi::c_void;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use cust::context::{Context, CurrentContext};
use cust::device::Device as CudaDevice;
use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::function::{BlockSize, Function, FunctionAttribute};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use libcuda::{addresses, compiler_log};

use crate::device::code::{Codes, Compiled};
use crate::device::{BufferId, DeviceInfo, DeviceMemory, LaunchResult, Resident, Watch};
use crate::error::Error;
use crate::launch::{Arg, Code, Launch, TensorMap};

/// The PTX of the two kernels that [`Device::hold`] and [`Device::read`] launch.
const TIMING_PTX: &str = include_str!("../timing.ptx");

/// The default time limit of a launch.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How long the host polls for the end of a launch without yielding to other threads. After this time, the host pauses
/// between polls.
const IMPATIENT: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_micros(100);

/// How long to wait for abandoned work to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// The driver resources of a device.
pub(in crate::device) struct State {
    // Fields are dropped in this order: buffers and modules must be freed before their context.
    /// The buffers by id. `None` for a freed buffer.
    pub(super) buffers: Vec<Option<DeviceBuffer<u8>>>,
    /// The program's kernels, and the sources that were loaded later.
    pub(super) codes: Codes<Module>,
    /// The code loaded from [`TIMING_PTX`].
    timing: Code,
    pub(super) start: Event,
    stop: Event,
    pub(super) stream: Rc<StreamInContext>,
    pub(super) info: DeviceInfo,
    /// The maximum number of warp instructions of an observed, counted or checked launch on the device `sim`. `None`
    /// means the simulator's default limit.
    pub(in crate::device) most_instructions: Option<u64>,
    /// The time limit of a launch.
    pub(super) time_limit: Duration,
    /// A function that is called while the host waits for work. The function returns a reason if the host should
    /// abandon the work.
    pub(super) watch: Option<Watch>,
    /// The time at which the host abandoned work that might still be running.
    pub(super) given_up: Option<Instant>,
}

/// A stream together with its context. The stream is dropped first.
pub(super) struct StreamInContext {
    pub(super) stream: Stream,
    _context: Context,
}

impl State {
    /// Opens a device of the driver that this thread uses.
    pub(super) fn open(
        number: u32,
        describe: impl FnOnce(CudaDevice) -> Result<(DeviceInfo, Codes<Module>), CudaError>,
    ) -> Result<Self, Error> {
        let none = |error| Error::NoGpu { what: format!("{} finds no GPU ({error:?})", libcuda::status()) };
        cust::init(cust::CudaFlags::empty()).map_err(none)?;
        let device = CudaDevice::get_device(number).map_err(none)?;
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
            watch: None,
            given_up: None,
            start: Event::new(EventFlags::DEFAULT).map_err(&opening)?,
            stop: Event::new(EventFlags::DEFAULT).map_err(&opening)?,
            // The stream synchronizes with the null stream, on which cust's synchronous copies run. Such a copy can
            // return while the last part of the host memory is still being transferred.
            stream: Rc::new(StreamInContext {
                stream: Stream::new(StreamFlags::DEFAULT, None).map_err(&opening)?,
                _context: context,
            }),
            info,
        })
    }

    /// Waits for the work that was enqueued after the event `start`, and measures its time.
    ///
    /// # Errors
    /// Returns the driver's name for the error, or a message that the work exceeds the time limit.
    pub(super) fn finish(&mut self) -> Result<LaunchResult, String> {
        self.stop.record(&self.stream.stream).map_err(named)?;
        self.wait()?;
        let milliseconds = self.stop.elapsed_time_f32(&self.start).map_err(named)?;
        Ok(LaunchResult::timed(f64::from(milliseconds) * 1e6))
    }

    /// Waits for the event `stop`. A kernel on a GPU can run forever, so the wait for a GPU stops at the time limit.
    fn wait(&mut self) -> Result<(), String> {
        if self.info.kind == "sim" {
            return self.stop.synchronize().map_err(named);
        }
        let begin = Instant::now();
        while self.stop.query().map_err(named)? == EventStatus::NotReady {
            let waited = begin.elapsed();
            if waited > self.time_limit {
                self.given_up = Some(Instant::now());
                return Err(format!("time limit of {:?} exceeded", self.time_limit));
            }
            if let Some(why) = self.watch.as_mut().filter(|_| waited > IMPATIENT).and_then(|watch| watch()) {
                self.given_up = Some(Instant::now());
                return Err(why);
            }
            if waited > IMPATIENT {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Waits briefly for abandoned work to end and returns whether the work is still running. The driver waits for
    /// stuck work before it frees memory, which can take forever.
    pub(super) fn is_stuck(&self) -> bool {
        let Some(since) = self.given_up else { return false };
        let runs = || matches!(self.stop.query(), Ok(EventStatus::NotReady));
        while runs() && since.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
        runs()
    }

    /// Returns a launch of a kernel in [`TIMING_PTX`].
    pub(super) fn timing_launch(&self, entry: &str, blocks: u32, threads: u32, args: Vec<Arg>) -> Launch {
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
    pub(super) fn enqueue(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<(), Error> {
        self.enqueue_often(launch, bound, 1, true)
    }

    /// Enqueues a kernel `times` times on the stream. The event `start` is recorded first if `is_first`.
    pub(super) fn enqueue_often(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        times: usize,
        is_first: bool,
    ) -> Result<(), Error> {
        self.prepare(launch, bound, |function, args, start, stream| {
            let cuda = refused_by_cuda(launch);
            let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
            if is_first {
                start.record(stream).map_err(&cuda)?;
            }
            // SAFETY: the arguments match the parameters in number and size, and each pointer is valid during the call,
            // which copies the argument values. The driver checks geometry and shared memory. The caller of
            // `Device::launch` ensures that the kernel only accesses the buffers in `bound`; the kernels of
            // `timing.ptx` only access the buffer they are given.
            let once = || unsafe { stream.launch(function, (gx, gy, gz), (bx, by, bz), launch.shared_bytes, args) };
            (0..times).try_for_each(|_| once()).map_err(cuda)
        })
    }

    /// Runs a kernel and times it with the device's clock.
    pub(super) fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        self.enqueue(launch, bound)?;
        self.finish().map_err(|reason| Error::launch(launch, reason))
    }

    /// Calls `run` with the launch's function, the addresses of its arguments, the event `start` and the stream. The
    /// function is allowed to use the launch's dynamic shared memory, and the arguments match the function's parameters
    /// in number and size.
    pub(in crate::device) fn prepare<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&Function<'_>, &[*mut c_void], &Event, &Stream) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let address = |index: usize| -> Result<u64, Error> {
            let missing = || {
                Error::launch(
                    launch,
                    format!("buffer {index} is an argument, but the number of bound buffers is {}", bound.len()),
                )
            };
            Ok(self.memory(*bound.get(index).ok_or_else(missing)?)?.address)
        };
        let args = launch.args.iter().map(|arg| {
            Ok(match *arg {
                Arg::Buffer(index) => address(index)?.to_ne_bytes().to_vec(),
                Arg::Inside(index, bytes) => (address(index)? + bytes).to_ne_bytes().to_vec(),
                Arg::Table { .. } => Arg::table(arg.buffers().map(address).collect::<Result<Vec<_>, _>>()?),
                Arg::Addresses(addresses) => Arg::table(addresses),
                Arg::U32(value) => value.to_ne_bytes().to_vec(),
                Arg::I32(value) => value.to_ne_bytes().to_vec(),
                Arg::U64(value) => value.to_ne_bytes().to_vec(),
                Arg::F32(value) => value.to_ne_bytes().to_vec(),
                Arg::TensorMap(map) => encoded(launch, &map, address(map.buffer)?)?.to_vec(),
            })
        });
        let args: Result<Vec<_>, Error> = args.collect();
        let Compiled { module, parameters } = self.codes.get(launch, compile)?;
        let unreadable = || Error::launch(launch, "cannot read the entry's parameters from the PTX");
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

    /// Returns a buffer by its id.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the buffer is not in use.
    pub(super) fn buffer(&self, id: BufferId) -> Result<&DeviceBuffer<u8>, Error> {
        let buffer = self.buffers.get(id.0 as usize).and_then(Option::as_ref);
        buffer.ok_or_else(|| Error::device("looking for a buffer", format!("{id:?} is not in use")))
    }

    /// Returns the address and size of a buffer.
    pub(in crate::device) fn memory(&self, id: BufferId) -> Result<DeviceMemory, Error> {
        let buffer = self.buffer(id)?;
        Ok(DeviceMemory { address: buffer.as_device_ptr().as_raw(), bytes: buffer.len() as u64 })
    }

    /// Rejects a launch whose blocks wait for each other when the device cannot run all of them at the same time.
    /// Blocks wait for each other in kernels with an [`Arg::Table`] of several buffers.
    ///
    /// # Errors
    /// Returns [`Error::Launch`] when the launch has more blocks than the device runs at a time.
    pub(super) fn check_blocks_run_together(&mut self, launch: &Launch) -> Result<(), Error> {
        if !launch.args.iter().any(|arg| matches!(arg, Arg::Table { count: 2.., .. } | Arg::Addresses(_))) {
            return Ok(());
        }
        let blocks = launch.blocks();
        let most = u64::from(self.resident(launch)?.blocks) * u64::from(self.info.multiprocessors.unwrap_or(1));
        let problem = || format!("its {blocks} blocks wait for each other, and the device runs {most} at a time");
        if blocks > most { Err(Error::launch(launch, problem())) } else { Ok(()) }
    }

    /// Returns the driver's resource figures for a launch's function, threads and shared memory.
    pub(super) fn resident(&mut self, launch: &Launch) -> Result<Resident, Error> {
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
            // If the device has less shared memory than the launch needs, no block fits.
            blocks: allow_shared(&function, launch.shared_bytes).map_or(Ok(0), |()| blocks()).map_err(&cuda)?,
        })
    }
}

/// Encodes a tensor map for a launch.
///
/// # Errors
/// Returns [`Error::Launch`] when no tensor map can describe the matrix, and when the driver rejects the map.
fn encoded(launch: &Launch, map: &TensorMap, address: u64) -> Result<[u8; 128], Error> {
    let refused = |why: String| Error::launch(launch, format!("cannot encode a {map} at address {address:#x}: {why}"));
    let map = map.at(address);
    // This check reports a reason in words. The driver only reports an error code.
    map.encode().map_err(refused)?;
    libcuda::encode_tiled(&map).map_err(|error| refused(format!("the driver reports {error:?}")))
}

/// Compiles a PTX text with the driver, which takes a while.
fn compile(ptx: &str) -> Result<Module, Error> {
    Module::from_ptx(ptx, &[]).map_err(|error| Error::Ptx { reason: format!("{error:?}"), log: compiler_log(ptx) })
}

fn refused_by_cuda(launch: &Launch) -> impl Fn(CudaError) -> Error {
    move |error| Error::launch(launch, named(error))
}

/// Allows `function` to use `bytes` bytes of dynamic shared memory.
fn allow_shared(function: &Function<'_>, bytes: u32) -> Result<(), CudaError> {
    // SAFETY: the module that owns the function stays loaded while `function` is borrowed.
    let allowed = unsafe { libcuda::allow_shared(function.to_raw(), bytes) };
    // The driver reports a size beyond the device's limit as an invalid value.
    allowed.map_err(|_| CudaError::InvalidValue)
}

/// Returns the name of a cust error. The error's `Display` asks the driver for a message and panics if it has none.
pub(super) fn named(error: CudaError) -> String {
    format!("{error:?}")
}

pub(super) fn failed(doing: &'static str) -> impl Fn(CudaError) -> Error {
    move |error| Error::device(doing, named(error))
}
