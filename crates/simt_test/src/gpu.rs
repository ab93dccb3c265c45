//! Running on a GPU, through cust.

use std::ffi::c_void;
use std::fmt;

use cust::CudaFlags;
use cust::context::{Context, CurrentContext, ResourceLimit};
use cust::error::CudaError;
use cust::function::Function;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;

use crate::argument::Value;
use crate::device::{Backend, Grid};
use crate::error::Result;
use crate::kernels::Kernels;

/// A thread's stack: the driver's own 1 KiB is too little for the formatting of floats and of `{:?}`.
const STACK_BYTES: usize = 16 << 10;

/// The first GPU, with the kernels' module.
pub(crate) struct Gpu {
    // Dropped in this order: all else lives in the context.
    buffers: Vec<DeviceBuffer<u8>>,
    stream: Stream,
    module: Module,
    _context: Context,
    kernels: &'static Kernels,
    name: String,
}

impl Gpu {
    /// Whether there is a real driver and a GPU.
    pub(crate) fn is_there() -> bool {
        libcuda::status().no_driver().is_none()
            && cust::init(CudaFlags::empty()).is_ok()
            && cust::device::Device::num_devices().is_ok_and(|count| count > 0)
    }

    pub(crate) fn open(kernels: &'static Kernels) -> Result<Self, String> {
        if let Some(reason) = libcuda::status().no_driver() {
            return Err(format!("there is no GPU to test on: {reason}"));
        }
        let none = |error| format!("there is no GPU to test on: {} ({error:?})", libcuda::status());
        cust::init(CudaFlags::empty()).map_err(none)?;
        let device = cust::device::Device::get_device(0).map_err(none)?;
        let context = Context::new(device).map_err(failed("opening the GPU"))?;
        CurrentContext::set_current(&context).map_err(failed("opening the GPU"))?;
        CurrentContext::set_resource_limit(ResourceLimit::StackSize, STACK_BYTES).map_err(failed("opening the GPU"))?;
        Ok(Self {
            buffers: Vec::new(),
            stream: Stream::new(StreamFlags::DEFAULT, None).map_err(failed("making a stream"))?,
            module: Module::from_ptx(&kernels.ptx, &[]).map_err(failed("loading the PTX"))?,
            _context: context,
            kernels,
            name: device.name().map_err(failed("asking for its name"))?,
        })
    }
}

impl Backend for Gpu {
    fn upload(&mut self, bytes: &[u8]) -> Result<(), String> {
        let buffer = DeviceBuffer::from_slice(bytes).map_err(failed("allocating and filling a buffer"))?;
        self.buffers.push(buffer);
        Ok(())
    }

    fn read(&mut self, buffer: usize) -> Result<Vec<u8>, String> {
        let buffer = self.buffers.get(buffer).ok_or("the buffer belongs to another device")?;
        let mut bytes = vec![0; buffer.len()];
        buffer.copy_to(&mut bytes).map_err(failed("copying from the device"))?;
        Ok(bytes)
    }

    fn launch(&mut self, kernel: &str, grid: Grid, values: &[Value]) -> Result<(), String> {
        // The driver takes what it is given: that it fits is known from the same PTX by the SIMT machine.
        let function = self.kernels.module.function(kernel).map_err(|error| error.to_string())?;
        let mut slots = Vec::with_capacity(values.len());
        for value in values {
            slots.push(match value {
                Value::Bytes(bytes) => bytes.clone(),
                Value::Buffer(number) => {
                    let buffer = self.buffers.get(*number).ok_or("a buffer belongs to another device")?;
                    buffer.as_device_ptr().as_raw().to_ne_bytes().to_vec()
                }
            });
        }
        let parameters = function.program().params.iter().map(|param| param.bytes as usize);
        if !parameters.clone().eq(slots.iter().map(Vec::len)) {
            let (needed, given): (Vec<_>, Vec<_>) = (parameters.collect(), slots.iter().map(Vec::len).collect());
            return Err(format!("kernel `{kernel}` has parameters of {needed:?} bytes, the arguments have {given:?}"));
        }
        let pointers: Vec<*mut c_void> = slots.iter_mut().map(|slot| slot.as_mut_ptr().cast()).collect();
        let failed = failed("running the kernel");
        let loaded = self.module.get_function(function.name()).map_err(&failed)?;
        allow_shared(&loaded, grid.shared_bytes).map_err(&failed)?;
        let ([gx, gy, gz], [bx, by, bz]) = (grid.blocks, grid.threads);
        // SAFETY: there is an argument for each parameter, of the parameter's size, and the driver copies them before it
        // returns. The kernel reaches only the device's memory.
        unsafe { self.stream.launch(&loaded, (gx, gy, gz), (bx, by, bz), grid.shared_bytes, &pointers) }
            .map_err(&failed)?;
        self.stream.synchronize().map_err(failed)
    }
}

/// Lets a kernel have more dynamic shared memory than without being asked, which cust does not do.
fn allow_shared(function: &Function<'_>, bytes: u32) -> Result<(), CudaError> {
    const WITHOUT: u32 = 48 << 10;
    if bytes <= WITHOUT {
        return Ok(());
    }
    let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function's module is loaded; the call takes numbers.
    match unsafe { sys::cuFuncSetAttribute(function.to_raw(), attribute, bytes.cast_signed()) } {
        sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::InvalidValue),
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn failed(doing: &'static str) -> impl Fn(CudaError) -> String {
    // cust's own text asks the driver for one.
    move |error| format!("{doing} failed: {error:?}")
}
