//! The driver: its devices and the simulator that they run on. Other modules hold the objects that programs create, for
//! each driver ([`handles::PerDriver`]).

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock};

use simt::{Config, Simulator};

use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{self, lock};
use crate::abi::platform;
use crate::code::image::DRIVER_VERSION;
use crate::gpu::device::{self, Device};
use crate::gpu::sanitize::Sanitizer;

/// The newest CUDA version whose interface the driver implements: 13.0.
const VERSION: i32 = 13000;

/// Returns the CUDA version that programs see, such as 12080 for 12.8.
///
/// # Errors
/// Returns `CUDA_ERROR_INVALID_VALUE` when [`DRIVER_VERSION`] is not a version of the form `major.minor`.
pub(crate) fn version() -> Result<i32> {
    static GIVEN: LazyLock<Result<i32>> = LazyLock::new(|| {
        let Some(text) = std::env::var_os(DRIVER_VERSION).filter(|text| !text.is_empty()) else { return Ok(VERSION) };
        let text = text.to_string_lossy();
        let number = |text: &str| text.parse::<i32>().ok();
        let numbers = text.split_once('.').and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        match numbers {
            Some((major @ 11..=99, minor @ 0..=99)) => Ok(major * 1000 + minor * 10),
            _ => {
                let what = format!("{DRIVER_VERSION}={text} is not a CUDA version such as 12.8; the oldest is 11.0");
                Err(Error::new(Code::INVALID_VALUE, what))
            }
        }
    });
    GIVEN.clone()
}

/// The number of warp instructions after which a launch is considered endless.
const MAX_INSTRUCTIONS: u64 = 1 << 44;

/// An initialized driver.
pub(crate) struct Driver {
    /// The devices. They share one memory, just as devices with unified addressing appear to share one.
    pub(crate) devices: Vec<Device>,
    /// The number that separates the handles and addresses of the drivers in the process; 0 for the driver that the
    /// program's calls reach.
    pub(crate) number: usize,
    simulator: Mutex<Simulator>,
    /// The error of a kernel that ended a context. Once it is set, no context can begin in this process.
    fault: Mutex<Option<Code>>,
    /// The output of kernels that has not been printed yet.
    pub(crate) printed: Mutex<Vec<u8>>,
    /// The sanitizers for kernels.
    pub(crate) sanitizer: Sanitizer,
    /// The process that initialized the driver. Its threads do not exist in a forked child.
    process: u32,
}

thread_local! {
    /// The private driver that this thread currently uses, if any.
    static INSIDE: Cell<Option<&'static Driver>> = const { Cell::new(None) };
}

/// Makes this thread use a driver and returns the driver that it used before.
pub(crate) fn enter(driver: Option<&'static Driver>) -> Option<&'static Driver> {
    handles::enter(driver.map_or(0, |driver| driver.number));
    INSIDE.replace(driver)
}

/// Runs `act` inside a driver.
pub(crate) fn within<R>(driver: &'static Driver, act: impl FnOnce() -> R) -> R {
    let previous = enter(Some(driver).filter(|driver| driver.number > 0));
    let result = act();
    enter(previous);
    result
}

/// Returns the private driver that this thread currently uses.
pub(crate) fn inside() -> Option<&'static Driver> {
    INSIDE.get()
}

/// Returns whether this thread's calls reach a private driver.
#[must_use]
pub fn is_inside() -> bool {
    INSIDE.get().is_some()
}

static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();

/// Returns the driver, or `CUDA_ERROR_NOT_INITIALIZED` before `cuInit` and in a process that was forked after that
/// call.
pub(crate) fn driver() -> Result<&'static Driver> {
    if let Some(driver) = INSIDE.get() {
        return Ok(driver);
    }
    let driver = DRIVER.get().ok_or(Code::NOT_INITIALIZED)?;
    let driver = driver.as_ref().map_err(Clone::clone)?;
    match driver.process == std::process::id() {
        true => Ok(driver),
        false => Err(Code::NOT_INITIALIZED.into()),
    }
}

/// Returns the driver that the program's calls reach, if this process started it.
pub(crate) fn started() -> Option<&'static Driver> {
    DRIVER.get()?.as_ref().ok().filter(|driver| driver.process == std::process::id())
}

/// Returns whether the program's calls reach a driver that the parent of this process started.
pub(crate) fn is_child() -> bool {
    matches!(DRIVER.get(), Some(Ok(driver)) if driver.process != std::process::id())
}

impl Driver {
    /// Starts a driver whose simulator runs on `threads` threads; 0 means one per core. The devices are
    /// `private_devices`, or the devices that the environment requests.
    pub(crate) fn start(threads: usize, private_devices: Option<Vec<Device>>) -> Result<Self> {
        let is_private = private_devices.is_some();
        let devices = private_devices.map_or_else(device::simulated, Ok)?;
        let available = simt::run::available_memory().unwrap_or(u64::MAX);
        let memory: u64 = devices.iter().map(|device| device.memory_bytes).sum();
        let max_memory_bytes = memory.min(available);
        let config = Config { threads, max_instructions: MAX_INSTRUCTIONS, max_memory_bytes, ..Config::default() };
        let simulator = Simulator::new(config);
        let simulator = simulator.map_err(|error| Error::new(Code::OUT_OF_MEMORY, error.to_string()))?;
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let number = if is_private { NEXT.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let driver = Self {
            devices,
            number,
            simulator: Mutex::new(simulator),
            fault: Mutex::default(),
            printed: Mutex::default(),
            sanitizer: if is_private { Sanitizer::default() } else { Sanitizer::from_environment()? },
            process: std::process::id(),
        };
        driver.begin();
        Ok(driver)
    }

    /// Selects the address range of this driver if nothing is allocated, and returns whether that was the case.
    pub(crate) fn begin(&self) -> bool {
        self.simulator().memory_mut().select_user(self.number as u64)
    }

    /// Locks and returns the simulator. While a kernel runs, this waits until the kernel ends.
    pub(crate) fn simulator(&self) -> MutexGuard<'_, Simulator> {
        lock(&self.simulator)
    }

    /// Prints the output of kernels to C's `stdout`, so that it is ordered with the program's output.
    pub(crate) fn print_printed(&self) {
        let printed = std::mem::take(&mut *lock(&self.printed));
        if !printed.is_empty() {
            platform::print(&printed);
        }
    }

    /// Ends all contexts with the error of a kernel. Later errors do not replace the first error.
    pub(crate) fn poison(&self, code: Code) {
        lock(&self.fault).get_or_insert(code);
    }

    /// Returns the error of a kernel that ended all contexts, if there was one.
    pub(crate) fn fault(&self) -> Option<Code> {
        *lock(&self.fault)
    }

    /// Clears the error, so that contexts can continue.
    pub(crate) fn forgive(&self) {
        *lock(&self.fault) = None;
    }

    /// Returns a device by number.
    pub(crate) fn device(&self, number: i32) -> Result<&Device> {
        let device = usize::try_from(number).ok().and_then(|number| self.devices.get(number));
        device.ok_or_else(|| Code::INVALID_DEVICE.into())
    }
}

functions! {
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        if inside().is_none() {
            version()?;
            DRIVER.get_or_init(|| Driver::start(0, None));
        }
        driver().map(drop)
    }

    fn cuDriverGetVersion(version: Out<i32>) {
        version.set(self::version()?)
    }
}
