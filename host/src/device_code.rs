//! Configures the compilation of the kernels, for the build script and for a development build that needs another
//! architecture.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, DebugInfo, LintLevel, NvvmArch};

/// Returns the path of the kernels' PTX for an architecture.
pub(crate) fn file(folder: &Path, arch: NvvmArch) -> PathBuf {
    folder.join(format!("kernels.{arch}.ptx"))
}

/// Returns a builder that compiles the crate in `package/../kernels-gpu` into [`file`] and puts its LLVM IR next to
/// that file.
pub(crate) fn builder(package: &Path, folder: &Path, arch: NvvmArch) -> CudaBuilder {
    CudaBuilder::new(package.join("../kernels-gpu"))
        .arch(arch)
        .debug(DebugInfo::LineTables)
        .generic_accesses(LintLevel::Deny)
        .copy_to(file(folder, arch))
        .final_modules_folder(file(folder, arch).with_extension("llvm"))
}
