//! Operations: the work of streams and of graph nodes.

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
    /// Calls a function of the program.
    Host(HostCall),
    /// Marks an event as reached.
    Record(Arc<Event>),
    /// Waits for an event, as it was last recorded before the wait was enqueued.
    Wait(Arc<Event>),
    /// Frees memory.
    Free(u64),
    /// Waits for and writes words of memory, one after another.
    Batch(Arc<[MemOp]>),
    /// Allocates memory of a graph, whose address is already fixed.
    Allocate(Arc<GraphMemory>),
    /// Does nothing. Runs after all operations of an executable graph, and keeps the graph alive until then.
    End(#[expect(dead_code, reason = "it is only kept alive")] Arc<dyn Any + Send + Sync>),
    /// Does nothing.
    Nothing,
}

/// A launch.
#[derive(Clone)]
pub(crate) struct LaunchOp {
    /// The handle that the program passed: that of the function, or that of the corresponding library kernel.
    pub(crate) handle: Handle,
    pub(crate) function: Arc<Function>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) is_cooperative: bool,
    /// The number of blocks that are resident on the device at a time.
    pub(crate) resident: u64,
    pub(crate) args: Vec<Arg>,
}

/// A function for `cuStreamAddCallback`. The arguments are the stream, the status and the program's data.
pub(crate) type Callback = unsafe extern "C" fn(Handle, u32, usize);
/// A function for `cuLaunchHostFunc`.
pub(crate) type HostFunction = unsafe extern "C" fn(usize);

/// A call from a stream to a function of the program.
#[derive(Clone, Copy)]
pub(crate) enum HostCall {
    /// A function and its data.
    Function(HostFunction, usize),
    /// A function, the stream to pass to it, and its data.
    Callback(Callback, Handle, usize),
}

impl HostCall {
    /// Calls the function. If an error ended the context, only callbacks are called, with that error as the status.
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let status = context.check().map_err(|error: Error| error.code.0).err().unwrap_or_default();
        host_function(|| match self {
            // SAFETY: the program registered the function with this data.
            HostCall::Function(function, data) if status == 0 => unsafe { function(data) },
            HostCall::Function(..) => {}
            // SAFETY: the program registered the callback with this stream and data.
            HostCall::Callback(callback, stream, data) => unsafe { callback(stream, status, data) },
        });
        Ok(())
    }
}

impl Op {
    /// Splits the operation into operations that can each run without a pause.
    pub(crate) fn split(self) -> Vec<Self> {
        match self {
            Op::Batch(ops) if ops.is_empty() => vec![Op::Nothing],
            Op::Batch(ops) => ops.iter().map(|op| Op::Batch([*op].into())).collect(),
            other => vec![other],
        }
    }

    /// Returns whether the operation can run without waiting for memory.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Op::Batch(ops) => driver().is_ok_and(|driver| {
                let simulator = driver.simulator();
                ops.iter().all(|op| op.is_fulfilled(&simulator))
            }),
            _ => true,
        }
    }

    /// Runs the operation. If an error ended the context, only calls to functions of the program run.
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
            // The launch of the graph updates the accounting, and the graph owns the memory.
            Op::Free(address) if graph_memory::is_of_graph(*address) => Ok(()),
            Op::Free(address) => memory::free_now(&mut driver.simulator(), *address),
        }
    }
}

impl LaunchOp {
    /// Sets the limits of the device and the context in the simulator.
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
                // The sanitizer has already reported the other faults.
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

/// Returns the driver's code for a kernel fault.
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
