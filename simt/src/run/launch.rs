//! A launch: its geometry and arguments, and the blocks spread over the host's threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::block::{Block, Launch, Progress, Worker};
use super::fault::{Fault, FaultKind};
use super::machine::{Buffer, Machine};
use crate::code::Program;
use crate::memory::AccessFault;
use crate::module::Function;
use crate::observe::{Observer, Site};
use crate::parse::Source;

/// Threads that a block can have.
const MAX_THREADS: u64 = 1024;
/// Bytes of shared memory that a block can have: what the largest GPUs have.
const MAX_SHARED: u64 = 227 * 1024;

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the variants are the types")]
pub enum Arg {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    /// The address of a buffer.
    Pointer(u64),
    /// A struct, as its bytes lie in memory.
    Bytes(Vec<u8>),
}

macro_rules! arguments {
    ($($ty:ty => $variant:ident as $as:ty),*) => {
        $(impl From<$ty> for Arg {
            fn from(value: $ty) -> Self {
                Arg::$variant(value as $as)
            }
        })*
    };
}
arguments! {
    u8 => U8 as u8, i8 => U8 as u8, u16 => U16 as u16, i16 => U16 as u16, u32 => U32 as u32, i32 => U32 as u32,
    u64 => U64 as u64, i64 => U64 as u64, f32 => F32 as f32, f64 => F64 as f64
}

impl<T> From<Buffer<T>> for Arg {
    fn from(buffer: Buffer<T>) -> Self {
        Arg::Pointer(buffer.address())
    }
}

impl Arg {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Arg::U8(value) => value.to_le_bytes().to_vec(),
            Arg::U16(value) => value.to_le_bytes().to_vec(),
            Arg::U32(value) => value.to_le_bytes().to_vec(),
            Arg::U64(value) | Arg::Pointer(value) => value.to_le_bytes().to_vec(),
            Arg::F32(value) => value.to_le_bytes().to_vec(),
            Arg::F64(value) => value.to_le_bytes().to_vec(),
            Arg::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// A launch that did not come to its end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The geometry is none that a GPU takes.
    #[error("kernel `{kernel}`: {problem}")]
    Geometry {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        problem: String,
    },
    /// The arguments are not the kernel's parameters.
    #[error("kernel `{kernel}`: {problem}")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        problem: String,
    },
    /// The kernel did something that it may not. Buffers hold what was written before.
    #[error(transparent)]
    Fault(Box<Fault>),
}

