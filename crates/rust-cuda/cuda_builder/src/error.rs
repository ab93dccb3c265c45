//! The errors of a device build.

use std::fmt;
use std::path::PathBuf;

use crate::NvvmArch;
use crate::lower::LowerError;
use crate::lower::place::Place;
use crate::toolchain::NotFound;

/// A device build that failed.
///
/// `Debug` is the message too: a build script's `unwrap()` and `main` print that form.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The path given to [`CudaBuilder::new`](crate::CudaBuilder::new) holds no crate.
    #[error("{0} is not the folder of a crate: there is no Cargo.toml in it")]
    CratePathDoesntExist(PathBuf),
    /// This machine has no device compiler.
    #[error(transparent)]
    NoDeviceCompiler(#[from] NotFound),
    /// rustc refused the crate.
    #[error("the device build of {krate} failed:\n{messages}")]
    BuildFailed {
        /// The crate's folder.
        krate: PathBuf,
        /// The compiler's messages.
        messages: String,
    },
    /// The crate does not compile, and there are several versions of `cuda_std` in it, or the registry's.
    #[error(
        "{krate} was compiled with {found}: kernels need one cuda_std, that of this cuda_builder. Give \
         cuda_std = {{ path = \"…/crates/rust-cuda/cuda_std\" }} below [patch.crates-io] in the workspace's Cargo.toml, and let \
         each crate ask for the same version"
    )]
    UnusableCudaStd {
        /// The crate's folder.
        krate: PathBuf,
        /// The versions, and which are the registry's.
        found: String,
    },
    /// The crate compiles, but its IR cannot be lowered.
    #[error("{krate}: {source}")]
    Lower {
        /// The crate's folder.
        krate: PathBuf,
        /// The item that cannot be lowered, and the reason.
        #[source]
        source: LowerError,
    },
    /// The crate has no `#[kernel]`.
    #[error("{krate} has no kernel: mark an entry point with #[kernel] and compile it in")]
    NoKernels {
        /// The crate's folder.
        krate: PathBuf,
    },
    /// A kernel uses an instruction that no PTX version has for the architecture.
    #[error(
        "`{function}` uses an instruction that {arch} does not have (LLVM: {instruction}); build for a \
         newer architecture with `.arch(…)`, or compile that kernel for it only{place}"
    )]
    NotInArchitecture {
        /// The architecture that was built for.
        arch: NvvmArch,
        /// The function with the instruction.
        function: String,
        /// LLVM's name for the instruction.
        instruction: String,
        /// The line of Rust.
        place: Place,
    },
    /// LLVM has no PTX for something in a function.
    #[error("LLVM cannot compile `{function}` to PTX: {problem}{place}")]
    NotInLlvm {
        /// The function, demangled.
        function: String,
        /// LLVM's message.
        problem: String,
        /// The function's first line.
        place: Place,
    },
    /// A kernel has more parameters than the driver can pass.
    #[error(
        "kernel `{kernel}` has {bytes} bytes of parameters, and for {arch} there can be {limit}: pass a \
         pointer to device memory that holds the largest of them{place}"
    )]
    TooManyParameters {
        /// The kernel.
        kernel: String,
        /// Their size with the gaps between them.
        bytes: u64,
        /// The largest possible size.
        limit: u64,
        /// The architecture that was built for.
        arch: NvvmArch,
        /// The kernel's first line.
        place: Place,
    },
    /// A kernel's shared statics are larger together than shared memory can be without the launch's asking for it.
    #[error(
        "kernel `{kernel}` has {bytes} bytes of static shared memory, and there can be {limit} ({statics}): make \
         the statics smaller, or use dynamic shared memory (`cuda_std::shared::dynamic_shared_mem`), whose size \
         the launch gives{place}"
    )]
    TooMuchShared {
        /// The kernel.
        kernel: String,
        /// The statics' size together.
        bytes: u64,
        /// The largest possible size.
        limit: u64,
        /// Each static with its size.
        statics: String,
        /// The kernel's first line.
        place: Place,
    },
    /// The constant statics are larger together than constant memory.
    #[error(
        "the constant statics have {bytes} bytes together, and there can be {limit} ({statics}): make them smaller, or leave \
         #[address_space(constant)] away to have the largest in global memory{place}"
    )]
    TooMuchConstant {
        /// The statics' size together, with the gaps between them.
        bytes: u64,
        /// The largest possible size.
        limit: u64,
        /// Each static with its size.
        statics: String,
        /// The first use of one of them.
        place: Place,
    },
    /// A tool could not be run, or failed.
    #[error("{tool} {problem}")]
    Tool {
        /// The program.
        tool: PathBuf,
        /// How the program failed, with its output.
        problem: String,
    },
    /// The PTX could not be copied to where it was wanted.
    #[error("cannot copy the PTX to {path}: {source}")]
    FailedToCopyPtxFile {
        /// Where to.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file of the build could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
