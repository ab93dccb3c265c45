//! The simulator with a made-up clock.

use std::collections::HashMap;
use std::rc::Rc;

use host::device::{BufferId, Device, DeviceInfo, DeviceMemory, Enqueue, GpuStream, LaunchResult, Sim};
use host::launch::{Code, Launch};
use host::{Error, KERNELS};

/// Returns the time of a launch in nanoseconds from the index of its entry among all launched entries, its code and its
/// entry.
type Clock = dyn FnMut(usize, Code, &str) -> f64;

pub struct Clocked {
    simulator: Sim,
    info: DeviceInfo,
    clock: Box<Clock>,
    /// The launched entries, in the order of their first launches.
    entries: Vec<String>,
    sizes: HashMap<BufferId, usize>,
    /// Whether entries of loaded code do nothing.
    pub is_idle: bool,
    /// The start of the names of entries whose launch fails. After such a launch, the device runs nothing more.
    pub faulty: &'static str,
    is_usable: bool,
}

impl Clocked {
    /// Returns a device that describes itself like `info`, but has the name of this type and the kind of a GPU.
    pub fn new(info: DeviceInfo, clock: impl FnMut(usize, Code, &str) -> f64 + 'static) -> Self {
        Self {
            simulator: Sim::open(&KERNELS, 1).unwrap(),
            info: DeviceInfo { kind: "gpu", name: "Clocked".into(), ..info },
            clock: Box::new(clock),
            entries: Vec::new(),
            sizes: HashMap::new(),
            is_idle: false,
            faulty: "",
            is_usable: true,
        }
    }

    fn time(&mut self, code: Code, entry: &str) -> f64 {
        let known = self.entries.iter().position(|known| known == entry);
        let place = known.unwrap_or_else(|| {
            self.entries.push(entry.to_owned());
            self.entries.len() - 1
        });
        (self.clock)(place, code, entry)
    }
}

impl Device for Clocked {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(1 << 30)
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        let id = self.simulator.alloc(bytes)?;
        self.sizes.insert(id, bytes);
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        self.simulator.free(buffer);
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        self.simulator.upload(buffer, bytes)
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        self.simulator.download(buffer, bytes)
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        self.simulator.copy(from, to)
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        self.simulator.fill(buffer, byte)
    }

    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        self.simulator.load(ptx)
    }

    unsafe fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        self.is_usable &= self.faulty.is_empty() || !launch.entry.starts_with(self.faulty);
        if !self.is_usable {
            return Err(Error::Launch { launch: Box::new(launch.clone()), reason: "an illegal address".to_owned() });
        }
        if !(self.is_idle && launch.code != Code::Kernels) {
            // SAFETY: the simulator checks each access, so a wrong launch is an error.
            unsafe { self.simulator.launch(launch, bound) }?;
        }
        Ok(LaunchResult::timed(self.time(launch.code, &launch.entry)))
    }

    fn is_usable(&mut self) -> bool {
        self.is_usable
    }

    fn read(&mut self, _: BufferId) -> Result<LaunchResult, Error> {
        Ok(LaunchResult::timed(5e4))
    }

    /// Runs a call to other code on copies of the buffers in this process.
    fn call(&mut self, what: &str, bound: &[BufferId], work: Enqueue<'_>) -> Result<LaunchResult, Error> {
        // The copies consist of words, so that elements of any type are aligned.
        let mut copies: Vec<Vec<u64>> = Vec::new();
        for id in bound {
            let mut words = vec![0; self.sizes[id].div_ceil(8)];
            let bytes = &mut bytemuck::cast_slice_mut(&mut words)[..self.sizes[id]];
            self.simulator.download(*id, bytes)?;
            copies.push(words);
        }
        let places = bound.iter().zip(&mut copies);
        let places =
            places.map(|(id, words)| DeviceMemory { address: words.as_mut_ptr() as u64, bytes: self.sizes[id] as u64 });
        let memory: Vec<_> = places.collect();
        // SAFETY: the stand-in for the library does not use the stream.
        let stream = unsafe { GpuStream::new(std::ptr::dangling_mut(), Rc::new(())) };
        work(&stream, &memory).map_err(|reason| Error::Call { what: what.to_owned(), reason })?;
        for (id, words) in bound.iter().zip(&copies) {
            let bytes = &bytemuck::cast_slice(words)[..self.sizes[id]];
            self.simulator.upload(*id, bytes)?;
        }
        // A call without buffers opens the library.
        let is_call = !bound.is_empty();
        Ok(LaunchResult::timed(if is_call { self.time(Code::Kernels, what) } else { 0.0 }))
    }
}
