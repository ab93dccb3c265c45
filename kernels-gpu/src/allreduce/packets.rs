//! Each rank sends its elements to all others, each in one word with a number: nobody waits for a flag.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_load_64_system, atomic_store_64_system};
use cuda_std::thread;
use rung::{Form, Geometry, Rung};

use super::{Group, MOST_BLOCKS, RANKS, all_reduce};

/// The most elements: with more, the bytes of a packet's number take longer than what they save.
pub const MOST: u32 = 1 << 16;

/// The bytes of a rank's inbox for so many ranks and elements: a number for each block, then places for two packets of each
/// element from each rank.
pub const fn inbox_bytes(ranks: u64, n: u64) -> u64 {
    (MOST_BLOCKS as u64 + 2 * ranks * n) * size_of::<u64>() as u64
}

/// A rung with inboxes in the place of flags.
const WITH_INBOXES: Rung =
    Rung { geometry: Geometry::Rows { items_per_thread: 1, most_blocks: MOST_BLOCKS }, form: Form::Workspace, ..RANKS };

all_reduce! {
    /// A packet is a word of 64 bits: an element, and the number of the launch since the inboxes were made. Who waits for it
    /// reads it until the number is the expected one, and has the element then: no fence, no flag and no barrier between
    /// the ranks (NCCL's protocol LL, "low latency", does this). But twice the bytes cross the links, and every rank sends
    /// all of its elements to every other. It is for [`MOST`] elements at most.
    ///
    /// An inbox has places for the packets of two launches. When a rank sends the packets of a launch, it has received those of
    /// the launch before; so the ranks that sent these had ended the launch before that one, and have read its packets, whose
    /// places are taken now.
    ///
    /// In the place of the flags, entry `r` of `flags` points to [`inbox_bytes`] of zeros, which each launch finds as the one
    /// before has left them, on all ranks alike, with the same number of elements.
    allreduce_packets, "each element travels with a number in one word: no flag, no fence, no barrier" =>
    packets: WITH_INBOXES
}

/// # Safety
/// As [`allreduce`](super) says, with inboxes and at most [`MOST`] elements.
#[inline(always)]
unsafe fn packets(group: &Group<'_>) {
    let Group { rank, ranks, n, .. } = *group;
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let (input, output) = (group.inputs.of(rank), group.outputs.of(rank));
    let inbox = |of: u32| group.flags.of(of).cast::<u64>();
    let (first, step) = (block * thread::block_dim_x() + thread::thread_idx_x(), blocks * thread::block_dim_x());
    // SAFETY: the arrays have n elements, of which this thread's are its own; inboxes have places for all, which are accessed
    // by atomics only. Numbers are written behind a barrier, where the block has read its own: by the block itself, or
    // where they belong to blocks that this launch does not have.
    unsafe {
        let launch = *inbox(rank).add(block as usize) as u32 + 1;
        let place = |to: u32, from: u32, at: u32| {
            let row = launch % 2 * ranks + from;
            inbox(to).add((MOST_BLOCKS + row * n + at) as usize)
        };
        for at in (first..n).step_by(step as usize) {
            let packet = u64::from(launch) << 32 | u64::from((*input.add(at as usize)).to_bits());
            let mut peer = group.after(rank);
            while peer != rank {
                atomic_store_64_system(place(peer, rank, at), Relaxed, packet);
                peer = group.after(peer);
            }
        }
        for at in (first..n).step_by(step as usize) {
            // In the order of the ranks, so that all have the same sum to the last bit.
            let mut sum = 0.0;
            for from in 0..ranks {
                sum += if from == rank { *input.add(at as usize) } else { receive(launch, place(rank, from, at)) };
            }
            *output.add(at as usize) = sum;
        }
        thread::sync_threads();
        // A launch without elements waits for nobody, so it does not count.
        let own = block + thread::thread_idx_x() * blocks;
        if n > 0 && own < MOST_BLOCKS {
            *inbox(rank).add(own as usize) = u64::from(launch);
        }
    }
}

/// Reads a packet until it is one of this launch.
///
/// # Safety
/// The place exists and is accessed by atomics only, and a rank sends a packet there.
#[inline(always)]
unsafe fn receive(launch: u32, place: *const u64) -> f32 {
    loop {
        // SAFETY: as the caller promises.
        let packet = unsafe { atomic_load_64_system(place.cast_mut(), Relaxed) };
        if (packet >> 32) as u32 == launch {
            return f32::from_bits(packet as u32);
        }
    }
}
