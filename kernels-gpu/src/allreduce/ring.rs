//! Each rank sends to its neighbour alone, all at the same time: every link carries the same.

use super::{Arrays, BEGIN, END, Group, all_reduce, store};

all_reduce! {
    /// The array has a part for each rank. In each of the first `k - 1` steps, each rank adds its input to the part that came from the
    /// rank before and sends it to the next one; then each has one part of the sum, and in `k - 1` more steps these go
    /// around.
    ///
    /// A link carries `2 (k - 1) / k` arrays in each direction, the least that is possible without a switch that adds
    /// (Patarasuk and Yuan, *Bandwidth optimal all-reduce algorithms for clusters of workstations*, 2009): nccl-tests'
    /// bus bandwidth is measured against it. Every step waits for the one before, so small arrays take `2 (k - 1)`
    /// times the latency of a link.
    allreduce_ring, "each rank passes parts on to its neighbour: no link carries more than it must" => ring
}

/// # Safety
/// As [`allreduce`](super) says.
#[inline(always)]
unsafe fn ring(group: &Group<'_>) {
    let Group { rank, ranks, .. } = *group;
    let next = group.after(rank);
    let (input, own, others) = (group.inputs.of(rank), group.outputs.of(rank), group.outputs.of(next));
    // SAFETY: in each step a rank writes a part of the next one's output, which that reads behind the step's flag. Before it is
    // written again, the part has gone all around, so it was read. A rank's own output it writes once: its part of the sum.
    unsafe {
        group.barrier(BEGIN);
        let steps = 2 * (ranks - 1);
        // With one rank there is no step, and its input is the sum.
        for step in 0..steps.max(1) {
            let part = (rank + 2 * ranks - step) % ranks;
            let has_come = step > 0;
            let is_sum = step + 1 >= ranks;
            let is_own_sum = step + 1 == ranks;
            if has_come {
                group.await_step(step as usize - 1);
            }
            let (from, to) = (group.part(part, ranks), group.part(part + 1, ranks));
            let keep = |at, count, sum| {
                if is_own_sum {
                    store(own, at, count, sum);
                }
                if steps > 0 {
                    store(others, at, count, sum);
                }
            };
            if !has_come {
                Group::for_each(from, to, &Arrays([input]), keep);
            } else if is_sum && !is_own_sum {
                Group::for_each(from, to, &Arrays([own]), keep);
            } else {
                Group::for_each(from, to, &Arrays([own, input]), keep);
            }
            if steps > 0 {
                group.tell(next, step as usize);
            }
        }
        if steps > 0 {
            group.await_step(steps as usize - 1);
        }
        group.barrier(END);
    }
}
