//! The kernels under test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cuda_builder::{CudaBuilder, NvvmArch};
use simt::{LoadError, Module};
use simt_check::diagnostic::{Diagnostic, Style};

use crate::error::{Result, located};

/// Compiled kernels.
#[derive(Debug)]
pub struct Kernels {
    pub(crate) ptx: String,
    pub(crate) module: Module,
}

impl Kernels {
    /// Compiles the kernels of the crate in this package folder for compute capability 7.5, with line tables.
    /// [`kernels!`](crate::kernels) passes the folder of the calling crate.
    ///
    /// # Errors
    /// Returns the errors of [`Kernels::build`].
    #[track_caller]
    pub fn of_crate(folder: impl AsRef<Path>) -> Result<&'static Self> {
        static BUILT: Mutex<BTreeMap<PathBuf, Result<&'static Kernels, String>>> = Mutex::new(BTreeMap::new());
        let folder = folder.as_ref();
        // Tests of a program run concurrently: the first test builds, and the others wait for it.
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let build = || build(CudaBuilder::new(folder).arch(NvvmArch::Compute75));
        located(built.entry(folder.to_owned()).or_insert_with(build).clone())
    }

    /// Compiles the kernels of a crate with the settings of the builder.
    ///
    /// # Errors
    /// Returns an error when the crate does not exist or does not compile for the device, this machine lacks the
    /// device's compiler, or the simulator cannot read the PTX.
    #[track_caller]
    pub fn build(builder: CudaBuilder) -> Result<&'static Self> {
        located(build(builder))
    }

    /// Loads kernels from PTX.
    ///
    /// # Errors
    /// Returns an error with the line when the simulator cannot read the PTX.
    #[track_caller]
    pub fn from_ptx(ptx: impl Into<String>) -> Result<&'static Self> {
        located(from_ptx(ptx.into()))
    }
}

fn build(builder: CudaBuilder) -> Result<&'static Kernels, String> {
    let path = builder.build().map_err(|error| error.to_string())?;
    from_ptx(std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn from_ptx(ptx: String) -> Result<&'static Kernels, String> {
    let module = Module::from_ptx(ptx.as_str()).map_err(refused)?;
    // Kernels live as long as the test program.
    Ok(Box::leak(Box::new(Kernels { ptx, module })))
}

/// Describes an error for PTX that the simulator cannot run.
pub(crate) fn refused(error: LoadError) -> String {
    let drawn = Diagnostic::of_load_error(&error, "PTX").text(Style::of_terminal(false));
    if drawn.lines().count() > 1 { format!("\n{drawn}") } else { error.to_string() }
}
