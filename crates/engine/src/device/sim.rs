//! The SIMT machine: the same PTX, run warp by warp on the CPU.

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

/// Instructions of warps after which a launch is taken to be endless: a hundred times what the slowest
/// rung takes on the largest size.
const MAX_INSTRUCTIONS: u64 = 1 << 40;

/// A [`simt::Machine`] with the kernels loaded on first use.
pub struct Sim {
    machine: Machine,
    codes: Codes<Module>,
    buffers: BTreeMap<BufferId, Buffer<u8>>,
    info: DeviceInfo,
    next_id: u32,
    counting: bool,
}

impl Sim {
    /// A machine on `threads` host threads, 0 for one each core.
    ///
    /// # Errors
    /// [`Error::Device`] where the host gives it no threads.
    pub fn open(kernels: &'static Kernels, threads: usize) -> Result<Self, Error> {
        Self::open_as(kernels, threads, None)
    }

    /// A machine that runs the PTX that a GPU of this compute capability runs; for `None`, the newest. As
    /// there, kernels that only newer GPUs have are refused.
    ///
    /// # Errors
    /// As [`Sim::open`].
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
            // Faults name the lines of Rust.
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

    /// Runs a launch, or the blocks of it that are `chosen`, with an observer that is made for its kernel, and
    /// gives that back. Of chosen blocks the results are worth nothing: [`simt::Launch::with_blocks`].
    ///
    /// # Errors
    /// As [`Device::launch`].
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

    /// Where a buffer is in memory: its first address and its bytes.
    ///
    /// # Errors
    /// [`Error::Device`] for one that is not in use.
    pub fn range(&self, id: BufferId) -> Result<(u64, u64), Error> {
        let buffer = self.buffer(id)?;
        Ok((buffer.address(), buffer.len() as u64))
    }

    /// The kernel of a launch and its arguments.
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
            // What was in the map is this machine's and not yet freed.
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
        let refused = |error: LaunchError| refused(launch, error.to_string());
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
