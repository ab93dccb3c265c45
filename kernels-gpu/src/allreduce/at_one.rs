//! One rank reads what all have, and writes the sum to all: its links carry everything.

use super::{BEGIN, END, Group, all_reduce, store};

all_reduce! {
    /// Rank 0 adds up the inputs of all ranks and writes the sum to each output; the others wait.
    ///
    /// With `k` ranks, `k - 1` arrays come to rank 0 and as many leave it, while the links between the others have nothing
    /// to do.
    allreduce_at_one, "one rank reads all inputs and writes all outputs: its links carry everything" => at_one
}

/// # Safety
/// As [`allreduce`](super) says.
#[inline(always)]
unsafe fn at_one(group: &Group<'_>) {
    // SAFETY: inputs are there behind the first barrier, and nobody but rank 0 accesses outputs before the last.
    unsafe {
        group.barrier(BEGIN);
        if group.rank == 0 {
            Group::for_each(0, group.n, group, |at, count, sum| {
                for rank in 0..group.ranks {
                    store(group.outputs.of(rank), at, count, sum);
                }
            });
        }
        group.barrier(END);
    }
}
