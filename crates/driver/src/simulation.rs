//! A side door for programs of this project: simulated GPUs of their own, and observers of launches.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use simt::{Launch, LaunchError, Machine};

use crate::abi::error::{Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::gpu::context::{self, Context};
use crate::gpu::launch::Request;
use crate::gpu::memory;
use crate::gpu::op::LaunchOp;
use crate::gpu::state::{self, Driver};

/// A simulated GPU of one's own. While a thread is [inside](Simulation::enter) of it, the driver's functions mean this GPU,
/// and its context is the current one.
pub struct Simulation {
    driver: &'static Driver,
    context: Arc<Context>,
    threads: usize,
}

/// The simulations that nobody uses any more. Their threads wait for others who do.
static FREE: Mutex<Vec<Simulation>> = Mutex::new(Vec::new());

/// How long this thread's calls go to a [`Simulation`].
pub struct Inside<'a> {
    previous: Option<&'static Driver>,
    contexts: Vec<Arc<Context>>,
    simulation: PhantomData<&'a Simulation>,
    /// It belongs to one thread.
    thread: PhantomData<*const ()>,
}

impl Simulation {
    /// A GPU that runs on so many threads of the host; 0 for one per core.
    ///
    /// # Errors
    /// The reason, in words, when the host cannot start the threads.
    #[expect(clippy::new_ret_no_self, reason = "a new one is in use from the beginning")]
    pub fn new(threads: usize) -> std::result::Result<InUse, String> {
        let mut free = lock(&FREE);
        let kept = free.iter().position(|own| own.threads == threads).map(|at| free.swap_remove(at));
        drop(free);
        let simulation = match kept {
            Some(kept) => kept,
            None => Self::start(threads).map_err(|error| error.reason)?,
        };
        let inside = simulation.enter();
        let retained = simulation.context.retain();
        drop(inside);
        retained.map_err(|error| error.code.to_string())?;
        Ok(InUse(Some(simulation)))
    }

    fn start(threads: usize) -> Result<Self> {
        let driver: &'static Driver = Box::leak(Box::new(Driver::start(threads, true)?));
        let previous = state::enter(Some(driver));
        let context = Context::primary(0);
        state::enter(previous);
        Ok(Self { driver, context: context?, threads })
    }

    /// Lets this thread's calls of the driver mean this GPU, as long as the guard lives.
    #[must_use]
    pub fn enter(&self) -> Inside<'_> {
        let previous = state::enter(Some(self.driver));
        let contexts = context::replace_stack(vec![self.context.clone()]);
        Inside { previous, contexts, simulation: PhantomData, thread: PhantomData }
    }

    /// How many threads of the host it runs on.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.driver.machine().threads()
    }

    /// The bytes behind an address, if it is that of memory of this GPU: the first address of the allocation, and its size.
    #[must_use]
    pub fn range(&self, address: u64) -> Option<(u64, u64)> {
        memory::range_of(address).map(|range| (range.base, range.bytes))
    }

    /// What the driver has said since the last time, in words: why kernels have failed.
    #[must_use]
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.driver.messages))
    }

    /// Goes on after an error of a kernel, as no GPU does: memory is what it was when the kernel ended.
    pub fn forgive(&self) {
        self.driver.forgive();
    }

    /// Lets `run` run a kernel on this GPU's machine, with observers, or only some of its blocks.
    ///
    /// # Errors
    /// The reason, in words, when the driver refuses the launch or the kernel fails.
    ///
    /// # Safety
    /// `params` are the addresses of as many arguments as the kernel has parameters, each of its parameter's size.
    pub unsafe fn launch_with<R>(
        &self,
        kernel: Kernel,
        params: &[*const c_void],
        run: impl FnOnce(&mut Machine, &Launch<'_>) -> std::result::Result<R, LaunchError>,
    ) -> std::result::Result<R, String> {
        let _inside = self.enter();
        let Kernel { function, grid, block, shared_bytes } = kernel;
        let request = Request {
            function,
            grid,
            block,
            shared_bytes,
            cluster: None,
            is_cooperative: false,
            params: params.as_ptr(),
            extra: std::ptr::null(),
        };
        let words = |error: Error| if error.reason.is_empty() { error.code.to_string() } else { error.reason };
        let op = request.prepare().map_err(words)?;
        self.context.synchronize().map_err(words)?;
        let mut machine = self.driver.machine();
        op.configure(&mut machine, &self.context);
        let LaunchOp { function, args, .. } = &op;
        let launch = Launch::new(&function.kernel, grid, block, args).with_shared_bytes(shared_bytes);
        let result = run(&mut machine, &launch);
        memory::keep_printed(machine.take_printed());
        drop(machine);
        memory::print_printed();
        result.map_err(|error| error.to_string())
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

/// A [`Simulation`] that is in use. When it is dropped, its memory and modules are freed.
pub struct InUse(Option<Simulation>);

impl std::ops::Deref for InUse {
    type Target = Simulation;

    fn deref(&self) -> &Simulation {
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(simulation) = self.0.take() {
            let inside = simulation.enter();
            let released = simulation.context.release();
            simulation.driver.machine().memory_mut().begin_again();
            drop(inside);
            if released.is_ok() {
                lock(&FREE).push(simulation);
            }
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        context::replace_stack(std::mem::take(&mut self.contexts));
        state::enter(self.previous);
    }
}
