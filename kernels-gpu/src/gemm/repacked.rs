//! Tensor copies for any size: factors that no tensor map can describe are copied first.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_device, atomic_load_32_device, atomic_store_32_device, device_thread_fence,
};
use cuda_std::{shared, thread};
use rung::{LaunchRequest, rung};

use super::hopper::OutputMatrix;
use super::ping_pong::{SHARED_BYTES, multiply_tiles, tiles_of};
use crate::tensor_core::tma::{TensorMap, fence_global};
use crate::tensor_core::{Bf16, F16, load, store};

/// The number of warps in a block. Each warp copies a row.
const WARPS: u32 = 384 / 32;
/// The number of elements in 16 bytes.
const CHUNK: u32 = 8;

/// The words of the workspace: the number of row groups that blocks have taken, the number of copied row groups, and
/// the number of blocks that are done.
const TAKEN: usize = 0;
const COPIED: usize = 1;
const DONE: usize = 2;

/// `gemm_ping_pong`, after a copy of each factor that no tensor map can describe.
///
/// A tensor map requires the length of a row to be a multiple of 16 bytes. For other factors, only the rungs that
/// compute addresses remain (`gemm_small_blocks`, `gemm_wgmma`). For 1000 × 1100 × 1301, these rungs take three times
/// as long as `gemm_ping_pong` takes for 1000 × 1104 × 1304.
///
/// Here the kernel first copies such a factor to memory where each row is padded with zeros to the next multiple of 16
/// bytes. The copy reads and writes only 2 bytes per element of the factor, and each element is used in `m` or `n`
/// multiplications. Blocks take groups of rows from a counter until no group remains. Then each block's producer waits
/// until all rows have been copied, and the block continues as in `gemm_ping_pong`, with maps of the copies. No block
/// waits for a block that has not started: only running blocks take rows, and each block copies the rows that it has
/// taken.
///
/// # Safety
/// See [`gemm`](super). `workspace` points to three zero words. If the rows of a factor are a multiple of 8 elements,
/// the map describes the factor. Otherwise the map describes the factor's copy, and there is memory for this copy, with
/// rows rounded up to the next multiple of 8 elements.
#[rung(
    after = gemm_ping_pong,
    lesson = "rows that no tensor map can describe are copied first, so tensor copies work for any size",
    blocks = [384],
    dynamic_shared = SHARED_BYTES,
    grid = |launch| [blocks(launch), 1, 1],
    blocks_wait,
    (A, C) = {
        _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32),
    },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_repacked<A, C, const COLUMN_MAJOR: bool>(
    #[grid_constant] a_copy_map: &TensorMap,
    #[grid_constant] b_copy_map: &TensorMap,
    #[grid_constant] c_map: &TensorMap,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
    workspace: *mut u32,
    a: *const A,
    b: *const A,
    a_copy: *mut A,
    b_copy: *mut A,
) {
    let [b_rows, b_columns] = if COLUMN_MAJOR { [n, k] } else { [k, n] };
    let a = Factor { from: a.cast(), to: a_copy.cast(), rows: m, columns: k };
    let b = Factor { from: b.cast(), to: b_copy.cast(), rows: b_rows, columns: b_columns };
    let groups = a.groups() + b.groups();
    if groups > 0 {
        // SAFETY: all threads of all blocks reach this code, with the workspace of this launch.
        unsafe { copy_factors([a, b], workspace) };
    }
    let output = OutputMatrix { map: c_map, data: c, rows: m, columns: n };
    let wait_for_copies = || {
        if groups > 0 {
            // SAFETY: running blocks copy and count all groups, and the fence orders the loads of the copies after the
            // wait.
            unsafe {
                while atomic_load_32_device(workspace.add(COPIED), Relaxed) < groups {}
                device_thread_fence(Acquire);
            }
            fence_global();
        }
    };
    // SAFETY: the maps describe the factors or their copies, which are complete after the wait.
    unsafe { multiply_tiles::<A, C, COLUMN_MAJOR>([a_copy_map, b_copy_map], &output, k, wait_for_copies) };
    if thread::thread_idx_x() == 0 && groups > 0 {
        // SAFETY: the last block resets the counters. All other blocks are done with them.
        unsafe {
            if atomic_fetch_add_u32_device(workspace.add(DONE), AcqRel, 1) + 1 == thread::grid_dim_x() {
                for word in [TAKEN, COPIED, DONE] {
                    atomic_store_32_device(workspace.add(word), Relaxed, 0);
                }
            }
        }
    }
}

/// Takes groups of rows of both factors from a counter until no group remains, and copies each group.
///
/// # Safety
/// The caller must ensure that all threads of the block call the function, and that the factors and the memory for
/// their copies exist. `workspace` must be the workspace of [`gemm_repacked`](self).
#[inline(always)]
unsafe fn copy_factors([a, b]: [Factor; 2], workspace: *mut u32) {
    let is_first_thread = thread::thread_idx_x() == 0;
    let group_word = shared::dynamic_shared_mem::<u32>();
    let mut copied = 0;
    loop {
        if is_first_thread {
            // SAFETY: no thread reads the word of shared memory before the barrier.
            unsafe { *group_word = atomic_fetch_add_u32_device(workspace.add(TAKEN), Relaxed, 1) };
        }
        thread::sync_threads();
        // SAFETY: the word was written before the barrier, and it is written again only after the next barrier.
        let group = unsafe { *group_word };
        thread::sync_threads();
        if group >= a.groups() + b.groups() {
            break;
        }
        // SAFETY: all threads of the block reach this code, and no other block has taken this group.
        unsafe {
            if group < a.groups() {
                a.copy_rows(group);
            } else {
                b.copy_rows(group - a.groups());
            }
        }
        copied += 1;
    }
    fence_global();
    thread::sync_threads();
    if is_first_thread && copied > 0 {
        // SAFETY: all threads of the block finish their copies before the barrier, and the fence publishes their
        // writes.
        unsafe {
            device_thread_fence(Release);
            atomic_fetch_add_u32_device(workspace.add(COPIED), Relaxed, copied);
        }
    }
}

