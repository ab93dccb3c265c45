//! Persistent blocks: the copies for the next queries start early, and the longest work comes first.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::hopper::{Memory, Positions, Turn, Work, consumers, tile_keys};
use super::overlapped::attend;
use crate::gemm::hopper::{WARP_GROUP, store_from_registers};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{BOX_ROWS, setmaxnreg_dec, setmaxnreg_inc};
use crate::tensor_core::{Bf16, Element, F16, Output};

/// `attention_overlapped` with one block per multiprocessor. Each block computes several parts of the queries one after
/// another.
///
/// In the previous rung, a block starts with empty shared memory, so its tensor cores wait for the first tiles. At the
/// end of the block, the tensor cores wait again while the block stores its output. Here the producer continues with
/// the next queries while the consumers finish.
///
/// With a causal mask, queries see different numbers of keys. The parts with the most keys come first, so that all
/// blocks end at about the same time. Every second round assigns the parts to the blocks in reverse order, so that no
/// block gets the longest part of every round. (Shah et al., *FlashAttention-3*, 2024.)
///
/// # Safety
/// See [`attention`](super).
#[rung(
    after = attention_overlapped,
    lesson = "persistent blocks: the next tiles load while a result is stored, and the longest rows run first",
    default_block = 384,
    block_for = |shape| [(consumers(shape[3] as u32) + 1) * WARP_GROUP, 1, 1],
    fixed_block,
    box_rows = { q_map: ROWS, k_map: tile_keys(D, CAUSAL), v_map: tile_keys(D, CAUSAL) },
    dynamic_shared = Memory::<D, ROWS, { tile_keys(D, CAUSAL) }>::BYTES,
    grid = |launch| {
        let tiles = launch.count_tiles(consumers(launch.length(3) as u32) * BOX_ROWS, 1);
        [tiles.min(launch.device.multiprocessors), 1, 1]
    },
    T = { _: Bf16, f16: F16 },
    (D, ROWS, BLOCK, PRODUCER_REGISTERS, CONSUMER_REGISTERS) = { _: (128, 128, 384, 24, 240), d64: (64, 192, 512, 32, 160) },
    CAUSAL = { _: false, causal: true }
)]
pub unsafe fn attention_persistent<
    T: Element + Output<Pair = u32>,
    const D: u32,
    const ROWS: u32,
    const BLOCK: u32,
    const PRODUCER_REGISTERS: u32,
    const CONSUMER_REGISTERS: u32,
    const CAUSAL: bool,
>(
    #[grid_constant] q_map: &TensorMap,
    #[grid_constant] k_map: &TensorMap,
    #[grid_constant] v_map: &TensorMap,
    output: *mut T,
    batch: u32,
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
) {
    const KEYS: u32 = tile_keys(D, CAUSAL);
    const SCORES: usize = KEYS as usize / 2;
    const FRAGMENTS: usize = KEYS as usize / 16;
    let memory = Memory::<D, ROWS, KEYS>::of_block();
    if thread::thread_idx_x() == 0 {
        tma::prefetch([q_map, k_map, v_map]);
        // SAFETY: a barrier of the block follows.
        unsafe { memory.init() };
    }
    thread::sync_threads();
    // At least 1, so that the division needs no check for zero.
    let (rows, all_heads) = (queries.div_ceil(ROWS), (batch * heads).max(1));
    let work_of = |index: u32| {
        let lengths = [heads, kv_heads, queries, keys];
        match CAUSAL {
            // The last rows of all heads come first, because they see the most keys. The rows before them follow.
            true => Work::<CAUSAL, ROWS, KEYS>::new(index % all_heads, (rows - 1 - index / all_heads) * ROWS, lengths),
            false => Work::of_block(index, lengths),
        }
    };
    let index_of = |round: u32| {
        let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
        round * blocks + if round.is_multiple_of(2) { block } else { blocks - 1 - block }
    };
    let mut round = 0;
    let mut positions = Positions::START;
    if thread::thread_idx_x() < WARP_GROUP {
        // SAFETY: all threads of the warp group reach this code, and one thread fills all tiles.
        unsafe {
            setmaxnreg_dec::<PRODUCER_REGISTERS>();
            if thread::thread_idx_x() == 0 {
                while index_of(round) < rows * all_heads {
                    memory.produce([q_map, k_map, v_map], &work_of(index_of(round)), &mut positions);
                    round += 1;
                }
            }
        }
        return;
    }
    let consumer = thread::thread_idx_x() / WARP_GROUP - 1;
    // SAFETY: whole warp groups reach this code. The producer releases the registers that the consumers acquire, and
    // fills the tiles of the same work. Each warp group writes 64 rows of the head.
    unsafe {
        setmaxnreg_inc::<CONSUMER_REGISTERS>();
        let turn = Turn::start(consumer, consumers(D));
        while index_of(round) < rows * all_heads {
            let work = work_of(index_of(round));
            let sums = attend::<T, D, ROWS, KEYS, CAUSAL, SCORES, { D as usize / 2 }, FRAGMENTS>(
                memory,
                &work,
                consumer,
                turn,
                &mut positions,
            );
            let to = output.wrapping_add(work.head as usize * (queries * D) as usize);
            store_from_registers(&sums, [work.row + consumer * BOX_ROWS, 0], to, [queries, D]);
            round += 1;
        }
        turn.end();
    }
}