impl Machine {
    /// Runs a kernel to its end and returns the observer with what it has seen.
    ///
    /// `shared_bytes` is the dynamic shared memory of a block.
    ///
    /// # Errors
    /// [`LaunchError`]: geometry or arguments that do not fit, or a fault.
    pub fn launch_observed<O: Observer>(
        &mut self,
        function: &Function,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        args: &[Arg],
        observer: O,
    ) -> Result<O, LaunchError> {
        let program = &*function.program;
        check_geometry(program, grid, block, shared_bytes)?;
        let frame = program.functions[0].frame_bytes;
        if frame > self.config.max_local_bytes {
            return Err(LaunchError::Geometry {
                kernel: program.functions[0].name.clone(),
                problem: format!(
                    "{frame} bytes of local memory a thread; this machine gives {}",
                    self.config.max_local_bytes
                ),
            });
        }
        let params = parameters(program, args)?;
        let globals = self.place_globals(program);
        let launch = Launch {
            program,
            grid,
            block,
            dynamic_shared: shared_bytes,
            params: &params,
            globals: &globals,
            global: &self.global,
            config: &self.config,
            isa: self.isa,
            progress: Progress {
                instructions: AtomicU64::new(0),
                faulted: AtomicU64::new(u64::MAX),
            },
        };
        let blocks = grid.iter().map(|side| u64::from(*side)).product::<u64>();
        let next = AtomicU64::new(0);
        let merged = Mutex::new(observer);
        let faults = Mutex::new(Vec::<(u64, Site, u32, FaultKind)>::new());
        let workers = self.pool.current_num_threads() as u64;
        // Few enough at a time that the last ones end together, enough that taking them costs nothing.
        let share = (blocks / (workers * 16)).clamp(1, 64);
        self.pool.broadcast(|_| {
            let mut seen = merged.lock().expect("no observer panics").fork();
            let mut worker = Worker::new(&launch);
            loop {
                let first = next.fetch_add(share, Ordering::Relaxed);
                if first >= blocks {
                    break;
                }
                for number in first..(first + share).min(blocks) {
                    // Blocks before the first that faulted are still run, so that which fault is told
                    // does not depend on the host's threads.
                    if number > launch.progress.faulted.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut running = Block::new(&launch, &mut worker, number, &mut seen);
                    if let Err((site, thread, kind)) = running.run() {
                        launch.progress.faulted.fetch_min(number, Ordering::Relaxed);
                        faults
                            .lock()
                            .expect("pushing cannot panic")
                            .push((number, site, thread, kind));
                        break;
                    }
                }
            }
            merged.lock().expect("no observer panics").merge(seen);
        });
        let fault = faults
            .into_inner()
            .expect("pushing cannot panic")
            .into_iter()
            .min_by_key(|(number, ..)| *number);
        let result = match fault {
            None => Ok(merged.into_inner().expect("no observer panics")),
            Some((number, site, thread, kind)) => Err(LaunchError::Fault(Box::new(
                self.describe(function, grid, block, args, number, site, thread, kind),
            ))),
        };
        for address in globals {
            self.global.free(address);
        }
        result
    }

    /// [`Machine::launch_observed`] without an observer.
    ///
    /// # Errors
    /// As there.
    pub fn launch(
        &mut self,
        function: &Function,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        args: &[Arg],
    ) -> Result<(), LaunchError> {
        self.launch_observed(function, grid, block, shared_bytes, args, ())
    }

    /// Allocates the module's global variables that the kernel uses, with their initial values.
    fn place_globals(&mut self, program: &Program) -> Vec<u64> {
        let addresses: Vec<u64> = program
            .globals
            .iter()
            .map(|variable| self.global.allocate(variable.bytes))
            .collect();
        for (variable, address) in program.globals.iter().zip(&addresses) {
            let mut bytes = variable.init.clone();
            for (at, number, offset) in &variable.addresses {
                let value = addresses[*number as usize].wrapping_add_signed(*offset);
                bytes[*at as usize..*at as usize + 8].copy_from_slice(&value.to_le_bytes());
            }
            if !bytes.is_empty() {
                let allocation = self.global.find_mut(*address).expect("allocated just now");
                allocation.write(0, &bytes);
            }
        }
        addresses
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "all that a fault tells comes together here"
    )]
    fn describe(
        &self,
        function: &Function,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[Arg],
        number: u64,
        site: Site,
        thread: u32,
        kind: FaultKind,
    ) -> Fault {
        let program = &*function.program;
        let func = &program.functions[site.function as usize];
        let (at, loc) = func.places[site.pc as usize];
        let source = Source::new(&function.module.ptx);
        let (ptx_line, _) = source.line_column(at);
        let kind = match kind {
            FaultKind::Access { access, .. } => {
                let near = self.near(&access, args);
                FaultKind::Access { access, near }
            }
            other => other,
        };
        Fault {
            kind,
            kernel: program.functions[0].name.clone(),
            function: (site.function > 0).then(|| func.name.clone()),
            block: unravel(number, grid),
            thread: unravel(u64::from(thread), block),
            ptx_line,
            ptx: source.line_text(ptx_line).trim().to_owned(),
            origin: loc.and_then(|loc| {
                // Code of a library that was inlined is the caller's business.
                let (file, line) = loc
                    .inlined_at
                    .map_or((loc.file, loc.line), |at| (at.0, at.1));
                let name = function
                    .module
                    .files
                    .iter()
                    .find(|(number, _)| *number == file)?;
                Some((name.1.clone(), line))
            }),
        }
    }

    /// What an access that faulted was probably meant for.
    fn near(&self, access: &AccessFault, args: &[Arg]) -> String {
        if let Some(near) = access.near() {
            return near;
        }
        let Some(allocation) = self.global.nearest(access.address) else {
            return String::new();
        };
        let whose = args
            .iter()
            .position(|arg| *arg == Arg::Pointer(allocation.base))
            .map_or("an allocation".to_owned(), |index| {
                format!("argument {index}'s buffer")
            });
        let end = allocation.base + allocation.bytes;
        let bytes = allocation.bytes;
        if access.address >= end {
            format!(
                "{} bytes past the end of {whose} of {bytes} bytes",
                access.address - end
            )
        } else if access.address < allocation.base {
            format!(
                "{} bytes before {whose} of {bytes} bytes",
                allocation.base - access.address
            )
        } else {
            format!(
                "at byte {} of {whose} of {bytes} bytes",
                access.address - allocation.base
            )
        }
    }
}

