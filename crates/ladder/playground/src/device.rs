//! The device for a ladder's session in the playground: the simulator itself, without a driver.

use engine::device::{BufferId, Device, DeviceInfo, Enqueue, LaunchResult};
use engine::launch::{Arg, Code, Launch};
use engine::{Error, Kernels};
use ptx::extract::{SourceLines, extract};
use simt::{Buffer, Counters, LaunchError, MemoryError, Module, Simulator};

use crate::run::{self, BufferView, Checked, MOST_MEMORY, Problem, Recorded};

/// The purpose of a launch.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Counts the launch and records the block with this index.
    Record(u64),
    /// Runs all sanitizers.
    Check,
}

/// The simulator, and the results of its last launch.
pub(crate) struct SimDevice {
    info: DeviceInfo,
    kernels: &'static Kernels,
    simulator: Simulator,
    purpose: Purpose,
    buffers: Vec<Option<Buffer<u8>>>,
    pub(crate) last: Option<Last>,
}

/// The results of a launch.
pub(crate) struct Last {
    pub(crate) function: simt::Function,
    pub(crate) ptx: String,
    pub(crate) recorded: Option<Recorded>,
    pub(crate) checked: Option<Checked>,
    /// The buffers, in the problem's order.
    pub(crate) buffers: Vec<BufferView>,
}

impl SimDevice {
    pub(crate) fn new(kernels: &'static Kernels, purpose: Purpose) -> Result<Self, Problem> {
        let info = DeviceInfo { kind: "sim", name: "simt".to_owned(), ..DeviceInfo::default() };
        Ok(Self { info, kernels, simulator: run::simulator()?, purpose, buffers: Vec::new(), last: None })
    }

    fn buffer(&self, id: BufferId) -> Result<Buffer<u8>, Error> {
        let found = self.buffers.get(id.0 as usize).copied().flatten();
        found.ok_or_else(|| failed("looking for a buffer", &"the buffer is not allocated"))
    }

    /// Returns the PTX of one kernel, without the parts that only other kernels need.
    fn text(&self, launch: &Launch) -> Result<String, Error> {
        let missing = || refused(launch, &"the PTX has no entry with this name");
        let ptx = self.kernels.newest_for(None)?.ok_or_else(missing)?;
        if !ptx.outline().has_entry(&launch.entry) {
            return Err(missing());
        }
        let text = extract(ptx.outline(), &launch.entry, SourceLines::Keep);
        Ok(text.map_or_else(|| ptx.text().to_owned(), |text| compact(&text)))
    }
}

/// Removes empty lines, and `.file` directives that no line refers to.
fn compact(text: &str) -> String {
    let number = |line: &str, word: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some(word)).then(|| words.next().map(str::to_owned)).flatten()
    };
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let used: std::collections::HashSet<String> = lines()
        .flat_map(|line| {
            let inlined = line.split_once("inlined_at ").and_then(|(_, rest)| rest.split_whitespace().next());
            [number(line, ".loc"), inlined.map(str::to_owned)].into_iter().flatten()
        })
        .collect();
    let is_used = |line: &&str| number(line, ".file").is_none_or(|file| used.contains(&file));
    lines().filter(is_used).flat_map(|line| [line, "\n"]).collect()
}

fn failed(doing: &'static str, reason: &impl ToString) -> Error {
    Error::Device { doing, reason: reason.to_string() }
}

fn refused(launch: &Launch, reason: &impl ToString) -> Error {
    let reason = reason.to_string();
    let reason = reason.lines().next().unwrap_or_default().to_owned();
    Error::Launch { launch: Box::new(launch.clone()), reason }
}

