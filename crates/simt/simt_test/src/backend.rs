//! Runs tests through cust on a GPU, or on a separate simulator for each test.

use std::fmt;

use cust::CudaFlags;
use cust::context::{Context, CurrentContext, ResourceLimit};
use cust::device::DeviceAttribute;
use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use libcuda::{Kernel, Resources, Simulation, addresses, allow_shared, compiler_log};
use profile::CountedLaunch;
use simt::counters::SiteCounters;
use simt::params;
use simt::{Config, Launch, LaunchError, Schedule, Simulator};
use simt_check::diagnostic::{Diagnostic, Style, texts};
use simt_check::{Checks, Finding, Sanitized};

use crate::argument::Value;
use crate::error::Result;
use crate::grid::Grid;
use crate::kernels::{Kernels, refused};
use crate::report;

/// The stack size of a thread. The driver's default of 1 KiB is too small for formatting floats and for `{:?}`.
const STACK_BYTES: usize = 16 << 10;

/// A device with the kernels' module. Errors are strings, to which [`Device`](crate::Device) adds the line of the test.
pub(crate) struct Backend {
    loaded: Resources<Loaded>,
    kernels: &'static Kernels,
    /// The order of threads on the simulator; `None` on a GPU.
    schedule: Option<Schedule>,
    /// The sanitizers that run on the simulator.
    checks: Checks,
    name: String,
}

/// The objects on the device.
struct Loaded {
    // Fields are dropped in this order. The context comes last, because all other objects live in it.
    buffers: Vec<DeviceBuffer<u8>>,
    stream: Stream,
    module: Module,
    _context: Context,
}

impl Backend {
    /// Returns whether there is a real driver and a GPU.
    pub(crate) fn has_gpu() -> bool {
        libcuda::status().no_driver().is_none()
            && cust::init(CudaFlags::empty()).is_ok()
            && cust::device::Device::num_devices().is_ok_and(|count| count > 0)
    }

    /// Returns whether kernels on the first GPU can access host memory by host addresses (heterogeneous memory
    /// management, or a shared address space in hardware).
    pub(crate) fn gpu_reaches_host_memory() -> bool {
        if !Self::has_gpu() {
            return false;
        }
        let device = cust::device::Device::get_device(0);
        let reaches = device.and_then(|device| device.get_attribute(DeviceAttribute::PageableMemoryAccess));
        reaches.is_ok_and(|reaches| reaches != 0)
    }

    /// Opens the simulator with this order of threads, or the first GPU if there is no order.
    pub(crate) fn open(kernels: &'static Kernels, schedule: Option<Schedule>, checks: Checks) -> Result<Self, String> {
        let simulation = match (schedule, libcuda::status().no_driver()) {
            // Test programs already run their tests on all cores.
            (Some(_), _) => Some(Simulation::new(1)?),
            (None, None) => None,
            (None, Some(reason)) => return Err(format!("there is no GPU to test on: {reason}")),
        };
        let mut name = match schedule {
            Some(Schedule::Fixed) => "sim".to_owned(),
            Some(other) => format!("sim, schedule {other}"),
            None => String::new(),
        };
        let none = |error| format!("there is no GPU to test on: {} ({error:?})", libcuda::status());
        let loaded = Resources::new(simulation, || {
            cust::init(CudaFlags::empty()).map_err(none)?;
            let device = cust::device::Device::get_device(0).map_err(none)?;
            let context = Context::new(device).map_err(failed("opening the GPU"))?;
            CurrentContext::set_current(&context).map_err(failed("opening the GPU"))?;
            CurrentContext::set_resource_limit(ResourceLimit::StackSize, STACK_BYTES)
                .map_err(failed("opening the GPU"))?;
            if name.is_empty() {
                name = device.name().map_err(failed("reading the GPU's name"))?;
            }
            let module = Module::from_ptx(&kernels.ptx, &[]);
            let refused = |error| failed("loading the PTX")(error) + ": " + &compiler_log(&kernels.ptx);
            Ok::<_, String>(Loaded {
                buffers: Vec::new(),
                stream: Stream::new(StreamFlags::DEFAULT, None).map_err(failed("making a stream"))?,
                module: module.map_err(refused)?,
                _context: context,
            })
        });
        Ok(Self { loaded: loaded?, kernels, schedule, checks, name })
    }

