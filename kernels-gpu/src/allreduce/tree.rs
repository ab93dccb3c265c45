//! A tree of ranks: the number of steps grows with the logarithm of the number of ranks.

use cuda_std::thread;
use rung::rung;

use super::flags::{END, Flags, START};
use super::sum::{WIDTH, sum};
use super::{Table, grid};

/// The step in which a rank's first child reports a complete sum. The second child uses the next step.
const CHILD: usize = 0;
/// The step in which the parent reports that the total is complete.
const TOTAL: usize = 2;

/// The ranks form a binary tree, in which the parent of rank `r` is rank `(r - 1) / 2`.
///
/// From the leaves to the root, each rank adds its children's sums to its input and stores the result to its output.
/// Then, from the root to the leaves, each rank copies the total from its parent's output.
///
/// With `k` ranks, the tree has `2 log2(k)` steps, and `allreduce_ring` has `2 (k - 1)`. For small arrays, the number
/// of steps determines the time. For large arrays, the links limit the time: each link of the tree carries the whole
/// array. The links of the leaves carry the array only once in each direction, so half of the links wait for the other
/// half.
///
/// # Safety
/// See [`allreduce`](super).
#[rung(
    after = allreduce_at_one,
    lesson = "sums go up a tree of ranks and the total comes down: few steps, for small arrays",
    blocks = [128, 256, 512, 1024],
    default_block = 512,
    // A grid has at most one block per multiprocessor, so a block can use all registers.
    resident = 1,
    items_per_thread = WIDTH,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_tree<const BLOCK: u32>(
    #[grid_constant] inputs: &Table<f32>,
    #[grid_constant] outputs: &Table<f32>,
    #[grid_constant] flags: &Table<u32>,
    n: u32,
    ranks: u32,
    first: u32,
) {
    let rank = first + thread::block_idx_y();
    let flags = Flags { table: flags, rank, ranks };
    let (parent, children) = (rank.wrapping_sub(1) / 2, [2 * rank + 1, 2 * rank + 2]);
    let (input, output) = (inputs.of(rank), outputs.of(rank));

    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(START) };

    // Up the tree: adds the sums of this rank's children to its input.
    for (k, child) in children.into_iter().enumerate() {
        if child < ranks {
            // SAFETY: each child signals its step once.
            unsafe { flags.wait(CHILD + k) };
        }
    }
    // SAFETY: each child has signaled that its output is complete, and changes the output only after this rank's
    // signal. Before that signal, no other rank accesses this rank's output.
    unsafe {
        if children[1] < ranks {
            sum::<BLOCK>(0..n, &[input, outputs.of(children[0]), outputs.of(children[1])], &[output]);
        } else if children[0] < ranks {
            sum::<BLOCK>(0..n, &[input, outputs.of(children[0])], &[output]);
        } else {
            sum::<BLOCK>(0..n, &[input], &[output]);
        }
    }

    // Down the tree: copies the total.
    if rank > 0 {
        // SAFETY: the parent waits for one signal of each child, and signals TOTAL once. After that signal, the
        // parent's output does not change, and no other rank reads this rank's output before this rank's signals below.
        unsafe {
            flags.signal(parent, CHILD + (rank as usize - 1) % 2);
            flags.wait(TOTAL);
            sum::<BLOCK>(0..n, &[outputs.of(parent)], &[output]);
        }
    }
    for child in children {
        if child < ranks {
            // SAFETY: the child waits for one signal of its parent.
            unsafe { flags.signal(child, TOTAL) };
        }
    }
    // Children may still read this rank's output.
    // SAFETY: all blocks of all ranks call the two barriers, START and then END.
    unsafe { flags.barrier(END) };
}
