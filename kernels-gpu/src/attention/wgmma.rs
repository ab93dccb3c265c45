//! Warp-group products of tiles that tensor copies load.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::exponent_scale;
use super::hopper::{Memory, STAGES, Work, consumers, round, start_scores, start_sums};
use super::mma::{Softmax, scale};
use crate::gemm::hopper::{Position, WARP_GROUP, store_from_registers};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{BOX_BYTES, BOX_ROWS, Finish};
use crate::tensor_core::{Bf16, Element, F16, Output};

/// The number of keys in a tile.
const KEYS: u32 = 128;
/// The number of scores per thread, and the number of fragments of its weights.
const SCORES: usize = KEYS as usize / 2;
const FRAGMENTS: usize = KEYS as usize / 16;

/// A warp group computes the output of 64 queries with `wgmma`, and one thread of the block copies whole tiles.
///
/// In `attention_cp_async`, every warp loads fragments of `k` and `v` from shared memory for its 16 queries, and every
/// thread computes the addresses of its copies. `wgmma` reads the tiles of keys and values directly from shared memory,
/// once for 64 queries. The weights are the first factor of `wgmma` and stay in registers, as before. A tensor copy
/// takes one instruction for 64 columns of a tile. Rows after the last key of a head arrive as zeros.
///
/// The next tile arrives while the warp groups compute. But all warp groups work in the same phase: while they compute
/// weights, the tensor cores wait.
///
/// # Safety
/// See [`attention`](super).
#[rung(
    after = attention_cp_async,
    lesson = "wgmma multiplies 64 rows with tiles in shared memory, which one thread copies with TMA",
    default_block = 256,
    block_for = |shape| [consumers(shape[3] as u32) * WARP_GROUP, 1, 1],
    fixed_block,
    box_rows = { q_map: ROWS, k_map: KEYS, v_map: KEYS },
    dynamic_shared = Memory::<D, ROWS, KEYS>::BYTES,
    grid = |launch| [launch.count_tiles(consumers(launch.length(3) as u32) * BOX_ROWS, 1), 1, 1],
    T = { _: Bf16, f16: F16 },
    (D, ROWS, BLOCK) = { _: (128, 128, 256), d64: (64, 192, 384) },
    CAUSAL = { _: false, causal: true }
)]
pub unsafe fn attention_wgmma<
    T: Element + Output<Pair = u32>,
    const D: u32,
    const ROWS: u32,
    const BLOCK: u32,
    const CAUSAL: bool,
>(
    #[grid_constant] q_map: &TensorMap,
    #[grid_constant] k_map: &TensorMap,
    #[grid_constant] v_map: &TensorMap,
    output: *mut T,
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
) {
    let memory = Memory::<D, ROWS, KEYS>::of_block();
    let work = Work::<CAUSAL, ROWS, KEYS>::of_block(thread::block_idx_x(), [heads, kv_heads, queries, keys]);
    let fill = |stage, tile| {
        // SAFETY: one thread calls this closure for each tile, after all threads have left the previous tile in this
        // stage.
        unsafe {
            memory.keys().fill(stage, k_map, tile * KEYS, work.kv_head);
            memory.values().fill(stage, v_map, tile * KEYS, work.kv_head);
        }
    };
    if thread::thread_idx_x() == 0 {
        tma::prefetch([q_map, k_map, v_map]);
        // SAFETY: a barrier of the block follows. The thread that initializes the barriers can start copies before the
        // block's barrier.
        unsafe { memory.init() };
        if work.tiles > 0 {
            // SAFETY: no thread uses the queries before this copy.
            unsafe { memory.queries().fill(0, q_map, work.row, work.head) };
            fill(0, 0);
        }
    }
    thread::sync_threads();
    let consumer = thread::thread_idx_x() / WARP_GROUP;
    let of_consumer = memory.queries().tile(0).byte_add(consumer * BOX_BYTES);
    let (mut softmax, mut sums) = (Softmax::START, [0.0; D as usize / 2]);
    let mut position = Position::<STAGES>::START;
    for tile in 0..work.tiles {
        if thread::thread_idx_x() == 0 && tile + 1 < work.tiles {
            fill((tile + 1) % STAGES, tile + 1);
        }
        let mut scores = [0.0; SCORES];
        // SAFETY: all threads of the warp group reach this code. They use the tiles only when the tiles are full and
        // leave them at the barrier.
        unsafe {
            memory.queries().full(0).wait(0);
            memory.keys().full(position.stage).wait(position.parity);
            start_scores::<T, D, ROWS, KEYS, SCORES>(&mut scores, of_consumer, memory.keys().tile(position.stage));
            scores.finish();
        }
        work.mask(&mut scores, consumer, tile);
        let factors = softmax.weigh(scores.as_chunks_mut().0, exponent_scale(D));
        scale(sums.as_chunks_mut().0, factors);
        // SAFETY: all threads of the warp group reach this code. They use the tiles only when the tiles are full and
        // leave them at the barrier.
        unsafe {
            memory.values().full(position.stage).wait(position.parity);
            start_sums::<T, KEYS, _, FRAGMENTS>(
                &mut sums,
                round::<T, _, _>(&scores),
                memory.values().tile(position.stage),
            );
            sums.finish();
        }
        thread::sync_threads();
        position.advance();
    }
    scale(sums.as_chunks_mut().0, softmax.inverse_sums());
    let to = output.wrapping_add(work.head as usize * (queries * D) as usize);
    // SAFETY: the head has `queries` rows, and only this warp group writes these 64 rows.
    unsafe { store_from_registers(&sums, [work.row + consumer * BOX_ROWS, 0], to, [queries, D]) };
}
