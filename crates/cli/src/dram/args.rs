//! What `ladder dram` can be asked for.

use clap::{Args, FromArgMatches, Subcommand};

use crate::output::Format;
use crate::targets::Scope;
use analysis::dram::Dram;
use engine::size::parse_size;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct Arguments {
    /// One figure with numbers of your own [default: all three with the chapter's]
    #[command(subcommand)]
    pub figure: Option<Figure>,
    #[command(flatten)]
    pub memory: Memory,
    /// How many windows of time to divide the blocks into
    #[arg(long, default_value = "16", value_parser = parse_size, allow_hyphen_values = true)]
    pub windows: u64,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Memory {
    /// Channels [default: 4 in figures, an H100's 80 for --trace]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    channels: Option<u64>,
    /// Banks of a channel [default: 2 in figures, an H100's 16 for --trace]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    banks: Option<u64>,
    /// Bytes of a burst [default: 8 in figures, an H100's 64 for --trace]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    burst: Option<u64>,
}

/// The numbers of a figure.
#[derive(Subcommand, Debug)]
pub(super) enum Figure {
    /// Which channel and which bank an array's elements are in
    Map(MapArguments),
    /// Which channels and banks the phases of a tiled product of two matrices need
    Tiles(TilesArguments),
    /// How many banks it takes to keep a channel's bus busy
    Bus(BusArguments),
}

#[derive(Args, Debug)]
pub(super) struct MapArguments {
    #[command(flatten)]
    pub memory: Memory,
    /// Bytes of an element
    #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
    pub element: u64,
    /// Elements of the array
    #[arg(long, default_value = "16", value_parser = parse_size, allow_hyphen_values = true)]
    pub elements: u64,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct TilesArguments {
    #[command(flatten)]
    pub memory: Memory,
    /// Bytes of an element
    #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
    pub element: u64,
    /// Rows and columns of a matrix
    #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
    pub n: u64,
    /// Rows and columns of a tile
    #[arg(long, default_value = "2", value_parser = parse_size, allow_hyphen_values = true)]
    pub tile: u64,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct BusArguments {
    /// How many times as long a bank looks for a burst as the burst is on the bus
    #[arg(long, default_value = "20", value_parser = parse_size, allow_hyphen_values = true)]
    pub ratio: u64,
    /// Banks of a channel
    #[arg(long, default_value = "1", value_parser = parse_size, allow_hyphen_values = true)]
    pub banks: u64,
    /// Bits of the bus
    #[arg(long, default_value = "64", value_parser = parse_size, allow_hyphen_values = true)]
    pub width: u64,
    /// Its clock in GHz
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    pub clock: f64,
    /// Bandwidths in GB/s, to see how many channels they take
    #[arg(long, num_args = 1.., value_name = "GB/S", default_values = ["32", "256"], allow_negative_numbers = true)]
    pub demand: Vec<f64>,
    #[command(flatten)]
    pub format: Format,
}

/// Adds to the arguments that all commands share. What is traced is named with an option, because the names of the
/// figures stand where other commands have ladders and rungs.
pub(super) fn add(command: clap::Command, scope: &Scope) -> clap::Command {
    const OF_A_TRACE: [&str; 6] = ["rung", "channels", "banks", "burst", "windows", "block"];
    Arguments::augment_args(scope.targets(command))
        .mut_arg("names", |arg| {
            arg.long("trace")
                .value_name("RUNG")
                .num_args(1)
                .help("Run this rung on the SIMT machine, and count its accesses by channel and bank")
        })
        .mut_arg("rung", |arg| arg.hide(true))
        .mut_args(|arg| {
            let name = arg.get_id().as_str();
            match OF_A_TRACE.contains(&name) || scope.is_option(name) {
                true => arg.requires("names"),
                false => arg,
            }
        })
}

impl Figure {
    /// All figures, with the chapter's numbers.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        ["map", "tiles", "bus"].into_iter().map(|name| {
            Self::augment_subcommands(clap::Command::new("dram"))
                .try_get_matches_from(["dram", name])
                .and_then(|matches| Self::from_arg_matches(&matches))
                .expect("a figure needs no arguments, as a test sees")
        })
    }
}

impl Memory {
    /// The memory that is asked for, with `default`'s numbers for those that are not given.
    pub(crate) fn or(&self, default: Dram) -> Result<Dram, analysis::Error> {
        Dram::new(
            self.channels.unwrap_or(default.channels),
            self.banks.unwrap_or(default.banks),
            self.burst.unwrap_or(default.burst),
        )
    }
}
