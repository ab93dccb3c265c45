//! Every rank adds up a part, and reads the other parts of the sum: as few bytes as a ring, in two steps.

use super::{BEGIN, END, Group, MIDDLE, all_reduce, load, store};

all_reduce! {
    /// Each rank adds up its part of all ranks' inputs (a reduce-scatter), and behind a barrier it reads the other parts of the
    /// sum from the ranks that have them (an all-gather).
    ///
    /// That is `2 (k - 1) / k` arrays for each link, as in a ring, but two steps for any number of ranks, where every
    /// rank reads from every other: it takes links between all of them, or a switch.
    allreduce_two_shot, "each rank adds up a part, then reads the others' parts: a ring's bytes in two steps" => two_shot
}

/// # Safety
/// As [`allreduce`](super) says.
#[inline(always)]
unsafe fn two_shot(group: &Group<'_>) {
    let own = group.outputs.of(group.rank);
    let range = |rank: u32| (group.part(rank, group.ranks), group.part(rank + 1, group.ranks));
    // SAFETY: inputs are there behind the first barrier, a part of the sum behind the second, written by the same block's
    // number; parts of different ranks do not overlap, and nobody leaves before all have read.
    unsafe {
        group.barrier(BEGIN);
        let (from, to) = range(group.rank);
        Group::for_each(from, to, |at, count| store(own, at, count, group.sum(at, count)));
        group.barrier(MIDDLE);
        let mut rank = group.rank;
        for _ in 1..group.ranks {
            rank = group.after(rank);
            let (from, to) = range(rank);
            Group::for_each(from, to, |at, count| store(own, at, count, load(group.outputs.of(rank), at, count)));
        }
        group.barrier(END);
    }
}
