//! Every rank reads all inputs and adds them: one step.

use cuda_std::thread;
use rung::rung;

use super::flags::{END, Flags, START};
use super::sum::{AllRanks, WIDTH, sum};
use super::{Table, grid};

/// `allreduce_at_one` on every rank: each rank adds the inputs of all ranks, and stores the sum only to its output.
///
/// No rank waits for another rank's result. For small arrays, this rung is therefore the fastest of the rungs with
/// barriers. But with `k` ranks, each rank reads `k - 1` arrays over its links, although `2 (k - 1) / k` arrays would
/// be enough.
///
/// Each rank starts with its input, so the ranks add in different orders, and their sums may differ by rounding errors.
///
/// # Safety
/// See [`allreduce`](super).
#[rung(
    after = allreduce_at_one,
    lesson = "each rank reads all inputs and adds them itself: one step, for the smallest arrays",
    blocks = [128, 256, 512, 1024],
    default_block = 512,
    // A grid has at most one block per multiprocessor, so a block can use all registers.
    resident = 1,
    items_per_thread = WIDTH,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_one_shot<const BLOCK: u32>(
    #[grid_constant] inputs: &Table<f32>,
    #[grid_constant] outputs: &Table<f32>,
    #[grid_constant] flags: &Table<u32>,
    n: u32,
    ranks: u32,
    first: u32,
) {
    let rank = first + thread::block_idx_y();
    let flags = Flags { table: flags, rank, ranks };

    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(START) };
    let all_inputs = AllRanks { table: inputs, first: rank, ranks };
    // SAFETY: no kernel writes an input, and only this rank accesses its output.
    unsafe { sum::<BLOCK>(0..n, &all_inputs, &[outputs.of(rank)]) };
    // Other ranks may still read this rank's input.
    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(END) };
}