/// Coordinates of a linear index, x fastest.
fn unravel(index: u64, sides: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(sides[0]), u64::from(sides[1]));
    [
        (index % x) as u32,
        (index / x % y) as u32,
        (index / (x * y)) as u32,
    ]
}

fn check_geometry(
    program: &Program,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
) -> Result<(), LaunchError> {
    let threads: u64 = block.iter().map(|side| u64::from(*side)).product();
    let shared = u64::from(program.shared_bytes) + u64::from(shared_bytes);
    let side = |sides: [u32; 3]| format!("({}, {}, {})", sides[0], sides[1], sides[2]);
    let problem = if grid.contains(&0) {
        format!("a grid of {} has no blocks", side(grid))
    } else if block.contains(&0) {
        format!("a block of {} has no threads", side(block))
    } else if threads > MAX_THREADS {
        format!("a block of {threads} threads; at most {MAX_THREADS} fit")
    } else if block[2] > 64 {
        format!("a block of {}; z is at most 64", side(block))
    } else if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
        format!(
            "a grid of {}; x is at most 2^31 - 1, y and z 65535",
            side(grid)
        )
    } else if shared > MAX_SHARED {
        format!("{shared} bytes of shared memory a block; at most {MAX_SHARED} fit")
    } else if program
        .required_block
        .is_some_and(|required| required != block)
    {
        let required = program.required_block.unwrap_or_default();
        format!(
            "compiled for blocks of {} (.reqntid), launched with {}",
            side(required),
            side(block)
        )
    } else if program
        .max_threads
        .is_some_and(|most| threads > u64::from(most))
    {
        let most = program.max_threads.unwrap_or_default();
        format!("compiled for blocks of at most {most} threads (.maxntid), launched with {threads}")
    } else {
        return Ok(());
    };
    Err(LaunchError::Geometry {
        kernel: program.functions[0].name.clone(),
        problem,
    })
}

fn parameters(program: &Program, args: &[Arg]) -> Result<Vec<u8>, LaunchError> {
    let fail = |problem| LaunchError::Arguments {
        kernel: program.functions[0].name.clone(),
        problem,
    };
    if args.len() != program.params.len() {
        return Err(fail(format!(
            "{} arguments for {} parameters",
            args.len(),
            program.params.len()
        )));
    }
    let mut memory = vec![0; program.param_bytes as usize];
    for (index, (param, arg)) in program.params.iter().zip(args).enumerate() {
        let bytes = arg.bytes();
        if bytes.len() != param.bytes as usize {
            return Err(fail(format!(
                "argument {index} has {} bytes, parameter `{}` has {} (.{})",
                bytes.len(),
                param.name,
                param.bytes,
                param.ty
            )));
        }
        memory[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    Ok(memory)
}
