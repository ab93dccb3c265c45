//! The steps of a build, from the crate to its PTX.

use std::path::PathBuf;

use crate::builder::{CudaBuilder, EmitOption};
use crate::compile::{self, Paths};
use crate::error::CudaBuilderError;
use crate::lower::{lower, verify};
use crate::ptx;
use crate::toolchain::{self, DeviceToolchain};

impl CudaBuilder {
    /// Builds the crate and returns the path of the PTX: the [`copy_to`](Self::copy_to) path if there
    /// is one.
    ///
    /// In a build script it also tells cargo what the PTX was made from, so that the script runs again
    /// when one of those files has changed, and only then.
    ///
    /// # Errors
    /// [`CudaBuilderError`] when the folder holds no crate, when this machine has no device compiler,
    /// when the source does not compile, and when a kernel cannot be lowered.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        if !self.path_to_crate().join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(
                self.path_to_crate().to_owned(),
            ));
        }
        compile::watch_environment();
        let toolchain = toolchain::discover()?;
        let paths = Paths::of(&self)?;

        let raw = compile::to_ir(&self, &toolchain, &paths)?;
        let lowered = lower(&raw, &self.arch.sm()).map_err(|source| self.cannot_lower(source))?;
        compile::write(&paths.lowered, &lowered)?;

        compile::optimize(&self, &toolchain, &paths)?;
        let optimized = compile::read(&paths.optimized)?;
        verify::verify(&optimized).map_err(|source| self.cannot_lower(source))?;

        let text = ptx::generate(&self, &toolchain, &paths, &optimized)?;
        if !text.contains(".entry ") {
            return Err(CudaBuilderError::NoKernels {
                krate: self.path_to_crate().to_owned(),
            });
        }
        compile::write(&paths.ptx, &header(&self, &toolchain, &text))?;
        self.deliver(&toolchain, &paths)
    }

    fn deliver(
        self,
        toolchain: &DeviceToolchain,
        paths: &Paths,
    ) -> Result<PathBuf, CudaBuilderError> {
        if let Some(path) = &self.final_module_path {
            compile::copy(&paths.optimized, path)?;
        }
        let ptx = match &self.ptx_file_copy_path {
            Some(path) => {
                std::fs::copy(&paths.ptx, path).map_err(|source| {
                    CudaBuilderError::FailedToCopyPtxFile {
                        path: path.clone(),
                        source,
                    }
                })?;
                path.clone()
            }
            None => paths.ptx.clone(),
        };
        match self.emit {
            None => {}
            Some(EmitOption::LlvmIr) => compile::copy(&paths.optimized, &ptx.with_extension("ll"))?,
            Some(EmitOption::Bitcode) => {
                compile::assemble_bitcode(toolchain, &paths.optimized, &ptx.with_extension("bc"))?;
            }
        }
        Ok(ptx)
    }
}

/// Says in the PTX's first line what made it.
fn header(builder: &CudaBuilder, toolchain: &DeviceToolchain, ptx: &str) -> String {
    format!(
        "// cuda_builder {}: rustc {}, LLVM {}, {}\n{ptx}",
        env!("CARGO_PKG_VERSION"),
        toolchain.rustc.version,
        toolchain.llvm.version,
        builder.arch
    )
}
