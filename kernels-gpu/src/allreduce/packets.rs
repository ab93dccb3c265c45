//! Each element that is sent also acts as a flag, so there is no fence and no barrier between ranks.

use cuda_std::thread;
use rung::rung;

use super::inbox::{Inboxes, Slot, add, vectors};
use super::sum::{Float4, WIDTH};
use super::{Table, grid};

/// Each rank sends its elements to every other rank, and adds the received elements. This rung supports at most
/// [`MAX_ELEMENTS`](super::inbox::MAX_ELEMENTS) elements.
///
/// The value of a word shows the receiver that the word has arrived ([`inbox`](super::inbox)). So one relaxed store
/// replaces the store of the data, the fence and the store of the flag, and there is no barrier between ranks. NCCL's
/// LL protocol ("low latency") also sends without a barrier, but half of its bytes are flags.
///
/// Prediction: for small arrays, the time of a launch and one trip over a link, 4 µs on H100s. For large arrays and `k`
/// ranks, each link carries `k - 1` arrays in each direction, as in `allreduce_one_shot`. Measured on four H100 80GB
/// HBM3: 4.2 µs up to 4 KiB (NCCL 10 µs), and 14.7 µs for 1 MiB (NCCL 17.3 µs).
///
/// # Safety
/// See [`allreduce`](super), with `n` at most [`MAX_ELEMENTS`](super::inbox::MAX_ELEMENTS), and with inboxes instead of
/// flags: entry `r` of `inboxes` points to [`inbox_bytes`](super::inbox::inbox_bytes) of zeros before the first launch.
/// All launches use the same `n` and `ranks`, and nothing changes the inboxes between launches.
#[rung(
    after = allreduce_one_shot,
    lesson = "each element also acts as a flag: no fence, no barrier",
    // With 1024 threads, each thread has only 64 registers, so the slots of eight ranks do not fit.
    blocks = [128, 256, 512],
    default_block = 512,
    // A grid has at most one block per multiprocessor, so a block can use all registers.
    resident = 1,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_packets<const BLOCK: u32>(
    #[grid_constant] inputs: &Table<f32>,
    #[grid_constant] outputs: &Table<f32>,
    #[grid_constant] inboxes: &Table<Slot>,
    n: u32,
    ranks: u32,
    first: u32,
) {
    let rank = first + thread::block_idx_y();
    let (input, output) = (inputs.of(rank), outputs.of(rank));
    let ([start, stride], len) = (vectors::<BLOCK>(), n / WIDTH);
    // SAFETY: no kernel writes an input, and only this thread accesses its vectors of the output.
    let (local, sum) = (|index| unsafe { *input.cast::<Float4>().add(index as usize) }, output.cast::<Float4>());
    // SAFETY: the inboxes were zeros before the first launch, and only launches with the same `n` and `ranks` have
    // changed them.
    let inbox = unsafe { Inboxes::open(inboxes, rank, ranks, n) };

    let mut index = start;
    while index < len {
        let elements = local(index);
        for step in 1..ranks {
            // SAFETY: a row has a slot for each vector, and only this thread sends this vector.
            unsafe { inbox.send(inbox.peer(step), index, elements) };
        }
        index += stride;
    }

    let mut index = start;
    while index < len {
        // SAFETY: every other rank sends the vector, and only this thread receives it and stores its sum.
        unsafe { *sum.add(index as usize) = add(inbox.receive(index, local(index))) };
        index += stride;
    }
    // SAFETY: all threads of the block call both functions, and no vector contains the remaining elements.
    unsafe {
        inbox.sum_rest(input, output, n);
        inbox.close(n);
    }
}
