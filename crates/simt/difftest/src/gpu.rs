//! Runs instances on a GPU.

use cust::context::{Context, CurrentContext};
use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::{Module, ModuleJitOption};
use cust::stream::{Stream, StreamFlags};

use crate::plan::Plan;

/// The reason why a GPU did not run the instances.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GpuError(String);

fn failed(doing: &'static str) -> impl Fn(CudaError) -> GpuError {
    move |error| GpuError(format!("{doing}: {error:?}"))
}

/// A GPU with a context.
pub struct Gpu {
    stream: Stream,
    /// The device's name.
    pub name: String,
    _context: Context,
}

impl Gpu {
    /// Opens the first GPU.
    ///
    /// # Errors
    /// Returns a [`GpuError`] when there is no driver or no device.
    pub fn open() -> Result<Self, GpuError> {
        if let Some(reason) = libcuda::status().no_driver() {
            return Err(GpuError(reason));
        }
        cust::init(cust::CudaFlags::empty()).map_err(failed("starting the driver"))?;
        let device = cust::device::Device::get_device(0).map_err(failed("looking for a GPU"))?;
        let context = Context::new(device).map_err(failed("opening the GPU"))?;
        CurrentContext::set_current(&context).map_err(failed("opening the GPU"))?;
        Ok(Self {
            stream: Stream::new(StreamFlags::NON_BLOCKING, None).map_err(failed("creating a stream"))?,
            name: device.name().map_err(failed("reading the GPU's name"))?,
            _context: context,
        })
    }

    /// Returns the results of all kernels.
    ///
    /// # Errors
    /// Returns a [`GpuError`] when the driver rejects the PTX or a launch.
    pub fn run(&self, plan: &Plan) -> Result<Vec<u64>, GpuError> {
        let module = Module::from_ptx(&plan.ptx, &[ModuleJitOption::OptLevel(cust::module::OptLevel::O0)])
            .map_err(failed("compiling the PTX"))?;
        let mut results = Vec::with_capacity(plan.results());
        for (number, launch) in plan.kernels.iter().enumerate() {
            let kernel = module.get_function(format!("k{number}")).map_err(failed("finding a kernel"))?;
            let input = DeviceBuffer::from_slice(&launch.input()).map_err(failed("copying operands"))?;
            let output = DeviceBuffer::<u64>::zeroed(launch.results()).map_err(failed("allocating"))?;
            let (mut from, mut to) = (input.as_device_ptr().as_raw(), output.as_device_ptr().as_raw());
            // SAFETY: the kernel's two parameters are addresses. Each of the two buffers has the size that the kernel
            // uses, and both live until the stream has been synchronized.
            unsafe {
                self.stream.launch(
                    &kernel,
                    (launch.blocks, 1, 1),
                    (launch.threads, 1, 1),
                    0,
                    &[(&raw mut from).cast(), (&raw mut to).cast()],
                )
            }
            .map_err(failed("launching"))?;
            self.stream.synchronize().map_err(failed("running a kernel"))?;
            let mut words = vec![0; launch.results()];
            output.copy_to(&mut words).map_err(failed("copying results"))?;
            results.extend(launch.kept(words));
        }
        Ok(results)
    }
}
