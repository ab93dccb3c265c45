//! Overlap within a warp group: the products with the next keys run while the warp group computes weights.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::exponent_scale;
use super::hopper::{Memory, Positions, Turn, Work, consumers, round, start_scores, start_sums, tile_keys};
use super::mma::{Softmax, scale};
use crate::gemm::hopper::{WARP_GROUP, store_from_registers};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{BOX_BYTES, BOX_ROWS, Finish, Sums, setmaxnreg_dec, setmaxnreg_inc};
use crate::tensor_core::{Bf16, Element, F16, Output};

/// `attention_ping_pong`, except that a warp group starts the products of two tiles together.
///
/// In the previous rung, a warp group waits twice for each tile: for the scores, and for the sums. It computes the
/// weights between the two products. But the scores of the next tile do not depend on earlier results. Here a warp
/// group starts the scores of the next tile together with the sums of the current tile. The scores finish first, and
/// while the warp group computes their weights, the tensor cores add the sums. So the warp group needs registers for
/// the scores of one tile and for the weights of another at the same time. (Shah et al., *FlashAttention-3*, 2024,
/// section 3.2.)
///
/// # Safety
/// See [`attention`](super).
#[rung(
    after = attention_ping_pong,
    lesson = "the scores of the next tile start with the sums of this tile, which run while weights are computed",
    default_block = 384,
    block_for = |shape| [(consumers(shape[3] as u32) + 1) * WARP_GROUP, 1, 1],
    fixed_block,
    box_rows = { q_map: ROWS, k_map: tile_keys(D, CAUSAL), v_map: tile_keys(D, CAUSAL) },
    dynamic_shared = Memory::<D, ROWS, { tile_keys(D, CAUSAL) }>::BYTES,
    grid = |launch| [launch.count_tiles(consumers(launch.length(3) as u32) * BOX_ROWS, 1), 1, 1],
    T = { _: Bf16, f16: F16 },
    (D, ROWS, BLOCK, PRODUCER_REGISTERS, CONSUMER_REGISTERS) = { _: (128, 128, 384, 24, 240), d64: (64, 192, 512, 32, 160) },
    CAUSAL = { _: false, causal: true }
)]
pub unsafe fn attention_overlapped<
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
    let work = Work::<CAUSAL, ROWS, KEYS>::of_block(thread::block_idx_x(), [heads, kv_heads, queries, keys]);
    let mut positions = Positions::START;
    if thread::thread_idx_x() < WARP_GROUP {
        // SAFETY: all threads of the warp group reach this code, and one thread fills all tiles.
        unsafe {
            setmaxnreg_dec::<PRODUCER_REGISTERS>();
            if thread::thread_idx_x() == 0 {
                memory.produce([q_map, k_map, v_map], &work, &mut positions);
            }
        }
        return;
    }
    let consumer = thread::thread_idx_x() / WARP_GROUP - 1;
    // SAFETY: whole warp groups reach this code. The producer releases the registers that the consumers acquire, and
    // fills the tiles of the work. Each warp group writes 64 rows of the head.
    unsafe {
        setmaxnreg_inc::<CONSUMER_REGISTERS>();
        let turn = Turn::start(consumer, consumers(D));
        let sums = attend::<T, D, ROWS, KEYS, CAUSAL, SCORES, { D as usize / 2 }, FRAGMENTS>(
            memory,
            &work,
            consumer,
            turn,
            &mut positions,
        );
        turn.end();
        let to = output.wrapping_add(work.head as usize * (queries * D) as usize);
        store_from_registers(&sums, [work.row + consumer * BOX_ROWS, 0], to, [queries, D]);
    }
}

/// Returns the output of a warp group's 64 queries, which is 0 if the block sees no key.
///
/// # Safety
/// The caller must ensure that all threads of all consumers call the function for the same work, and that a producer
/// fills the tiles of this work. `positions` must hold the next tiles.
#[inline(always)]
pub(super) unsafe fn attend<
    T: Element + Output<Pair = u32>,
    const D: u32,
    const ROWS: u32,
    const KEYS: u32,
    const CAUSAL: bool,
    const SCORES: usize,
    const SUMS: usize,
    const FRAGMENTS: usize,
>(
    memory: Memory<D, ROWS, KEYS>,
    work: &Work<CAUSAL, ROWS, KEYS>,
    consumer: u32,
    turn: Turn,
    positions: &mut Positions,
) -> [f32; SUMS]
where
    [f32; SCORES]: Sums<T>,
    [f32; SUMS]: Sums<T>,
{
    let (mut softmax, mut scores, mut sums) = (Softmax::START, [0.0; SCORES], [0.0; SUMS]);
    if work.tiles == 0 {
        return sums;
    }
    let (of_queries, of_keys, of_values) = (memory.queries(), memory.keys(), memory.values());
    let of_consumer = of_queries.tile(0).byte_add(consumer * BOX_BYTES);
    // SAFETY: all threads of the warp group call this function. They use tiles only when the tiles are full and leave
    // them when the products are complete.
    unsafe {
        of_queries.full(0).wait(positions.query.parity());
        of_keys.full(positions.key.stage()).wait(positions.key.parity());
        turn.wait();
        start_scores::<T, D, ROWS, KEYS, SCORES>(&mut scores, of_consumer, of_keys.tile(positions.key.stage()));
        turn.pass();
        scores.finish();
        of_keys.leave(&mut positions.key);
        // The last tile comes first. Without a causal mask, only this tile has keys to mask.
        work.mask(&mut scores, consumer, work.tiles - 1);
        softmax.weigh(scores.as_chunks_mut().0, exponent_scale(D));
        let mut weights: [[u32; 4]; FRAGMENTS] = round::<T, _, _>(&scores);
        for tile in (0..work.tiles - 1).rev() {
            of_keys.full(positions.key.stage()).wait(positions.key.parity());
            turn.wait();
            start_scores::<T, D, ROWS, KEYS, SCORES>(&mut scores, of_consumer, of_keys.tile(positions.key.stage()));
            of_values.full(positions.value.stage()).wait(positions.value.parity());
            start_sums::<T, KEYS, _, _>(&mut sums, weights, of_values.tile(positions.value.stage()));
            turn.pass();
            scores.finish_but::<1>();
            of_keys.leave(&mut positions.key);
            if CAUSAL {
                work.mask(&mut scores, consumer, tile);
            }
            let factors = softmax.weigh(scores.as_chunks_mut().0, exponent_scale(D));
            sums.finish();
            of_values.leave(&mut positions.value);
            scale(sums.as_chunks_mut().0, factors);
            weights = round::<T, _, _>(&scores);
        }
        of_queries.leave(&mut positions.query);
        of_values.full(positions.value.stage()).wait(positions.value.parity());
        turn.wait();
        start_sums::<T, KEYS, _, _>(&mut sums, weights, of_values.tile(positions.value.stage()));
        turn.pass();
        sums.finish();
        of_values.leave(&mut positions.value);
    }
    scale(sums.as_chunks_mut().0, softmax.inverse_sums());
    sums
}
