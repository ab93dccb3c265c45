//! DRAM as a kernel's accesses meet it: bursts, banks and channels.
//!
//! This is the model of the chapter on performance considerations that the matmul ladder comes from (its sections
//! on coalescing and on hiding memory latency, figures 6.7 to 6.11), and no GPU's:
//! - DRAM is read in **bursts** of neighbouring bytes. What the burst brings besides what was asked for is
//!   there for nothing, or lost.
//! - A **bank** is an array of cells that takes long to find what it is asked for and can do one thing at a time.
//!   It then sends the burst over its channel's bus in a much shorter time ([`Bus`]).
//! - A **channel** is a controller with a bus to banks of its own.
//! - Addresses are **interleaved**: burst after burst goes to the next channel, and after the last channel to the
//!   next bank of the first one ([`Dram::place`]).
//!
//! The chapter's numbers are what the defaults give: [`Map`] is figure 6.9, [`Tiles`] figure 6.11 and [`Bus`] the
//! reckoning around figure 6.8.
//!
//! GPUs do not take the address's digits as they are. They hash them, so that strides which would meet one channel
//! here are spread over all of them there; how, NVIDIA does not say. What a [`trace`] shows is how far a rung would
//! need that.

mod bus;
mod map;
mod tiles;
pub mod trace;

use serde::Serialize;

pub use bus::{Bus, Moment, Ratio, peak};
pub use map::Map;
pub use tiles::{Load, Matrix, Phase, Tiles};

/// The most banks of all channels together. More is a slip of the finger: the largest GPUs have a few thousand.
pub const MOST_BANKS: u64 = 1 << 14;

/// What is asked of the model and cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DramError {
    /// Nothing of what there has to be one at least.
    #[error("--{option} 0 leaves nothing to show; it takes 1 or more")]
    Zero {
        /// The option.
        option: &'static str,
    },
    /// A burst with a part of an element.
    #[error(
        "a burst of {burst} bytes is no whole number of elements of {element}; --burst takes a multiple of \
         --element"
    )]
    PartOfAnElement {
        /// Bytes of a burst.
        burst: u64,
        /// Bytes of an element.
        element: u64,
    },
    /// More than there can be.
    #[error("{what} is too much: {limit}")]
    TooMuch {
        /// What was asked for.
        what: String,
        /// What is possible.
        limit: String,
    },
    /// A tile that is wider than its matrix.
    #[error(
        "tiles of {tile} × {tile} are larger than a matrix of {n} × {n}; --tile takes 1 to {n}"
    )]
    TileTooLarge {
        /// Rows and columns of a tile.
        tile: u64,
        /// Rows and columns of the matrix.
        n: u64,
    },
    /// A ratio that cannot be read.
    #[error("`{given}` is not a ratio of latency to transfer: {why}; write 20, or 41:2 for 20.5")]
    BadRatio {
        /// What was given.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something else than a number that a clock or a bandwidth can be.
    #[error("`{given}` is not a number above 0 and up to 10^9; write 16 or 1.6")]
    BadNumber {
        /// What was given.
        given: String,
    },
    /// A name that is not of one rung alone.
    #[error("`{name}` is several rungs: {rungs}; which one?")]
    SeveralRungs {
        /// What was asked for.
        name: String,
        /// What it is.
        rungs: String,
    },
}

/// How a memory is made up, and which of its parts has which address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Dram {
    channels: u64,
    banks: u64,
    burst: u64,
}

/// Where a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
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
    pub const FIGURE: Self = Self {
        channels: 4,
        banks: 2,
        burst: 8,
    };

    /// A memory of so many channels, banks of each and bytes of a burst. None of them needs to be a power of two: a
    /// GPU with a bus of 384 bits has 12 channels of 32.
    ///
    /// # Errors
    /// [`DramError::Zero`], and [`DramError::TooMuch`] for more than [`MOST_BANKS`].
    pub fn new(channels: u64, banks: u64, burst: u64) -> Result<Self, DramError> {
        for (option, value) in [("channels", channels), ("banks", banks), ("burst", burst)] {
            positive(option, value)?;
        }
        match channels.checked_mul(banks) {
            Some(all) if all <= MOST_BANKS => Ok(Self {
                channels,
                banks,
                burst,
            }),
            _ => Err(DramError::TooMuch {
                what: format!("{channels} channels × {banks} banks"),
                limit: format!("--channels × --banks takes up to {MOST_BANKS}"),
            }),
        }
    }

    /// Channels.
    pub fn channels(&self) -> u64 {
        self.channels
    }

    /// Banks of each channel.
    pub fn banks(&self) -> u64 {
        self.banks
    }

    /// Bytes of a burst.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Where the byte with this address is.
    ///
    /// ```
    /// let dram = host::dram::Dram::FIGURE;
    /// // M[10], of 4 bytes an element.
    /// let place = dram.place(10 * 4);
    /// assert_eq!((place.channel, place.bank), (1, 1));
    /// ```
    pub fn place(&self, address: u64) -> Place {
        let burst = address / self.burst;
        Place {
            channel: burst % self.channels,
            bank: burst / self.channels % self.banks,
            row: burst / self.channels / self.banks,
            byte: address % self.burst,
        }
    }

    /// The address of the byte there: what [`Dram::place`] undoes. `None` where there is no such place, or none
    /// with an address of 64 bits.
    pub fn address(&self, place: Place) -> Option<u64> {
        let Place {
            channel,
            bank,
            row,
            byte,
        } = place;
        if channel >= self.channels || bank >= self.banks || byte >= self.burst {
            return None;
        }
        row.checked_mul(self.banks)?
            .checked_add(bank)?
            .checked_mul(self.channels)?
            .checked_add(channel)?
            .checked_mul(self.burst)?
            .checked_add(byte)
    }

    /// A bank's number among those of all channels, channel by channel: where it is counted.
    fn slot(&self, place: Place) -> usize {
        (place.channel * self.banks + place.bank) as usize
    }

    /// Banks of all channels.
    pub fn slots(&self) -> usize {
        (self.channels * self.banks) as usize
    }
}

/// Refuses 0.
fn positive(option: &'static str, value: u64) -> Result<(), DramError> {
    if value == 0 {
        return Err(DramError::Zero { option });
    }
    Ok(())
}

/// Refuses bursts that end within an element.
fn whole_elements(dram: &Dram, element: u64) -> Result<(), DramError> {
    positive("element", element)?;
    if !dram.burst.is_multiple_of(element) {
        return Err(DramError::PartOfAnElement {
            burst: dram.burst,
            element,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
