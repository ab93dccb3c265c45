//! Each element travels in one word with the number of the launch: no flag, no fence, no barrier of the ranks.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_load_64_system, atomic_store_64_system};
use cuda_std::thread;
use rung::rung;

use super::{MAX_BLOCKS, Table, grid, next_rank};

/// The maximum number of elements. With more, the additional bytes take longer than the barriers that they save.
pub const MAX_ELEMENTS: u32 = 1 << 16;

/// Returns the bytes of a rank's inbox: the number of the last launch for each block, then a slot for each packet of two
/// launches, from each rank and for each element.
#[must_use]
pub const fn inbox_bytes(ranks: u64, n: u64) -> u64 {
    (MAX_BLOCKS as u64 + 2 * ranks * n) * size_of::<u64>() as u64
}

/// Each rank sends its elements to every other rank, and adds what it receives. It is for at most [`MAX_ELEMENTS`]
/// elements.
///
/// A packet is a word of 64 bits: an element in the low half, and in the high half the number of the launch, counted since
/// the inboxes were zeroed. The receiver reads the word until it has the expected number, and then has the element too.
/// So one relaxed store replaces data, fence and flag, and there is no barrier of the ranks. NCCL's protocol LL ("low
/// latency") does the same. The cost: twice the bytes cross the links, and every rank sends all its elements to every
/// other rank.
///
/// An inbox has slots for two launches, which alternate. Rank `a` overwrites the packets that it sent to rank `b` two
/// launches earlier. It has received `b`'s packets of the previous launch, so `b` had started that launch and ended the one
/// before, in which it read the overwritten packets.
///
/// # Safety
/// As [`allreduce`](super) says, with `n` at most [`MAX_ELEMENTS`], and with inboxes instead of flags: entry `r` of
/// `inboxes` points to [`inbox_bytes`] of zeros before the first launch. Each later launch finds what the previous
/// one left there, with the same `n` and `ranks`.
#[rung(
    after = allreduce_one_shot,
    lesson = "each element travels with a number in one word: no flag, no fence, no barrier",
    blocks = [128, 256, 512, 1024],
    default_block = 512,
    // A grid has at most one block for each multiprocessor, which can use all registers.
    resident = 1,
    grid = |launch| grid(launch),
    single_pass,
    blocks_wait
)]
pub unsafe fn allreduce_packets<const BLOCK: u32>(
    #[grid_constant] inputs: &Table<f32>,
    #[grid_constant] outputs: &Table<f32>,
    #[grid_constant] inboxes: &Table<u64>,
    n: u32,
    ranks: u32,
    first: u32,
) {
    let rank = first + thread::block_idx_y();
    let (block, blocks, tid) = (thread::block_idx_x(), thread::grid_dim_x(), thread::thread_idx_x());
    let (input, output, inbox) = (inputs.of(rank), outputs.of(rank), inboxes.of(rank));
    // This thread's elements.
    let indices = || (block * BLOCK + tid..n).step_by((blocks * BLOCK) as usize);

    // SAFETY: the inbox has a word for each block, and `block` is below MAX_BLOCKS.
    let launch = unsafe { *inbox.add(block as usize) } as u32 + 1;
    let slot = |to: u32, from: u32, index: u32| {
        let row = launch % 2 * ranks + from;
        inboxes.of(to).wrapping_add((MAX_BLOCKS + row * n + index) as usize)
    };

    // Send every element to all other ranks, the next rank first.
    for index in indices() {
        // SAFETY: the index is below n.
        let element = unsafe { *input.add(index as usize) };
        let packet = u64::from(launch) << 32 | u64::from(element.to_bits());
        let mut peer = next_rank(rank, ranks);
        while peer != rank {
            // SAFETY: the slot is in the peer's inbox, every access to it is atomic, and only this thread writes it.
            unsafe { atomic_store_64_system(slot(peer, rank, index), Relaxed, packet) };
            peer = next_rank(peer, ranks);
        }
    }

    // Receive and add in the order of the ranks, so that all ranks have the same sum to the last bit.
    for index in indices() {
        let mut sum = 0.0;
        for from in 0..ranks {
            // SAFETY: the index is below n, and each other rank sends a packet for it in this launch.
            sum += unsafe {
                if from == rank { *input.add(index as usize) } else { receive(launch, slot(rank, from, index)) }
            };
        }
        // SAFETY: the index is below n, and no other thread has it.
        unsafe { *output.add(index as usize) = sum };
    }

    // Count the launch for every block of a row, also for those that only later launches have. A launch without elements
    // does not count, because no rank waits in it.
    thread::sync_threads();
    let word = block + tid * blocks;
    if n > 0 && word < MAX_BLOCKS {
        // SAFETY: no other thread writes the word, because words of different blocks and threads differ. Only block `word`
        // reads it, which is this block, before the barrier, or does not run in this launch.
        unsafe { *inbox.add(word as usize) = u64::from(launch) };
    }
}

/// Reads a packet until it is one of this launch, and returns its element.
///
/// # Safety
/// The slot exists, every access to it is atomic, and a rank sends a packet of this launch to it.
#[inline(always)]
unsafe fn receive(launch: u32, slot: *mut u64) -> f32 {
    loop {
        // SAFETY: the slot exists, and every access to it is atomic.
        let packet = unsafe { atomic_load_64_system(slot, Relaxed) };
        if (packet >> 32) as u32 == launch {
            return f32::from_bits(packet as u32);
        }
    }
}
