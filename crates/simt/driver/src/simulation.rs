//! An entry point for programs of this project: private devices, and observers of launches.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use devices::Description;
use simt::{Launch, LaunchError, Simulator};

use crate::abi::error::{Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::abi::report;
use crate::calls;
use crate::gpu::capture;
use crate::gpu::context::{self, Context};
use crate::gpu::device;
use crate::gpu::launch::Request;
use crate::gpu::op::LaunchOp;
use crate::gpu::state::{self, Driver};

/// A private device `sim`, on which [`Resources`] are created. Dropping it frees its memory and modules.
pub struct Simulation {
    gpus: &'static Gpus,
    /// The number of this device.
    device: usize,
    /// Keeps the devices of this group in use. When the last device is dropped, the group becomes available again.
    used: Arc<Use>,
}

/// Devices that share one memory.
struct Gpus {
    driver: &'static Driver,
    /// The primary contexts, indexed by device number.
    contexts: Vec<Arc<Context>>,
    threads: usize,
    /// The device that all devices of the group imitate; `None` for the default device.
    description: Option<Description>,
    /// The lock that the thread calling the driver holds, because an error of a driver applies to all of its devices.
    turn: Mutex<()>,
}

/// Keeps a group of devices in use.
struct Use {
    gpus: &'static Gpus,
    /// Whether a device could not be released. A broken group is not reused.
    is_broken: AtomicBool,
}

/// The groups that are not in use. Their threads wait until a group is reused.
static FREE: Mutex<Vec<&'static Gpus>> = Mutex::new(Vec::new());

impl Simulation {
    /// Creates a device that runs on `threads` host threads; 0 means one per core.
    ///
    /// # Errors
    /// Returns a message when the host cannot start the threads.
    pub fn new(threads: usize) -> std::result::Result<Self, String> {
        Self::several(threads, 1)?.pop().ok_or_else(|| "the simulation created no device".to_owned())
    }

    /// Creates a device like [`Simulation::new`] that imitates the described device. The new device has the same
    /// compute capability and number of multiprocessors, and therefore runs the same number of blocks at a time.
    ///
    /// # Errors
    /// Returns a message when the description has no board or an unknown architecture, and when the host cannot start
    /// the threads.
    pub fn of(description: &Description, threads: usize) -> std::result::Result<Self, String> {
        Self::start(threads, 1, Some(description))?.pop().ok_or_else(|| "the simulation created no device".to_owned())
    }

    /// Creates `count` devices, 1 to 16, which share one memory. Each device accesses the memory of the other devices
    /// at the same addresses. The devices share `threads` host threads and run one kernel at a time, so a kernel must
    /// not wait for a kernel of another device.
    ///
    /// # Errors
    /// Returns a message when `count` is out of range, and when the host cannot start the threads.
    pub fn several(threads: usize, count: usize) -> std::result::Result<Vec<Self>, String> {
        Self::start(threads, count, None)
    }

    fn start(
        threads: usize,
        count: usize,
        description: Option<&Description>,
    ) -> std::result::Result<Vec<Self>, String> {
        let mut free = lock(&FREE);
        let is_same = |gpus: &&Gpus| {
            (gpus.threads, gpus.contexts.len(), gpus.description.as_ref()) == (threads, count, description)
        };
        let kept = free.iter().position(is_same).map(|at| free.swap_remove(at));
        drop(free);
        let gpus = kept.map_or_else(|| Gpus::start(threads, count, description), Ok).map_err(words)?;
        let used = Arc::new(Use { gpus, is_broken: false.into() });
        let open = |device| {
            let _inside = EnteredGpu::enter(gpus, device);
            gpus.contexts[device].retain().map_err(words)?;
            Ok(Self { gpus, device, used: used.clone() })
        };
        (0..count).map(open).collect()
    }

    /// Returns the number of the device, as `cuDeviceGet` expects it.
    #[must_use]
    pub fn device(&self) -> usize {
        self.device
    }

    /// Returns the number of host threads that the device runs on.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.gpus.driver.simulator().threads()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let _inside = EnteredGpu::enter(self.gpus, self.device);
        if calls::context::release(&self.gpus.contexts[self.device]).is_err() {
            self.used.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // A driver that still holds memory, such as the memory of a graph, is not reused.
        let is_free = state::within(self.gpus.driver, capture::is_empty) && self.gpus.driver.begin();
        if is_free && !self.is_broken.load(Ordering::Relaxed) {
            lock(&FREE).push(self.gpus);
        }
    }
}

impl Gpus {
    fn start(threads: usize, count: usize, description: Option<&Description>) -> Result<&'static Self> {
        let devices = device::described(description, count)?;
        let driver: &'static Driver = Box::leak(Box::new(Driver::start(threads, Some(devices))?));
        let previous = state::enter(Some(driver));
        let contexts = (0..count as i32).map(Context::primary).collect::<Result<_>>();
        state::enter(previous);
        let (description, turn) = (description.cloned(), Mutex::default());
        Ok(Box::leak(Box::new(Self { driver, contexts: contexts?, threads, description, turn })))
    }
}

