//! The SIMT machine, which runs the same PTX on the CPU, warp by warp.

use std::io::Write as _;

use ptx::extract::SourceLines;
use simt::observe::Observer;
use simt::{Buffer, Config, Function, Instance, Launch as SimLaunch, Machine, MemoryError, Module};

use super::allocations::{Allocations, check_size};
use super::code::Codes;
use super::{BufferId, Device, DeviceInfo, LaunchResult};
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::{Arg, Code, Launch};

/// The number of warp instructions after which a launch is considered endless: a hundred times as many as the slowest
/// rung executes on the largest size.
const MAX_INSTRUCTIONS: u64 = 1 << 40;

/// A [`simt::Machine`]. It loads the kernels when they are first used.
pub struct Sim {
    machine: Machine,
    codes: Codes<Instance>,
    buffers: Allocations<Buffer<u8>>,
    info: DeviceInfo,
    counting: bool,
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
        let config = Config {
            threads,
            max_instructions: MAX_INSTRUCTIONS,
            max_memory_bytes: simt::run::available_memory().unwrap_or(Config::default().max_memory_bytes),
            ..Config::default()
        };
        let failed = |error| Error::device("starting the SIMT machine", error);
        let machine = Machine::new(config).map_err(failed)?;
        let threads = match machine.threads() {
            1 => "1 host thread".to_owned(),
            count => format!("{count} host threads"),
        };
        Ok(Self {
            info: DeviceInfo { kind: "sim", name: format!("SIMT machine, {threads}"), ..DeviceInfo::default() },
            machine,
            // Source lines are kept, so that faults can name the lines of Rust.
            codes: Codes::new(kernels.modules, capability, SourceLines::Keep),
            buffers: Allocations::new(),
            counting: false,
        })
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
        let (function, args) = self.prepare(launch, bound)?;
        let prepared = SimLaunch::new(&function, launch.grid, launch.block, &args)
            .with_shared_bytes(launch.shared_bytes)
            .with_blocks(chosen);
        let launched = self.machine.launch_observed(&prepared, observer(&function));
        self.print_printed();
        launched.map_err(|error| Error::launch(launch, error))
    }

    /// Prints what kernels have printed to the standard output, where a GPU's go too.
    fn print_printed(&mut self) {
        // Like a GPU's driver, it does not mind that nobody reads.
        let _ = std::io::stdout().write_all(&self.machine.take_printed());
    }

    /// The place of a buffer in memory: its first address and its size in bytes.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use.
    pub fn range(&self, id: BufferId) -> Result<(u64, u64), Error> {
        let buffer = self.buffers.get(id)?;
        Ok((buffer.address(), buffer.len() as u64))
    }

    /// Finds the kernel of a launch and binds its arguments.
    fn prepare(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<(Function, Vec<simt::Arg>), Error> {
        let words = |text: String| Error::launch(launch, text.replace('\n', " "));
        let machine = &mut self.machine;
        // Loaded once, so that variables keep their values from launch to launch.
        let load = |ptx: &str| {
            let module = Module::from_ptx(ptx).map_err(|error| words(error.to_string()))?;
            machine.load(&module).map_err(|error| words(error.to_string()))
        };
        let compiled = self.codes.get(launch, load)?;
        let function = compiled.module.function(&launch.entry);
        let function = function.map_err(|error| words(error.to_string()))?;
        let mut args = Vec::with_capacity(launch.args.len());
        for arg in &launch.args {
            args.push(match *arg {
                Arg::Buffer(index) => (*self.buffers.argument(launch, bound, index)?).into(),
                Arg::U32(value) => value.into(),
                Arg::I32(value) => value.into(),
                Arg::U64(value) => value.into(),
                Arg::F32(value) => value.into(),
            });
        }
        Ok((function, args))
    }
}

impl Device for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Option<u64> {
        simt::run::available_memory()
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        let buffer = self.machine.zeroed(bytes).map_err(failed("allocating"))?;
        Ok(self.buffers.add(buffer))
    }

    fn free(&mut self, buffer: BufferId) {
        if let Some(buffer) = self.buffers.remove(buffer) {
            // Every buffer in the map belongs to this machine and has not been freed yet.
            let freed = self.machine.free(buffer);
            debug_assert_eq!(freed, Ok(()));
        }
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        let doing = "copying to the device";
        let to = *self.buffers.get(buffer)?;
        check_size(doing, to.len(), bytes.len())?;
        self.machine.write(to, bytes).map_err(failed(doing))
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        let doing = "copying from the device";
        let from = *self.buffers.get(buffer)?;
        if from.len() < bytes.len() {
            return check_size(doing, from.len(), bytes.len());
        }
        let all = self.machine.read(from).map_err(failed(doing))?;
        bytes.copy_from_slice(&all[..bytes.len()]);
        Ok(())
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        let doing = "copying on the device";
        let (from, to) = (*self.buffers.get(from)?, *self.buffers.get(to)?);
        check_size(doing, to.len(), from.len())?;
        let failed = failed(doing);
        let bytes = self.machine.read(from).map_err(&failed)?;
        self.machine.write(to, &bytes).map_err(&failed)
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        let to = *self.buffers.get(buffer)?;
        let written = self.machine.write(to, &vec![byte; to.len()]);
        written.map_err(failed("filling a buffer"))
    }

    fn set_counting(&mut self, counting: bool) {
        self.counting = counting;
    }

    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        Ok(self.codes.load(ptx))
    }

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        let (function, args) = self.prepare(launch, bound)?;
        let prepared =
            SimLaunch::new(&function, launch.grid, launch.block, &args).with_shared_bytes(launch.shared_bytes);
        let counters = match self.counting {
            true => (self.machine.launch_counted(&prepared)).map(|counters| counters.metrics()),
            false => self.machine.launch(&prepared).map(|_| Vec::new()),
        };
        self.print_printed();
        // Messages here are lines. A fault's further ones list the calls that led to it.
        let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
        let counters = counters.map_err(|error| Error::launch(launch, first_line(error.to_string())))?;
        Ok(LaunchResult { time_ns: None, counters })
    }
}

fn failed(doing: &'static str) -> impl Fn(MemoryError) -> Error {
    move |error| Error::device(doing, error)
}

#[cfg(test)]
mod tests;