/// Returns the number of blocks: one per multiprocessor, or fewer if there are fewer tiles and fewer groups of rows to
/// copy. The number is enough for both a row-major and a column-major `b`.
fn blocks(launch: &LaunchRequest<'_>) -> u32 {
    let [m, n, k] = [0, 1, 2].map(|dimension| launch.length(dimension) as u32);
    let groups = row_groups(m, k) + row_groups(k, n).max(row_groups(n, k));
    tiles_of(launch).max(groups).min(launch.device.multiprocessors)
}

/// Returns the number of groups of rows of a factor to be copied, which is 0 if a tensor map can describe the factor.
#[inline(always)]
fn row_groups(rows: u32, columns: u32) -> u32 {
    if columns.is_multiple_of(CHUNK) { 0 } else { rows.div_ceil(WARPS) }
}

/// A factor in memory, and the memory for its copy.
#[derive(Clone, Copy)]
struct Factor {
    from: *const u16,
    to: *mut u16,
    rows: u32,
    columns: u32,
}

impl Factor {
    /// Returns the number of groups of rows to be copied.
    #[inline(always)]
    fn groups(&self) -> u32 {
        row_groups(self.rows, self.columns)
    }

    /// Copies a group of rows. Each warp copies one row, and each lane 16 bytes at a time.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the block call the function, that the factor exists, and that no
    /// other block writes this group of the copy.
    #[inline(always)]
    unsafe fn copy_rows(self, group: u32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let row = group * WARPS + warp;
        let chunks = self.columns.div_ceil(CHUNK);
        if row < self.rows {
            let mut chunk = lane;
            while chunk < chunks {
                let to = self.to.wrapping_add(((row * chunks + chunk) * CHUNK) as usize);
                // SAFETY: the row and the chunk exist, and no other thread writes this chunk.
                unsafe { store(to.cast::<u32>(), self.load_chunk(row, chunk)) };
                chunk += 32;
            }
        }
    }

    /// Returns eight elements of a row, with zeros after the end of the row.
    ///
    /// The elements can begin at any address, but 16-byte loads must begin at a multiple of 16. So the function loads
    /// the two aligned 16-byte words that contain the elements, and shifts them.
    ///
    /// # Safety
    /// The caller must ensure that `row` and the first element of the chunk are within the factor.
    #[inline(always)]
    unsafe fn load_chunk(self, row: u32, chunk: u32) -> [u32; 4] {
        let count = (self.columns - chunk * CHUNK).min(CHUNK);
        let from = self.from.wrapping_add((row * self.columns + chunk * CHUNK) as usize);
        let shift = from as u32 % 16;
        let aligned = from.wrapping_byte_sub(shift as usize).cast::<u32>();
        let end = self.from.wrapping_add((self.rows * self.columns) as usize);
        let words = if aligned.wrapping_byte_add(32) as usize <= end as usize {
            // SAFETY: the 32 bytes are before the factor's end, and memory is allocated at multiples of 16 bytes.
            unsafe { join(load(aligned), load(aligned.wrapping_add(4)), shift) }
        } else {
            // SAFETY: the first `count` elements exist.
            let element = |i: u32| if i < count { u32::from(unsafe { *from.wrapping_add(i as usize) }) } else { 0 };
            [0, 2, 4, 6].map(|i| element(i) | element(i + 1) << 16)
        };
        // Clears the elements of a pair after the end of the row.
        let mask = |pair: u32| {
            if count > 2 * pair + 1 {
                u32::MAX
            } else if count > 2 * pair {
                0xffff
            } else {
                0
            }
        };
        array::from_fn(|pair| words[pair] & mask(pair as u32))
    }
}

/// Returns 16 of 32 bytes, starting at byte `begin`, which is an even number below 16.
#[inline(always)]
fn join([a, b, c, d]: [u32; 4], [e, f, g, h]: [u32; 4], begin: u32) -> [u32; 4] {
    // The selection uses masks, because indexing an array at run time would put the array into local memory.
    let mask = |bit: u32| if begin & bit == 0 { 0 } else { u32::MAX };
    let select = |mask: u32, early: u32, late: u32| early ^ (early ^ late) & mask;
    let by_8 = [(a, c), (b, d), (c, e), (d, f), (e, g), (f, h)].map(|(early, late)| select(mask(8), early, late));
    let by_4: [u32; 5] = array::from_fn(|i| select(mask(4), by_8[i], by_8[i + 1]));
    array::from_fn(|i| select(mask(2), by_4[i], by_4[i] >> 16 | by_4[i + 1] << 16))
}
