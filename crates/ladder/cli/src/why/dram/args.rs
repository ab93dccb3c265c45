//! The arguments of `ladder why --dram`.

use clap::{Args, ValueEnum};

use engine::size::parse_size;
use profile::dram::Dram;

/// A figure of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::why) enum Figure {
    /// Which channel and which bank an array's elements are in
    Map,
    /// Which channels and banks the phases of a tiled product of two matrices need
    Tiles,
    /// How many banks it takes to keep a channel's bus busy
    Bus,
}

#[derive(Args, Debug)]
pub(in crate::why) struct DramArguments {
    #[command(flatten)]
    pub memory: Memory,
    /// How many windows of time to divide a rung's blocks into [default: 16]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub windows: Option<u64>,
    /// map, tiles: bytes of an element [default: 4]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub element: Option<u64>,
    /// map: elements of the array [default: 16]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub elements: Option<u64>,
    /// tiles: rows and columns of a matrix [default: 4]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub side: Option<u64>,
    /// tiles: rows and columns of a tile [default: 2]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub tile: Option<u64>,
    /// bus: how many times as long a bank looks for a burst as the burst is on the bus [default: 20]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub ratio: Option<u64>,
    /// bus: bits of the bus [default: 64]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub bits: Option<u64>,
    /// bus: its clock in GHz [default: 1]
    #[arg(long, allow_hyphen_values = true, requires = "dram")]
    pub clock: Option<f64>,
    /// bus: bandwidths in GB/s, to see how many channels they take [default: 32 256]
    #[arg(long, num_args = 1.., value_name = "GB/S", allow_negative_numbers = true, requires = "dram")]
    pub demand: Vec<f64>,
}

#[derive(Args, Debug)]
pub(in crate::why) struct Memory {
    /// Channels [default: an H100's 80 for a rung, 4 in figures]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    channels: Option<u64>,
    /// Banks of a channel [default: an H100's 16 for a rung, 2 in figures, 1 for bus]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    pub banks: Option<u64>,
    /// Bytes of a burst [default: an H100's 64 for a rung, 8 in figures]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    burst: Option<u64>,
}

impl Memory {
    /// Whether any of it is given.
    pub(in crate::why) fn is_given(&self) -> bool {
        self.channels.or(self.banks).or(self.burst).is_some()
    }

    /// The memory that is described, with `default`'s numbers for those that are not given.
    pub(in crate::why) fn or(&self, default: Dram) -> Result<Dram, profile::Error> {
        Dram::new(
            self.channels.unwrap_or(default.channels),
            self.banks.unwrap_or(default.banks),
            self.burst.unwrap_or(default.burst),
        )
    }
}
