//! The channel and bank of each element of an array (figure 6.9).

use std::ops::Range;

use serde::Serialize;

use super::{Dram, DramAddress, within};
use crate::Error;

/// An array that begins at address 0, and the location of each element.
#[derive(Clone, Debug, Serialize)]
pub struct Map {
    /// The memory.
    #[serde(flatten)]
    pub dram: Dram,
    /// The size of an element in bytes.
    pub element: u64,
    /// The elements, in order.
    pub elements: Vec<Element>,
}

/// An element of an array.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Element {
    /// The element's index.
    pub element: u64,
    /// The location of the element's first byte.
    #[serde(flatten)]
    pub place: DramAddress,
}

impl Map {
    /// Maps `elements` elements (up to 1024) of `element` bytes each, in a memory of up to 8 channels of up to 8 banks.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when a number is 0 or exceeds its limit, or when a burst ends within an element.
    pub fn new(dram: Dram, element: u64, elements: u64) -> Result<Self, Error> {
        dram.check_figure(element)?;
        let all = 0..within("elements", elements, 1..=1024)?;
        let placed = all.map(|index| Element { element: index, place: dram.place(index * element) });
        Ok(Self { dram, element, elements: placed.collect() })
    }

    /// Returns the indices of the elements in a bank, burst by burst.
    pub fn bursts(&self, channel: u64, bank: u64) -> Vec<Range<u64>> {
        let mut bursts: Vec<Range<u64>> = Vec::new();
        for Element { element, place } in &self.elements {
            if (place.channel, place.bank) != (channel, bank) {
                continue;
            }
            match bursts.last_mut() {
                Some(burst) if place.byte > 0 => burst.end = element + 1,
                _ => bursts.push(*element..element + 1),
            }
        }
        bursts
    }
}
