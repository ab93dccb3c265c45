//! Builds Rust GPU crates to PTX from a build script, as upstream rust-cuda's `cuda_builder` does,
//! with rustc's own NVPTX backend in the place of NVVM.
//!
//! ```no_run
//! // build.rs
//! use cuda_builder::CudaBuilder;
//!
//! fn main() -> Result<(), cuda_builder::CudaBuilderError> {
//!     let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
//!     CudaBuilder::new("../kernels-gpu").copy_to(out.join("kernels.ptx")).build()?;
//!     Ok(())
//! }
//! ```
//!
//! A crate can have kernels for some architectures only: `target_feature = "sm_80"`, and the like for each
//! older one, is set for `compute_80` or newer. So is upstream's name, `target_feature = "compute_80"`.
//!
//! ```ignore
//! #[cfg(target_feature = "sm_80")]
//! mod with_async_copies;
//! ```
//!
//! From Rust to PTX:
//! 1. cargo compiles the crate for `nvptx64-nvidia-cuda` with a `rustc` that has a `core` for it
//!    ([`toolchain`]), all optimization held back, into modules of LLVM IR: a unit or two for each Rust module, of which
//!    rustc compiles again only those that an edit has changed. rustc runs no linker. Calls replace what PTX has no instructions for
//!    ([`lower::builtins`]);
//! 2. the units are linked with what they use of libraries, whose bitcode LLVM writes as text, and the program is cut
//!    into parts, each with the kernels of one Rust module and what they reach. The next steps are for each part by
//!    itself, and their results are kept: after an edit only parts that differ take them again. Where that cannot be
//!    linked here, as with `#[used]`, a list for linkers, rustc makes one module of it all by link-time optimization;
//! 3. a pass over that text ([`lower`]) moves shared statics to shared memory, gives kernels their
//!    launch bounds and marks collective `asm!` blocks;
//! 4. LLVM's `opt` optimizes it, and the result is checked for accesses that lost their address space (other than in
//!    debug builds), for tables of shared addresses and for writes to constants;
//! 5. LLVM's `llc` writes PTX, of the lowest version that the instructions of all parts need;
//! 6. the parts' PTX is merged. A crate whose parts do not fit together is compiled as one.

mod arch;
mod build;
mod builder;
mod compile;
mod error;
mod first_build;
mod limits;
mod link;
mod llvm;
mod lock;
pub mod lower;
mod merge;
mod module;
mod panics;
mod parts;
mod ptx;

pub use arch::{NvvmArch, ParseArchError};
pub use builder::{CudaBuilder, DebugInfo, EmitOption, LintLevel};
pub use error::CudaBuilderError;
pub use locate::device as toolchain;
