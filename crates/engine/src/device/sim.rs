//! The SIMT machine, which runs the same PTX on the CPU, warp by warp.

use std::collections::BTreeMap;

use ptx::extract::SourceLines;
use simt::observe::Observer;
use simt::{
    Buffer, Config, Function, Launch as SimLaunch, LaunchError, LoadError, Machine, MemoryError,
    Module,
};

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
    codes: Codes<Module>,
    buffers: BTreeMap<BufferId, Buffer<u8>>,
    info: DeviceInfo,
    next_id: u32,
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
    pub fn open_as(
        kernels: &'static Kernels,
        threads: usize,
        capability: Option<(u32, u32)>,
    ) -> Result<Self, Error> {
        let config = Config {
            threads,
            max_instructions: MAX_INSTRUCTIONS,
            max_memory_bytes: simt::run::available_memory()
                .unwrap_or(Config::default().max_memory_bytes),
            ..Config::default()
        };
        let machine = Machine::new(config).map_err(|error| Error::Device {
            doing: "starting the SIMT machine",
            reason: error.to_string(),
        })?;
        let threads = match machine.threads() {
            1 => "1 host thread".to_owned(),
            count => format!("{count} host threads"),
        };
        Ok(Self {
            info: DeviceInfo {
                kind: "sim",
                name: format!("SIMT machine, {threads}"),
                ..DeviceInfo::default()
            },
            machine,
            // Source lines are kept, so that faults can name the lines of Rust.
            codes: Codes::new(kernels.modules, capability, SourceLines::Keep),
            buffers: BTreeMap::new(),
            next_id: 0,
            counting: false,
        })
    }

    fn buffer(&self, id: BufferId) -> Result<Buffer<u8>, Error> {
        self.buffers.get(&id).copied().ok_or_else(|| Error::Device {
            doing: "looking for a buffer",
            reason: format!("{id:?} is not in use"),
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
        let observer = observer(&function);
        let Launch {
            grid,
            block,
            shared_bytes,
            ..
        } = *launch;
        self.machine
            .launch_observed(
                &SimLaunch::new(&function, grid, block, &args)
                    .with_shared_bytes(shared_bytes)
                    .with_blocks(chosen),
                observer,
            )
            .map_err(|error| refused(launch, error.to_string()))
    }

    /// The place of a buffer in memory: its first address and its size in bytes.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use.
    pub fn range(&self, id: BufferId) -> Result<(u64, u64), Error> {
        let buffer = self.buffer(id)?;
        Ok((buffer.address(), buffer.len() as u64))
    }

    /// Finds the kernel of a launch and binds its arguments.
    fn prepare(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
    ) -> Result<(Function, Vec<simt::Arg>), Error> {
        let words = |error: LoadError| refused(launch, error.to_string().replace('\n', " "));
        let compile = |ptx: &str| Module::from_ptx(ptx).map_err(words);
        let compiled = self.codes.get(launch, compile)?;
        let function = compiled.module.function(&launch.entry).map_err(words)?;
        let mut args = Vec::with_capacity(launch.args.len());
        for arg in &launch.args {
            args.push(match *arg {
                Arg::Buffer(index) => {
                    let id = bound.get(index).copied().ok_or_else(|| {
                        let reason = format!("buffer {index} of {} is an argument", bound.len());
                        refused(launch, reason)
                    })?;
                    self.buffer(id)?.into()
                }
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
        let id = BufferId(self.next_id);
        self.next_id += 1;
        let buffer = self.machine.zeroed(bytes).map_err(failed("allocating"))?;
        self.buffers.insert(id, buffer);
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        if let Some(buffer) = self.buffers.remove(&buffer) {
            // Every buffer in the map belongs to this machine and has not been freed yet.
            let freed = self.machine.free(buffer);
            debug_assert_eq!(freed, Ok(()));
        }
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        let to = self.buffer(buffer)?;
        same_size("copying to the device", to.len(), bytes.len())?;
        self.machine
            .write(to, bytes)
            .map_err(failed("copying to the device"))
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        let from = self.buffer(buffer)?;
        if from.len() < bytes.len() {
            return same_size("copying from the device", from.len(), bytes.len());
        }
        let all = self
            .machine
            .read(from)
            .map_err(failed("copying from the device"))?;
        bytes.copy_from_slice(&all[..bytes.len()]);
        Ok(())
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        let (from, to) = (self.buffer(from)?, self.buffer(to)?);
        same_size("copying on the device", to.len(), from.len())?;
        let failed = failed("copying on the device");
        let bytes = self.machine.read(from).map_err(&failed)?;
        self.machine.write(to, &bytes).map_err(&failed)
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        let to = self.buffer(buffer)?;
        self.machine
            .write(to, &vec![byte; to.len()])
            .map_err(failed("filling a buffer"))
    }

    fn set_counting(&mut self, counting: bool) {
        self.counting = counting;
    }

    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        Ok(self.codes.load(ptx))
    }

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        // Messages here are lines. A fault's further ones list the calls that led to it.
        let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
        let refused = |error: LaunchError| refused(launch, first_line(error.to_string()));
        let (function, args) = self.prepare(launch, bound)?;
        let Launch {
            grid,
            block,
            shared_bytes,
            ..
        } = *launch;
        let counters = if self.counting {
            self.machine
                .launch_counted(
                    &SimLaunch::new(&function, grid, block, &args).with_shared_bytes(shared_bytes),
                )
                .map_err(refused)?
                .metrics()
        } else {
            self.machine
                .launch(
                    &SimLaunch::new(&function, grid, block, &args).with_shared_bytes(shared_bytes),
                )
                .map_err(refused)?;
            Vec::new()
        };
        Ok(LaunchResult {
            time_ns: None,
            counters,
        })
    }
}

fn refused(launch: &Launch, reason: String) -> Error {
    Error::Launch {
        launch: Box::new(launch.clone()),
        reason,
    }
}

fn failed(doing: &'static str) -> impl Fn(MemoryError) -> Error {
    move |error| Error::Device {
        doing,
        reason: error.to_string(),
    }
}

fn same_size(doing: &'static str, buffer: usize, asked: usize) -> Result<(), Error> {
    if buffer == asked {
        return Ok(());
    }
    Err(Error::Device {
        doing,
        reason: format!("the buffer has {buffer} bytes, not {asked}"),
    })
}
