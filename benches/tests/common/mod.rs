//! A shell script in place of nvcc, and the simulator with a fake clock in place of a device.

#[path = "../../../host/tests/stand_in/mod.rs"]
pub mod stand_in;

#[path = "../../../crates/rust-cuda/locate/tests/script/mod.rs"]
mod script;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use benches::cuda_code::CudaCode;
use benches::nvcc::Nvcc;
use host::device::DeviceInfo;
use host::launch::Code;
use host::{KERNELS, Ptx};
use stand_in::clocked::Clocked;

/// The path of the library of baselines.
pub static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| stand_in::built("benches/tests/stand_in/baselines.rs"));

/// Returns the kernels for the newest devices.
pub fn kernels() -> &'static Ptx {
    KERNELS.newest_for(None).unwrap().unwrap()
}

/// An nvcc that logs its calls. For any input, its PTX is the PTX of the kernels, and its libraries are copies of
/// `library`. Without `library`, it fails to build a library.
pub struct FakeNvcc {
    pub folder: tempfile::TempDir,
}

impl FakeNvcc {
    pub fn new(library: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kernels.ptx"), kernels().text()).unwrap();
        if let Some(library) = library {
            fs::copy(library, folder.path().join("library.so")).unwrap();
        }
        let fake = Self { folder };
        script::write(&fake.program(), include_str!("../data/nvcc.sh"));
        script::write(&fake.python(), include_str!("../data/python.sh"));
        fake
    }

    pub fn program(&self) -> PathBuf {
        self.folder.path().join("nvcc")
    }

    /// Returns a Python with a stand-in for PyTorch.
    pub fn python(&self) -> PathBuf {
        self.folder.path().join("python")
    }

    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Returns the logged calls, sorted, because several calls run at the same time.
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        let mut calls: Vec<String> = text.lines().map(str::to_owned).collect();
        calls.sort();
        calls
    }

    pub fn cuda(&self) -> CudaCode {
        CudaCode::with(Nvcc::at(self.program()), self.cache(), self.python().into())
    }
}

/// Returns a device on which the first entry takes 100 µs, the second 95 µs and so on. Loaded code takes a tenth longer
/// than the kernel with the same name. Every fourth launch takes a hundredth longer, and the entry `slow` takes a second.
pub fn clocked(slow: &'static str) -> Clocked {
    let info = DeviceInfo {
        compute_capability: Some(kernels().capability),
        l2_bytes: Some(64 << 10),
        ..DeviceInfo::default()
    };
    let mut launches: HashMap<(Code, String), u32> = HashMap::new();
    Clocked::new(info, move |place, code, entry| {
        let count = launches.entry((code, entry.to_owned())).or_default();
        *count += 1;
        let base = if entry == slow { 1e9 } else { 1e5 - 5e3 * place as f64 };
        let port = if code == Code::Kernels { 1.0 } else { 1.1 };
        let late = if count.is_multiple_of(4) { 1.01 } else { 1.0 };
        base * port * late
    })
}