/// Directs this thread's driver calls to a private device and makes that device's context current. Other threads that
/// call the same driver wait until this value is dropped.
struct EnteredGpu {
    previous: Option<&'static Driver>,
    contexts: Vec<Arc<Context>>,
    _turn: MutexGuard<'static, ()>,
}

impl EnteredGpu {
    fn enter(gpus: &'static Gpus, device: usize) -> Self {
        let turn = lock(&gpus.turn);
        let previous = state::enter(Some(gpus.driver));
        let contexts = context::replace_stack(vec![gpus.contexts[device].clone()]);
        Self { previous, contexts, _turn: turn }
    }

    fn of(simulation: &Simulation) -> Self {
        Self::enter(simulation.gpus, simulation.device)
    }
}

impl Drop for EnteredGpu {
    fn drop(&mut self) {
        context::replace_stack(std::mem::take(&mut self.contexts));
        state::enter(self.previous);
    }
}

/// A value that belongs to a driver: the driver that the program's calls reach, or that of a private device. The value
/// is created, used and dropped while this thread's calls reach that driver.
pub struct Resources<T> {
    value: ManuallyDrop<T>,
    simulation: Option<Simulation>,
}

impl<T> Resources<T> {
    /// Creates the value on a private device, or on the driver that the program's calls reach.
    ///
    /// # Errors
    /// Returns the error of `make`.
    pub fn new<E>(
        simulation: Option<Simulation>,
        make: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<Self, E> {
        let inside = simulation.as_ref().map(EnteredGpu::of);
        let value = make();
        drop(inside);
        Ok(Self { value: ManuallyDrop::new(value?), simulation })
    }

    /// Returns the value, for uses that do not need the driver.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// Runs `act` on the value. Unlike a GPU, a private device continues after an error; its memory stays as it was
    /// when the kernel ended. `because` receives the error and the driver's message about it, if there is a message.
    ///
    /// # Errors
    /// Returns the error of `act`, or the error that `because` derives from it.
    pub fn with<R, E>(
        &mut self,
        act: impl FnOnce(&mut T) -> std::result::Result<R, E>,
        because: impl FnOnce(E, String) -> E,
    ) -> std::result::Result<R, E> {
        let Some(simulation) = &self.simulation else { return act(&mut self.value) };
        let _inside = EnteredGpu::of(simulation);
        let result = act(&mut self.value);
        let driver = simulation.gpus.driver;
        let said = report::take_kept().pop();
        driver.forgive();
        result.map_err(|error| match said {
            Some(said) => because(error, said),
            None => error,
        })
    }
}

impl<T> Drop for Resources<T> {
    fn drop(&mut self) {
        let _inside = self.simulation.as_ref().map(EnteredGpu::of);
        // SAFETY: `self` is being dropped, so `value` is not used again.
        unsafe { ManuallyDrop::drop(&mut self.value) };
    }
}

/// A kernel and the geometry of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The driver's handle of the function (`CUfunction`), whose module is loaded.
    pub function: Handle,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
}

/// Calls `run` to run a kernel on the simulator of the private device that this thread's calls reach. `run` may add
/// observers, or run only some of the blocks.
///
/// # Errors
/// Returns a message when the driver refuses the launch, the kernel fails, or this thread's calls reach no private
/// device.
///
/// # Safety
/// The caller must ensure that `params` holds one address per parameter of the kernel, and that each address points to
/// an argument of the parameter's size.
pub unsafe fn launch_with<R>(
    kernel: Kernel,
    params: &[*mut c_void],
    run: impl FnOnce(&mut Simulator, &Launch<'_>) -> std::result::Result<R, LaunchError>,
) -> std::result::Result<R, String> {
    let driver = state::inside().ok_or("`launch_with` must be called inside a `Simulation`")?;
    let Kernel { function, grid, block, shared_bytes } = kernel;
    let request = Request {
        function,
        grid,
        block,
        shared_bytes,
        cluster: None,
        is_cooperative: false,
        params: params.as_ptr().cast(),
        extra: std::ptr::null(),
    };
    let context = context::current().map_err(words)?;
    let op = request.prepare().map_err(words)?;
    calls::context::synchronize(&context).map_err(words)?;
    let mut simulator = driver.simulator();
    op.configure(&mut simulator, &context);
    let LaunchOp { function, args, .. } = &op;
    let launch = Launch::new(&function.kernel, grid, block, args).with_shared_bytes(shared_bytes);
    let result = run(&mut simulator, &launch);
    lock(&driver.printed).extend(simulator.take_printed());
    drop(simulator);
    driver.print_printed();
    result.map_err(|error| error.to_string())
}

/// Returns the reason for an error, or the name of its code if there is no reason.
fn words(error: Error) -> String {
    if error.reason.is_empty() { error.code.to_string() } else { error.reason }
}
