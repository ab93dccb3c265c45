//! The steps of a build, from the crate to its PTX.

use std::iter;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::builder::{CudaBuilder, EmitOption};
use crate::compile::{self, Paths};
use crate::error::CudaBuilderError;
use crate::lower::{builtins, lower, signs, spaces, verify};
use crate::merge::merge;
use crate::module::{Module, Piece, join};
use crate::panics;
use crate::parts::{Store, in_parallel};
use crate::ptx;
use crate::toolchain::{self, DeviceToolchain, NotFound};

/// Found once for all builds of a process: each of several programs has to be started for it.
static TOOLCHAIN: LazyLock<Result<DeviceToolchain, NotFound>> = LazyLock::new(toolchain::discover);

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
            return Err(CudaBuilderError::CratePathDoesntExist(self.path_to_crate().to_owned()));
        }
        compile::watch_environment();
        let toolchain = TOOLCHAIN.clone()?;
        let paths = Paths::of(&self)?;

        let raw = compile::to_ir(&self, &toolchain, &paths)?;
        for name in spaces::zeroed(&raw) {
            compile::warn(&format!(
                "shared static `{name}` has zeros as its value, and shared memory starts uninitialized: let the kernel \
                 write them, or declare it as MaybeUninit if it does not need them"
            ));
        }
        let raw = builtins::lower(&panics::replace(raw)).map_err(|source| self.cannot_lower(source))?;
        let store = Store::open(paths.parts.clone())?;
        let module = Module::read(&raw);
        let parts = module.as_ref().map_or_else(Vec::new, Module::parts);
        let names = module.iter().flat_map(Module::names);
        let cut = match parts[..] {
            [] => None,
            _ => self.compile(&toolchain, &store, &parts, names)?,
        };
        let compiled = match cut {
            Some(compiled) => Some(compiled),
            // The module cannot be cut, or the parts do not fit together again.
            None => {
                let (ir, roots) = (raw.clone(), String::new());
                self.compile(&toolchain, &store, &[Piece { ir, roots }], iter::empty())?
            }
        };
        store.forget(parts.len() + 1);
        let (parts, text) = compiled
            .filter(|(_, text)| text.contains(".entry "))
            .ok_or_else(|| CudaBuilderError::NoKernels { krate: self.path_to_crate().to_owned() })?;
        compile::write(&paths.ptx, &header(&self, &toolchain, &text))?;
        self.deliver(&toolchain, &paths, parts)
    }

    /// The optimized parts and their PTX; `None` when the parts' PTX does not fit together.
    fn compile<'a>(
        &self,
        toolchain: &DeviceToolchain,
        store: &Store,
        parts: &[Piece],
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Option<(Vec<String>, String)>, CudaBuilderError> {
        let tools = compile::tools(self, toolchain);
        let parts = in_parallel(parts, |Piece { ir, roots }| {
            store.part(&format!("{tools} {roots}"), ir, |optimized| {
                let lowered = lower(ir, &self.arch.sm());
                let lowered = lowered.map_err(|source| self.cannot_lower(source))?;
                if let Some(writable) = verify::with_writable_constants(&lowered) {
                    compile::optimize(self, toolchain, roots, &writable, optimized)?;
                    let written = verify::refuse_writes(&compile::read(optimized)?, &lowered);
                    written.map_err(|it| self.cannot_lower(it))?;
                }
                compile::optimize(self, toolchain, roots, &lowered, optimized)?;
                let ir = compile::read(optimized)?;
                // Without optimization most accesses are generic, which is slower and no less right.
                if self.release {
                    verify::verify(&ir).map_err(|it| self.cannot_lower(it))?;
                }
                signs::lower(&ir).map_or(Ok(()), |ir| compile::write(optimized, &ir))
            })
        })?;
        let ptx = merge(&ptx::generate(self, toolchain, &parts)?, names);
        let optimized = parts.into_iter().map(|part| part.optimized).collect();
        Ok(ptx.map(|ptx| (optimized, ptx)))
    }

    fn deliver(
        self,
        toolchain: &DeviceToolchain,
        paths: &Paths,
        parts: Vec<String>,
    ) -> Result<PathBuf, CudaBuilderError> {
        let mut module = String::new();
        if self.final_module_path.is_some() || self.emit.is_some() {
            module = join(parts).ok_or_else(|| CudaBuilderError::Tool {
                tool: toolchain.llvm.opt.clone(),
                problem: "wrote IR that this version of cuda_builder cannot read".to_owned(),
            })?;
        }
        if let Some(path) = &self.final_module_path {
            compile::write(path, &module)?;
        }
        let ptx = match &self.ptx_file_copy_path {
            Some(path) => {
                std::fs::copy(&paths.ptx, path)
                    .map_err(|source| CudaBuilderError::FailedToCopyPtxFile { path: path.clone(), source })?;
                path.clone()
            }
            None => paths.ptx.clone(),
        };
        match self.emit {
            None => {}
            Some(EmitOption::LlvmIr) => compile::write(&ptx.with_extension("ll"), &module)?,
            Some(EmitOption::Bitcode) => {
                compile::write(&paths.optimized, &module)?;
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
