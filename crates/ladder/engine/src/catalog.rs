//! The ladders of a program, together with the PTX of their kernels.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::ptx::Ptx;
use crate::registry::Ladder;
use rung::Pitfall;

/// The contents of a program: its ladders, and the kernels that they launch.
#[derive(Debug)]
pub struct Catalog {
    /// The ladders, in the order in which they are taught.
    pub ladders: &'static [Ladder],
    /// The pitfalls, in the order of the sanitizers that find them.
    pub pitfalls: &'static [Pitfall],
    /// The PTX of all of the program's kernels.
    pub kernels: &'static Kernels,
}

/// The PTX of a program's kernels.
#[derive(Debug)]
pub struct Kernels {
    /// One module for each architecture that the kernels are compiled for, the oldest first. A kernel that needs
    /// instructions of a newer architecture is only in the modules for that architecture and newer ones.
    pub modules: &'static [Ptx],
    /// The compiler of the host code, for example `rustc 1.95.0`.
    pub host_compiler: &'static str,
    /// The folder in which the kernels were compiled. It holds the LLVM IR of each module in a subfolder such as
    /// `kernels.compute_90a.llvm`, one file for each part of the module. The folder does not exist on a computer that
    /// only has the built program.
    pub build_folder: &'static str,
    /// The folder of the package that embeds the modules, in the repository of the kernels. This folder can also be
    /// missing.
    pub package_folder: &'static str,
}

impl Kernels {
    /// Returns the folders that the paths of the kernels' source lines are relative to, the repository first.
    pub fn source_folders(&self) -> Vec<PathBuf> {
        let repository = Path::new(self.package_folder).parent().unwrap_or(Path::new(""));
        vec![repository.to_owned(), repository.join("kernels-gpu")]
    }
}

impl Catalog {
    /// Returns the names of all rungs and ladders.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.ladders.iter().flat_map(|ladder| {
            let rungs = ladder.rungs.iter().map(|rung| rung.name);
            rungs.chain([ladder.name])
        })
    }

    /// Returns the ladder named `name`.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] with the nearest name when no ladder has this name.
    pub fn ladder(&self, name: &str) -> Result<&'static Ladder, Error> {
        let found = self.ladders.iter().find(|ladder| ladder.name == name);
        found.ok_or_else(|| {
            let known: Vec<_> = self.ladders.iter().map(|ladder| ladder.name).collect();
            Error::unknown(&format!("no ladder is named `{name}`"), name, "ladders", &known)
        })
    }

    /// Returns the named pitfalls in the catalog's order, or all of them if `names` is empty.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] with the nearest name for the first name that is not a pitfall.
    pub fn pitfalls(&self, names: &[String]) -> Result<Vec<&'static Pitfall>, Error> {
        let known = || self.pitfalls.iter().map(|pitfall| pitfall.name);
        if let Some(unknown) = names.iter().find(|name| known().all(|pitfall| pitfall != *name)) {
            let problem = format!("no pitfall is named `{unknown}`");
            return Err(Error::unknown(&problem, unknown, "pitfalls", &known().collect::<Vec<_>>()));
        }
        let is_named = |pitfall: &&Pitfall| names.is_empty() || names.iter().any(|name| name == pitfall.name);
        Ok(self.pitfalls.iter().filter(is_named).collect())
    }
}

impl Kernels {
    /// Checks that the PTX of the kernels still exists.
    ///
    /// # Errors
    /// Returns [`Error::NoKernels`] when the program reads its PTX from its build folder, but that folder no longer
    /// exists.
    pub fn check_readable(&self) -> Result<(), Error> {
        self.modules.iter().try_for_each(Ptx::check_readable)
    }

    /// Returns the newest module that a device with the compute capability `capability` can run. `None` stands for a
    /// device without a compute capability, which runs the newest module.
    ///
    /// # Errors
    /// Returns the errors of [`Ptx::read`], which reads or compiles the module.
    pub fn newest_for(&self, capability: Option<(u32, u32)>) -> Result<Option<&'static Ptx>, Error> {
        Ptx::newest(self.modules, capability).map(|ptx| ptx.read().map(|_| ptx)).transpose()
    }

    /// Returns the bytes of shared memory that an entry declares statically, or 0 for an unknown entry. The newest
    /// module is used because it has all entries.
    pub fn static_shared_bytes(&self, entry: &str) -> u32 {
        self.modules.last().and_then(|ptx| ptx.static_shared_bytes(entry)).unwrap_or(0)
    }

    /// Describes the compilers of the host code and of the module that a device with this compute capability runs.
    pub fn toolchain(&self, capability: Option<(u32, u32)>) -> String {
        let module = self.newest_for(capability).ok().flatten();
        format!(
            "host code by {}, device code by {}",
            self.host_compiler,
            module.map_or(String::new(), |ptx| ptx.outline().header())
        )
    }
}
