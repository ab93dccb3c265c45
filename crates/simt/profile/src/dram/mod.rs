//! A model of DRAM as kernels use it: bursts, banks and channels.
//!
//! The model is from the chapter on performance considerations on which the matmul ladder is based (its sections on
//! coalescing and on hiding memory latency, figures 6.7 to 6.11). It does not describe any particular GPU:
//! - DRAM is read in **bursts** of neighboring bytes. A kernel that uses only a part of a burst pays for the whole burst.
//! - A **bank** is an array of cells. A bank takes a long time to find a burst, and can look for only one burst at a time.
//!   It then sends the burst over its channel's bus in a much shorter time ([`Bus`]).
//! - A **channel** is a controller with a bus to several banks.
//! - Addresses are **interleaved**: consecutive bursts go to consecutive channels, and after the last channel to the
//!   next bank of the first channel ([`Dram::place`]).
//!
//! With the default numbers, [`Map`] is figure 6.9, [`Tiles`] is figure 6.11, and [`Bus`] is the calculation for figure
//! 6.8. All three are serializable data.
//!
//! GPUs hash addresses before they choose a channel. Strides that hit a single channel in this model are therefore
//! spread over all channels; NVIDIA does not publish how. `ladder why RUNG --dram` shows how much a rung depends on the
//! hash.

mod bus;
mod map;
mod tiles;

use crate::Error;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::Serialize;

pub use bus::{Bus, BusUse, ChannelsFor, Moment};
pub use map::{Element, Map};
pub use tiles::{Load, Matrix, Phase, Tiles};

/// Returns a value if it is within a range.
pub fn within<T: PartialOrd + Display>(option: &'static str, given: T, range: RangeInclusive<T>) -> Result<T, Error> {
    if range.contains(&given) {
        return Ok(given);
    }
    let (least, most) = range.into_inner();
    Err(Error::Request(format!("--{option} {given} is out of range; use a value from {least} to {most}")))
}

/// The structure of a memory, which determines the location of each address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Dram {
    /// The number of channels.
    pub channels: u64,
    /// The number of banks per channel.
    pub banks: u64,
    /// The size of a burst in bytes.
    pub burst: u64,
}

/// The location of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DramAddress {
    /// The channel.
    pub channel: u64,
    /// The bank within the channel.
    pub bank: u64,
    /// The burst within the bank.
    pub row: u64,
    /// The byte within the burst.
    pub byte: u64,
}

impl Dram {
    /// The memory of figure 6.9: 4 channels of 2 banks, with 8-byte bursts.
    pub const FIGURE: Self = Self { channels: 4, banks: 2, burst: 8 };

    /// The memory of an H100: 5 stacks of HBM3 (NVIDIA H100 Tensor Core GPU Architecture, "H100 GPU Architecture
    /// In-Depth"). Each stack has 16 channels with 4 groups of 4 banks and bursts of 8 transfers of 64 bits (JEDEC
    /// JESD238).
    pub const H100: Self = Self { channels: 5 * 16, banks: 4 * 4, burst: 8 * 8 };

    /// Creates a memory of up to 128 channels of up to 128 banks, with bursts of up to 4096 bytes. The numbers need not
    /// be powers of two: a GPU with a 384-bit bus has twelve 32-bit channels.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when a number is 0 or exceeds its limit.
    pub fn new(channels: u64, banks: u64, burst: u64) -> Result<Self, Error> {
        Ok(Self {
            channels: within("channels", channels, 1..=128)?,
            banks: within("banks", banks, 1..=128)?,
            burst: within("burst", burst, 1..=4096)?,
        })
    }

    /// Returns the location of the byte at this address.
    ///
    /// ```
    /// let dram = profile::dram::Dram::FIGURE;
    /// // M[10], with 4 bytes per element.
    /// let place = dram.place(10 * 4);
    /// assert_eq!((place.channel, place.bank), (1, 1));
    /// ```
    pub fn place(&self, address: u64) -> DramAddress {
        let burst = address / self.burst;
        DramAddress {
            channel: burst % self.channels,
            bank: burst / self.channels % self.banks,
            row: burst / self.channels / self.banks,
            byte: address % self.burst,
        }
    }

    /// Returns the numbers of the bursts that contain these bytes.
    pub fn bursts(&self, first: u64, bytes: u64) -> RangeInclusive<u64> {
        first / self.burst..=first.saturating_add(bytes.max(1) - 1) / self.burst
    }

    /// Checks that the memory fits in a figure, and that bursts do not end within an element.
    fn check_figure(&self, element: u64) -> Result<(), Error> {
        within("channels", self.channels, 1..=8)?;
        within("banks", self.banks, 1..=8)?;
        within("element", element, 1..=self.burst)?;
        if !self.burst.is_multiple_of(element) {
            return Err(Error::Request(format!(
                "a burst of {} bytes does not hold whole elements of {element} bytes; make --burst a multiple of --element",
                self.burst
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
