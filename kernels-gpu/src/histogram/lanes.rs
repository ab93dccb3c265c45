//! A copy of the counters for each lane: no two threads of a warp access the same counter.

use core::{array, mem::MaybeUninit, sync::atomic::Ordering::Relaxed};

use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::{address_space, thread};
use rung::rung;

use super::BINS;

/// The number of copies of the counters in a block: one per lane. It is also the number of shared-memory banks.
const COPIES: usize = 32;
/// The number of bytes per load.
const WIDTH: u32 = 16;
/// The number of loads that a thread has in flight.
const LOADS: usize = 2;

/// Sixteen neighboring bytes as four words, aligned for a 16-byte load (PTX ISA §5.4.2, "Vectors"): the counterpart of
/// CUDA C++'s `uint4`.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct UInt4([u32; 4]);

/// Each block has 32 copies of the counters, one for each lane number. The block's warps share the copies. The kernel
/// uses 16-byte loads and a grid that fills the device.
///
/// In the previous rungs, the cost of a warp's 32 additions depends on the bytes: additions to one counter are
/// serialized, and so are additions to different counters in one bank. Here the 32 counters of a byte value are
/// consecutive words, and each lane's counter is in the bank with the lane's number. So an instruction takes one
/// wavefront for any bytes, and only threads of different warps contend. The copies take 32 KB, which is affordable for
/// a block of 1024 threads: two such blocks fill a multiprocessor with threads and use 64 KB of its shared memory.
/// Zeroing the copies and adding them up takes as long as counting a few thousand bytes of input. So the grid has few
/// blocks, which stride over the input with two 16-byte loads in flight per thread.
///
/// Prediction: a multiprocessor executes one shared-memory wavefront per clock, which counts 32 bytes. So 132
/// multiprocessors at 1.7 GHz could count 7 TB/s for any data, and memory becomes the limit: 2^28 bytes in about 85 µs.
/// Measured on an H100 80GB HBM3 with blocks of 1024: 90.1 µs (2980 GB/s) for both uniform and constant bytes. CUB's
/// DeviceHistogram takes 131.2 µs for uniform and 101.6 µs for constant bytes. With fewer copies, the kernel is equally
/// fast on constant bytes, because the hardware merges their additions. On uniform bytes, it is slower because of bank
/// conflicts. A copy of the counters for each thread was slower on both inputs.
///
/// # Safety
/// See [`histogram`](super). The grid can have any number of blocks, and `input` is aligned to 16 bytes.
#[rung(
    after = histogram_private_coarsened,
    lesson = "a copy for each lane, in the lane's bank, and 16-byte loads: full memory bandwidth for any data",
    blocks = [128, 256, 512, 1024],
    default_block = 1024,
    items_per_thread = WIDTH * LOADS as u32,
    // Four blocks per multiprocessor: two blocks of 1024 are resident at a time.
    grid = |launch| launch.stride(4 * launch.device.multiprocessors)
)]
pub unsafe fn histogram_lanes<const BLOCK: u32>(input: *const u8, bins: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut COUNTERS: MaybeUninit<[u32; BINS * COPIES]> = MaybeUninit::uninit();
    let (counters, tid, block_idx) = ((&raw mut COUNTERS).cast::<u32>(), thread::thread_idx_x(), thread::block_idx_x());

    for i in (tid as usize..BINS * COPIES).step_by(BLOCK as usize) {
        // SAFETY: i is below the number of counters. One thread writes each counter before the barrier.
        unsafe { *counters.add(i) = 0 };
    }
    thread::sync_threads();

    let lane_counters = counters.wrapping_add(tid as usize % COPIES);
    let count_byte = |byte: u8| {
        // SAFETY: a lane has a counter for each value of a byte, `COPIES` words apart. Between the barriers, all
        // threads access the counters by atomics.
        unsafe { atomic_fetch_add_u32_block(lane_counters.add(usize::from(byte) * COPIES), Relaxed, 1) };
    };
    let count_words = |UInt4(words): UInt4| words.into_iter().flat_map(u32::to_le_bytes).for_each(count_byte);
    let (input_vectors, vectors, step) = (input.cast::<UInt4>(), n / WIDTH, BLOCK * LOADS as u32);
    let mut start = block_idx * step;
    while start < vectors {
        let vector = |k: usize| start + tid + k as u32 * BLOCK;
        if start + step <= vectors {
            // Both loads come before the first addition, so they are in flight at the same time.
            // SAFETY: the block's whole step is below `vectors`, and `input` is aligned to 16 bytes.
            let loaded: [UInt4; LOADS] = array::from_fn(|k| unsafe { *input_vectors.add(vector(k) as usize) });
            loaded.into_iter().for_each(count_words);
        } else {
            for vector in (0..LOADS).map(vector) {
                if vector < vectors {
                    // SAFETY: vector < vectors, and `input` is aligned to 16 bytes.
                    count_words(unsafe { *input_vectors.add(vector as usize) });
                }
            }
        }
        start += thread::grid_dim_x() * step;
    }
    // After the last whole vector, at most 15 bytes remain, fewer than the block has threads.
    let last = vectors * WIDTH + tid;
    if block_idx == 0 && last < n {
        // SAFETY: last < n, so the byte is in the input.
        count_byte(unsafe { *input.add(last as usize) });
    }

    thread::sync_threads();
    for bin in (tid as usize..BINS).step_by(BLOCK as usize) {
        // Neighboring threads start with neighboring copies, which are in different banks.
        // SAFETY: the indices are below the number of counters, and no thread writes the counters after the barrier.
        let sum: u32 = (0..COPIES).map(|k| unsafe { *counters.add(bin * COPIES + (k + tid as usize) % COPIES) }).sum();
        // A counter of 0 needs no atomic addition.
        if sum > 0 {
            // SAFETY: bin < 256, and all blocks access the global counters by atomics.
            unsafe { atomic_fetch_add_u32_device(bins.add(bin), Relaxed, sum) };
        }
    }
}
