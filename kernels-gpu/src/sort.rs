//! Sorting keys, or keys with values, in ascending order.
//!
//! Every rung is one kernel in one file. The first rung sorts the section of each block, and the others sort the whole array
//! in one launch. Their blocks are all resident at the same time and meet at barriers of the grid between the passes over
//! the array. CUDA C++ usually launches a kernel for each pass, because the end of a kernel is a barrier of its grid.
//!
//! The kernels are generic over the type of the keys ([`key::Key`]) and of the values ([`key::Value`]). Without values, `V`
//! is `()`. They are correct for every `n` up to 2^30. The sorts by bitonic networks are not stable: values of equal keys
//! may change their order. All others are stable.
//!
//! # Safety
//! All kernels: `keys` points to `n` keys and `values` to `n` values in device memory that nothing else uses during the
//! launch, and so do `sorted_keys` and `sorted_values`, and `other_keys` and `other_values` where a kernel has them. The
//! block is the one in the kernel's name, and the grid is the one that the rung describes. `counts` has a word for each
//! digit and tile, `sums` has one for each block, and `barrier` is a word that is 0, and is 0 again afterwards. `totals` has
//! [`sweep::TOTALS`] words that are 0, and are 0 again afterwards. `status` has a word for each digit and tile: zeros before the
//! first launch, and later what the launch before left. `bits` is the number of bits of a key. It is an argument so that the
//! compiler does not unroll the passes, which would be four times the code.

#[cfg(not(target_arch = "nvptx64"))]
use rung::Rung;

pub mod bitonic;
pub mod bitonic_block;
pub mod coalesced;
mod counts;
pub mod digits;
pub mod key;
pub mod merge;
pub mod one_sweep;
mod pairs;
pub mod split;
pub mod sweep;
pub mod tuned;

/// The smallest number of keys of a tile, of the rungs that keep words for each tile.
pub const SMALLEST_TILE: u32 = 512 * 7;

/// The number of values of the widest digit, and of words that a tile has in `counts` and in `status`.
pub const MOST_DIGITS: u32 = counts::DIGITS;

/// The most blocks that a multiprocessor has of a kernel with `sums`.
pub const MOST_RESIDENT: u32 = 2;

/// The most keys of an array: twice as many must not overflow 32 bits, because a merge and a network count that far.
pub const MAX_KEYS: u32 = 1 << 30;

/// The rungs, in the order of the ladder.
#[cfg(not(target_arch = "nvptx64"))]
pub const RUNGS: &[Rung] = &[
    bitonic_block::SORT_BITONIC_BLOCK,
    bitonic::SORT_BITONIC,
    merge::SORT_MERGE,
    split::SORT_SPLIT,
    digits::SORT_DIGITS,
    coalesced::SORT_COALESCED,
    one_sweep::SORT_ONE_SWEEP,
    tuned::SORT_TUNED,
];