    /// Allocates and fills a buffer. Buffers are numbered consecutively.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<(), String> {
        let upload = |loaded: &mut Loaded| {
            let buffer = DeviceBuffer::from_slice(bytes).map_err(failed("allocating and filling a buffer"))?;
            loaded.buffers.push(buffer);
            Ok(())
        };
        self.loaded.with(upload, |_, reason| reason)
    }

    /// Copies the buffer with this number to the host.
    pub(crate) fn read(&mut self, buffer: usize) -> Result<Vec<u8>, String> {
        let read = |loaded: &mut Loaded| {
            let buffer = loaded.buffers.get(buffer).ok_or("the buffer belongs to another device")?;
            let mut bytes = vec![0; buffer.len()];
            buffer.copy_to(&mut bytes).map_err(failed("copying from the device"))?;
            Ok(bytes)
        };
        self.loaded.with(read, |_, reason| reason)
    }

    /// Runs a kernel to completion and returns the simulator's counters.
    pub(crate) fn launch(
        &mut self,
        kernel: &str,
        grid: Grid,
        values: &[Value],
    ) -> Result<Option<CountedLaunch>, String> {
        let function = self.kernels.module.function(kernel).map_err(refused)?;
        let of_kernel = |reason: String| format!("kernel `{kernel}`: {reason}");
        let (schedule, checks) = (self.schedule, self.checks);
        // The driver does not check the types of arguments.
        let kinds: Vec<_> = values.iter().map(Value::kind).collect();
        params::check(&function.program().params, &kinds).map_err(of_kernel)?;
        let launch = |loaded: &mut Loaded| {
            let mut arguments = Vec::with_capacity(values.len());
            for value in values {
                arguments.push(match value {
                    Value::Bytes(bytes, _) => bytes.clone(),
                    Value::Buffer(number, _) => {
                        let buffer = loaded.buffers.get(*number).ok_or("a buffer belongs to another device")?;
                        buffer.as_device_ptr().as_raw().to_ne_bytes().to_vec()
                    }
                });
            }
            let failed = failed("running the kernel");
            let device_function = loaded.module.get_function(function.name()).map_err(&failed)?;
            // SAFETY: `device_function` borrows its module, so the module stays loaded.
            unsafe { allow_shared(device_function.to_raw(), grid.shared_bytes) }
                .map_err(|_| failed(CudaError::InvalidValue))?;
            let addresses = addresses(&mut arguments);
            if let Some(schedule) = schedule {
                let mut fault = None;
                let run = |simulator: &mut Simulator, launch: &Launch<'_>| {
                    let Sanitized { result, findings, notes } = run_on_sim(simulator, launch, schedule, checks);
                    // Uses `println!` for the reason given in `run_on_sim`.
                    notes.iter().for_each(|note| println!("kernel `{kernel}`: {note}"));
                    fault = in_words(&findings, result.as_ref().err());
                    result.map(|counters| CountedLaunch::new(launch.function.clone(), counters))
                };
                let Grid { blocks: grid, threads: block, shared_bytes } = grid;
                let kernel = Kernel { function: device_function.to_raw().addr(), grid, block, shared_bytes };
                // SAFETY: `params::check` has checked that each parameter has an argument of the parameter's size.
                let done = unsafe { libcuda::launch_with(kernel, &addresses, run) };
                return match (done, fault) {
                    (_, Some(fault)) => Err(fault),
                    (Err(reason), None) => Err(of_kernel(reason)),
                    (Ok(counted), None) => Ok(Some(counted)),
                };
            }
            let ([gx, gy, gz], [bx, by, bz]) = (grid.blocks, grid.threads);
            // SAFETY: `params::check` has checked that each parameter has an argument of the parameter's size, and the
            // driver copies the arguments before it returns. A kernel that would access host memory has already failed
            // on the simulator (`Test::run`).
            unsafe {
                loaded.stream.launch(&device_function, (gx, gy, gz), (bx, by, bz), grid.shared_bytes, &addresses)
            }
            .map_err(&failed)?;
            loaded.stream.synchronize().map_err(failed)?;
            Ok(None)
        };
        self.loaded.with(launch, |_, reason| of_kernel(reason))
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Describes the findings of a launch, or the fault that ended the launch.
fn in_words(findings: &[Finding], error: Option<&LaunchError>) -> Option<String> {
    let mut diagnostics = Diagnostic::of_findings(findings);
    match error {
        Some(LaunchError::Fault(fault)) if diagnostics.is_empty() => diagnostics.push(Diagnostic::of_fault(fault)),
        Some(other) if diagnostics.is_empty() => return Some(other.to_string()),
        _ => {}
    }
    (!diagnostics.is_empty()).then(|| format!("\n{}", texts(&diagnostics, Style::of_terminal(false))))
}

/// Runs a launch with this order of threads and the simulator's default instruction limit. Prints the kernel's output
/// together with the output of the test.
fn run_on_sim(
    simulator: &mut Simulator,
    launch: &Launch<'_>,
    schedule: Schedule,
    checks: Checks,
) -> Sanitized<SiteCounters> {
    let before = *simulator.config_mut();
    *simulator.config_mut() = Config { schedule, max_instructions: Config::default().max_instructions, ..before };
    let done = match report::of_tests() {
        Some(report) => report.launch(simulator, launch, checks),
        None => ::report::run(simulator, launch, checks),
    };
    *simulator.config_mut() = before;
    // Uses `print!`, so that the output appears with the test to which it belongs.
    print!("{}", String::from_utf8_lossy(&simulator.take_printed()));
    done
}

fn failed(doing: &'static str) -> impl Fn(CudaError) -> String {
    // cust's `Display` asks the driver for a text.
    move |error| format!("{doing} failed: {error:?}")
}
