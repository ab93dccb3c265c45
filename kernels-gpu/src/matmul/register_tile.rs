//! A tile of `c` in each thread's registers.
//!
//! In the tiled rungs a multiplication takes two reads of shared memory, and an SM reads 32 words of it in the
//! time of 128 multiplications. A thread that takes 8 × 8 elements of `c` reads 8 of `a` and 8 of `b`
//! for 64 multiplications: an eighth of the reads each. And as its elements are neighbours by fours, four are
//! one instruction.
// The indices select registers: they are constants once the loops are unrolled.
#![allow(clippy::needless_range_loop)]

use cuda_std::{GpuFloat, thread};
use rung::{Geometry, Rung};

use super::{Matrix, Place};
use crate::wide::{self, Wide};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_REGISTER_TILE];

/// Rows and columns of `c` that a block takes.
const SIDE: usize = 128;
/// Columns of `a`, rows of `b`, in shared memory at a time.
const DEPTH: usize = 8;
/// Threads along each side of the block.
const THREADS: usize = 16;
/// Words behind each row of the turned tile of `a`: its writes then go to different banks.
const PAD: usize = 4;
/// Rows and columns of `c` that a thread takes.
const THREAD_SIDE: usize = SIDE / THREADS;

entries! {
    /// A block of 16 × 16 threads takes 128 × 128 elements of `c`, each thread 8 × 8 of them in registers.
    ///
    /// The tile of `a` lies turned in shared memory, so that a thread's rows of it are neighbours as its columns
    /// of `b` are, and both are read four at a time.
    ///
    /// Predicted: 64 multiplications and 4 wide reads are 68 instructions where `matmul_tiled` takes 192, so nearly
    /// three times as fast, if the loads from global memory, which nothing hides here, were free. Measured on an H100
    /// 80GB HBM3: 3.59 ms for 4096³, 38.3 TFLOP/s, 4.3 times `matmul_tiled`, whose two barriers for 32 steps and
    /// words read one by one cost more than was counted.
    ///
    /// # Safety
    /// As [`matmul`](super) says, where a block takes 128 × 128 elements of `c`.
    matmul_register_tile(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for X x _Y in [16 x 16];
    shared tile_a: [Wide<f32, 4>; DEPTH * (SIDE + PAD) / 4];
    shared tile_b: [Wide<f32, 4>; DEPTH * SIDE / 4];
    rung Rung::USUAL {
        lesson: "8 x 8 elements a thread, in registers: 16 reads of shared memory for 64 multiplications",
        geometry: Geometry::LargeTiles {
            rows: SIDE as u32,
            columns: SIDE as u32,
        },
        default_block: [16, 16, 1],
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        const { assert!(X == THREADS) };
        register_tile((tile_a.cast(), tile_b.cast()), a, b, c, (m, n, k));
    }
}

/// # Safety
/// The contract of [`matmul_register_tile_16x16`]; the two tiles are its shared arrays.
#[inline(always)]
unsafe fn register_tile(
    (tile_a, tile_b): (*mut f32, *mut f32),
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    (m, n, k): (u32, u32, u32),
) {
    const PITCH: usize = SIDE + PAD;
    let place = Place::of_this_thread(SIDE as u32, SIDE as u32);
    let (down, along) = (place.down as usize, place.along as usize);
    let thread = down * THREADS + along;
    let a = Matrix { data: a, rows: m, columns: k };
    let b = Matrix { data: b, rows: k, columns: n };
    // A thread's share of each tile, and where it lies: `a`'s columns and `b`'s columns along the lanes.
    const STEPS: usize = SIDE * DEPTH / (THREADS * THREADS);
    let (a_row, a_column) = (thread / DEPTH, thread % DEPTH);
    let (b_row, b_column) = (thread / SIDE, thread % SIDE);
    // A thread's elements are two groups of four, half a tile apart: a warp's reads are then without conflicts.
    let place_of = |i: usize, at: usize| (i / 4) * (SIDE / 2) + at * 4 + i % 4;

    let mut sums = [[0.0; THREAD_SIDE]; THREAD_SIDE];
    for first in (0..k).step_by(DEPTH) {
        for step in 0..STEPS {
            let row = a_row + step * (THREADS * THREADS / DEPTH);
            // SAFETY: in the tile, where no other thread writes this element.
            unsafe {
                let value = a.get(place.top + row as u32, first + a_column as u32);
                *tile_a.add(a_column * PITCH + row) = value;
            }
            let row = b_row + step * (THREADS * THREADS / SIDE);
            // SAFETY: in the tile, where no other thread writes this element.
            unsafe {
                let value = b.get(first + row as u32, place.left + b_column as u32);
                *tile_b.add(row * SIDE + b_column) = value;
            }
        }
        thread::sync_threads();
        for i in 0..DEPTH {
            // SAFETY: in the tiles, all of which is written.
            let four = |row: *mut f32, at: usize, group: usize| unsafe {
                wide::load::<f32, 4>(row.add(place_of(group * 4, at)))
            };
            let of_a = [0, 1].map(|group| four(tile_a.wrapping_add(i * PITCH), down, group));
            let of_b = [0, 1].map(|group| four(tile_b.wrapping_add(i * SIDE), along, group));
            for row in 0..THREAD_SIDE {
                for column in 0..THREAD_SIDE {
                    let (x, y) = (of_a[row / 4][row % 4], of_b[column / 4][column % 4]);
                    sums[row][column] = GpuFloat::mul_add(x, y, sums[row][column]);
                }
            }
        }
        thread::sync_threads();
    }
    for (i, sums) in sums.iter().enumerate() {
        let row = place.top + place_of(i, down) as u32;
        for (j, &sum) in sums.iter().enumerate() {
            let column = place.left + place_of(j, along) as u32;
            if row < m && column < n {
                // SAFETY: in bounds, and this thread's own.
                unsafe { *c.add((row * n + column) as usize) = sum };
            }
        }
    }
}
