//! How the kernels are compiled: by the build script, and by a program for development when it needs another architecture.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, DebugInfo, LintLevel, NvvmArch};

/// The file of the kernels' PTX for an architecture.
pub(crate) fn file(folder: &Path, arch: NvvmArch) -> PathBuf {
    folder.join(format!("kernels.{arch}.ptx"))
}

/// Compiles the kernels of the crate in the folder `package/../kernels-gpu` into [`file`], with their LLVM IR next to it.
pub(crate) fn builder(package: &Path, folder: &Path, arch: NvvmArch) -> CudaBuilder {
    CudaBuilder::new(package.join("../kernels-gpu"))
        .arch(arch)
        .debug(DebugInfo::LineTables)
        .generic_accesses(LintLevel::Deny)
        .copy_to(file(folder, arch))
        .final_modules_folder(file(folder, arch).with_extension("llvm"))
}
