//! What `ladder dram` can be asked for.

use clap::{ArgMatches, Args, FromArgMatches, Subcommand};

use crate::output::Format;
use crate::profile::{all_options, arg, given};
use analysis::dram::{self, DramError};
use engine::Catalog;
use engine::size::{parse_block, parse_size};

/// `ladder dram`, with the options of the ladder of the traced rung.
#[derive(Debug)]
pub(crate) struct Dram {
    pub(super) own: Own,
    pub(super) options: Vec<(&'static str, String)>,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct Own {
    /// One figure with numbers of your own [default: all three with the chapter's]
    #[command(subcommand)]
    pub(super) figure: Option<Figure>,
    /// Run this rung on the SIMT machine, and count its accesses by channel and bank
    #[arg(long, value_name = "RUNG")]
    pub(super) trace: Option<String>,
    #[command(flatten)]
    pub(super) memory: Memory,
    /// How many windows of time to divide the blocks into
    #[arg(long, default_value = "16", value_parser = parse_size, allow_hyphen_values = true)]
    pub(super) windows: u64,
    /// Threads of a block [default: the rung's own]
    #[arg(long, value_parser = parse_block, allow_hyphen_values = true)]
    pub(super) block: Option<[u32; 3]>,
    #[command(flatten)]
    pub(super) format: Format,
}

/// The memory; each number is the chapter's for a figure, and an H100's for a trace, where it is not given.
#[derive(Args, Debug)]
pub(super) struct Memory {
    /// Channels [default: 4 in figures, 80 for --trace]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    channels: Option<u64>,
    /// Banks of a channel [default: 2 in figures, 16 for --trace]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    banks: Option<u64>,
    /// Bytes of a burst [default: 8 in figures, 64 for --trace]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    burst: Option<u64>,
}

#[derive(Subcommand, Debug)]
pub(super) enum Figure {
    /// Which channel and which bank an array's elements are in
    Map {
        #[command(flatten)]
        memory: Memory,
        /// Bytes of an element
        #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
        element: u64,
        /// Elements of the array
        #[arg(long, default_value = "16", value_parser = parse_size, allow_hyphen_values = true)]
        elements: u64,
        #[command(flatten)]
        format: Format,
    },
    /// Which channels and banks the phases of a tiled product of two matrices need
    Tiles {
        #[command(flatten)]
        memory: Memory,
        /// Bytes of an element
        #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
        element: u64,
        /// Rows and columns of a matrix
        #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
        n: u64,
        /// Rows and columns of a tile
        #[arg(long, default_value = "2", value_parser = parse_size, allow_hyphen_values = true)]
        tile: u64,
        #[command(flatten)]
        format: Format,
    },
    /// How many banks it takes to keep a channel's bus busy
    Bus {
        /// How many times as long a bank looks for a burst as the burst is on the bus
        #[arg(long, default_value = "20", value_parser = parse_size, allow_hyphen_values = true)]
        ratio: u64,
        /// Banks of a channel
        #[arg(long, default_value = "1", value_parser = parse_size, allow_hyphen_values = true)]
        banks: u64,
        /// Bits of the bus
        #[arg(long, default_value = "64", value_parser = parse_size, allow_hyphen_values = true)]
        width: u64,
        /// Its clock in GHz
        #[arg(long, default_value = "1", allow_hyphen_values = true)]
        clock: f64,
        /// Bandwidths in GB/s, to see how many channels they take
        #[arg(long, num_args = 1.., value_name = "GB/S", default_values = ["32", "256"], allow_negative_numbers = true)]
        demand: Vec<f64>,
        #[command(flatten)]
        format: Format,
    },
}

/// Arguments that say nothing without a rung, besides the ladders' options.
const OF_A_RUNG: [&str; 5] = ["channels", "banks", "burst", "windows", "block"];

impl Dram {
    pub(crate) fn command(catalog: &'static Catalog, command: clap::Command) -> clap::Command {
        let options = all_options(catalog);
        Own::augment_args(command)
            .about("Bursts, banks and channels of DRAM in pictures, and how evenly a rung's accesses spread over them")
            .next_help_heading("What the traced rung shall compute")
            .args(options.iter().map(|option| arg(catalog, option)))
            .mut_args(|arg| {
                let name = arg.get_id().as_str();
                let is_of_a_rung =
                    OF_A_RUNG.contains(&name) || options.iter().any(|option| option.name == name);
                if is_of_a_rung { arg.requires("trace") } else { arg }
            })
    }

    pub(crate) fn from_matches(
        catalog: &Catalog,
        matches: &ArgMatches,
    ) -> Result<Self, clap::Error> {
        Ok(Self {
            own: Own::from_arg_matches(matches)?,
            options: given(catalog, matches),
        })
    }
}

impl Figure {
    /// All figures, with the chapter's numbers.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        ["map", "tiles", "bus"].into_iter().map(|name| {
            let command = Self::augment_subcommands(clap::Command::new("dram"));
            command
                .try_get_matches_from(["dram", name])
                .and_then(|matches| Self::from_arg_matches(&matches))
                .expect("a figure needs no arguments, as a test sees")
        })
    }
}

impl Memory {
    /// The memory that is asked for, `usual` where nothing is said.
    pub(super) fn dram(&self, usual: dram::Dram) -> Result<dram::Dram, DramError> {
        dram::Dram::new(
            self.channels.unwrap_or(usual.channels()),
            self.banks.unwrap_or(usual.banks()),
            self.burst.unwrap_or(usual.burst()),
        )
    }
}
