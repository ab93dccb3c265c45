//! The errors of a device build.

use std::fmt;
use std::path::PathBuf;

use crate::NvvmArch;
use crate::lower::LowerError;
use crate::lower::place::Place;
use crate::toolchain::NotFound;

/// A device build that failed.
///
/// `Debug` prints the message too, because a build script's `unwrap()` and `main` use `Debug`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The path given to [`CudaBuilder::new`](crate::CudaBuilder::new) contains no crate.
    #[error("{0} is not the folder of a crate: the folder has no Cargo.toml")]
    CratePathDoesntExist(PathBuf),
    /// This machine has no device compiler.
    #[error(transparent)]
    NoDeviceCompiler(#[from] NotFound),
    /// rustc rejected the crate.
    #[error("the device build of {krate} failed:\n{messages}")]
    BuildFailed {
        /// The crate's folder.
        krate: PathBuf,
        /// The compiler's messages.
        messages: String,
    },
    /// The crate does not compile, and it depends on several versions of `cuda_std`, or on the version from the
    /// registry.
    #[error(
        "{krate} was compiled with {found}, but kernels need a single cuda_std that matches this cuda_builder: set \
         cuda_std = {{ path = \"…/crates/rust-cuda/cuda_std\" }} under [patch.crates-io] in the workspace's Cargo.toml, \
         and require the same version in each crate"
    )]
    UnusableCudaStd {
        /// The crate's folder.
        krate: PathBuf,
        /// The versions found, and which of them come from the registry.
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
    #[error("{krate} has no kernel: mark an entry point with #[kernel], in a module that the crate includes")]
    NoKernels {
        /// The crate's folder.
        krate: PathBuf,
    },
    /// A kernel uses an instruction that no PTX version supports on the architecture.
    #[error(
        "`{function}` uses an instruction that {arch} does not have (LLVM: {instruction}): build for a \
         newer architecture with `.arch(…)`, or compile this kernel for newer architectures only{place}"
    )]
    NotInArchitecture {
        /// The architecture of the build.
        arch: NvvmArch,
        /// The function with the instruction.
        function: String,
        /// LLVM's name for the instruction.
        instruction: String,
        /// The line of Rust code.
        place: Place,
    },
    /// LLVM cannot generate PTX for a function.
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
        "kernel `{kernel}` has {bytes} bytes of parameters, but {arch} allows {limit}: pass a \
         pointer to device memory that holds the largest parameters{place}"
    )]
    TooManyParameters {
        /// The kernel.
        kernel: String,
        /// The size of the parameters, including padding.
        bytes: u64,
        /// The maximum size.
        limit: u64,
        /// The architecture of the build.
        arch: NvvmArch,
        /// The kernel's first line.
        place: Place,
    },
    /// A kernel's shared statics together exceed the limit for static shared memory.
    #[error(
        "kernel `{kernel}` has {bytes} bytes of static shared memory, but the limit is {limit} ({statics}): make \
         the statics smaller, or use dynamic shared memory (`cuda_std::shared::dynamic_shared_mem`), whose size \
         the launch sets{place}"
    )]
    TooMuchShared {
        /// The kernel.
        kernel: String,
        /// The total size of the statics.
        bytes: u64,
        /// The maximum size.
        limit: u64,
        /// Each static with its size.
        statics: String,
        /// The kernel's first line.
        place: Place,
    },
    /// The constant statics together exceed the size of constant memory.
    #[error(
        "the constant statics have {bytes} bytes together, but the limit is {limit} ({statics}): make them smaller, or \
         remove #[address_space(constant)] from the largest to move it to global memory{place}"
    )]
    TooMuchConstant {
        /// The total size of the statics, including padding.
        bytes: u64,
        /// The maximum size.
        limit: u64,
        /// Each static with its size.
        statics: String,
        /// The first use of one of the statics.
        place: Place,
    },
    /// A tool could not be run, or failed.
    #[error("{tool} {problem}")]
    Tool {
        /// The program.
        tool: PathBuf,
        /// The reason for the failure, with the program's output.
        problem: String,
    },
    /// The PTX could not be copied to the requested path.
    #[error("cannot copy the PTX to {path}: {source}")]
    FailedToCopyPtxFile {
        /// The requested path.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// A file of the build could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
}

impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
