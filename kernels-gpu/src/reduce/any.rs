//! `reduce_vector`, generic over the operation and the element type.

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread, warp};
use rung::rung;

use crate::operation::{Element, ITEMS, Max, Min, Operation, Product, Sum};

/// `reduce_vector` for four operations and five types (for example, `--op max --type f32`).
///
/// A reduction works with any operation that is associative and commutative ([`operation`](crate::operation)). The
/// kernel changes in three places: an operation replaces `+`, its identity replaces 0, and the type determines how many
/// elements fit into 16 bytes. A load returns two 64-bit elements instead of four 32-bit elements, so a thread needs
/// twice the number of loads for 64-bit types.
///
/// Expect the time of `reduce_vector` for the same number of bytes, because memory is the limit for every operation.
///
/// # Safety
/// See [`reduce`](super), for elements of type `T`. `input` is aligned to 16 bytes.
#[rung(
    after = reduce_vector,
    lesson = "any associative operation on any type: one kernel that is generic over both",
    blocks = [512, 1024],
    default_block = 1024,
    block_for = |shape| if shape[0] < 1 << 22 { [512, 1, 1] } else { [1024, 1, 1] },
    items_per_thread = ITEMS,
    (O, T) = {
        _: (Sum, i32), sum_u32: (Sum, u32), sum_i64: (Sum, i64), sum_f32: (Sum, f32), sum_f64: (Sum, f64),
        product_i32: (Product, i32), product_u32: (Product, u32), product_i64: (Product, i64),
        product_f32: (Product, f32), product_f64: (Product, f64),
        min_i32: (Min, i32), min_u32: (Min, u32), min_i64: (Min, i64), min_f32: (Min, f32), min_f64: (Min, f64),
        max_i32: (Max, i32), max_u32: (Max, u32), max_i64: (Max, i64), max_f32: (Max, f32), max_f64: (Max, f64),
    }
)]
pub unsafe fn reduce_any<T: Element, O: Operation<T>, const BLOCK: u32>(input: *const T, output: *mut T, n: u32) {
    #[address_space(shared)]
    static mut WARP_RESULTS: MaybeUninit<[T; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_results = (&raw mut WARP_RESULTS).cast::<T>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());
    let (warp, lane) = (tid / 32, tid % 32);

    let start = block_idx * BLOCK * ITEMS as u32;
    let items: [T; ITEMS] = if start + BLOCK * ITEMS as u32 <= n {
        // SAFETY: the block's whole slice is below n, and slices begin at multiples of 16 bytes.
        unsafe { T::load_wide(input.add(start as usize), tid as usize, BLOCK as usize) }
    } else {
        let item = |k: usize| start + tid + k as u32 * BLOCK;
        // SAFETY: only items below n are read.
        array::from_fn(|k| if item(k) < n { unsafe { *input.add(item(k) as usize) } } else { O::IDENTITY })
    };
    let mut result = items.into_iter().fold(O::IDENTITY, O::combine);

    result = combine_warp::<T, O>(result);
    if lane == 0 {
        // SAFETY: `warp_results` has an element for each warp.
        unsafe { *warp_results.add(warp as usize) = result };
    }
    thread::sync_threads();
    if warp == 0 {
        // SAFETY: `warp_results` has BLOCK / 32 elements, all written before the barrier.
        result = if lane < BLOCK / 32 { unsafe { *warp_results.add(lane as usize) } } else { O::IDENTITY };
        result = combine_warp::<T, O>(result);
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block.
        unsafe { *output.add(block_idx as usize) = result };
    }
}

/// Combines the values of a warp's 32 lanes and returns the result to every lane. This is `sum_warp` of `reduce_shfl`
/// for any operation.
#[inline(always)]
fn combine_warp<T: Element, O: Operation<T>>(mut result: T) -> T {
    for lane_mask in [16, 8, 4, 2, 1] {
        // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
        result = O::combine(result, unsafe { warp::warp_shuffle_xor(u32::MAX, result, lane_mask, 32) }.0);
    }
    result
}