impl Device for SimDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(MOST_MEMORY.saturating_sub(self.simulator.memory().used()))
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        let buffer = self.simulator.uninitialized::<u8>(bytes);
        self.buffers.push(Some(buffer.map_err(|error| failed("allocating a buffer", &error))?));
        Ok(BufferId(self.buffers.len() as u32 - 1))
    }

    fn free(&mut self, id: BufferId) {
        if let Some(buffer) = self.buffers.get_mut(id.0 as usize).and_then(Option::take) {
            // The buffer is allocated, because it was in the list.
            let _ = self.simulator.free(buffer);
        }
    }

    fn address(&self, buffer: BufferId) -> Result<u64, Error> {
        Ok(self.buffer(buffer)?.address())
    }

    fn upload(&mut self, id: BufferId, bytes: &[u8]) -> Result<(), Error> {
        let buffer = self.buffer(id)?;
        let written = self.simulator.write(buffer, bytes);
        written.map_err(|error| failed("copying to the device", &error))
    }

    fn download(&mut self, id: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        let doing = "copying from the device";
        let address = self.buffer(id)?.address();
        let span = self.simulator.memory().span(address, bytes.len() as u64);
        match span {
            Some((allocation, at)) => allocation.read(at, bytes),
            None if bytes.is_empty() => {}
            None => return Err(failed(doing, &format!("the buffer has fewer than {} bytes", bytes.len()))),
        }
        Ok(())
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        let doing = |error: MemoryError| failed("copying on the device", &error);
        let (from, to) = (self.buffer(from)?, self.buffer(to)?);
        let bytes = self.simulator.read(from).map_err(doing)?;
        self.simulator.write(to, &bytes).map_err(doing)
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        let buffer = self.buffer(id)?;
        if let Some((allocation, at)) = self.simulator.memory_mut().span_mut(buffer.address(), buffer.len() as u64) {
            allocation.fill(at, buffer.len() as u64, [byte; 8]);
        }
        Ok(())
    }

    fn load(&mut self, _: String) -> Result<Code, Error> {
        Err(failed("loading PTX", &"the playground runs only kernels of the ladders and pasted PTX"))
    }

    /// Runs the kernel and keeps the results. The simulator checks every address, so the launch is memory-safe for any
    /// kernel.
    unsafe fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        let ptx = self.text(launch)?;
        let module = Module::from_ptx(ptx.clone()).map_err(|error| refused(launch, &error))?;
        let function = module.function(&launch.entry).map_err(|error| refused(launch, &error))?;
        let buffers = bound.iter().map(|id| self.buffer(*id)).collect::<Result<Vec<_>, _>>()?;
        let args = launch.args.iter().map(|arg| match *arg {
            Arg::Buffer(index) => match buffers.get(index) {
                Some(buffer) => Ok((*buffer).into()),
                None => Err(refused(launch, &format!("there is no buffer {index}"))),
            },
            Arg::Table { .. } => match buffers.get(arg.buffers()) {
                Some(buffers) => Ok(simt::Arg::Bytes(Arg::table(buffers.iter().map(|buffer| buffer.address())))),
                None => Err(refused(launch, &format!("the buffers {:?} do not exist", arg.buffers()))),
            },
            Arg::U32(value) => Ok(value.into()),
            Arg::I32(value) => Ok(value.into()),
            Arg::U64(value) => Ok(value.into()),
            Arg::F32(value) => Ok(value.into()),
            Arg::TensorMap(map) => match buffers.get(map.buffer) {
                Some(buffer) => {
                    let encoded = map.at(buffer.address()).encode();
                    let refused = |why| refused(launch, &format!("cannot create {map}: {why}"));
                    Ok(simt::Arg::Bytes(encoded.map_err(refused)?.to_vec()))
                }
                None => Err(refused(launch, &format!("there is no buffer {}", map.buffer))),
            },
            ref other => Err(refused(launch, &format!("the playground does not support the argument {other:?}"))),
        });
        let args = args.collect::<Result<Vec<simt::Arg>, _>>()?;
        let simt_launch =
            simt::Launch::new(&function, launch.grid, launch.block, &args).with_shared_bytes(launch.shared_bytes);
        let first = |simulator: &Simulator, buffer: &Buffer<u8>| run::first_bytes(simulator, buffer.address());
        let before: Vec<String> = buffers.iter().map(|buffer| first(&self.simulator, buffer)).collect();
        let (mut recorded, mut checked) = (None, None);
        let counters: Result<Counters, LaunchError> = match self.purpose {
            Purpose::Record(block) => {
                let new = run::record(&mut self.simulator, &simt_launch, block);
                recorded.insert(new).counters.clone()
            }
            Purpose::Check => {
                let (new, counters) = run::check(&mut self.simulator, &simt_launch);
                checked = Some(new);
                counters
            }
        };
        let shown = buffers.iter().zip(before).enumerate().map(|(index, (buffer, before))| BufferView {
            name: format!("buffer {index}"),
            kind: None,
            address: buffer.address(),
            bytes: buffer.len() as u64,
            before,
            after: first(&self.simulator, buffer),
        });
        self.last = Some(Last { ptx, recorded, checked, buffers: shown.collect(), function: function.clone() });
        let counters = counters.map_err(|error| refused(launch, &error))?.metrics();
        let mut result = LaunchResult::default();
        result.counters = counters;
        Ok(result)
    }

    fn call(&mut self, what: &str, _: &[BufferId], _: Enqueue<'_>) -> Result<LaunchResult, Error> {
        let reason = "the playground only runs kernels".to_owned();
        Err(Error::Call { what: what.to_owned(), reason })
    }
}
