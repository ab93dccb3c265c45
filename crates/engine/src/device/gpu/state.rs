//! What a device has of its driver: buffers, modules, a stream, and how kernels are launched with them.

use std::ffi::c_void;
use std::rc::Rc;

use cust::context::{Context, CurrentContext};
use cust::device::Device as CudaDevice;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::function::{BlockSize, Function, FunctionAttribute};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use libcuda::{Kernel, addresses, compiler_log};
use simt::{LaunchError, Machine};

use crate::device::code::{Codes, Compiled};
use crate::device::{BufferId, DeviceInfo, DeviceMemory, LaunchResult, Resident};
use crate::error::Error;
use crate::launch::{Arg, Code, Launch};

/// The PTX of the two kernels that `hold` and `read` launch.
const TIMING_PTX: &str = include_str!("../timing.ptx");

/// What a device has of its driver.
pub(in crate::device) struct State {
    // Fields are dropped in this order: buffers and modules have to be freed before the context that they live in.
    /// By their ids; `None` where one was freed.
    pub(super) buffers: Vec<Option<DeviceBuffer<u8>>>,
    /// The program's kernels and the sources that were loaded later.
    pub(super) codes: Codes<Module>,
    /// The code loaded from [`TIMING_PTX`].
    timing: Code,
    pub(super) start: Event,
    stop: Event,
    pub(super) stream: Rc<StreamInContext>,
    pub(super) info: DeviceInfo,
    /// What [`State::launch_with`] may execute, in instructions of warps; as many as the machine allows if `None`.
    pub(in crate::device) most_instructions: Option<u64>,
}

/// A stream together with its context. The stream is dropped first.
pub(super) struct StreamInContext {
    pub(super) stream: Stream,
    _context: Context,
}

impl State {
    /// Opens the first device of the driver that this thread's calls reach.
    pub(super) fn open(
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
            start: Event::new(EventFlags::DEFAULT).map_err(&opening)?,
            stop: Event::new(EventFlags::DEFAULT).map_err(&opening)?,
            // The stream synchronizes with the null stream, on which cust's synchronous copies run. Such a copy may
            // return while the last part of the host memory is still being transferred.
            stream: Rc::new(StreamInContext {
                stream: Stream::new(StreamFlags::DEFAULT, None).map_err(&opening)?,
                _context: context,
            }),
            info,
            most_instructions: None,
        })
    }

    /// Waits for the work that was enqueued since the event `start` was recorded, and measures its time.
    pub(super) fn finish(&self) -> Result<LaunchResult, CudaError> {
        self.stop.record(&self.stream.stream)?;
        self.stop.synchronize()?;
        let milliseconds = self.stop.elapsed_time_f32(&self.start)?;
        Ok(LaunchResult::timed(f64::from(milliseconds) * 1e6))
    }

    /// A launch of one of the kernels that time other launches.
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
        self.prepare(launch, bound, |function, args, start, stream| {
            let cuda = refused_by_cuda(launch);
            let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
            start.record(stream).map_err(&cuda)?;
            // SAFETY: there are as many arguments as parameters, of the same sizes, and each points to a value
            // that outlives the call, which copies it; the driver checks geometry and shared memory. What the
            // kernel does with the device's memory cannot touch the host's.
            unsafe { stream.launch(function, (gx, gy, gz), (bx, by, bz), launch.shared_bytes, args) }.map_err(cuda)
        })
    }

    /// Runs a kernel, timed by the device's clock.
    pub(super) fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        self.enqueue(launch, bound)?;
        self.finish().map_err(refused_by_cuda(launch))
    }

    /// Lets `run` run a kernel on the simulated GPU's machine.
    pub(in crate::device) fn launch_with<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&mut Machine, &simt::Launch<'_>) -> Result<R, LaunchError>,
    ) -> Result<R, Error> {
        let Launch { grid, block, shared_bytes, .. } = *launch;
        let most = self.most_instructions;
        let run = |machine: &mut Machine, launch: &simt::Launch<'_>| {
            let usual = machine.config_mut().max_instructions;
            machine.config_mut().max_instructions = most.unwrap_or(usual);
            let result = run(machine, launch);
            machine.config_mut().max_instructions = usual;
            result
        };
        self.prepare(launch, bound, |function, args, _, _| {
            let kernel = Kernel { function: function.to_raw().addr(), grid, block, shared_bytes };
            // SAFETY: there is an argument for each parameter, of the parameter's size.
            let result = unsafe { libcuda::launch_with(kernel, args, run) };
            result.map_err(|reason| Error::launch(launch, first_line(&reason)))
        })
    }

    /// Calls `run` with the launch's function, which may have its shared memory, the addresses of its arguments, as many and as
    /// large as the function's parameters, the event `start` and the stream.
    fn prepare<R>(
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
        let args: Result<Vec<Vec<u8>>, Error> = args.collect();
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
    pub(super) fn buffer(&self, id: BufferId) -> Result<&DeviceBuffer<u8>, Error> {
        let buffer = self.buffers.get(id.0 as usize).and_then(Option::as_ref);
        buffer.ok_or_else(|| Error::device("looking for a buffer", format!("{id:?} is not in use")))
    }

    /// The place of a buffer.
    pub(in crate::device) fn memory(&self, id: BufferId) -> Result<DeviceMemory, Error> {
        let buffer = self.buffer(id)?;
        Ok(DeviceMemory { address: buffer.as_device_ptr().as_raw(), bytes: buffer.len() as u64 })
    }

    /// The driver's figures for a launch's function, with the launch's threads and shared memory.
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
            // The device may not have as much shared memory.
            blocks: allow_shared(&function, launch.shared_bytes).map_or(Ok(0), |()| blocks()).map_err(&cuda)?,
        })
    }
}

/// Compiles a text with the driver, which takes a while.
fn compile(ptx: &str) -> Result<Module, Error> {
    Module::from_ptx(ptx, &[]).map_err(|error| Error::Ptx { reason: format!("{error:?}"), log: compiler_log(ptx) })
}

fn refused_by_cuda(launch: &Launch) -> impl Fn(CudaError) -> Error {
    move |error| {
        let hint = "compute-sanitizer or `ladder check --device sim` names the access that did it";
        Error::launch(launch, format!("{error:?}; {hint}"))
    }
}

/// Lets `function` have this much dynamic shared memory.
fn allow_shared(function: &Function<'_>, bytes: u32) -> Result<(), CudaError> {
    // SAFETY: the function's module is loaded as long as the borrow lasts.
    let allowed = unsafe { libcuda::allow_shared(function.to_raw(), bytes) };
    // The driver reports a size beyond the device's limit as an invalid value.
    allowed.map_err(|_| CudaError::InvalidValue)
}

/// An error of cust, by its name. Its own text asks the driver for a message, and panics when there is none.
pub(super) fn failed(doing: &'static str) -> impl Fn(CudaError) -> Error {
    move |error| Error::device(doing, format!("{error:?}"))
}

/// Messages here are lines. A fault's further ones list the calls that led to it.
pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
