//! A ring of ranks: every link carries the same number of bytes at the same time.

use cuda_std::thread;
use rung::rung;

use super::flags::{END, Flags, START};
use super::sum::{WIDTH, chunk, sum};
use super::{Table, grid, next_rank};

/// Each rank sends only to the next rank. The array is divided into one chunk for each of the `k` ranks.
///
/// In step 0, each rank sends one chunk of its input to the next rank's output. In every later step, it sends the chunk
/// that it received in the previous step. In the first `k - 1` steps, each rank adds its input to the chunk that it
/// receives (a reduce-scatter). Afterwards each rank holds the complete sum of one chunk, and the sums travel around
/// the ring in `k - 1` more steps (an all-gather).
///
/// A link carries `2 (k - 1) / k` arrays. Without a switch that can add, this is the minimum (Patarasuk and Yuan,
/// *Bandwidth optimal all-reduce algorithms for clusters of workstations*, 2009). The bus bandwidth that nccl-tests
/// reports is relative to this minimum. Each step waits for the previous step, so small arrays take `2 (k - 1)` times
/// the latency of a link.
///
/// # Safety
/// See [`allreduce`](super).
#[rung(
    after = allreduce_tree,
    lesson = "each rank sends chunks only to the next rank: every link carries the minimum amount of data",
    blocks = [128, 256, 512, 1024],
    default_block = 512,
    // A grid has at most one block per multiprocessor, so a block can use all registers.
    resident = 1,
    items_per_thread = WIDTH,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_ring<const BLOCK: u32>(
    #[grid_constant] inputs: &Table<f32>,
    #[grid_constant] outputs: &Table<f32>,
    #[grid_constant] flags: &Table<u32>,
    n: u32,
    ranks: u32,
    first: u32,
) {
    let rank = first + thread::block_idx_y();
    let flags = Flags { table: flags, rank, ranks };
    let next = next_rank(rank, ranks);
    let (input, output, next_output) = (inputs.of(rank), outputs.of(rank), outputs.of(next));
    // Returns the chunk that this rank sends in a step: the chunk that it received in the previous step.
    let sent = |step: u32| {
        let mut index = rank + 2 * ranks - step;
        while index >= ranks {
            index -= ranks;
        }
        chunk(n, ranks, index)
    };

    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(START) };
    if ranks == 1 {
        // SAFETY: no other rank accesses the arrays.
        unsafe { sum::<BLOCK>(0..n, &[input], &[output]) };
    } else {
        let last = 2 * (ranks - 1) - 1;
        // SAFETY: in each step, a rank writes a chunk of the next rank's output, which the next rank reads after the
        // step's signal. The chunk is written again only `ranks` steps later, when it has traveled around the ring and
        // has been read. A rank itself writes only one chunk of its output: the chunk that it does not receive in the
        // last `ranks - 1` steps.
        unsafe {
            sum::<BLOCK>(sent(0), &[input], &[next_output]);
            flags.signal(next, 0);
            // Reduce-scatter.
            for step in 1..ranks - 1 {
                flags.wait(step as usize - 1);
                sum::<BLOCK>(sent(step), &[output, input], &[next_output]);
                flags.signal(next, step as usize);
            }
            // This chunk's sum is complete: it stays on this rank and starts the all-gather.
            flags.wait(ranks as usize - 2);
            sum::<BLOCK>(sent(ranks - 1), &[output, input], &[output, next_output]);
            flags.signal(next, ranks as usize - 1);
            for step in ranks..=last {
                flags.wait(step as usize - 1);
                sum::<BLOCK>(sent(step), &[output], &[next_output]);
                flags.signal(next, step as usize);
            }
            flags.wait(last as usize);
        }
    }
    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(END) };
}
