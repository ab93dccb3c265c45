//! A copy of the counters for each lane: no two threads of a warp want the same counter.

use core::array;

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::{BINS, add_global, add_private};
use crate::grid::GridStride;
use crate::warp::WARP_SIZE;
use crate::wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[HISTOGRAM_LANES];

/// Copies of the counters that a block has: one for each bank of shared memory.
const COPIES: usize = WARP_SIZE as usize;

/// Bytes of a load.
const WIDTH: usize = 16;

/// Loads of a thread that are in flight together.
const LOADS: usize = 2;

/// Bytes that a thread takes in a step.
const BYTES_PER_THREAD: usize = WIDTH * LOADS;

/// The most blocks: four for each of the 132 SMs of an H100, two turns of what they hold.
const MOST_BLOCKS: u32 = 528;

entries! {
    /// 32 copies of the counters in a block, one for each lane, which the block's warps share; wide loads; a
    /// grid as large as the device.
    ///
    /// In the rungs before, what a warp's 32 additions cost depends on the bytes: those to one counter come one
    /// after the other, and so do those to different counters in one bank. Here the counters of a byte are 32
    /// words in a row, a lane's own being in the lane's own bank. So an instruction is one wavefront, whatever
    /// the bytes are, and the threads that still meet are of different warps. The copies are 32 KB, which a
    /// block of 1024 threads can afford: two such blocks fill an SM with threads and take 64 KB of its shared
    /// memory. Zeroing them and adding them up is as much work as a few thousand bytes are, once a block, and
    /// so the blocks are few and stride over the input, with two loads of 16 bytes in flight for each thread.
    ///
    /// Prediction: an SM takes one wavefront of shared memory in a clock, 32 bytes counted, and 132 SMs at
    /// 1.7 GHz could count 7 TB/s, for any data: memory becomes the limit, 2^28 bytes in about 85 µs. Measured on
    /// an H100 80GB HBM3 with blocks of 1024: 90.1 µs, 2980 GB/s, uniform and constant bytes alike, where
    /// CUB's DeviceHistogram takes 131.2 µs and 101.6 µs. Fewer copies are as fast on constant bytes, whose
    /// additions the hardware merges, and slower on uniform ones, which meet in banks; counters of a byte, as
    /// many as there are threads, were slower on both.
    ///
    /// # Safety
    /// As [`histogram`](super) says, with any number of blocks, and `input` a multiple of 16.
    histogram_lanes(input: *const u8, bins: *mut u32, n: u32) for BLOCK in [128, 256, 512, 1024];
    shared copies: [u32; BINS * COPIES];
    rung Rung::USUAL {
        lesson: "a copy for each lane, in its own bank, and 16-byte loads: as fast for any bytes, at memory's speed",
        geometry: Geometry::Stride {
            items_per_thread: BYTES_PER_THREAD as u32,
            most_blocks: MOST_BLOCKS,
        },
        default_block: [1024, 1, 1],
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { lanes::<BLOCK>(copies, input, bins, n) }
}

/// # Safety
/// The contract of `histogram_lanes`, with blocks of `BLOCK`; `copies` is `BINS * COPIES` words of shared memory.
#[inline(always)]
unsafe fn lanes<const BLOCK: usize>(copies: *mut u32, input: *const u8, bins: *mut u32, n: u32) {
    let (index, tid) = (thread::block_idx_x(), thread::thread_idx_x());
    let lane = tid % WARP_SIZE;
    let vectors = n / WIDTH as u32;
    let step = (BLOCK * LOADS) as u32;
    // SAFETY: every load is below `n`, and at a multiple of 16 where it is a wide one. Every counter is zeroed by
    // one thread before the first barrier, and read by one after the second; in between there are atomics only.
    unsafe {
        for at in (tid as usize..BINS * COPIES).step_by(BLOCK) {
            *copies.add(at) = 0;
        }
        thread::sync_threads();

        let own = copies.add(lane as usize);
        for first in GridStride::of_this_block(step).take_while(|&first| first < vectors) {
            let mine = first + tid;
            if first + step <= vectors {
                // Both loads before the first addition: they are in flight together.
                let loaded: [[u32; 4]; LOADS] = array::from_fn(|load| wide_load(input, mine + (load * BLOCK) as u32));
                for words in loaded {
                    count(own, words);
                }
            } else {
                for load in 0..LOADS {
                    let at = mine + (load * BLOCK) as u32;
                    if at < vectors {
                        count(own, wide_load(input, at));
                    }
                }
            }
        }
        // The elements behind the last whole vector are fewer than a block's threads.
        let last = vectors * WIDTH as u32 + tid;
        if index == 0 && last < n {
            count_one(own, u32::from(*input.add(last as usize)));
        }

        thread::sync_threads();
        for bin in (tid as usize..BINS).step_by(BLOCK) {
            // Neighbouring threads begin at neighbouring copies, which are in different banks.
            let copy = |turn| *copies.add(bin * COPIES + (turn + tid as usize) % COPIES);
            let counted = (0..COPIES).fold(0, |sum, turn| sum + copy(turn));
            // Bytes that do not occur cost nothing.
            if counted > 0 {
                add_global(bins, bin as u8, counted);
            }
        }
    }
}

/// Vector `at` of the input.
///
/// # Safety
/// The input has a vector of this index, and `input` is a multiple of 16.
#[inline(always)]
unsafe fn wide_load(input: *const u8, at: u32) -> [u32; 4] {
    // SAFETY: as the caller promises.
    unsafe { wide::load(input.cast::<u32>().add(at as usize * 4)) }
}

/// Counts the 16 bytes of four words in the lane's copy.
///
/// # Safety
/// The copies are accessed by atomics only.
#[inline(always)]
unsafe fn count(own: *mut u32, words: [u32; 4]) {
    for word in words {
        for byte in 0..4 {
            // SAFETY: as the caller promises.
            unsafe { count_one(own, word >> (8 * byte) & 0xff) };
        }
    }
}

/// Counts one byte in the lane's copy, whose first counter is `own`.
///
/// # Safety
/// The copies are accessed by atomics only, and `byte` is less than 256.
#[inline(always)]
unsafe fn count_one(own: *mut u32, byte: u32) {
    // SAFETY: as the caller promises.
    unsafe { add_private(own.add(byte as usize * COPIES), 0, 1) };
}
