//! A launch: its geometry, its arguments, and the distribution of blocks to host threads.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use super::arg::{Arg, parameters};
use super::block::{Exchange, LaunchState};
use super::fault::Fault;
use super::geometry::{GeometryLimits, cluster_of};
use super::heap::Heap;
use super::instance::InstanceError;
use super::residents::{Blocks, HostThread};
use super::schedule::Schedule;
use super::simulator::Simulator;
use crate::code::Program;
use crate::demangle::demangled;
use crate::memory::global::MemoryError;
use crate::module::Function;
use crate::observe::{Observer, Requests};

/// The size in bytes of a cooperative launch's workspace, which contains the grid's barrier.
const WORKSPACE: u64 = 64;

/// A kernel together with the geometry and arguments of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The kernel.
    pub function: &'a Function,
    /// The size of the grid, in blocks in x, y and z.
    pub grid: [u32; 3],
    /// The size of a block, in threads in x, y and z.
    pub block: [u32; 3],
    /// The number of bytes of dynamic shared memory of each block.
    pub shared_bytes: u32,
    /// One argument for each of the kernel's parameters.
    pub args: &'a [Arg],
    /// Whether all blocks run at the same time and may synchronize as one grid
    /// (`cooperative_groups::this_grid().sync()`).
    pub cooperative: bool,
    /// The numbers of the blocks to run, with x fastest; `None` runs all blocks of the grid. In a launch with clusters,
    /// every cluster that contains one of these blocks runs completely.
    pub blocks: Option<&'a [u64]>,
    /// The size of a cluster, in blocks in x, y and z. `None` stands for the size that the kernel requires
    /// (`.reqnctapercluster`), or 1 if the kernel does not require a size.
    pub cluster: Option<[u32; 3]>,
}

impl<'a> Launch<'a> {
    /// Creates a launch of a whole grid without dynamic shared memory.
    pub fn new(function: &'a Function, grid: [u32; 3], block: [u32; 3], args: &'a [Arg]) -> Self {
        Self { function, grid, block, shared_bytes: 0, args, cooperative: false, blocks: None, cluster: None }
    }

    /// Makes the launch cooperative, as with `cudaLaunchCooperativeKernel`.
    #[must_use]
    pub fn with_cooperative(self, cooperative: bool) -> Self {
        Self { cooperative, ..self }
    }

    /// Sets the cluster size, in blocks in x, y and z.
    #[must_use]
    pub fn with_cluster(self, cluster: Option<[u32; 3]>) -> Self {
        Self { cluster, ..self }
    }

    /// Sets the number of bytes of dynamic shared memory of each block.
    #[must_use]
    pub fn with_shared_bytes(self, shared_bytes: u32) -> Self {
        Self { shared_bytes, ..self }
    }

    /// Runs only some of the grid's blocks, as a sample of a launch that would take too long. The skipped blocks do not
    /// write to memory, so the results of the launch are incomplete. A kernel whose blocks wait for skipped blocks ends
    /// with a [`LaunchError::Fault`].
    #[must_use]
    pub fn with_blocks(self, blocks: Option<&'a [u64]>) -> Self {
        Self { blocks, ..self }
    }
}

/// The reason why a launch was rejected or ended early.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No GPU can launch the kernel with this geometry.
    #[error("kernel `{}`: {problem}", demangled(.kernel))]
    Geometry {
        /// The kernel.
        kernel: String,
        /// The reason, in words.
        problem: String,
    },
    /// The arguments do not match the kernel's parameters.
    #[error("kernel `{}`: {problem}", demangled(.kernel))]
    Arguments {
        /// The kernel.
        kernel: String,
        /// The reason, in words.
        problem: String,
    },
    /// There is no memory for a module-scope variable that the kernel uses.
    #[error("kernel `{}`: its module's variable `{}`: {source}", demangled(.kernel), demangled(.variable))]
    Variable {
        /// The kernel.
        kernel: String,
        /// The variable.
        variable: String,
        /// The reason why the memory cannot be allocated.
        source: MemoryError,
    },
    /// The instance that the kernel belongs to cannot be used.
    #[error("kernel `{}`: {source}", demangled(.kernel))]
    Instance {
        /// The kernel.
        kernel: String,
        /// The reason: the instance was unloaded, or another simulator has loaded it.
        source: InstanceError,
    },
    /// The kernel faulted. Buffers hold the values written before the fault.
    #[error(transparent)]
    Fault(Box<Fault>),
}

