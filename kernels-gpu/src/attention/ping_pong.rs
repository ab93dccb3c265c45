//! Warp groups that alternate: one computes weights while another multiplies.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::exponent_scale;
use super::hopper::{Memory, Positions, Turn, Work, consumers, round, start_scores, start_sums, tile_keys};
use super::mma::{Softmax, scale};
use crate::gemm::hopper::{WARP_GROUP, store_from_registers};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{BOX_BYTES, BOX_ROWS, Finish, setmaxnreg_dec, setmaxnreg_inc};
use crate::tensor_core::{Bf16, Element, F16, Output};

/// A producer warp group copies, and the warp groups that multiply alternate on the tensor cores.
///
/// In `attention_wgmma`, all warp groups wait at the block's barrier after each tile, so all warp groups compute
/// weights at the same time. Per cycle, a multiprocessor computes 16 exponentials, or 2048 multiply-adds on its tensor
/// cores. So for heads of 128 elements, the exponentials of a tile take half as long as its products. For heads of 64
/// elements, they take just as long.
///
/// Here one warp group at a time starts its products and then lets the next warp group start. While the tensor cores
/// work for the next warp group, the first warp group computes its weights. As in `gemm_warp_specialized`, a producer
/// warp group starts the copies and gives its registers to the other warp groups, which makes larger tiles possible.
/// (Shah et al., *FlashAttention-3*, 2024, section 3.1; CUDA C++ Programming Guide, "Arithmetic Instructions".)
///
/// # Safety
/// See [`attention`](super).
#[rung(
    after = attention_wgmma,
    lesson = "warp groups alternate: one computes exponentials while the tensor cores work for another",
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
pub unsafe fn attention_ping_pong<
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
    let (of_queries, of_keys, of_values) = (memory.queries(), memory.keys(), memory.values());
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
    let of_consumer = of_queries.tile(0).byte_add(consumer * BOX_BYTES);
    let (mut softmax, mut sums) = (Softmax::START, [0.0; D as usize / 2]);
    // SAFETY: whole warp groups reach this code. The producer releases the registers that the consumers acquire. The
    // consumers use tiles only when the tiles are full and leave them when the products are complete.
    unsafe {
        setmaxnreg_inc::<CONSUMER_REGISTERS>();
        let turn = Turn::start(consumer, consumers(D));
        for tile in (0..work.tiles).rev() {
            let mut scores = [0.0; SCORES];
            of_queries.full(0).wait(0);
            of_keys.full(positions.key.stage()).wait(positions.key.parity());
            turn.wait();
            start_scores::<T, D, ROWS, KEYS, SCORES>(&mut scores, of_consumer, of_keys.tile(positions.key.stage()));
            scores.finish();
            of_keys.leave(&mut positions.key);
            turn.pass();
            work.mask(&mut scores, consumer, tile);
            let factors = softmax.weigh(scores.as_chunks_mut().0, exponent_scale(D));
            scale(sums.as_chunks_mut().0, factors);
            of_values.full(positions.value.stage()).wait(positions.value.parity());
            turn.wait();
            start_sums::<T, KEYS, _, FRAGMENTS>(
                &mut sums,
                round::<T, _, _>(&scores),
                of_values.tile(positions.value.stage()),
            );
            sums.finish();
            of_values.leave(&mut positions.value);
            turn.pass();
        }
        turn.end();
        scale(sums.as_chunks_mut().0, softmax.inverse_sums());
        let to = output.wrapping_add(work.head as usize * (queries * D) as usize);
        store_from_registers(&sums, [work.row + consumer * BOX_ROWS, 0], to, [queries, D]);
    }
}
