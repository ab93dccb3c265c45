//! An array's elements, each in its channel and bank: figure 6.9.

use std::ops::Range;

use super::{Dram, DramError, Place, positive, whole_elements};

/// An array that begins at address 0, and the memory that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    dram: Dram,
    element: u64,
    elements: u64,
}

impl Map {
    /// `elements` elements of `element` bytes each.
    ///
    /// # Errors
    /// [`DramError::Zero`]; [`DramError::PartOfAnElement`] where a burst ends within an element;
    /// [`DramError::TooMuch`] for an array of more bytes than there are addresses.
    pub fn new(dram: Dram, element: u64, elements: u64) -> Result<Self, DramError> {
        whole_elements(&dram, element)?;
        positive("elements", elements)?;
        if elements.checked_mul(element).is_none() {
            return Err(DramError::TooMuch {
                what: format!("an array of {elements} elements of {element} bytes"),
                limit: "addresses have 64 bits".to_owned(),
            });
        }
        Ok(Self {
            dram,
            element,
            elements,
        })
    }

    /// The memory.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }

    /// Bytes of an element.
    pub fn element(&self) -> u64 {
        self.element
    }

    /// Elements of the array.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Elements of a burst.
    pub fn a_burst(&self) -> u64 {
        self.dram.burst / self.element
    }

    /// Bursts that the array takes; the last one may have room left.
    pub fn bursts(&self) -> u64 {
        self.elements.div_ceil(self.a_burst())
    }

    /// Where an element is. `None` for one that the array does not have.
    pub fn place(&self, element: u64) -> Option<Place> {
        (element < self.elements).then(|| self.dram.place(element * self.element))
    }

    /// The elements of the burst in a row of a bank. Empty where the array has none there.
    pub fn burst_at(&self, channel: u64, bank: u64, row: u64) -> Range<u64> {
        let place = Place {
            channel,
            bank,
            row,
            byte: 0,
        };
        let first = self
            .dram
            .address(place)
            .map_or(self.elements, |address| address / self.element)
            .min(self.elements);
        first..first.saturating_add(self.a_burst()).min(self.elements)
    }

    /// Rows of a bank that have elements of the array.
    pub fn rows(&self, channel: u64, bank: u64) -> u64 {
        let (round, before) = (
            self.dram.channels * self.dram.banks,
            bank * self.dram.channels + channel,
        );
        let bursts = self.bursts();
        bursts / round + u64::from(bursts % round > before)
    }
}
