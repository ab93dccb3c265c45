//! The command line.

use clap::{Args, Parser, Subcommand};

/// Tasks for working on the kernels.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// The tasks.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Make this machine able to build kernels
    Setup(Setup),
    /// Show what this machine has and lacks
    Doctor,
    /// Look at the kernels' PTX, SASS and LLVM IR
    Ptx(Ptx),
    /// Run the reduction ladder on the best device there is
    Run(Run),
    /// Measure the ladders against CUDA C++, CUB, cuBLAS and memcpy
    Versus(Versus),
    /// Compare what the simulator counts of every rung with what Nsight Compute counts on a GPU
    Agree(Agree),
    /// Check formatting, lints and docs, and run all tests
    Test,
}

/// `cargo xtask setup`.
#[derive(Debug, Args)]
pub struct Setup {
    /// Also NVIDIA's ptxas, nvcc, cuobjdump and nvdisasm (350 MB, from PyPI)
    #[arg(long)]
    pub nvidia: bool,
}

/// `cargo xtask run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Further arguments for `ladder run reduce`
    #[arg(last = true)]
    pub args: Vec<String>,
}

/// `cargo xtask versus`.
#[derive(Debug, Args)]
pub struct Versus {
    /// A ladder and its options, as `ladder run` takes them, and --rung, --runs, --json or --update-readme
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "LADDER AND OPTIONS"
    )]
    pub args: Vec<String>,
}

/// `cargo xtask agree`.
#[derive(Debug, Args)]
pub struct Agree {
    /// Ladders, options of theirs as `ladder run` takes them, --block, --ncu; --update-fixture and --update-doc
    /// write the numbers and the report into files, --from reports what is in such a file and needs no GPU. Paths
    /// are relative to the repository's root
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "LADDERS AND OPTIONS"
    )]
    pub args: Vec<String>,
}

/// `cargo xtask ptx`.
#[derive(Debug, Args)]
pub struct Ptx {
    /// Ladders, rungs or entries, and options, as `ladder ptx` takes them; without any, every kernel is listed
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "NAMES AND OPTIONS"
    )]
    pub args: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{CommandFactory, Parser};

    fn accepts(line: &str) -> bool {
        Cli::try_parse_from(line.split(' ')).is_ok()
    }

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_is_accepted() {
        for line in [
            "xtask ptx",
            "xtask ptx smem_64 --rust --sass --arch sm_90",
            "xtask ptx --diff a b",
            "xtask ptx --json --file k.ptx",
            "xtask run -- --n 2^20",
            "xtask setup --nvidia",
            "xtask versus",
            "xtask versus reduce --n 2^24 --runs 50 --json",
            "xtask versus --update-readme README.md",
            "xtask agree",
            "xtask agree reduce matmul --m 128 --update-fixture a.json --update-doc b.md",
            "xtask agree --from a.json --update-doc b.md",
        ] {
            assert!(accepts(line), "{line}");
        }
    }
}
