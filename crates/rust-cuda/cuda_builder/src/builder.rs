//! [`CudaBuilder`]: the options of a build.

use std::path::{Path, PathBuf};

use crate::NvvmArch;
use crate::error::CudaBuilderError;
use crate::lower::LowerError;

/// The amount of debug information in the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugInfo {
    /// Only the information that [`CudaBuilder::generate_line_info`] requests.
    None,
    /// The Rust file and line of each instruction (`.file` and `.loc`).
    LineTables,
}

/// An intermediate form to keep next to the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitOption {
    /// Optimized LLVM IR as text (`.ll`).
    LlvmIr,
    /// Optimized LLVM bitcode (`.bc`).
    Bitcode,
}

/// How a build reacts to code that is correct but slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LintLevel {
    /// The build does not report it.
    Allow,
    /// The build warns.
    Warn,
    /// The build fails.
    Deny,
}

/// Builds one GPU crate. Supports a subset of the methods of upstream's `CudaBuilder`.
#[derive(Debug)]
#[must_use = "the crate is built only when `build` is called"]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    /// Whether to build with cargo's release profile and full optimization. `true` by default. If `false`, arithmetic
    /// overflow traps, and most accesses to shared memory are generic.
    pub release: bool,
    /// Where to copy the PTX.
    pub ptx_file_copy_path: Option<PathBuf>,
    /// Whether each instruction is annotated with its Rust line (`.loc`). `true` by default. Upstream omits the lines
    /// in release builds; here they are kept, because they cost nothing at run time.
    pub generate_line_info: bool,
    /// The architecture to build for. `compute_75` by default.
    pub arch: NvvmArch,
    /// Whether f32 arithmetic flushes denormal values to zero. `false` by default.
    pub ftz: bool,
    /// Whether f32 square roots are approximate. `false` by default.
    pub fast_sqrt: bool,
    /// Whether f32 division is approximate. `false` by default.
    pub fast_div: bool,
    /// Whether `a * b + c` can be fused into one operation, as in nvcc. `true` by default.
    pub fma_contraction: bool,
    /// How the build reacts to accesses to shared and constant statics through generic addresses, which are slower.
    /// [`LintLevel::Warn`] by default. Builds without optimization allow such accesses, because most of their accesses
    /// are generic.
    pub generic_accesses: LintLevel,
    /// An intermediate form to keep next to the PTX, with another file extension.
    pub emit: Option<EmitOption>,
    /// The amount of debug information to generate.
    pub debug: DebugInfo,
    /// Additional arguments for `cargo rustc`, such as `--features`.
    pub build_args: Vec<String>,
    /// Where to copy the final LLVM IR.
    pub final_module_path: Option<PathBuf>,
    /// A folder for the final LLVM IR, with one file per part of the kernels. This is faster than one file for all
    /// kernels. Other contents of the folder are removed.
    pub final_modules_folder: Option<PathBuf>,
}

impl CudaBuilder {
    /// Creates a builder for the crate in this folder. A relative path starts at the current folder, which in a build
    /// script is the package's folder.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            release: true,
            ptx_file_copy_path: None,
            generate_line_info: true,
            arch: NvvmArch::default(),
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: true,
            generic_accesses: LintLevel::Warn,
            emit: None,
            debug: DebugInfo::None,
            build_args: Vec::new(),
            final_module_path: None,
            final_modules_folder: None,
        }
    }

    /// Appends to [`build_args`](Self::build_args).
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets [`debug`](Self::debug).
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Sets [`release`](Self::release).
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self
    }

    /// Sets [`generate_line_info`](Self::generate_line_info).
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Sets [`arch`](Self::arch).
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Sets [`ftz`](Self::ftz).
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Sets [`fast_sqrt`](Self::fast_sqrt).
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Sets [`fast_div`](Self::fast_div).
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Sets [`fma_contraction`](Self::fma_contraction).
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Sets [`generic_accesses`](Self::generic_accesses).
    pub fn generic_accesses(mut self, level: LintLevel) -> Self {
        self.generic_accesses = level;
        self
    }

    /// Sets [`emit`](Self::emit).
    pub fn emit(mut self, emit: EmitOption) -> Self {
        self.emit = Some(emit);
        self
    }

    /// Sets whether to keep the LLVM IR next to the PTX.
    pub fn emit_llvm_ir(mut self, emit: bool) -> Self {
        self.emit = emit.then_some(EmitOption::LlvmIr);
        self
    }

    /// Sets whether to keep the LLVM bitcode next to the PTX.
    pub fn emit_llvm_bitcode(mut self, emit: bool) -> Self {
        self.emit = emit.then_some(EmitOption::Bitcode);
        self
    }

    /// Sets [`final_module_path`](Self::final_module_path).
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Sets [`final_modules_folder`](Self::final_modules_folder).
    pub fn final_modules_folder(mut self, path: impl AsRef<Path>) -> Self {
        self.final_modules_folder = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the path that the finished PTX is copied to.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    pub(crate) fn path_to_crate(&self) -> &Path {
        &self.path_to_crate
    }

    pub(crate) fn line_info(&self) -> bool {
        self.generate_line_info || self.debug == DebugInfo::LineTables
    }

    pub(crate) fn cannot_lower(&self, source: LowerError) -> CudaBuilderError {
        CudaBuilderError::Lower { krate: self.path_to_crate.clone(), source }
    }
}
