//! The SIMT machine, which runs the same PTX on the CPU, warp by warp: a GPU like any other, with a simulated driver.

use std::mem::ManuallyDrop;

use libcuda::{InUse, Kernel, Simulation};
use ptx::extract::SourceLines;
use simt::observe::Observer;
use simt::sanitize::{Checks, Finding, Sanitized};
use simt::{Function, LaunchError, Machine};

use super::gpu::Gpu;
use super::{BufferId, Device, DeviceInfo, LaunchResult};
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Code, Launch};

/// A simulated GPU of one's own. It loads the kernels when they are first used.
pub struct Sim {
    /// Dropped inside of the simulation, before it.
    gpu: ManuallyDrop<Gpu>,
    simulation: InUse,
    counting: bool,
    /// What a launch with an observer may execute, in instructions of warps; as many as the machine allows if `None`.
    most_instructions: Option<u64>,
}

impl Sim {
    /// Opens a machine on `threads` host threads; 0 stands for one per core.
    ///
    /// # Errors
    /// [`Error::Device`] when the host cannot start the threads.
    pub fn open(kernels: &'static Kernels, threads: usize) -> Result<Self, Error> {
        Self::open_as(kernels, threads, None)
    }

    /// Opens a machine that runs the same PTX as a GPU of this compute capability; `None` takes the newest PTX.
    /// Kernels that only newer GPUs have are refused, as they are on that GPU.
    ///
    /// # Errors
    /// [`Error::Device`] when the host cannot start the threads.
    pub fn open_as(kernels: &'static Kernels, threads: usize, capability: Option<(u32, u32)>) -> Result<Self, Error> {
        let failed = |error| Error::device("starting the SIMT machine", error);
        let simulation = Simulation::new(threads).map_err(failed)?;
        let threads = match simulation.threads() {
            1 => "1 host thread".to_owned(),
            count => format!("{count} host threads"),
        };
        let name = format!("SIMT machine, {threads}");
        let info = DeviceInfo { kind: "sim", name, compute_capability: capability, ..DeviceInfo::default() };
        let inside = simulation.enter();
        // Source lines are kept, so that faults can name the lines of Rust.
        let mut gpu = Gpu::open_driver(kernels, SourceLines::Keep, |_| Ok(info))?;
        drop(inside);
        gpu.forget_capability();
        Ok(Self { gpu: ManuallyDrop::new(gpu), simulation, counting: false, most_instructions: None })
    }

    /// Runs a launch with an observer that is made for its kernel, and returns the observer. When blocks are `chosen`,
    /// only they run, and the contents of the buffers are meaningless afterwards: see [`simt::Launch::with_blocks`].
    ///
    /// # Errors
    /// [`Error::Launch`] when there is no such kernel, when the arguments do not match its parameters, or when it
    /// fails; [`Error::NeedsNewer`] when only newer devices have the kernel; [`Error::Ptx`] when its code cannot be
    /// loaded.
    pub fn observe<O: Observer>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        chosen: Option<&[u64]>,
        observer: impl FnOnce(&Function) -> O,
    ) -> Result<O, Error> {
        self.launch_with(launch, bound, |machine, prepared| {
            machine.launch_observed(&prepared.with_blocks(chosen), observer(prepared.function))
        })
    }

    /// Runs a launch with checks, and returns what they have found; of a launch that fails too.
    ///
    /// # Errors
    /// As for [`Sim::observe`], other than when the kernel fails and a check says why.
    pub fn sanitize(&mut self, launch: &Launch, bound: &[BufferId], checks: Checks) -> Result<Vec<Finding>, Error> {
        self.launch_with(launch, bound, |machine, prepared| {
            let Sanitized { result, findings } = machine.launch_sanitized(prepared, checks);
            match result {
                Err(error) if findings.is_empty() => Err(error),
                _ => Ok(findings),
            }
        })
    }

    /// Ends launches that are observed or counted after so many instructions of warps, with [`Error::Launch`].
    pub fn limit_instructions(&mut self, most: u64) {
        self.most_instructions = Some(most);
    }

    /// Lets `run` run a launch on the machine itself.
    fn launch_with<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&mut Machine, &simt::Launch<'_>) -> Result<R, LaunchError>,
    ) -> Result<R, Error> {
        let Launch { grid, block, shared_bytes, .. } = *launch;
        let _inside = self.simulation.enter();
        let simulation = &*self.simulation;
        let most = self.most_instructions;
        let run = |machine: &mut Machine, launch: &simt::Launch<'_>| {
            let usual = machine.config_mut().max_instructions;
            machine.config_mut().max_instructions = most.unwrap_or(usual);
            let result = run(machine, launch);
            machine.config_mut().max_instructions = usual;
            result
        };
        let result = self.gpu.with_function(launch, bound, |function, params| {
            let kernel = Kernel { function, grid, block, shared_bytes };
            // SAFETY: there is an argument for each parameter, of the parameter's size.
            let result = unsafe { simulation.launch_with(kernel, params, run) };
            result.map_err(|reason| Error::launch(launch, first_line(&reason)))
        });
        explained(simulation, Some(launch), result)
    }

    /// The place of a buffer in memory: its first address and its size in bytes.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use.
    pub fn range(&self, id: BufferId) -> Result<(u64, u64), Error> {
        self.gpu.range(id)
    }

    /// Does something with the GPU, inside of its simulation.
    fn inside<R>(&mut self, act: impl FnOnce(&mut Gpu) -> Result<R, Error>) -> Result<R, Error> {
        let _inside = self.simulation.enter();
        let result = act(&mut self.gpu);
        explained(&self.simulation, None, result)
    }
}

/// A result with the reason that the simulated driver gives for an error, if it gives one. The next operation begins
/// without that error.
fn explained<R>(simulation: &Simulation, launch: Option<&Launch>, result: Result<R, Error>) -> Result<R, Error> {
    let messages = simulation.take_messages();
    simulation.forgive();
    result.map_err(|error| match (messages.last(), launch) {
        (Some(message), Some(launch)) if !matches!(error, Error::NeedsNewer { .. }) => {
            Error::launch(launch, first_line(message))
        }
        (Some(message), _) => error.because(first_line(message)),
        (None, _) => error,
    })
}

/// Messages here are lines. A fault's further ones list the calls that led to it.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

impl Device for Sim {
    fn info(&self) -> &DeviceInfo {
        self.gpu.info()
    }

    fn free_bytes(&self) -> Option<u64> {
        simt::run::available_memory()
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        self.inside(|gpu| gpu.alloc(bytes))
    }

    fn free(&mut self, buffer: BufferId) {
        let _inside = self.simulation.enter();
        self.gpu.free(buffer);
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        self.inside(|gpu| gpu.upload(buffer, bytes))
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        self.inside(|gpu| gpu.download(buffer, bytes))
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        self.inside(|gpu| gpu.copy(from, to))
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        self.inside(|gpu| gpu.fill(buffer, byte))
    }

    fn set_counting(&mut self, counting: bool) {
        self.counting = counting;
    }

    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        self.gpu.load(ptx)
    }

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        if self.counting {
            let counters = self.launch_with(launch, bound, |machine, prepared| machine.launch_counted(prepared))?;
            return Ok(LaunchResult { time_ns: None, counters: counters.metrics() });
        }
        let _inside = self.simulation.enter();
        let launched = self.gpu.launch(launch, bound);
        // It has no clock.
        explained(&self.simulation, Some(launch), launched).map(|_| LaunchResult::default())
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _inside = self.simulation.enter();
        // SAFETY: it is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.gpu) };
    }
}

#[cfg(test)]
mod tests;