crate::error::debug_like_display!(LaunchError);

impl LaunchError {
    pub(super) fn geometry(program: &Program, problem: String) -> Self {
        let kernel = program.functions[0].name.clone();
        Self::Geometry { kernel, problem }
    }
}

impl Simulator {
    /// Runs a kernel to completion, like [`Simulator::launch`], and returns the observer with its observations.
    ///
    /// ```
    /// use simt::observe::{Access, AccessKind, Observer, WarpId, Site};
    ///
    /// /// Counts the threads that store something.
    /// struct Stores(u32);
    ///
    /// impl Observer for Stores {
    ///     fn fork(&self) -> Self {
    ///         Stores(0)
    ///     }
    ///     fn merge(&mut self, other: Self) {
    ///         self.0 += other.0;
    ///     }
    ///     fn access(&mut self, _: Site, _: WarpId, access: &Access<'_>) {
    ///         if access.kind == AccessKind::Store {
    ///             self.0 += access.mask.count_ones();
    ///         }
    ///     }
    /// }
    ///
    /// # const FILL: &str = ".version 8.0
    /// # .target sm_80
    /// # .address_size 64
    /// # .entry fill(.param .u64 to, .param .u32 value)
    /// # {
    /// #     .reg .b32 %r<3>;
    /// #     .reg .b64 %rd<4>;
    /// #     ld.param.u64 %rd1, [to];
    /// #     ld.param.u32 %r1, [value];
    /// #     mov.u32 %r2, %tid.x;
    /// #     mul.wide.u32 %rd2, %r2, 4;
    /// #     add.s64 %rd3, %rd1, %rd2;
    /// #     st.global.u32 [%rd3], %r1;
    /// #     ret;
    /// # }";
    /// let fill = simt::Module::from_ptx(FILL)?.function("fill")?;
    /// let mut simulator = simt::Simulator::new(simt::Config::default())?;
    /// let to = simulator.zeroed::<u32>(100)?;
    /// let args = [to.into(), 7u32.into()];
    /// let seen = simulator.launch_observed(&simt::Launch::new(&fill, [1, 1, 1], [100, 1, 1], &args), Stores(0))?;
    /// assert_eq!(seen.0, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns a [`LaunchError`] when the geometry or the arguments do not match the kernel, when there is no memory
    /// for a variable of the module, or when the kernel faults: see [`Simulator::launch`].
    pub fn launch_observed<O: Observer>(&mut self, launch: &Launch<'_>, observer: O) -> Result<O, LaunchError> {
        let program = &*launch.function.program;
        let missing = |variable: &str, source| LaunchError::Variable {
            kernel: program.functions[0].name.clone(),
            variable: variable.to_owned(),
            source,
        };
        if !observer.records_writes() {
            self.global.set_written();
        }
        let heap = self.heap.get_mut().expect("the heap does not panic");
        if program.uses_heap() && heap.base.is_none() {
            let bytes = self.config.heap_bytes;
            let base = self.global.allocate(bytes);
            *heap = Heap::new(base.map_err(|source| missing("the heap", source))?, bytes);
        }
        let printed = self.printed.get_mut();
        printed.expect("printing does not panic").begin();
        if !launch.cooperative {
            return self.launch_in(launch, observer, 0);
        }
        let workspace = self.global.allocate(WORKSPACE);
        let workspace = workspace.map_err(|source| missing("the grid's barrier", source))?;
        let result = self.launch_in(launch, observer, workspace);
        self.global.free(workspace);
        result
    }

