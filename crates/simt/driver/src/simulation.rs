//! A side door for programs of this project: simulated GPUs of their own, and observers of launches.

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

/// A simulated GPU of one's own, which [`Resources`] are made on. When it is dropped, its memory and modules are freed.
pub struct Simulation {
    gpus: &'static Gpus,
    /// The number of this one.
    device: usize,
    /// Dropped last: with the last GPU, all of them are free for others.
    used: Arc<Use>,
}

/// Simulated GPUs that have one memory in common.
struct Gpus {
    driver: &'static Driver,
    /// By the numbers of the devices.
    contexts: Vec<Arc<Context>>,
    threads: usize,
    /// The device that each of them imitates; `None` for the default one.
    description: Option<Description>,
    /// Held by the thread that calls the driver. A driver's errors are those of all of its devices.
    turn: Mutex<()>,
}

/// As long as somebody uses one of them.
struct Use {
    gpus: &'static Gpus,
    /// Whether one could not be given back, so that nobody else gets them.
    is_broken: AtomicBool,
}

/// The GPUs that nobody uses any more. Their threads wait for others who do.
static FREE: Mutex<Vec<&'static Gpus>> = Mutex::new(Vec::new());

impl Simulation {
    /// A GPU that runs on so many threads of the host; 0 for one per core.
    ///
    /// # Errors
    /// The reason, in words, when the host cannot start the threads.
    pub fn new(threads: usize) -> std::result::Result<Self, String> {
        Self::several(threads, 1)?.pop().ok_or_else(|| "there is one GPU".to_owned())
    }

    /// A GPU like [`Simulation::new`], which imitates the described device: its compute capability, its number of
    /// multiprocessors, and so the number of blocks that run at the same time.
    ///
    /// # Errors
    /// The reason, in words, when the description has no board or an unknown architecture, and when the host cannot
    /// start the threads.
    pub fn of(description: &Description, threads: usize) -> std::result::Result<Self, String> {
        Self::start(threads, 1, Some(description))?.pop().ok_or_else(|| "there is one GPU".to_owned())
    }

    /// So many GPUs, 1 to 16, which have one memory in common, so that each reaches that of the others at the same addresses. They
    /// run on so many threads of the host together, and one kernel at a time: a kernel that waits for one of another GPU would
    /// wait forever.
    ///
    /// # Errors
    /// The reason, in words, when there cannot be so many, and when the host cannot start the threads.
    pub fn several(threads: usize, count: usize) -> std::result::Result<Vec<Self>, String> {
        Self::start(threads, count, None)
    }

    fn start(
        threads: usize,
        count: usize,
        description: Option<&Description>,
    ) -> std::result::Result<Vec<Self>, String> {
        let mut free = lock(&FREE);
        let is_same =
            |own: &&Gpus| (own.threads, own.contexts.len(), own.description.as_ref()) == (threads, count, description);
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

    /// The number of the device, as `cuDeviceGet` takes it.
    #[must_use]
    pub fn device(&self) -> usize {
        self.device
    }

    /// How many threads of the host it runs on.
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
        // A driver with memory that the program did not free, such as that of a graph, is not used again.
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

/// How long this thread's calls of the driver mean a simulated GPU, whose context is the current one. Other threads that call the
/// same driver wait.
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

/// What somebody has of a driver: of the one that the program's calls reach, or of a simulated GPU of one's own. It is made, used
/// and dropped while this thread's calls reach that driver.
pub struct Resources<T> {
    value: ManuallyDrop<T>,
    simulation: Option<Simulation>,
}

impl<T> Resources<T> {
    /// Makes it on a simulated GPU, or on the driver that the program's calls reach.
    ///
    /// # Errors
    /// When `make` fails.
    pub fn new<E>(
        simulation: Option<Simulation>,
        make: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<Self, E> {
        let inside = simulation.as_ref().map(EnteredGpu::of);
        let value = make();
        drop(inside);
        Ok(Self { value: ManuallyDrop::new(value?), simulation })
    }

    /// What does not need the driver.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// Does something with it. After an error, a simulated GPU goes on, as no other does: memory is what it was when the kernel
    /// ended. `because` gets the error, and what a simulated driver has to say about it in words, if it has.
    ///
    /// # Errors
    /// What `because` makes of the error of `act`.
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
        // SAFETY: it is not used any more.
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

/// Lets `run` run a kernel on the machine of the simulated GPU that this thread's calls reach: with observers, or only some of its
/// blocks.
///
/// # Errors
/// The reason, in words, when the driver refuses the launch, the kernel fails, or this thread's calls reach no simulated GPU.
///
/// # Safety
/// `params` are the addresses of as many arguments as the kernel has parameters, each of its parameter's size.
pub unsafe fn launch_with<R>(
    kernel: Kernel,
    params: &[*mut c_void],
    run: impl FnOnce(&mut Simulator, &Launch<'_>) -> std::result::Result<R, LaunchError>,
) -> std::result::Result<R, String> {
    let driver = state::inside().ok_or("only a simulated GPU of one's own runs kernels so")?;
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

/// An error as its reason, or as its code's name where that says all.
fn words(error: Error) -> String {
    if error.reason.is_empty() { error.code.to_string() } else { error.reason }
}
