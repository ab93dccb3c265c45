//! A CUDA GPU, through `cust`. All of this crate's `unsafe` is here and in the files below.

mod compile;
mod info;

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use cust::context::{Context, CurrentContext};
use cust::device::Device as CudaDevice;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::function::{BlockSize, Function, FunctionAttribute};
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, mem_get_info};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use ptx::extract::SourceLines;

use super::allocations::{Allocations, check_size};
use super::code::{Codes, Compiled};
use super::{BufferId, Device, DeviceInfo, DeviceMemory, Enqueue, GpuStream, LaunchResult, Resident};
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Arg, Code, Launch};
use crate::registry::MAX_SHARED;
use compile::compile;

/// The PTX of the two kernels that [`Device::hold`] and [`Device::read`] launch.
const TIMING_PTX: &str = include_str!("timing.ptx");

/// The first GPU of the machine. It loads the kernels when they are first used.
pub struct Gpu {
    // Fields are dropped in this order: buffers and modules have to be freed before the context that they live in.
    buffers: Allocations<DeviceBuffer<u8>>,
    /// The program's kernels and the sources that were loaded later.
    codes: Codes<Module>,
    /// The code loaded from [`TIMING_PTX`]; `None` before its first use.
    timing: Option<Code>,
    start: Event,
    stop: Event,
    stream: Rc<StreamInContext>,
    info: DeviceInfo,
}

/// A stream together with its context. The stream is dropped first.
struct StreamInContext {
    stream: Stream,
    _context: Context,
}

impl Gpu {
    /// Opens the machine's first GPU and takes the newest of `kernels` that it can run.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without a CUDA driver or without a GPU, [`Error::Device`] when the GPU cannot be used.
    pub fn open(kernels: &'static Kernels) -> Result<Self, Error> {
        if let Some(what) = libcuda::status().no_driver() {
            return Err(Error::NoGpu { what });
        }
        let info = |device| info::device_info(device);
        Self::open_driver(kernels, SourceLines::Drop, info)
    }

