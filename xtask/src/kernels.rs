//! Building the kernels.

mod inputs;

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch, toolchain};

use crate::failure::{Failure, Result};
use crate::ptx::Module;
use crate::style::status;
use crate::tools;

/// The architectures that the program has the kernels for, oldest first.
pub const EMBEDDED: [NvvmArch; 2] = include!("../../host/architectures.rs");

/// The newest of [`EMBEDDED`]: the one with all the kernels.
pub const NEWEST: NvvmArch = EMBEDDED[EMBEDDED.len() - 1];

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
/// Does not build them again if nothing that they are made from has changed.
///
/// # Errors
/// The machine cannot be set up, the kernels do not compile, or their PTX cannot be read.
pub fn build(arch: NvvmArch) -> Result<Built> {
    let folder = tools::target_dir().join("ptx").join(arch.sm());
    let (ptx, llvm) = (folder.join("kernels.ptx"), folder.join("kernels.ll"));
    let record = folder.join("kernels.inputs");
    let sources = inputs::sources()?;
    if !(inputs::unchanged(&record, &sources) && ptx.is_file() && llvm.is_file()) {
        status("Building", format_args!("kernels-gpu for {}", arch.sm()));
        let toolchain = toolchain::discover().map_err(|error| Failure::new(error.to_string()))?;
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::file("create", &folder, &error))?;
        // An interrupted build must not pass for a whole one.
        let _ = std::fs::remove_file(&record);
        CudaBuilder::new(krate())
            .arch(arch)
            .copy_to(&ptx)
            .final_module_path(&llvm)
            .build()
            .map_err(|error| Failure::new(error.to_string()))?;
        inputs::write(&record, &sources, &toolchain)?;
    }
    Ok(Built {
        module: read(&ptx)?,
        ptx,
        llvm,
    })
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
