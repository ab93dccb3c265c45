//! Every rank adds up a part, and writes it to all: as few bytes as a ring, without its steps.

use super::{BEGIN, END, Group, all_reduce, store};

all_reduce! {
    /// Each rank adds up its part of all ranks' inputs, by loads from their memory (a reduce-scatter), and writes the sum to
    /// the outputs of all ranks, by stores to their memory (an all-gather).
    ///
    /// That is `2 (k - 1) / k` arrays for each link, as in a ring, without a step that waits for the one before: while a
    /// thread's sums leave, other threads' elements arrive. But every rank reads from and writes to every other, which takes
    /// links between all of them, or a switch.
    ///
    /// Measured with two H100s over NVLink, in a prototype in CUDA C++: where the ranks wait for each other between the
    /// two halves, and read the other parts of the sum, 256 KiB take 13.1 µs for 9.3, and 256 MiB have 330 GB/s for 339.
    allreduce_two_shot, "each rank adds up a part and writes it to all: a ring's bytes without its steps" => two_shot
}

/// # Safety
/// As [`allreduce`](super) says.
#[inline(always)]
unsafe fn two_shot(group: &Group<'_>) {
    let (from, to) = (group.part(group.rank, group.ranks), group.part(group.rank + 1, group.ranks));
    // SAFETY: inputs are there behind the first barrier, parts of different ranks do not overlap, and nobody leaves before all
    // have read and written.
    unsafe {
        group.barrier(BEGIN);
        Group::for_each(from, to, group, |at, count, sum| {
            // Each begins with its own, as the sum does.
            let mut rank = group.rank;
            for _ in 0..group.ranks {
                store(group.outputs.of(rank), at, count, sum);
                rank = group.after(rank);
            }
        });
        group.barrier(END);
    }
}
