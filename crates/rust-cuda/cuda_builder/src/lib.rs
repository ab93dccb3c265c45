//! Builds Rust GPU crates to PTX from a build script, like upstream rust-cuda's `cuda_builder`, but with rustc's NVPTX
//! backend instead of NVVM.
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
//! A crate can contain kernels for only some architectures. For `compute_80` or newer, `target_feature = "sm_80"` is
//! set, and so is the feature of each older architecture. Upstream's names, such as `target_feature = "compute_80"`,
//! are set too.
//!
//! ```ignore
//! #[cfg(target_feature = "sm_80")]
//! mod with_async_copies;
//! ```
//!
//! The steps from Rust to PTX:
//! 1. cargo compiles the crate for `nvptx64-nvidia-cuda` with a `rustc` that has a `core` for this target
//!    ([`toolchain`]). The result is unoptimized LLVM IR in one or two modules (codegen units) per Rust module. After
//!    an edit, rustc compiles only the changed units again. It does not run a linker. Operations that PTX has no
//!    instructions for are replaced with calls ([`lower::builtins`]);
//! 2. the units are linked with the library members that they use. LLVM writes the members' bitcode as text. The
//!    program is then split into parts: each part contains the kernels of one Rust module and everything they reach.
//!    The next steps process each part separately and cache the results, so an edit affects only the parts that
//!    changed. If the units cannot be linked here, for example because of `#[used]`, which creates a list for linkers,
//!    rustc creates one module by link-time optimization;
//! 3. a pass over the text ([`lower`]) moves shared statics to shared memory, gives kernels their launch bounds and
//!    marks collective `asm!` blocks;
//! 4. LLVM's `opt` optimizes the IR. The result is then checked for generic accesses (except in debug builds), for
//!    tables of shared addresses and for writes to constants;
//! 5. LLVM's `llc` generates PTX in the lowest version that supports the instructions of all parts;
//! 6. the parts' PTX is merged. If this is impossible, the crate is compiled as one part.

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
