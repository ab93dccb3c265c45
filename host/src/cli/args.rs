//! What `ladder` can be asked for.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::device::Choice;
use crate::size::{parse_block, parse_size};

/// Climbs ladders of GPU kernels: each rung computes the same thing, a little faster, and teaches why.
#[derive(Debug, Parser)]
#[command(name = "ladder", version)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// The ladders and their rungs: where the device code is and what it teaches
    List(List),
    /// Run a ladder: check every rung against the CPU, time it, and compare
    Run(Run),
    /// Check rungs over many sizes and blocks, without timing, one launch each
    Check(Check),
    /// What there is to run on
    Devices {
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args, Debug)]
pub(super) struct List {
    /// Only this ladder
    pub(super) ladder: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Run {
    /// The ladder, as `ladder list` names it
    pub(super) ladder: String,
    /// Only these rungs
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub(super) rung: Vec<String>,
    /// The size: 16777216, 1_000_000, 2^24 or 16M (k, M, G are 2^10, 2^20, 2^30)
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    pub(super) n: Option<u64>,
    /// Threads of a block, for all rungs [default: each rung's own]
    #[arg(long, value_parser = parse_block, allow_hyphen_values = true)]
    pub(super) block: Option<[u32; 3]>,
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    pub(super) device: Choice,
    /// How many timed launches to take the median of; sim has no clock and counts one launch
    #[arg(
        long,
        value_name = "K",
        default_value_t = 20,
        conflicts_with = "no_time"
    )]
    pub(super) runs: u32,
    /// Check only: neither time nor count
    #[arg(long)]
    pub(super) no_time: bool,
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "markdown")]
    pub(super) json: bool,
    /// Print a Markdown table
    #[arg(long)]
    pub(super) markdown: bool,
    /// Put the Markdown table between this ladder's two markers in a file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["rung", "no_time"])]
    pub(super) update_readme: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct Check {
    /// Only this ladder
    pub(super) ladder: Option<String>,
    /// Only these rungs
    #[arg(long, num_args = 1.., value_name = "NAME", requires = "ladder")]
    pub(super) rung: Vec<String>,
    /// These sizes [default: the ladder's edges]
    #[arg(long, num_args = 1.., value_parser = parse_size, allow_negative_numbers = true)]
    pub(super) n: Vec<u64>,
    /// These blocks [default: every one that the ladder takes]
    #[arg(long, num_args = 1.., value_parser = parse_block, allow_negative_numbers = true)]
    pub(super) block: Vec<[u32; 3]>,
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    pub(super) device: Choice,
}
