//! The histogram of byte values, from atomics on shared counters to a copy of the counters for each lane.
//!
//! Every rung is one kernel in one file. The kernel reads the `n` bytes of `input` and adds to the 256 counters of
//! `bins`. Two threads may add to the same counter at the same time, so every addition is atomic, and the hardware
//! serializes additions to the same address. A rung is fast if few threads add to the same counter at a time, and if
//! the counters are in shared memory.
//!
//! A block counts one byte per thread, or 16 in the coarsened rungs. The last rung has few blocks, which stride over
//! the input. Counters do not overflow, because `n` is less than 2^31. All rungs except the last apply entries of the
//! checklist in *Programming Massively Parallel Processors* (Hwu, Kirk and El Hajj, 4th edition, 2022), section 6.4.
//!
//! # Safety
//! For all kernels, `input` points to `n` bytes and `bins` to 256 counters, in device memory that nothing else uses
//! during the launch. The block is one-dimensional. If the kernel's name contains a size, the block has that size. The
//! grid has the size that the rung describes.

use rung::Rung;

pub mod aggregated;
pub mod global;
pub mod lanes;
pub mod private;
pub mod private_coarsened;
pub mod private_coarsened_contiguous;

/// The number of byte values, which is also the number of counters.
pub const BINS: usize = 256;

/// The rungs, in the order of the ladder.
pub const RUNGS: &[Rung] = &[
    global::HISTOGRAM_GLOBAL,
    private::HISTOGRAM_PRIVATE,
    private_coarsened_contiguous::HISTOGRAM_PRIVATE_COARSENED_CONTIGUOUS,
    private_coarsened::HISTOGRAM_PRIVATE_COARSENED,
    aggregated::HISTOGRAM_AGGREGATED,
    lanes::HISTOGRAM_LANES,
];
