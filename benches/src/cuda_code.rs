//! The code that rungs are compared with. The CUDA C++ in `cuda/` contains the CUDA ports of rungs and the library of
//! baselines. PyTorch runs in a separate process.
//!
//! The CUDA C++ is embedded in this program as text. The first request for a ladder compiles and loads it, or starts
//! the process. When this is not possible, the output gives the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use host::launch::{Code, Launch};
use host::{Device, KERNELS};
use ptx::Outline;

use crate::baseline;
use crate::error::Error;
use crate::library::Library;
use crate::nvcc::{self, Nvcc, Product, Unit};
use crate::torch::{self, Torch};

/// The CUDA ports of a ladder, as text.
#[derive(Clone, Copy, Debug)]
pub struct PortText {
    /// The ladder.
    pub ladder: &'static str,
    /// The name of the file, `LADDER.cu`.
    pub file: &'static str,
    /// The content of the file.
    pub text: &'static str,
    /// The included files: their names and texts.
    pub headers: &'static [(&'static str, &'static str)],
}

impl PortText {
    /// Returns the unit that compiles the text for a virtual architecture.
    pub fn unit(&self, arch: String) -> Unit {
        Unit { file: self.file, text: self.text, headers: self.headers, product: Product::Ptx(arch) }
    }
}

/// The texts of `cuda/LADDER.cu`, with the included headers.
macro_rules! ports {
    ($($ladder:literal $([$($header:literal),*])?),* $(,)?) => {
        &[$(PortText {
            ladder: $ladder,
            file: concat!($ladder, ".cu"),
            text: include_str!(concat!("../cuda/", $ladder, ".cu")),
            headers: &[$($(($header, include_str!(concat!("../cuda/", $header)))),*)?],
        }),*]
    };
}

/// The ladders with CUDA ports. A rung has a port if the CUDA file of its ladder contains the rung's kernels, for the
/// architecture that the file is compiled for.
pub const PORTS: &[PortText] = ports![
    "reduce",
    "transpose",
    "shuffle",
    "matmul",
    "gemm" ["gemm_stages.cuh", "gemm_tiles.cuh", "tensor_core.cuh"],
    "histogram",
    "scan" ["cooperation.cuh", "tensor_core.cuh"],
    "sort" ["cooperation.cuh"],
    "softmax",
    "attention" ["tensor_core.cuh"],
];

const BASELINES: &str = include_str!("../cuda/baselines.cu");

/// The loaded CUDA ports of a ladder.
#[derive(Clone, Debug)]
struct Ports {
    code: Code,
    entries: BTreeSet<String>,
}

/// The compiled, loaded or started code for one device.
pub struct CudaCode {
    nvcc: Result<Nvcc, String>,
    folder: PathBuf,
    ports: BTreeMap<&'static str, Result<Ports, String>>,
    library: Option<Result<Rc<Library>, String>>,
    python: OsString,
    torch: Option<Result<Rc<Torch>, String>>,
}

impl CudaCode {
    /// Looks for an nvcc without running it yet. nvcc's results are stored in [`nvcc::cache`]. The environment variable
    /// `PYTHON` names the Python that has PyTorch; the default is `python3`.
    pub fn find() -> Self {
        Self::with(Nvcc::find(), nvcc::cache(), std::env::var_os("PYTHON").unwrap_or("python3".into()))
    }

    /// Uses this nvcc, if there is one, this folder for nvcc's results, and the PyTorch of this Python.
    pub fn with(nvcc: Result<Nvcc, Error>, folder: PathBuf, python: OsString) -> Self {
        let nvcc = nvcc.map_err(|error| error.to_string());
        Self { nvcc, folder, ports: BTreeMap::new(), library: None, python, torch: None }
    }

    /// Returns nvcc's version, if there is an nvcc.
    pub fn nvcc_version(&self) -> Option<&str> {
        self.nvcc.as_ref().ok().map(|nvcc| nvcc.version.as_str())
    }

