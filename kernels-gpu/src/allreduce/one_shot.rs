//! Every rank reads what all have, and adds up alone: one step.

use super::{BEGIN, END, Group, all_reduce, store};

all_reduce! {
    /// Each rank adds up the inputs of all ranks for itself.
    ///
    /// Between the two barriers there is nothing to wait for, so small arrays take the least time. But `k - 1` arrays
    /// come to each rank, where `2 (k - 1) / k` would do.
    allreduce_one_shot, "each rank reads all inputs and adds up alone: one step, for the smallest arrays" => one_shot
}

/// # Safety
/// As [`allreduce`](super) says.
#[inline(always)]
unsafe fn one_shot(group: &Group<'_>) {
    // SAFETY: inputs are there behind the first barrier, and nobody leaves before all have read; a rank's output is its own.
    unsafe {
        group.barrier(BEGIN);
        let own = group.outputs.of(group.rank);
        Group::for_each(0, group.n, group, |at, count, sum| store(own, at, count, sum));
        group.barrier(END);
    }
}