    /// Opens the first GPU of the driver that this thread's calls go to. `info` says what is known of the device.
    pub(super) fn open_driver(
        kernels: &'static Kernels,
        lines: SourceLines,
        info: impl FnOnce(CudaDevice) -> Result<DeviceInfo, CudaError>,
    ) -> Result<Self, Error> {
        let none = |reason| Error::NoGpu { what: format!("{} finds no GPU ({reason})", libcuda::status()) };
        cust::init(cust::CudaFlags::empty()).map_err(|e| none(describe(e)))?;
        let device = CudaDevice::get_device(0).map_err(|e| none(describe(e)))?;

        let opening = failed("opening the GPU");
        let context = Context::new(device).map_err(&opening)?;
        CurrentContext::set_current(&context).map_err(&opening)?;
        let info = info(device).map_err(&opening)?;
        Ok(Self {
            buffers: Allocations::new(),
            codes: Codes::new(kernels.modules, info.compute_capability, lines),
            timing: None,
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
    fn finish(&self) -> Result<LaunchResult, CudaError> {
        self.stop.record(&self.stream.stream)?;
        self.stop.synchronize()?;
        let milliseconds = self.stop.elapsed_time_f32(&self.start)?;
        Ok(LaunchResult::timed(f64::from(milliseconds) * 1e6))
    }

    /// A launch of one of the kernels that time other launches.
    fn timing_launch(&mut self, entry: &str, blocks: u32, threads: u32, args: Vec<Arg>) -> Launch {
        let codes = &mut self.codes;
        let load = || codes.load(TIMING_PTX.to_owned());
        Launch {
            code: *self.timing.get_or_insert_with(load),
            entry: entry.to_owned(),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            args,
        }
    }

    /// Enqueues a kernel on the stream, after the event `start` when the launch is timed.
    fn enqueue(&mut self, launch: &Launch, bound: &[BufferId], is_timed: bool) -> Result<(), Error> {
        let (start, stream) = (&self.start, &self.stream.stream);
        with_prepared(&mut self.codes, &self.buffers, launch, bound, |function, args| {
            let cuda = refused_by_cuda(launch);
            if launch.shared_bytes > MAX_SHARED {
                allow_shared(function, launch.shared_bytes).map_err(&cuda)?;
            }
            let [gx, gy, gz] = launch.grid;
            let [bx, by, bz] = launch.block;
            if is_timed {
                start.record(stream).map_err(&cuda)?;
            }
            // SAFETY: there are as many arguments as parameters, of the same sizes, and each points to a value
            // that outlives the call, which copies it; the driver checks geometry and shared memory. What the
            // kernel does with the device's memory cannot touch the host's.
            unsafe { stream.launch(function, (gx, gy, gz), (bx, by, bz), launch.shared_bytes, args) }.map_err(cuda)
        })
    }

    /// Calls `run` with the driver's handle of the launch's function and the addresses of its arguments.
    pub(super) fn with_function<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(usize, &[*const c_void]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        with_prepared(&mut self.codes, &self.buffers, launch, bound, |function, args| {
            if launch.shared_bytes > MAX_SHARED {
                allow_shared(function, launch.shared_bytes).map_err(refused_by_cuda(launch))?;
            }
            let args: Vec<*const c_void> = args.iter().map(|arg| arg.cast_const()).collect();
            run(function.to_raw().addr(), &args)
        })
    }

    /// Says no longer what compute capability the device has.
    pub(super) fn forget_capability(&mut self) {
        self.info.compute_capability = None;
    }

    /// The first address of a buffer and its size in bytes.
    pub(super) fn range(&self, buffer: BufferId) -> Result<(u64, u64), Error> {
        let buffer = self.buffers.get(buffer)?;
        Ok((buffer.as_device_ptr().as_raw(), buffer.len() as u64))
    }
}

/// Calls `run` with the launch's function and the addresses of its arguments, as many and as large as the function's parameters.
fn with_prepared<R>(
    codes: &mut Codes<Module>,
    buffers: &Allocations<DeviceBuffer<u8>>,
    launch: &Launch,
    bound: &[BufferId],
    run: impl FnOnce(&Function<'_>, &[*mut c_void]) -> Result<R, Error>,
) -> Result<R, Error> {
    let Compiled { module, parameters } = codes.get(launch, compile)?;
    let parameters = parameters
        .get(&launch.entry)
        .ok_or_else(|| Error::launch(launch, "its parameters cannot be read in the PTX"))?;
    let given: Vec<u32> = launch.args.iter().map(size_in_bytes).collect();
    if *parameters != given {
        return Err(Error::launch(
            launch,
            format!("the kernel's parameters have {parameters:?} bytes, the arguments {given:?}"),
        ));
    }
    let function = module.get_function(&launch.entry).map_err(refused_by_cuda(launch))?;
    let mut slots = Vec::with_capacity(launch.args.len());
    for arg in &launch.args {
        slots.push(match *arg {
            Arg::Buffer(index) => {
                let buffer = buffers.argument(launch, bound, index)?;
                Slot { pointer: buffer.as_device_ptr().as_raw() }
            }
            Arg::U32(value) => Slot { u32: value },
            Arg::I32(value) => Slot { i32: value },
            Arg::U64(value) => Slot { u64: value },
            Arg::F32(value) => Slot { f32: value },
        });
    }
    let args: Vec<*mut c_void> = slots.iter_mut().map(|slot| ptr::from_mut(slot).cast()).collect();
    run(&function, &args)
}

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Option<u64> {
        mem_get_info().ok().map(|(free, _)| free as u64)
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        // SAFETY: any bytes are valid u8, so that uninitialized device memory can be copied from.
        let buffer = unsafe { DeviceBuffer::uninitialized(bytes) }.map_err(failed("allocating a buffer"))?;
        Ok(self.buffers.add(buffer))
    }

    fn free(&mut self, buffer: BufferId) {
        self.buffers.remove(buffer);
    }

    fn address(&self, buffer: BufferId) -> Result<u64, Error> {
        Ok(self.range(buffer)?.0)
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        let doing = "copying to the device";
        let to = self.buffers.get_mut(buffer)?;
        check_size(doing, to.len(), bytes.len())?;
        to.copy_from(bytes).map_err(failed(doing))
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        let doing = "copying from the device";
        let from = self.buffers.get(buffer)?;
        if from.len() < bytes.len() {
            return check_size(doing, from.len(), bytes.len());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let part = from.index(..bytes.len());
        part.copy_to(bytes).map_err(failed(doing))
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        let doing = "copying on the device";
        let (source, target) = (self.buffers.get(from)?, self.buffers.get(to)?);
        check_size(doing, target.len(), source.len())?;
        // SAFETY: both buffers stay allocated until the copy is over: freeing device memory waits for the
        // work that was given to the device before.
        unsafe { source.async_copy_to(&mut target.index(..), &self.stream.stream) }.map_err(failed(doing))
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        let target = self.buffers.get_mut(buffer)?;
        // SAFETY: as in `copy`; any bytes are valid u8.
        unsafe { target.set_8_async(byte, &self.stream.stream) }.map_err(failed("filling a buffer"))
    }

    fn check_supported(&self, launch: &Launch) -> Option<Error> {
        self.codes.check_supported(launch)
    }

    fn resident(&mut self, launch: &Launch) -> Result<Option<Resident>, Error> {
        let cuda = refused_by_cuda(launch);
        let Compiled { module, .. } = self.codes.get(launch, compile)?;
        let function = module.get_function(&launch.entry).map_err(&cuda)?;
        resident(&function, launch).map(Some).map_err(cuda)
    }

    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        Ok(self.codes.load(ptx))
    }

    fn hold(&mut self, nanoseconds: u64) -> Result<(), Error> {
        let launch = self.timing_launch("ladder_hold", 1, 1, vec![Arg::U64(nanoseconds)]);
        self.enqueue(&launch, &[], false)
    }

    fn read(&mut self, buffer: BufferId) -> Result<LaunchResult, Error> {
        let vectors = self.buffers.get(buffer)?.len() as u64 / 16;
        // Launches as many threads as all multiprocessors can hold at once.
        let blocks = 8 * self.info.multiprocessors.unwrap_or(1);
        let args = vec![Arg::Buffer(0), Arg::U64(vectors)];
        let launch = self.timing_launch("ladder_read", blocks, 256, args);
        self.launch(&launch, &[buffer])
    }

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        self.enqueue(launch, bound, true)?;
        self.finish().map_err(refused_by_cuda(launch))
    }

    fn call(&mut self, what: &str, bound: &[BufferId], enqueue: Enqueue<'_>) -> Result<LaunchResult, Error> {
        let failed = |reason| Error::Call { what: what.to_owned(), reason };
        let cuda = |error| failed(describe(error));
        let memory = bound.iter().map(|&id| {
            let buffer = self.buffers.get(id)?;
            Ok(DeviceMemory { address: buffer.as_device_ptr().as_raw(), bytes: buffer.len() as u64 })
        });
        let memory = memory.collect::<Result<Vec<_>, Error>>()?;
        let owner = Rc::clone(&self.stream);
        // SAFETY: `owner` has the stream and its context, which cust opens as the device's primary one.
        let stream = unsafe { GpuStream::new(self.stream.stream.as_inner().cast(), owner) };
        self.start.record(&self.stream.stream).map_err(cuda)?;
        enqueue(&stream, &memory).map_err(failed)?;
        self.finish().map_err(cuda)
    }
}

fn refused_by_cuda(launch: &Launch) -> impl Fn(CudaError) -> Error {
    move |error| {
        Error::launch(
            launch,
            format!(
                "{}; compute-sanitizer or `ladder check --device sim` names the access that did it",
                describe(error)
            ),
        )
    }
}

/// Opts `function` in to this much dynamic shared memory, which cust does not do.
fn allow_shared(function: &Function<'_>, bytes: u32) -> Result<(), CudaError> {
    let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    // SAFETY: the function's module is loaded as long as the borrow lasts; the call takes numbers.
    match unsafe { sys::cuFuncSetAttribute(function.to_raw(), attribute, bytes) } {
        sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
        // The driver reports a size beyond the device's limit as an invalid value.
        _ => Err(CudaError::InvalidValue),
    }
}

/// The driver's figures for a function, with the launch's threads and shared memory.
fn resident(function: &Function<'_>, launch: &Launch) -> Result<Resident, CudaError> {
    let attribute = |which| function.get_attribute(which).map(i32::unsigned_abs);
    // This is more than a block has without an opt-in, and the device may not have as much.
    let fits = launch.shared_bytes <= MAX_SHARED || allow_shared(function, launch.shared_bytes).is_ok();
    let ([x, y, z], shared) = (launch.block, launch.shared_bytes as usize);
    Ok(Resident {
        registers: attribute(FunctionAttribute::NumRegisters)?,
        static_shared: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
        local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
        max_threads: attribute(FunctionAttribute::MaxThreadsPerBlock)?,
        blocks: match fits {
            true => function.max_active_blocks_per_multiprocessor(BlockSize::xyz(x, y, z), shared)?,
            false => 0,
        },
    })
}

/// The storage of one argument. The driver reads as many of its bytes as the kernel's parameter has.
#[repr(C)]
union Slot {
    pointer: sys::CUdeviceptr,
    u32: u32,
    i32: i32,
    u64: u64,
    f32: f32,
}

fn size_in_bytes(arg: &Arg) -> u32 {
    match arg {
        Arg::Buffer(_) | Arg::U64(_) => 8,
        Arg::U32(_) | Arg::I32(_) | Arg::F32(_) => 4,
    }
}

fn failed(doing: &'static str) -> impl Fn(CudaError) -> Error {
    move |error| Error::device(doing, describe(error))
}

/// The name of the error. cust's own text asks the driver for a message and panics when there is none.
fn describe(error: CudaError) -> String {
    format!("{error:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_lies_at_the_start_of_its_slot() {
        let slot = Slot { u32: 7 };
        assert_eq!(size_of::<Slot>(), 8);
        // SAFETY: the first four bytes were written as this very field.
        assert_eq!(unsafe { slot.u32 }, 7);
    }
}
