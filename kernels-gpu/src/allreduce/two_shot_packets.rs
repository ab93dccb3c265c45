//! Two shots without a barrier: the chunks and the sums travel as packets.

use core::array;

use cuda_std::thread;
use rung::rung;

use super::inbox::{Inboxes, Slot, add, vectors};
use super::sum::{Float4, WIDTH};
use super::{MAX_RANKS, Table, grid};

/// `allreduce_two_shot` with the packets of `allreduce_packets`, which need no separate flags. Each rank is assigned
/// one chunk. To every other rank, a rank sends its elements of that rank's chunk. It then adds up its assigned chunk
/// and sends the sums to all ranks. This rung supports at most [`MAX_ELEMENTS`](super::inbox::MAX_ELEMENTS) elements.
///
/// Each link carries `2 (k - 1) / k` arrays, and there is no barrier. All accesses over the links are stores, so no
/// thread waits for a round trip over a link. A thread sends all its elements before it waits. So the sums of the first
/// elements are sent while the last elements arrive.
///
/// Prediction for four H100s: the time of a launch and two trips over a link, about 5 µs, plus the time to transfer 1.5
/// arrays at 370 GB/s. The sum is 10 µs for 1 MiB and 22 µs for 4 MiB. With two ranks, `allreduce_packets` sends the
/// same number of bytes in one trip. Measured on four H100 80GB HBM3: 11.6 µs for 1 MiB (NCCL 17.2,
/// `allreduce_two_shot` 23.8), 26.3 µs for 4 MiB (40.7, 42.6), and 90 µs for 16 MiB (102, 101).
///
/// # Safety
/// See [`packets`](super::packets).
#[rung(
    after = allreduce_two_shot,
    lesson = "chunks and sums travel as packets: the traffic of a ring without a barrier",
    // With 1024 threads, each thread has only 64 registers, so the slots of eight ranks do not fit.
    blocks = [128, 256, 512],
    default_block = 512,
    // A grid has at most one block per multiprocessor, so a block can use all registers.
    resident = 1,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_two_shot_packets<const BLOCK: u32>(
    #[grid_constant] inputs: &Table<f32>,
    #[grid_constant] outputs: &Table<f32>,
    #[grid_constant] inboxes: &Table<Slot>,
    n: u32,
    ranks: u32,
    first: u32,
) {
    let rank = first + thread::block_idx_y();
    let (input, output) = (inputs.of(rank), outputs.of(rank));
    let (len, chunk) = (n / WIDTH, (n / WIDTH).div_ceil(ranks));
    let [start, stride] = vectors::<BLOCK>();
    // The last chunks can contain vectors beyond the array. In place of such vectors, the ranks send copies of the last
    // vector, and do not store the results. Without a branch, all loads of a thread are in flight at the same time.
    // SAFETY: the vector is in the input, which no kernel writes. A thread that reads has a nonempty chunk, so `len` is
    // not 0.
    let read = |index: u32| unsafe { *input.cast::<Float4>().add(index.min(len - 1) as usize) };
    let write = |index: u32, sum: Float4| {
        if index < len {
            // SAFETY: the vector is in the output. Only this thread of this rank receives the vector or its sum.
            unsafe { *output.cast::<Float4>().add(index as usize) = sum };
        }
    };
    // SAFETY: the inboxes were zeros before the first launch, and only launches with the same `n` and `ranks` have
    // changed them.
    let inbox = unsafe { Inboxes::open(inboxes, rank, ranks, n) };

    // Reduce-scatter: each rank receives the vectors of its chunk.
    let mut index = start;
    while index < chunk {
        // Also loads parts for ranks that do not exist. These parts are not sent.
        let parts: [Float4; MAX_RANKS] = array::from_fn(|step| read(inbox.peer(step as u32) * chunk + index));
        for (step, part) in parts.iter().enumerate().skip(1) {
            if (step as u32) < ranks {
                // SAFETY: a row has two slots for each vector of a chunk, and only this thread sends to the first slot.
                unsafe { inbox.send(inbox.peer(step as u32), index, *part) };
            }
        }
        index += stride;
    }

    // All-gather: each rank sends the sums of its chunk.
    let mut index = start;
    while index < chunk {
        // SAFETY: every other rank sends the vector, and only this thread receives it.
        let sum = add(unsafe { inbox.receive(index, read(rank * chunk + index)) });
        for step in 1..ranks {
            // SAFETY: only this thread sends to the second slot of the vector.
            unsafe { inbox.send(inbox.peer(step), chunk + index, sum) };
        }
        write(rank * chunk + index, sum);
        index += stride;
    }
    let mut index = start;
    while index < chunk {
        // SAFETY: every other rank sends the sum of its vector, and only this thread receives that sum.
        let sums = unsafe { inbox.receive(chunk + index, Float4::default()) };
        for (from, sum) in sums.iter().enumerate() {
            if inbox.is_other(from) {
                write(from as u32 * chunk + index, *sum);
            }
        }
        index += stride;
    }
    // SAFETY: all threads of the block call both functions, and no chunk contains the remaining elements.
    unsafe {
        inbox.sum_rest(input, output, n);
        inbox.close(n);
    }
}
