//! Sparse matrices: of each chunk of a row of A half the elements are there, and metadata says which (PTX ISA
//! §9.7.14.6). Which lanes hold the metadata was compared with an H200's.

use super::number::Element;
use crate::regs::{R32, Regs};

/// The metadata of `mma.sp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The register: four bits for each chunk, two for each index.
    pub register: R32,
    /// Of each four lanes, the first that gives metadata.
    pub first: usize,
    /// The type of A's elements.
    pub element: Element,
}

/// Of a chunk the elements that are there, and how many of them have one index together.
fn chunk(element: Element) -> (usize, usize) {
    match element.bits() {
        32 => (1, 1),
        4 => (4, 2),
        _ => (2, 1),
    }
}

impl Metadata {
    /// The metadata that a selector chooses; `None` if there is no such selector for rows of so many elements.
    pub(crate) fn new(register: R32, selector: usize, element: Element, k: usize) -> Option<Self> {
        let chunks = k / chunk(element).0;
        let lanes = chunks / 4;
        let first = selector * lanes;
        (first + lanes <= 4).then_some(Self { register, first, element })
    }

    /// The columns of the elements of A, `m` rows of `k`.
    pub(super) fn columns(&self, regs: &Regs<'_>, m: usize, k: usize) -> Vec<u16> {
        let words = regs.get32(self.register);
        let (present, together) = chunk(self.element);
        let column = |row: usize, at: usize| {
            let (chunk, at) = (at / present, at % present);
            let (group, half) = (row % 8 * 4, row / 8);
            let (lane, nibble) = match self.element.bits() {
                16.. => (chunk / 4, chunk % 4 + 4 * half),
                _ => (chunk / 8 * 2 + half, chunk % 8),
            };
            let indices = words[group + self.first + lane] >> (4 * nibble);
            let index = (indices >> (2 * (at / together)) & 3) as usize;
            // One element of two has the index 0 or 2.
            let index = if present == 1 { index / 2 } else { index };
            (chunk * 2 * present + index * together + at % together) as u16
        };
        (0..m * k).map(|at| column(at / k, at % k)).collect()
    }
}
