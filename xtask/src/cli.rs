//! The command line of `cargo xtask ptx`.

use std::path::PathBuf;

use clap::{ArgGroup, Parser};
use cuda_builder::NvvmArch;

/// `cargo xtask ptx`: without a pattern, the list of kernels.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
#[command(group(ArgGroup::new("form").args(["sass", "stats", "llvm", "diff", "json"])))]
pub struct Ptx {
    /// A kernel's name or a part of it that no other kernel has
    pub pattern: Option<String>,
    /// Show the Rust lines that instructions come from
    #[arg(long, requires = "pattern", conflicts_with_all = ["stats", "llvm", "diff", "json"])]
    pub rust: bool,
    /// Show SASS, the GPU's own instructions
    #[arg(long, requires = "pattern")]
    pub sass: bool,
    /// Count instructions by class, and memory operations by space and width
    #[arg(long, requires = "pattern")]
    pub stats: bool,
    /// Show LLVM IR
    #[arg(long, requires = "pattern", conflicts_with = "file")]
    pub llvm: bool,
    /// Compare two kernels
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "pattern")]
    pub diff: Option<Vec<String>>,
    /// Show the comparison one under the other, not side by side
    #[arg(long, requires = "diff", conflicts_with = "pattern")]
    pub unified: bool,
    /// Keep .loc directives, comments and unused labels
    #[arg(long, requires = "pattern", conflicts_with_all = ["form"])]
    pub verbatim: bool,
    /// The architecture to build for, such as compute_75 [default: the newest that is embedded, compute_90]
    #[arg(long)]
    pub arch: Option<NvvmArch>,
    /// Look at this PTX file and build nothing
    #[arg(long, value_name = "PTX")]
    pub file: Option<PathBuf>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "pattern")]
    pub json: bool,
}
