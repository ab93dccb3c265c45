//! A side door for programs of this project: simulated GPUs of their own, and observers of launches.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

use simt::{Launch, LaunchError, Machine};

use crate::abi::error::{Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::gpu::context::{self, Context};
use crate::gpu::launch::Request;
use crate::gpu::memory;
use crate::gpu::op::LaunchOp;
use crate::gpu::state::{self, Driver};

/// A simulated GPU of one's own, which [`Resources`] are made on. When it is dropped, its memory and modules are freed.
pub struct Simulation(&'static Gpu);

struct Gpu {
    driver: &'static Driver,
    context: Arc<Context>,
    threads: usize,
}

/// The GPUs that nobody uses any more. Their threads wait for others who do.
static FREE: Mutex<Vec<&'static Gpu>> = Mutex::new(Vec::new());

impl Simulation {
    /// A GPU that runs on so many threads of the host; 0 for one per core.
    ///
    /// # Errors
    /// The reason, in words, when the host cannot start the threads.
    pub fn new(threads: usize) -> std::result::Result<Self, String> {
        let mut free = lock(&FREE);
        let kept = free.iter().position(|own| own.threads == threads).map(|at| free.swap_remove(at));
        drop(free);
        let gpu = kept.map_or_else(|| Gpu::start(threads), Ok).map_err(words)?;
        let _inside = Inside::enter(gpu);
        gpu.context.retain().map_err(words)?;
        Ok(Self(gpu))
    }

    /// How many threads of the host it runs on.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.driver.machine().threads()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let inside = Inside::enter(self.0);
        let released = self.0.context.release();
        self.0.driver.machine().memory_mut().begin_again();
        drop(inside);
        if released.is_ok() {
            lock(&FREE).push(self.0);
        }
    }
}

impl Gpu {
    fn start(threads: usize) -> Result<&'static Self> {
        let driver: &'static Driver = Box::leak(Box::new(Driver::start(threads, true)?));
        let previous = state::enter(Some(driver));
        let context = Context::primary(0);
        state::enter(previous);
        Ok(Box::leak(Box::new(Self { driver, context: context?, threads })))
    }
}

/// How long this thread's calls of the driver mean a simulated GPU, whose context is the current one.
struct Inside {
    previous: Option<&'static Driver>,
    contexts: Vec<Arc<Context>>,
}

impl Inside {
    fn enter(gpu: &'static Gpu) -> Self {
        let previous = state::enter(Some(gpu.driver));
        Self { previous, contexts: context::replace_stack(vec![gpu.context.clone()]) }
    }
}

impl Drop for Inside {
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
        let inside = simulation.as_ref().map(|own| Inside::enter(own.0));
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
        let Some(Simulation(gpu)) = &self.simulation else { return act(&mut self.value) };
        let _inside = Inside::enter(gpu);
        let result = act(&mut self.value);
        let said = std::mem::take(&mut *lock(&gpu.driver.messages)).pop();
        gpu.driver.forgive();
        result.map_err(|error| match said {
            Some(said) => because(error, said),
            None => error,
        })
    }
}

impl<T> Drop for Resources<T> {
    fn drop(&mut self) {
        let _inside = self.simulation.as_ref().map(|own| Inside::enter(own.0));
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
    run: impl FnOnce(&mut Machine, &Launch<'_>) -> std::result::Result<R, LaunchError>,
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
    context.synchronize().map_err(words)?;
    let mut machine = driver.machine();
    op.configure(&mut machine, &context);
    let LaunchOp { function, args, .. } = &op;
    let launch = Launch::new(&function.kernel, grid, block, args).with_shared_bytes(shared_bytes);
    let result = run(&mut machine, &launch);
    memory::keep_printed(machine.take_printed());
    drop(machine);
    memory::print_printed();
    result.map_err(|error| error.to_string())
}

/// An error as its reason, or as its code's name where that says all.
fn words(error: Error) -> String {
    if error.reason.is_empty() { error.code.to_string() } else { error.reason }
}
