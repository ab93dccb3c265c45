//! The driver as a whole: its devices, the machine behind them, and the work that waits.

use std::sync::{Mutex, MutexGuard, OnceLock};

use simt::{Config, Machine};

use crate::call::{Out, functions};
use crate::device::{self, Device};
use crate::error::{Code, Error, Result};
use crate::handles::lock;
use crate::queue::Queue;

/// The newest version of CUDA whose interface the driver has: 13.0.
pub(crate) const VERSION: i32 = 13000;

/// The number of warp instructions after which a launch is taken for endless.
const MAX_INSTRUCTIONS: u64 = 1 << 44;

/// The driver, once it is initialized.
pub(crate) struct Driver {
    /// The simulated GPUs. They have one memory in common, as unified addressing makes it look.
    pub(crate) devices: Vec<Device>,
    machine: Mutex<Machine>,
    pub(crate) queue: Queue,
    /// The process that initialized it: its threads do not exist in a child that it forks.
    process: u32,
}

static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();

/// The driver: `CUDA_ERROR_NOT_INITIALIZED` before `cuInit`, and in a process that was forked behind it.
pub(crate) fn driver() -> Result<&'static Driver> {
    let driver = DRIVER.get().ok_or(Code::NOT_INITIALIZED)?;
    let driver = driver.as_ref().map_err(Clone::clone)?;
    match driver.process == std::process::id() {
        true => Ok(driver),
        false => Err(Code::NOT_INITIALIZED.into()),
    }
}

impl Driver {
    fn start() -> Result<Self> {
        let devices = device::simulated()?;
        let available = simt::run::available_memory().unwrap_or(u64::MAX);
        let memory: u64 = devices.iter().map(|device| device.memory_bytes).sum();
        let config =
            Config { max_instructions: MAX_INSTRUCTIONS, max_memory_bytes: memory.min(available), ..Config::default() };
        let machine = Machine::new(config);
        let machine = machine.map_err(|error| Error::new(Code::OUT_OF_MEMORY, error.to_string()))?;
        Ok(Self { devices, machine: Mutex::new(machine), queue: Queue::default(), process: std::process::id() })
    }

    /// The machine. While a kernel runs, this waits for its end.
    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine> {
        lock(&self.machine)
    }

    /// A device by its number.
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
        DRIVER.get_or_init(Driver::start);
        driver().map(drop)
    }

    fn cuDriverGetVersion(version: Out<i32>) {
        version.set(VERSION)
    }
}
