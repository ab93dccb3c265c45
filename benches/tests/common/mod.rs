//! An nvcc that is a shell script, and a device that is the SIMT machine with a made-up clock.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use benches::nvcc::Nvcc;
use benches::opponents::Opponents;
use host::device::{BufferId, Device, DeviceInfo, Ran, Sim};
use host::launch::{Code, Launch};
use host::peer::Call;
use host::{Error, Ptx, kernels_for};

/// The kernels for the newest devices, as the machine runs them.
pub fn kernels() -> &'static Ptx {
    kernels_for(None).unwrap()
}

/// An nvcc that notes how it is called, and makes PTX of whatever it is given: that of the kernels. It makes
/// a library where `library` is what it shall be, and fails where there is none.
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
    echo "peers.cu(20): fatal error: cublas_v2.h: No such file" >&2
    exit 1
fi
cp "$here/$made" "$to"
"#;
        let fake = Self { folder };
        fs::write(fake.program(), script).unwrap();
        fs::set_permissions(fake.program(), fs::Permissions::from_mode(0o755)).unwrap();
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

    pub fn opponents(&self) -> Opponents {
        Opponents::with(Nvcc::at(self.program()), self.cache())
    }
}

/// The machine with a clock. The first entry takes 100 µs, the second 90 and so on; what was loaded takes a
/// tenth longer than its namesake, and each fourth launch a hundredth longer.
pub struct Clocked {
    machine: Sim,
    info: DeviceInfo,
    entries: Vec<String>,
    launches: HashMap<(Code, String), u32>,
    /// Whether the entries of what is loaded do nothing.
    pub is_idle: bool,
    /// The entry that takes a second.
    pub slow: &'static str,
}

impl Clocked {
    pub fn new() -> Self {
        Self {
            machine: Sim::open(1).unwrap(),
            info: DeviceInfo {
                kind: "gpu",
                name: "Clocked".into(),
                compute_capability: Some(kernels().capability),
                l2_bytes: Some(64 << 10),
                ..DeviceInfo::default()
            },
            entries: Vec::new(),
            launches: HashMap::new(),
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
        let twin = if code == Code::Kernels { 1.0 } else { 1.1 };
        let late = if count.is_multiple_of(4) { 1.01 } else { 1.0 };
        base * twin * late
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
        self.machine.alloc(bytes)
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

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<Ran, Error> {
        if !(self.is_idle && launch.code != Code::Kernels) {
            self.machine.launch(launch, bound)?;
        }
        Ok(Ran::timed(self.time(launch.code, &launch.entry)))
    }

    fn read(&mut self, _: BufferId) -> Result<Ran, Error> {
        Ok(Ran::timed(5e4))
    }

    fn open_peers(&mut self, _: &Path) -> Result<String, Error> {
        Ok("CUB 1.2, cuBLAS 3.4".to_owned())
    }

    fn call(&mut self, call: &Call, bound: &[BufferId]) -> Result<Ran, Error> {
        match *call {
            Call::Copy { from, to, bytes } => {
                let mut data = vec![0; bytes as usize];
                self.machine.download(bound[from], &mut data)?;
                self.put(bound[to], &data)?;
            }
            Call::Transpose {
                input,
                output,
                rows,
                cols,
            } => {
                let (rows, cols) = (rows as usize, cols as usize);
                let mut data = vec![0; rows * cols * 4];
                self.machine.download(bound[input], &mut data)?;
                let mut turned = data.clone();
                for (at, word) in data.chunks_exact(4).enumerate() {
                    let (row, column) = (at / cols, at % cols);
                    turned[(column * rows + row) * 4..][..4].copy_from_slice(word);
                }
                self.put(bound[output], &turned)?;
            }
            _ => {}
        }
        Ok(Ran::timed(self.time(Code::Kernels, &call.to_string())))
    }
}

impl Clocked {
    /// Writes the first bytes of a buffer, and leaves the others.
    fn put(&mut self, buffer: BufferId, first: &[u8]) -> Result<(), Error> {
        // The ladders' outputs have a guard behind them; how long is the ladder's affair.
        let whole = (first.len()..first.len() + 4096).find(|&len| {
            self.machine
                .download(buffer, &mut vec![0; len + 1])
                .is_err()
        });
        let mut bytes = vec![0; whole.unwrap()];
        self.machine.download(buffer, &mut bytes)?;
        bytes[..first.len()].copy_from_slice(first);
        self.machine.upload(buffer, &bytes)
    }
}
