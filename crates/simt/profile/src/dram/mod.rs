//! DRAM as kernels use it: bursts, banks and channels.
//!
//! This is the model of the chapter on performance considerations that the matmul ladder comes from (its sections
//! on coalescing and on hiding memory latency, figures 6.7 to 6.11), and not of any one GPU:
//! - DRAM is read in **bursts** of neighbouring bytes. A kernel that uses only a part of a burst has paid for all of it.
//! - A **bank** is an array of cells. It takes long to find a burst and can look for one at a time. It then sends the
//!   burst over its channel's bus in a much shorter time ([`Bus`]).
//! - A **channel** is a controller with a bus to banks of its own.
//! - Addresses are **interleaved**: burst after burst goes to the next channel, and after the last channel to the
//!   next bank of the first one ([`Dram::place`]).
//!
//! With the default numbers [`Map`] is figure 6.9, [`Tiles`] is figure 6.11, and [`Bus`] is the calculation around
//! figure 6.8. All three are data: they serialize as they are.
//!
//! GPUs hash addresses before they choose a channel, so that strides which would meet one channel in this model are
//! spread over all of them; NVIDIA does not publish how. `ladder why RUNG --dram` shows how much a rung depends on that.

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

/// A value, if it is in a range.
pub fn within<T: PartialOrd + Display>(option: &'static str, given: T, range: RangeInclusive<T>) -> Result<T, Error> {
    if range.contains(&given) {
        return Ok(given);
    }
    let (least, most) = range.into_inner();
    Err(Error::Request(format!("--{option} {given} is not possible here; it takes {least} to {most}")))
}

/// How a memory is divided, and so where each address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Dram {
    /// Channels.
    pub channels: u64,
    /// Banks of each channel.
    pub banks: u64,
    /// Bytes of a burst.
    pub burst: u64,
}

/// Where a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DramAddress {
    /// The channel.
    pub channel: u64,
    /// The bank of that channel.
    pub bank: u64,
    /// The burst of that bank.
    pub row: u64,
    /// The byte of that burst.
    pub byte: u64,
}

impl Dram {
    /// The memory of figure 6.9: 4 channels of 2 banks, with bursts of 8 bytes.
    pub const FIGURE: Self = Self { channels: 4, banks: 2, burst: 8 };

    /// An H100's: 5 stacks of HBM3 (NVIDIA H100 Tensor Core GPU Architecture, "H100 GPU Architecture In-Depth"), each
    /// of 16 channels with 4 groups of 4 banks and bursts of 8 transfers of 64 bits (JEDEC JESD238).
    pub const H100: Self = Self { channels: 5 * 16, banks: 4 * 4, burst: 8 * 8 };

    /// A memory of up to 128 channels of up to 128 banks, with bursts of up to 4096 bytes. None of them needs to be a
    /// power of two: a GPU with a bus of 384 bits has 12 channels of 32.
    ///
    /// # Errors
    /// [`Error::Request`] when one of them is 0 or larger than that.
    pub fn new(channels: u64, banks: u64, burst: u64) -> Result<Self, Error> {
        Ok(Self {
            channels: within("channels", channels, 1..=128)?,
            banks: within("banks", banks, 1..=128)?,
            burst: within("burst", burst, 1..=4096)?,
        })
    }

    /// Where the byte with this address is.
    ///
    /// ```
    /// let dram = profile::dram::Dram::FIGURE;
    /// // M[10], of 4 bytes an element.
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

    /// The numbers of the bursts that some bytes lie in.
    pub fn bursts(&self, first: u64, bytes: u64) -> RangeInclusive<u64> {
        first / self.burst..=first.saturating_add(bytes.max(1) - 1) / self.burst
    }

    /// Checks that a figure has room for the memory, and that bursts do not end within an element.
    fn check_figure(&self, element: u64) -> Result<(), Error> {
        within("channels", self.channels, 1..=8)?;
        within("banks", self.banks, 1..=8)?;
        within("element", element, 1..=self.burst)?;
        if !self.burst.is_multiple_of(element) {
            return Err(Error::Request(format!(
                "a burst of {} bytes is no whole number of elements of {element}; --burst takes a multiple of --element",
                self.burst
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
