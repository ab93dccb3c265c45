//! Every rank adds one chunk and writes the sums to all ranks: the same number of bytes as in a ring, but in fewer
//! steps.

use cuda_std::thread;
use rung::rung;

use super::flags::{END, Flags, START};
use super::sum::{AllRanks, WIDTH, chunk, sum};
use super::{Table, grid};

/// `allreduce_one_shot` without redundant additions: each rank adds one chunk of all inputs (a reduce-scatter) and
/// stores the chunk's sums to the outputs of all ranks (an all-gather).
///
/// Each link carries `2 (k - 1) / k` arrays, as in `allreduce_ring`. But no step waits for another step: while one
/// thread sends sums, other threads receive elements. However, every rank reads from and writes to every other rank.
/// These accesses require links between all ranks, or a switch.
///
/// An alternative is a barrier of all ranks between the two halves, after which each rank reads the sums of the other
/// ranks. This alternative is slower: in a prototype in CUDA C++, on two H100s over NVLink, 256 KiB take 13.1 µs
/// instead of 9.3, and 256 MiB reach 330 GB/s instead of 339.
///
/// # Safety
/// See [`allreduce`](super).
#[rung(
    after = allreduce_one_shot,
    lesson = "each rank sums one chunk and writes it to all ranks: the traffic of a ring in only two steps",
    // With 1024 threads, each thread has only 64 registers, so the loads of eight ranks do not fit.
    blocks = [128, 256, 512],
    default_block = 512,
    // A grid has at most one block per multiprocessor, so a block can use all registers.
    resident = 1,
    items_per_thread = WIDTH,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_two_shot<const BLOCK: u32>(
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
    let all_outputs = AllRanks { table: outputs, first: rank, ranks };
    // SAFETY: no kernel writes an input, and only this rank accesses this chunk of the outputs.
    unsafe { sum::<BLOCK>(chunk(n, ranks, rank), &all_inputs, &all_outputs) };
    // Other ranks may still read this rank's input and write its output.
    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(END) };
}
