//! Operations: what a stream does, and what the nodes of graphs are.

use std::any::Any;
use std::sync::Arc;

use simt::{Arg, FaultKind, Launch, LaunchError, Simulator};
use simt_check::diagnostic::Diagnostic;

use crate::abi::call::host_function;
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::gpu::context::Context;
use crate::gpu::copy::{Copy, Fill};
use crate::gpu::event::Event;
use crate::gpu::function::Function;
use crate::gpu::graph_memory::{self, GraphMemory};
use crate::gpu::mem_op::MemOp;
use crate::gpu::memory;
use crate::gpu::state::{Driver, driver};

/// An operation.
#[derive(Clone)]
pub(crate) enum Op {
    /// Runs a kernel.
    Launch(LaunchOp),
    /// Copies memory.
    Copy(Copy),
    /// Fills memory.
    Fill(Fill),
    /// Calls the program.
    Host(HostCall),
    /// Marks that an event is reached.
    Record(Arc<Event>),
    /// Waits for an event, as it was recorded last when this was enqueued.
    Wait(Arc<Event>),
    /// Frees memory.
    Free(u64),
    /// Waits for values of words of memory and writes them, one after the other.
    Batch(Arc<[MemOp]>),
    /// Allocates memory of a graph, which has its address from the beginning.
    Allocate(Arc<GraphMemory>),
    /// Nothing, behind all operations of an executable graph, which is kept until then.
    End(#[expect(dead_code, reason = "it is kept, and not used")] Arc<dyn Any + Send + Sync>),
    /// Nothing.
    Nothing,
}

/// A launch.
#[derive(Clone)]
pub(crate) struct LaunchOp {
    /// The handle that the program gave: of the function, or of the kernel of a library that it is.
    pub(crate) handle: Handle,
    pub(crate) function: Arc<Function>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) is_cooperative: bool,
    /// How many blocks its device has room for at a time.
    pub(crate) resident: u64,
    pub(crate) args: Vec<Arg>,
}

/// A function that `cuStreamAddCallback` takes: of the stream, the result so far, and the program's own data.
pub(crate) type Callback = unsafe extern "C" fn(Handle, u32, usize);
/// A function that `cuLaunchHostFunc` takes.
pub(crate) type HostFunction = unsafe extern "C" fn(usize);

/// A call of the program's own code by a stream.
#[derive(Clone, Copy)]
pub(crate) enum HostCall {
    /// A function and its data.
    Function(HostFunction, usize),
    /// A function, the stream that it is told, and its data.
    Callback(Callback, Handle, usize),
}

impl HostCall {
    /// Calls it. Of a context that an error has ended, only callbacks are called, and are told.
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let status = context.check().map_err(|error: Error| error.code.0).err().unwrap_or_default();
        host_function(|| match self {
            // SAFETY: the program gave the function and its data for this.
            HostCall::Function(function, data) if status == 0 => unsafe { function(data) },
            HostCall::Function(..) => {}
            // SAFETY: as above.
            HostCall::Callback(callback, stream, data) => unsafe { callback(stream, status, data) },
        });
        Ok(())
    }
}

impl Op {
    /// The operations that it is made of: those that can be done without a pause.
    pub(crate) fn split(self) -> Vec<Self> {
        match self {
            Op::Batch(ops) if ops.is_empty() => vec![Op::Nothing],
            Op::Batch(ops) => ops.iter().map(|op| Op::Batch([*op].into())).collect(),
            other => vec![other],
        }
    }

    /// Whether it need not wait for memory.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Op::Batch(ops) => driver().is_ok_and(|driver| {
                let simulator = driver.simulator();
                ops.iter().all(|op| op.is_fulfilled(&simulator))
            }),
            _ => true,
        }
    }

    /// Does it. Of a context that an error has ended, nothing is done but calls of the program.
    pub(crate) fn run(&self, driver: &'static Driver, context: &Context) -> Result<()> {
        if driver.fault().is_some() && !matches!(self, Op::Host(_)) {
            return Ok(());
        }
        match self {
            Op::Launch(launch) => launch.run(driver, context),
            Op::Copy(copy) => copy.run(&mut driver.simulator()),
            Op::Fill(fill) => fill.run(&mut driver.simulator()),
            Op::Host(call) => call.run(context),
            Op::Record(event) => {
                event.reach();
                Ok(())
            }
            Op::Batch(ops) => {
                let mut simulator = driver.simulator();
                ops.iter().try_for_each(|op| op.run(&mut simulator))
            }
            Op::Wait(_) | Op::Allocate(_) | Op::End(_) | Op::Nothing => Ok(()),
            // Memory of graphs is counted when they are launched, and freed with them.
            Op::Free(address) if graph_memory::is_of_graph(*address) => Ok(()),
            Op::Free(address) => memory::free_now(&mut driver.simulator(), *address),
        }
    }
}

impl LaunchOp {
    /// Gives the machine the limits of the device and of the context.
    pub(crate) fn configure(&self, simulator: &mut Simulator, context: &Context) {
        let config = simulator.config_mut();
        config.resident_blocks = self.resident;
        (config.printf_bytes, config.heap_bytes) = context.buffers();
    }

    fn run(&self, driver: &Driver, context: &Context) -> Result<()> {
        let mut simulator = driver.simulator();
        self.configure(&mut simulator, context);
        let launch = Launch::new(&self.function.kernel, self.grid, self.block, &self.args)
            .with_shared_bytes(self.shared_bytes)
            .with_cooperative(self.is_cooperative)
            .with_cluster(self.cluster);
        let result = driver.sanitizer.run(&mut simulator, &launch);
        lock(&driver.printed).extend(simulator.take_printed());
        result.map_err(|error| {
            let (code, diagnostic) = match &error {
                // Of others, the sanitizer has written already.
                LaunchError::Fault(fault) if !driver.sanitizer.finds(&fault.kind) => {
                    (code_of(&fault.kind), Some(Box::new(Diagnostic::of_fault(fault))))
                }
                LaunchError::Fault(fault) => (code_of(&fault.kind), None),
                _ => (Code::LAUNCH_FAILED, None),
            };
            Error { diagnostic, ..Error::new(code, error.to_string()) }
        })
    }
}

/// The driver's code for a fault of a kernel.
fn code_of(fault: &FaultKind) -> Code {
    match fault {
        FaultKind::Access { access, .. } => match access.what {
            simt::memory::AccessProblem::Misaligned => Code::MISALIGNED_ADDRESS,
            simt::memory::AccessProblem::OutOfBounds
            | simt::memory::AccessProblem::ReadOnly
            | simt::memory::AccessProblem::NotAtomic => Code::ILLEGAL_ADDRESS,
            simt::memory::AccessProblem::Synchronization(_) | simt::memory::AccessProblem::Other(_) => {
                Code::ILLEGAL_INSTRUCTION
            }
        },
        FaultKind::Assert { .. } => Code::ASSERT,
        FaultKind::Trap | FaultKind::Panic { .. } | FaultKind::BadFree { .. } | FaultKind::StackOverflow => {
            Code::LAUNCH_FAILED
        }
        FaultKind::BadCall { .. } | FaultKind::BadIndex { .. } => Code::INVALID_PC,
        FaultKind::Budget { .. }
        | FaultKind::TimeLimit { .. }
        | FaultKind::Interrupted
        | FaultKind::Deadlock { .. } => Code::LAUNCH_TIMEOUT,
        _ => Code::ILLEGAL_INSTRUCTION,
    }
}
