//! One rank does all the work, and its links carry all the data.

use cuda_std::thread;
use rung::rung;

use super::flags::{END, Flags, START};
use super::sum::{AllRanks, WIDTH, sum};
use super::{Table, grid};

/// The naive start: rank 0 adds the inputs of all ranks and stores the sum to every output. The other ranks wait.
///
/// With `k` ranks, the links of rank 0 carry `k - 1` arrays in each direction, and the other links carry none.
///
/// # Safety
/// See [`allreduce`](super).
#[rung(
    lesson = "one rank reads all inputs and writes all outputs: its links carry all data",
    blocks = [128, 256, 512, 1024],
    default_block = 512,
    // A grid has at most one block per multiprocessor, so a block can use all registers.
    resident = 1,
    items_per_thread = WIDTH,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_at_one<const BLOCK: u32>(
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
    if rank == 0 {
        let all_inputs = AllRanks { table: inputs, first: 0, ranks };
        let all_outputs = AllRanks { table: outputs, first: 0, ranks };
        // SAFETY: no kernel writes an input, and between the barriers only rank 0 accesses the outputs.
        unsafe { sum::<BLOCK>(0..n, &all_inputs, &all_outputs) };
    }
    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(END) };
}
