//! Sorting keys, or keys with values, in ascending order.
//!
//! Every rung is one kernel in one file. In the first rung, each block sorts its section. The other rungs sort the
//! whole array in one launch. Their blocks are all resident at the same time and synchronize at grid barriers between
//! the passes over the array. In CUDA C++, each pass is usually a kernel launch, because the end of a kernel acts as a
//! grid barrier.
//!
//! The kernels are generic over the type of the keys ([`key::Key`]) and of the values ([`key::Value`]). Without values,
//! `V` is `()`. The kernels are correct for every `n` up to 2^30. The bitonic sorts are not stable: values of equal
//! keys may change their order. All other sorts are stable.
//!
//! # Safety
//! For all kernels, `keys` points to `n` keys and `values` to `n` values in device memory that nothing else uses during
//! the launch. The same holds for `sorted_keys` and `sorted_values`, and for `other_keys` and `other_values`, if the
//! kernel has these parameters. The block has the size in the kernel's name, and the grid has the size that the rung
//! describes. `counts` has a word for each digit and tile, `sums` has a word for each block, and `barrier` points to a
//! word. `totals` has [`sweep::TOTALS`] words. The word of `barrier` and the words of `totals` are 0 before each
//! launch, and the kernel resets them to 0. `status` has a word for each digit and tile. All words of `status` are zero
//! before the first launch, and unchanged between launches. `bits` is the number of bits of a key. It is an argument so
//! that the compiler does not unroll the passes, which would quadruple the code.

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

/// The smallest number of keys per tile among the rungs that keep words for each tile.
pub const SMALLEST_TILE: u32 = 512 * 7;

/// The number of values of the widest digit, which is the number of words per tile in `counts` and in `status`.
pub const MOST_DIGITS: u32 = counts::DIGITS;

/// The maximum number of resident blocks per multiprocessor for kernels with `sums`.
pub const MOST_RESIDENT: u32 = 2;

/// The maximum number of keys in an array. Twice this number must fit into 32 bits, because merges and networks compute
/// indices up to that number.
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
