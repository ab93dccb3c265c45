//! Pseudo-random data for the ladders' inputs, which are the same on every computer and in every run.

use std::ops::Range;

use ranks::Share;
use rayon::prelude::*;

/// The maximum number of elements in an array, because kernels use 31-bit element indices.
pub const MAX_ELEMENTS: u64 = (1 << 31) - 1;

/// The maximum number of elements in an array that is cut into pieces, each with a separate launch.
pub(crate) const MOST_IN_PIECES: u64 = 1 << 36;

/// The alignment of pieces: every piece starts at a multiple of this number of elements, so that wide loads stay
/// aligned.
const PIECE_UNIT: u64 = 1024;

/// Returns the minimum number of pieces into which an array must be cut.
pub(crate) fn least_pieces(n: u64) -> usize {
    if n <= MAX_ELEMENTS { 1 } else { n.div_ceil(MAX_ELEMENTS - PIECE_UNIT) as usize }
}

/// Returns the range of elements in a piece of an array.
pub(crate) fn piece(piece: Share, n: u64) -> Range<u64> {
    let units = piece.of(n.div_ceil(PIECE_UNIT));
    (units.start * PIECE_UNIT).min(n)..(units.end * PIECE_UNIT).min(n)
}

/// Returns the reason to refuse an array that is too long to be computed in one piece.
pub(crate) fn too_many(n: u64) -> Option<String> {
    let why = || {
        format!(
            "kernels count up to {MAX_ELEMENTS} elements; use --devices, even for one device, to split a longer array"
        )
    };
    (n > MAX_ELEMENTS).then(why)
}

/// Returns pseudo-random number `index`, over the full range of `i32`, so that sums wrap and no lane adds only zeros.
///
/// The function is the finalizer of MurmurHash3 (Appleby, public domain), which is a bijection of 32-bit words.
pub fn element(index: u32) -> i32 {
    let mut h = index.wrapping_add(0x9e37_79b9);
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    (h ^ (h >> 16)).cast_signed()
}

/// Generates `count` elements on all cores. Each element is computed from its index modulo 2^32.
pub(crate) fn generate<T: Send>(count: u64, element: impl Fn(u32) -> T + Sync + Send) -> Vec<T> {
    (0..count as usize).into_par_iter().map(|index| element(index as u32)).collect()
}