    /// Compiles and loads, in parallel, the CUDA ports of the ladders `with_ports`, and the library if one of the
    /// ladders `with_baselines` has baselines. Then starts PyTorch if it has functions for one of the ladders
    /// `with_baselines`. Keeps the results of earlier calls.
    pub fn prepare(&mut self, device: &mut dyn Device, with_ports: &[&str], with_baselines: &[&str]) {
        let wanted: Vec<_> = PORTS
            .iter()
            .filter(|port| with_ports.contains(&port.ladder) && !self.ports.contains_key(port.ladder))
            .collect();
        let mut of_baselines = with_baselines.iter();
        let wants_library = self.library.is_none() && of_baselines.any(|ladder| baseline::exist_for(ladder));
        let ports = wanted.iter().map(|port| port.unit(virtual_arch(device)));
        let library = wants_library.then(|| Unit {
            file: "baselines.cu",
            text: BASELINES,
            headers: &[],
            product: Product::Library(real_arch(device)),
        });
        let units: Vec<Unit> = ports.chain(library).collect();
        let made: Vec<Result<PathBuf, Error>> = match &self.nvcc {
            Ok(nvcc) => nvcc.compile(&units, &self.folder),
            Err(why) => (units.iter().map(|_| Err(Error::Cuda(why.clone())))).collect(),
        };
        let mut made = made.into_iter();
        // The library is the last unit, if it is requested.
        for (port, made) in wanted.into_iter().zip(&mut made) {
            let ports = made.and_then(|path| load(device, &path));
            self.ports.insert(port.ladder, ports.map_err(|error| error.to_string()));
        }
        if let Some(made) = made.next() {
            let library = made.and_then(|path| Library::open(&path, device));
            self.library = Some(library.map(Rc::new).map_err(|error| error.to_string()));
        }
        if self.torch.is_none() && with_baselines.iter().any(|ladder| torch::functions(ladder).next().is_some()) {
            self.torch = Some(Torch::start(&self.python).map(Rc::new));
        }
    }

    /// Returns `launch` with the entry of the rung's CUDA port, or `None` when there is no such entry.
    pub fn port(&self, ladder: &str, launch: &Launch) -> Option<Launch> {
        let ports = self.ports.get(ladder)?.as_ref().ok()?;
        ports.entries.contains(&launch.entry).then(|| Launch { code: ports.code, ..launch.clone() })
    }

    /// Returns whether a ladder's CUDA ports could not be built.
    pub fn lacks_ports(&self, ladder: &str) -> bool {
        matches!(self.ports.get(ladder), Some(Err(_)))
    }

    /// Drops a ladder's CUDA ports, because the device does not accept them.
    pub fn refuse_ports(&mut self, ladder: &'static str, why: String) {
        self.ports.insert(ladder, Err(why));
    }

    /// Returns the library of baselines, if it was requested and could be built.
    pub fn library(&self) -> Option<&Rc<Library>> {
        self.library.as_ref()?.as_ref().ok()
    }

    /// Returns the process of PyTorch, if it was requested, could be started, and has functions for this ladder.
    pub fn torch(&self, ladder: &str) -> Option<&Rc<Torch>> {
        torch::functions(ladder).next()?;
        self.torch.as_ref()?.as_ref().ok()
    }

    /// Returns the versions of the baselines' libraries.
    pub fn versions(&self) -> Vec<String> {
        let library = self.library().map(|library| library.versions.clone());
        let torch = self.torch.iter().flatten().map(|torch| torch.versions.clone());
        library.into_iter().chain(torch).collect()
    }

    /// Returns the reasons why a ladder has no CUDA ports or no baselines here, one per line.
    pub fn missing(&self, ladder: &str) -> Vec<String> {
        let has_ports = PORTS.iter().any(|port| port.ladder == ladder);
        let ports = match self.ports.get(ladder) {
            Some(Err(why)) => Some(format!("no CUDA ports: {why}")),
            _ if !has_ports => Some(format!("{ladder} has no CUDA ports")),
            _ => None,
        };
        let baselines = match &self.library {
            _ if !baseline::exist_for(ladder) => {
                torch::functions(ladder).next().is_none().then(|| format!("{ladder} has no baselines"))
            }
            Some(Err(why)) => Some(format!("no baselines: {why}")),
            _ => None,
        };
        let torch = match &self.torch {
            Some(Err(why)) if torch::functions(ladder).next().is_some() => Some(format!("no PyTorch: {why}")),
            _ => None,
        };
        ports.into_iter().chain(baselines).chain(torch).collect()
    }
}

fn load(device: &mut dyn Device, path: &Path) -> Result<Ports, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::cache(path, &error))?;
    let entries = Outline::new(text.as_str()).entries().map(|entry| entry.name.to_owned()).collect();
    let code = device.load(text)?;
    Ok(Ports { code, entries })
}

/// Returns the virtual architecture for which this program's kernels, and thus their CUDA ports, are compiled on this
/// device.
fn virtual_arch(device: &dyn Device) -> String {
    let kernels = host::Ptx::newest(KERNELS.modules, device.info().compute_capability);
    kernels.map_or("compute_75".to_owned(), |kernels| kernels.arch("compute"))
}

/// Returns the architecture of the device.
fn real_arch(device: &dyn Device) -> String {
    match device.info().compute_capability {
        Some((major, minor)) => format!("sm_{major}{minor}"),
        None => "native".to_owned(),
    }
}
