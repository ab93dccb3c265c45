//! The arguments of `ladder why --dram`.

use clap::{Args, ValueEnum};

use engine::size::parse_size;
use profile::dram::Dram;

/// A figure of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::why) enum Figure {
    /// The channel and the bank of each element of an array
    Map,
    /// The channels and banks that each phase of a tiled matrix product uses
    Tiles,
    /// The number of banks that keeps a channel's bus busy
    Bus,
}

#[derive(Args, Debug)]
pub(in crate::why) struct DramArguments {
    #[command(flatten)]
    pub memory: Memory,
    /// The number of time windows that a rung's blocks are divided into [default: 16]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub windows: Option<u64>,
    /// map, tiles: bytes per element [default: 4]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub element: Option<u64>,
    /// map: number of elements of the array [default: 16]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub elements: Option<u64>,
    /// tiles: rows and columns of a matrix [default: 4]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub side: Option<u64>,
    /// tiles: rows and columns of a tile [default: 2]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub tile: Option<u64>,
    /// bus: the ratio of a bank's latency to the transfer time of a burst [default: 20]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub ratio: Option<u64>,
    /// bus: width of the bus in bits [default: 64]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true, requires = "dram")]
    pub bits: Option<u64>,
    /// bus: clock of the bus in GHz [default: 1]
    #[arg(long, allow_hyphen_values = true, requires = "dram")]
    pub clock: Option<f64>,
    /// bus: bandwidths in GB/s; the figure shows how many channels each one needs [default: 32 256]
    #[arg(long, num_args = 1.., value_name = "GB/S", allow_negative_numbers = true, requires = "dram")]
    pub demand: Vec<f64>,
}

#[derive(Args, Debug)]
pub(in crate::why) struct Memory {
    /// Channels [default: an H100's 80 for a rung, 4 in figures]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    channels: Option<u64>,
    /// Banks per channel [default: an H100's 16 for a rung, 2 in figures, 1 for bus]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    pub banks: Option<u64>,
    /// Bytes per burst [default: an H100's 64 for a rung, 8 in figures]
    #[arg(long, value_parser = parse_size, allow_hyphen_values = true)]
    burst: Option<u64>,
}

impl Memory {
    /// Returns whether any of these arguments is given.
    pub(in crate::why) fn is_given(&self) -> bool {
        self.channels.or(self.banks).or(self.burst).is_some()
    }

    /// Returns the described memory. `default` supplies the numbers that are not given.
    pub(in crate::why) fn or(&self, default: Dram) -> Result<Dram, profile::Error> {
        Dram::new(
            self.channels.unwrap_or(default.channels),
            self.banks.unwrap_or(default.banks),
            self.burst.unwrap_or(default.burst),
        )
    }
}