    /// Runs a kernel to completion. `workspace` is the memory for the grid's barrier of a cooperative launch.
    fn launch_in<O: Observer>(
        &mut self,
        launch: &Launch<'_>,
        mut observer: O,
        workspace: u64,
    ) -> Result<O, LaunchError> {
        let Launch { function, grid, block, shared_bytes, args, cooperative, blocks: chosen, cluster } = *launch;
        let program = &*function.program;
        let refused = |problem| LaunchError::geometry(program, problem);
        let limits = GeometryLimits::LARGEST;
        limits.check(program, grid, block, shared_bytes).map_err(refused)?;
        let explicit_cluster = cluster.or(program.required_cluster);
        let cluster = cluster_of(program, cluster).map_err(refused)?;
        limits.check_cluster(grid, cluster).map_err(refused)?;
        let all = grid.iter().map(|side| u64::from(*side)).product::<u64>();
        if let Some(number) = chosen.and_then(|chosen| chosen.iter().find(|number| **number >= all)) {
            let problem = format!("block {number} of {all}");
            return Err(refused(problem));
        }
        if chosen.is_some_and(<[u64]>::is_empty) {
            return Ok(observer);
        }
        let frame = program.functions[0].frame_bytes;
        if frame > self.config.max_local_bytes {
            let most = self.config.max_local_bytes;
            let problem = format!("{frame} bytes of local memory per thread; the simulator allows {most}");
            return Err(refused(problem));
        }
        let params = parameters(program, args)?;
        let kernel = || program.functions[0].name.clone();
        let temporary;
        let variables = match &function.placed {
            Some(placed) => {
                let loaded = self.check_loaded(placed);
                loaded.map_err(|source| LaunchError::Instance { kernel: kernel(), source })?;
                &placed.addresses
            }
            None => {
                let numbers = program.variables.iter().copied();
                let placed = self.place(&function.module, numbers);
                temporary = placed.map_err(|(variable, source)| LaunchError::Variable {
                    kernel: kernel(),
                    variable,
                    source,
                })?;
                &temporary
            }
        };
        if function.placed.is_none() {
            for (address, bytes) in function.module.places(variables) {
                observer.allocated(address, bytes);
                observer.written(address, bytes);
            }
        }
        let registers = program.functions[0].frame_init.iter();
        let state = LaunchState {
            program,
            block_registers: registers.filter(|register| register.init.differs_between_blocks()).copied().collect(),
            module: &function.module,
            grid,
            block,
            cluster,
            explicit_cluster: explicit_cluster.is_some(),
            dynamic_shared: shared_bytes,
            params: &params,
            variables,
            constants: &self.constants(&function.module, variables),
            global: &self.global,
            config: &self.config,
            simd: self.simd,
            deadline: self.config.time_limit.and_then(|limit| Instant::now().checked_add(limit)),
            progress: Exchange {
                instructions: AtomicU64::new(0),
                faulted: AtomicU64::new(u64::MAX),
                repeats: AtomicBool::new(false),
                separates: AtomicBool::new(false),
            },
            clock: self.clock,
            workspace,
            heap: &self.heap,
            printed: &self.printed,
            skipped: Mutex::default(),
        };
        let resident_limit = state.resident_blocks();
        if cooperative && all > resident_limit {
            let problem = format!("a cooperative launch of {all} blocks; at most {resident_limit} run at a time");
            if function.placed.is_none() {
                self.free_all(variables);
            }
            return Err(refused(problem));
        }
        let merged = Mutex::new(observer);
        let each = u64::from(state.cluster_blocks());
        let chosen = chosen.map(|chosen| {
            let mut seen = HashSet::new();
            let numbers = chosen.iter().map(|block| state.cluster_number(*block));
            numbers.filter(|number| each == 1 || seen.insert(*number)).collect::<Vec<u64>>()
        });
        // Waking the threads of the pool takes longer than running a small block.
        let clusters = chosen.as_ref().map_or(all / each, |chosen| chosen.len() as u64);
        let threads = match self.config.schedule {
            Schedule::Fixed if !O::REQUESTS.has(Requests::ONE_THREAD) && clusters > 1 => self.threads(),
            Schedule::Fixed | Schedule::RoundRobin | Schedule::Random(_) => 1,
        };
        let blocks =
            Blocks::new(chosen.as_deref(), all / each, (resident_limit / each).max(1), threads, self.config.schedule);
        let thread = || HostThread::new(&state, &blocks, || merged.lock().expect("no observer panics").fork());
        let merge = |seen: &mut dyn Iterator<Item = O>| {
            for observer in seen {
                merged.lock().expect("no observer panics").merge(observer);
            }
        };
        match self.pool.as_ref().filter(|_| threads > 1) {
            None => merge(&mut thread().run()),
            Some(pool) => drop(pool.broadcast(|_| merge(&mut thread().run()))),
        }
        merge(&mut thread().run_last());
        self.clock += state.progress.instructions.into_inner();
        let skipped = state.skipped.into_inner().expect("skipping does not panic");
        let mut result = match blocks.fault(each) {
            None => Ok(merged.into_inner().expect("no observer panics")),
            Some((number, fault)) => {
                let mut printed = self.printed.lock().expect("printing does not panic");
                printed.end_at(number);
                let fault = self.describe(launch, variables, number, fault);
                Err(LaunchError::Fault(Box::new(fault)))
            }
        };
        self.skipped = skipped.described(|number, fault| self.describe(launch, variables, number, fault));
        if function.placed.is_none() {
            if let Ok(observer) = &mut result {
                let places = function.module.places(variables);
                places.for_each(|(address, _)| observer.freed(address));
            }
            self.free_all(variables);
        }
        result
    }

