//! An nvcc that is a shell script, and a device that is the SIMT machine with a made-up clock.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

#[path = "../../../host/tests/stand_in/mod.rs"]
pub mod stand_in;

#[path = "../../../crates/locate/tests/script/mod.rs"]
mod script;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::LazyLock;

use benches::cuda_code::CudaCode;
use benches::nvcc::Nvcc;
use host::device::{
    BufferId, Device, DeviceInfo, DeviceMemory, Enqueue, GpuStream, LaunchResult, Sim,
};
use host::launch::{Code, Launch};
use host::{Error, KERNELS, Ptx};

/// The library of baselines, and the folder that it is removed with.
pub static LIBRARY: LazyLock<(tempfile::TempDir, PathBuf)> =
    LazyLock::new(|| stand_in::built("benches/tests/stand_in/baselines.rs"));

/// The kernels for the newest devices, as the machine runs them.
pub fn kernels() -> &'static Ptx {
    KERNELS.newest_for(None).unwrap()
}

/// An nvcc that notes how it is called, and makes PTX of whatever it is given: that of the kernels. The libraries that
/// it makes are copies of `library`; without one it fails.
pub struct FakeNvcc {
    pub folder: tempfile::TempDir,
}

impl FakeNvcc {
    pub fn new(library: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kernels.ptx"), kernels().text).unwrap();
        if let Some(library) = library {
            fs::copy(library, folder.path().join("library.so")).unwrap();
        }
        let script = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then
    echo "Cuda compilation tools, release 13.0, V13.0.88"
    exit
fi
echo "$@" | sed "s|[^ ]*/.nvcc-[^/]*|SCRATCH|g" >> "$here/calls"
made=kernels.ptx
while [ $# -gt 0 ]; do
    case $1 in
        -shared) made=library.so ;;
        -o) to=$2 ;;
    esac
    shift
done
if [ ! -f "$here/$made" ]; then
    echo "baselines.cu(20): fatal error: cublas_v2.h: No such file" >&2
    exit 1
fi
cp "$here/$made" "$to"
"#;
        let fake = Self { folder };
        script::write(&fake.program(), script);
        fake
    }

    pub fn program(&self) -> PathBuf {
        self.folder.path().join("nvcc")
    }

    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// How it was called, sorted: several are called at once.
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        let mut calls: Vec<String> = text.lines().map(str::to_owned).collect();
        calls.sort();
        calls
    }

    pub fn cuda(&self) -> CudaCode {
        CudaCode::with(Nvcc::at(self.program()), self.cache())
    }
}

/// The machine with a clock. The first entry takes 100 µs, the second 90 and so on; what was loaded takes a
/// tenth longer than its namesake, and each fourth launch a hundredth longer.
pub struct Clocked {
    machine: Sim,
    info: DeviceInfo,
    entries: Vec<String>,
    launches: HashMap<(Code, String), u32>,
    sizes: HashMap<BufferId, usize>,
    /// Whether the entries of what is loaded do nothing.
    pub is_idle: bool,
    /// The entry that takes a second.
    pub slow: &'static str,
}

impl Clocked {
    pub fn new() -> Self {
        Self {
            machine: Sim::open(&KERNELS, 1).unwrap(),
            info: DeviceInfo {
                kind: "gpu",
                name: "Clocked".into(),
                compute_capability: Some(kernels().capability),
                l2_bytes: Some(64 << 10),
                ..DeviceInfo::default()
            },
            entries: Vec::new(),
            launches: HashMap::new(),
            sizes: HashMap::new(),
            is_idle: false,
            slow: "",
        }
    }

    fn time(&mut self, code: Code, entry: &str) -> f64 {
        let known = self.entries.iter().position(|known| known == entry);
        let place = known.unwrap_or_else(|| {
            self.entries.push(entry.to_owned());
            self.entries.len() - 1
        });
        let count = self.launches.entry((code, entry.to_owned())).or_default();
        *count += 1;
        let base = if entry == self.slow {
            1e9
        } else {
            1e5 - 5e3 * place as f64
        };
        let port = if code == Code::Kernels { 1.0 } else { 1.1 };
        let late = if count.is_multiple_of(4) { 1.01 } else { 1.0 };
        base * port * late
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
        let id = self.machine.alloc(bytes)?;
        self.sizes.insert(id, bytes);
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        self.machine.free(buffer);
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        self.machine.upload(buffer, bytes)
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        self.machine.download(buffer, bytes)
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        self.machine.copy(from, to)
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        self.machine.fill(buffer, byte)
    }

    fn load(&mut self, ptx: String) -> Result<Code, Error> {
        self.machine.load(ptx)
    }

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        if !(self.is_idle && launch.code != Code::Kernels) {
            self.machine.launch(launch, bound)?;
        }
        Ok(LaunchResult::timed(self.time(launch.code, &launch.entry)))
    }

    fn read(&mut self, _: BufferId) -> Result<LaunchResult, Error> {
        Ok(LaunchResult::timed(5e4))
    }

    /// Other code works on a copy of the buffers in this process.
    fn call(
        &mut self,
        what: &str,
        bound: &[BufferId],
        work: Enqueue<'_>,
    ) -> Result<LaunchResult, Error> {
        // Of words, so that elements of any type are aligned in them.
        let mut copies: Vec<Vec<u64>> = Vec::new();
        for id in bound {
            let mut words = vec![0; self.sizes[id].div_ceil(8)];
            let bytes = &mut bytemuck::cast_slice_mut(&mut words)[..self.sizes[id]];
            self.machine.download(*id, bytes)?;
            copies.push(words);
        }
        let places = bound.iter().zip(&mut copies);
        let places = places.map(|(id, words)| DeviceMemory {
            address: words.as_mut_ptr() as u64,
            bytes: self.sizes[id] as u64,
        });
        let memory: Vec<_> = places.collect();
        // SAFETY: the stand-in for the library does not use the stream.
        let stream = unsafe { GpuStream::new(std::ptr::dangling_mut(), Rc::new(())) };
        work(&stream, &memory).map_err(|reason| Error::Call {
            what: what.to_owned(),
            reason,
        })?;
        for (id, words) in bound.iter().zip(&copies) {
            let bytes = &bytemuck::cast_slice(words)[..self.sizes[id]];
            self.machine.upload(*id, bytes)?;
        }
        // What works on no buffer is the opening of the library.
        let is_call = !bound.is_empty();
        Ok(LaunchResult::timed(if is_call {
            self.time(Code::Kernels, what)
        } else {
            0.0
        }))
    }
}
