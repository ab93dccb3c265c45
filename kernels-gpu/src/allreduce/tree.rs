//! Pairs of ranks add up side by side: the number of steps grows with the logarithm of the ranks.

use super::{Arrays, BEGIN, END, Group, all_reduce, store};

all_reduce! {
    /// The ranks are a tree: the parent of rank `r` is `(r - 1) / 2`. From the leaves to the root, each rank adds the sums
    /// of its children to its own input; from the root to the leaves, each takes its parent's sum.
    ///
    /// There are `2 log2(k)` steps for `k` ranks instead of the `2 (k - 1)` of a ring, which is what counts for small arrays. Of large
    /// ones, each link carries the whole array, and the leaves' links carry it once each way: half of the links wait for
    /// the others.
    allreduce_tree, "sums go up a tree of ranks and the total comes down: few steps, for small arrays" => tree
}

/// The steps' flags: a sum of the first and the second child is there, or the total is.
const OF_CHILD: usize = 0;
const TOTAL: usize = 2;

/// # Safety
/// As [`allreduce`](super) says.
#[inline(always)]
unsafe fn tree(group: &Group<'_>) {
    let rank = group.rank;
    let parent = rank.wrapping_sub(1) / 2;
    let children = [2 * rank + 1, 2 * rank + 2];
    let own = group.outputs.of(rank);
    // SAFETY: a rank's output is written by the rank alone, and read by its parent or its children between two flags: that it is
    // written, and another one that the reader sets before the rank writes again.
    unsafe {
        group.barrier(BEGIN);
        for (place, &child) in children.iter().enumerate() {
            if child < group.ranks {
                group.await_step(OF_CHILD + place);
            }
        }
        let input = group.inputs.of(rank);
        let of_child = |place: usize| group.outputs.of(children[place]);
        let keep = |at, count, sum| store(own, at, count, sum);
        if children[1] < group.ranks {
            Group::for_each(0, group.n, &Arrays([input, of_child(0), of_child(1)]), keep);
        } else if children[0] < group.ranks {
            Group::for_each(0, group.n, &Arrays([input, of_child(0)]), keep);
        } else {
            Group::for_each(0, group.n, &Arrays([input]), keep);
        }
        if rank > 0 {
            group.tell(parent, OF_CHILD + (rank as usize + 1) % 2);
            group.await_step(TOTAL);
            let total = Arrays([group.outputs.of(parent).cast_const()]);
            Group::for_each(0, group.n, &total, |at, count, sum| store(own, at, count, sum));
        }
        for child in children {
            if child < group.ranks {
                group.tell(child, TOTAL);
            }
        }
        group.barrier(END);
    }
}
