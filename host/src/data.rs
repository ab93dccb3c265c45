//! Pseudo-random data for the ladders' inputs: the same on every machine and in every run.

use rayon::prelude::*;

/// The most elements of an array: the kernels count them in 31 bits.
pub const MAX_ELEMENTS: u64 = (1 << 31) - 1;

/// Pseudo-random number `index`, over the full range of `i32`, so that sums wrap and no lane adds only zeros.
///
/// The finalizer of MurmurHash3 (Appleby, public domain), a bijection of 32-bit words.
pub fn element(index: u32) -> i32 {
    let mut h = index.wrapping_add(0x9e37_79b9);
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    (h ^ (h >> 16)).cast_signed()
}

/// A vector of so many elements, each made from its index, on all cores.
pub(crate) fn generate<T: Send>(count: u64, element: impl Fn(u32) -> T + Sync + Send) -> Vec<T> {
    (0..count as u32).into_par_iter().map(element).collect()
}
