//! Building the kernels.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};

use crate::failure::{Failure, Result};
use crate::ptx::Module;
use crate::style::status;
use crate::{setup, tools};

/// The kernels as they were built for one architecture.
#[derive(Debug)]
pub struct Built {
    /// The PTX file.
    pub ptx: PathBuf,
    /// The LLVM IR that it was made from, optimized.
    pub llvm: PathBuf,
    /// What the PTX file says.
    pub module: Module,
}

/// The crate with the kernels.
#[must_use]
pub fn krate() -> PathBuf {
    tools::root().join("kernels-gpu")
}

/// Builds the kernels into `target/ptx/ARCH`, after setting the machine up if it has no device compiler.
///
/// # Errors
/// The machine cannot be set up, the kernels do not compile, or their PTX cannot be read.
pub fn build(arch: NvvmArch) -> Result<Built> {
    status("Building", format_args!("kernels-gpu for {}", arch.sm()));
    match try_build(arch) {
        Err(CudaBuilderError::NoDeviceCompiler(_)) => {
            setup::device()?;
            try_build(arch)
        }
        result => result,
    }
    .map_err(|error| Failure::new(error.to_string()))
    .and_then(|(ptx, llvm)| {
        Ok(Built {
            module: read(&ptx)?,
            ptx,
            llvm,
        })
    })
}

fn try_build(arch: NvvmArch) -> Result<(PathBuf, PathBuf), CudaBuilderError> {
    let folder = tools::target_dir().join("ptx").join(arch.sm());
    std::fs::create_dir_all(&folder).map_err(|source| CudaBuilderError::Io {
        path: folder.clone(),
        source,
    })?;
    let (ptx, llvm) = (folder.join("kernels.ptx"), folder.join("kernels.ll"));
    CudaBuilder::new(krate())
        .arch(arch)
        .copy_to(&ptx)
        .final_module_path(&llvm)
        .build()?;
    Ok((ptx, llvm))
}

/// Reads a PTX file.
///
/// # Errors
/// It cannot be read, or is not PTX: with the line.
pub fn read(path: &std::path::Path) -> Result<Module> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
    Module::parse(&text)
        .map_err(|error| Failure::new(format!("{} is no PTX: {error}", path.display())))
}
