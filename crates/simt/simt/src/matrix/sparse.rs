//! Sparse matrices: each chunk of a row of A stores half of its elements, and metadata gives their positions (PTX ISA
//! §9.7.14.6). The same lanes hold the metadata as on an H200.

use super::number::Element;
use crate::regs::{R32, Regs};

/// The metadata of `mma.sp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The register, which contains four bits for each chunk, two for each index.
    pub register: R32,
    /// In each group of four lanes, the first lane that provides metadata.
    pub first: usize,
    /// The type of A's elements.
    pub element: Element,
}

/// Returns the number of stored elements in a chunk, and the number of elements that share an index.
fn chunk(element: Element) -> (usize, usize) {
    match element.bits() {
        32 => (1, 1),
        4 => (4, 2),
        _ => (2, 1),
    }
}

impl Metadata {
    /// Returns the metadata for a selector; `None` if the selector is not valid for rows of `k` elements.
    pub(crate) fn new(register: R32, selector: usize, element: Element, k: usize) -> Option<Self> {
        let chunks = k / chunk(element).0;
        let lanes = chunks / 4;
        let first = selector * lanes;
        (first + lanes <= 4).then_some(Self { register, first, element })
    }

    /// Returns the columns of the elements of A, which has `m` rows of `k` stored elements.
    pub(super) fn columns(&self, regs: &Regs<'_>, m: usize, k: usize) -> Vec<u16> {
        let words = regs.get32(self.register);
        let (present, per_index) = chunk(self.element);
        let column = |row: usize, at: usize| {
            let (chunk, at) = (at / present, at % present);
            let (group, half) = (row % 8 * 4, row / 8);
            let (lane, nibble) = match self.element.bits() {
                16.. => (chunk / 4, chunk % 4 + 4 * half),
                _ => (chunk / 8 * 2 + half, chunk % 8),
            };
            let indices = words[group + self.first + lane] >> (4 * nibble);
            let index = (indices >> (2 * (at / per_index)) & 3) as usize;
            // In a chunk that stores one of two elements, the index is 0 or 2.
            let index = if present == 1 { index / 2 } else { index };
            (chunk * 2 * present + index * per_index + at % per_index) as u16
        };
        (0..m * k).map(|at| column(at / k, at % k)).collect()
    }
}