    /// Runs a kernel to completion.
    ///
    /// A kernel of an [`Instance`](crate::Instance) uses the variables of that instance. The variables of other kernels
    /// have their initial values at the start of each launch. Blocks start in the order of their numbers, or in a
    /// [random](Schedule::Random) order. Blocks may wait for each other: while a block waits, other blocks run. Up to
    /// [`Config::resident_blocks`](crate::Config::resident_blocks) blocks run at the same time.
    ///
    /// ```
    /// # const FILL: &str = ".version 8.0
    /// # .target sm_80
    /// # .address_size 64
    /// # .entry fill(.param .u64 to, .param .u32 value)
    /// # {
    /// #     .reg .b32 %r<3>;
    /// #     .reg .b64 %rd<4>;
    /// #     ld.param.u64 %rd1, [to];
    /// #     ld.param.u32 %r1, [value];
    /// #     mov.u32 %r2, %tid.x;
    /// #     mul.wide.u32 %rd2, %r2, 4;
    /// #     add.s64 %rd3, %rd1, %rd2;
    /// #     st.global.u32 [%rd3], %r1;
    /// #     ret;
    /// # }";
    /// let fill = simt::Module::from_ptx(FILL)?.function("fill")?;
    /// let mut simulator = simt::Simulator::new(simt::Config::default())?;
    /// let to = simulator.zeroed::<u32>(64)?;
    /// simulator.launch(&simt::Launch::new(&fill, [1, 1, 1], [64, 1, 1], &[to.into(), 7u32.into()]))?;
    /// assert_eq!(simulator.read(to)?, [7; 64]);
    ///
    /// // One thread too many.
    /// let fault = simulator
    ///     .launch(&simt::Launch::new(&fill, [1, 1, 1], [65, 1, 1], &[to.into(), 7u32.into()]))
    ///     .unwrap_err();
    /// assert!(fault.to_string().starts_with("out of bounds write of 4 bytes at "));
    /// assert!(fault.to_string().contains("0 bytes past the end of argument 0's buffer of 256 bytes"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Before the kernel runs, returns one of these errors:
    /// - [`LaunchError::Geometry`] when no GPU supports the geometry, or the kernel was not compiled for the geometry.
    /// - [`LaunchError::Arguments`] when the arguments do not match the parameters.
    /// - [`LaunchError::Variable`] when there is no memory for a variable of the module.
    /// - [`LaunchError::Instance`] when the kernel's instance was unloaded or belongs to another simulator.
    ///
    /// Returns [`LaunchError::Fault`] when the kernel faults, runs for longer than
    /// [`Config::max_instructions`](crate::Config::max_instructions) or waits forever.
    pub fn launch(&mut self, launch: &Launch<'_>) -> Result<(), LaunchError> {
        self.launch_observed(launch, ())
    }
}
