//! What the rungs are measured against: their twins in CUDA C++, and NVIDIA's own libraries.
//!
//! The texts are part of this program. They are compiled and loaded on the machine that it runs on, when a
//! ladder first asks for them; where that is not possible, each ladder's columns say why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use host::launch::{Code, Launch};
use host::{Device, kernels_for};
use ptx::Outline;

use crate::error::Error;
use crate::nvcc::{self, Nvcc, Product, Unit};

/// The twins of each ladder that has some.
const TWINS: &[(&str, &str, &str)] = &[
    ("reduce", "reduce.cu", include_str!("../cuda/reduce.cu")),
    (
        "transpose",
        "transpose.cu",
        include_str!("../cuda/transpose.cu"),
    ),
    ("shuffle", "shuffle.cu", include_str!("../cuda/shuffle.cu")),
    ("matmul", "matmul.cu", include_str!("../cuda/matmul.cu")),
    (
        "histogram",
        "histogram.cu",
        include_str!("../cuda/histogram.cu"),
    ),
];

const PEERS: &str = include_str!("../cuda/peers.cu");

/// The twins of a ladder, loaded.
#[derive(Clone, Debug)]
struct Twins {
    code: Code,
    entries: BTreeSet<String>,
}

/// What there is to measure against on one device.
pub struct Opponents {
    nvcc: Result<Nvcc, String>,
    folder: PathBuf,
    twins: BTreeMap<&'static str, Result<Twins, String>>,
    peers: Option<Result<String, String>>,
}

impl Opponents {
    /// Looks for an nvcc, and does nothing else yet. What it makes is kept in [`nvcc::cache`].
    #[must_use]
    pub fn find() -> Self {
        Self::with(Nvcc::find(), nvcc::cache())
    }

    /// The opponents that this nvcc makes, if it is one, kept in this folder.
    #[must_use]
    pub fn with(nvcc: Result<Nvcc, Error>, folder: PathBuf) -> Self {
        Self {
            nvcc: nvcc.map_err(|error| error.to_string()),
            folder,
            twins: BTreeMap::new(),
            peers: None,
        }
    }

    /// nvcc's version, where there is one.
    #[must_use]
    pub fn nvcc_version(&self) -> Option<&str> {
        self.nvcc.as_ref().ok().map(Nvcc::version)
    }

    /// Compiles and loads what these ladders' rungs have as twins, and with `peers` the libraries, all at the
    /// same time. What was asked for before is not made again.
    pub fn prepare(&mut self, device: &mut dyn Device, ladders: &[&str], peers: bool) {
        let wanted: Vec<_> = TWINS
            .iter()
            .filter(|(ladder, ..)| ladders.contains(ladder) && !self.twins.contains_key(ladder))
            .collect();
        let peers = peers && self.peers.is_none();
        let nvcc = match &self.nvcc {
            Ok(nvcc) => nvcc,
            Err(why) => {
                for (ladder, ..) in wanted {
                    self.twins.insert(ladder, Err(why.clone()));
                }
                if peers {
                    self.peers = Some(Err(why.clone()));
                }
                return;
            }
        };
        let mut units: Vec<Unit> = wanted
            .iter()
            .map(|(_, file, text)| Unit {
                file,
                text,
                product: Product::Ptx(virtual_arch(device)),
            })
            .collect();
        if peers {
            units.push(Unit {
                file: "peers.cu",
                text: PEERS,
                product: Product::Library(real_arch(device)),
            });
        }
        let mut made = nvcc.compile(&units, &self.folder);
        if peers {
            let library = made.pop().expect("one for each unit");
            self.peers = Some(open(device, library));
        }
        for ((ladder, ..), made) in wanted.into_iter().zip(made) {
            self.twins.insert(ladder, load(device, made));
        }
    }

    /// The twin of a launch: the same, of the other compiler's entry. `None` where the ladder's twins do not
    /// have this one or were not made.
    #[must_use]
    pub fn twin(&self, ladder: &str, launch: &Launch) -> Option<Launch> {
        let twins = self.twins.get(ladder)?.as_ref().ok()?;
        twins.entries.contains(&launch.entry).then(|| Launch {
            code: twins.code,
            ..launch.clone()
        })
    }

    /// Why a ladder has no twins, where that is so.
    #[must_use]
    pub fn without_twins(&self, ladder: &str) -> Option<&str> {
        self.twins.get(ladder)?.as_ref().err().map(String::as_str)
    }

    /// Gives up a ladder's twins, because the device does not take them.
    pub fn refuse_twins(&mut self, ladder: &'static str, why: String) {
        self.twins.insert(ladder, Err(why));
    }

    /// Whether there are peers to call.
    #[must_use]
    pub fn has_peers(&self) -> bool {
        matches!(self.peers, Some(Ok(_)))
    }

    /// The versions of the peers' libraries, or why there are none. `None` before they were asked for.
    #[must_use]
    pub fn peers(&self) -> Option<Result<&str, &str>> {
        let peers = self.peers.as_ref()?;
        Some(peers.as_deref().map_err(String::as_str))
    }
}

fn open(device: &mut dyn Device, library: Result<PathBuf, Error>) -> Result<String, String> {
    let library = library.map_err(|error| error.to_string())?;
    device
        .open_peers(&library)
        .map_err(|error| error.to_string())
}

fn load(device: &mut dyn Device, made: Result<PathBuf, Error>) -> Result<Twins, String> {
    let text = made
        .and_then(|path| read(&path))
        .map_err(|error| error.to_string())?;
    let entries = Outline::new(text.as_str())
        .entries()
        .map(|entry| entry.name.to_owned())
        .collect();
    let code = device.load(text).map_err(|error| error.to_string())?;
    Ok(Twins { code, entries })
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| Error::Cache {
        path: path.display().to_string(),
        why: error.to_string(),
    })
}

/// The virtual architecture that the kernels of this program are compiled for on this device, and so their
/// twins.
fn virtual_arch(device: &dyn Device) -> String {
    let kernels = kernels_for(device.info().compute_capability);
    let (major, minor) = kernels.map_or((7, 5), |kernels| kernels.capability);
    format!("compute_{major}{minor}")
}

/// The architecture of the device itself.
fn real_arch(device: &dyn Device) -> String {
    match device.info().compute_capability {
        Some((major, minor)) => format!("sm_{major}{minor}"),
        None => "native".to_owned(),
    }
}
