//! Hints:
//!
//! 1. Look at one color of `a` in the figure. Which row and which word does lane 0 hold, and which does lane 4 hold?
//! 2. From register 0 of `a` to register 1, the figure moves by 8 rows. From register 0 to register 2, the figure moves
//!    by 8 columns. How many words are 8 columns?
//! 3. A given lane holds the same column of `b` in both registers. Only its word changes, by half a column.
//!
//! Register 1 holds the elements 8 rows below those of register 0. Registers 2 and 3 hold the elements 8 columns to the
//! right of those of registers 0 and 1. So two bits of the register's number choose a quarter of `a`. A word has two
//! elements, so 8 columns are 4 words.

use cuda_std::prelude::*;

/// Returns the index of the word of `a` that a lane holds in register `register`, 0 to 3.
fn word_of_a(lane: usize, register: usize) -> usize {
    let (row, word) = (lane / 4 + register % 2 * 8, lane % 4 + register / 2 * 4);
    row * 8 + word
}

/// Returns the index of the word of `b` that a lane holds in register `register`, 0 or 1.
fn word_of_b(lane: usize, register: usize) -> usize {
    let (column, word) = (lane / 4, lane % 4 + register * 4);
    column * 8 + word
}

/// Returns the index in `c`, which is row-major with 8 columns, of the sum in a lane's register `register`, 0 to 3.
fn place_of_sum(lane: usize, register: usize) -> usize {
    let (row, column) = (lane / 4 + register / 2 * 8, lane % 4 * 2 + register % 2);
    row * 8 + column
}

/// # Safety
/// `a` points to 128 words, `b` to 64 words and `c` to 128 floats. There is one block of 32 threads.
#[kernel]
pub unsafe fn mma_fragments(a: *const u32, b: *const u32, c: *mut f32) {
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: the words are in `a` and `b`, and each element of `c` has one writer. All lanes execute the product.
    unsafe {
        let a = [0, 1, 2, 3].map(|register| *a.add(word_of_a(lane, register)));
        let b = [0, 1].map(|register| *b.add(word_of_b(lane, register)));
        let mut sums = [0.0_f32; 4];
        multiply_add(&mut sums, a, b);
        for (register, sum) in sums.into_iter().enumerate() {
            *c.add(place_of_sum(lane, register)) = sum;
        }
    }
}

/// Adds the product of two fragments to the sums: `mma.m16n8k16`.
///
/// # Safety
/// The caller must ensure that all lanes of the warp execute the call together.
#[inline(always)]
#[allow(unused, reason = "the host has no tensor cores")]
unsafe fn multiply_add([s0, s1, s2, s3]: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
    ptx!(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 \
         {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
        inout(reg32) *s0, inout(reg32) *s1, inout(reg32) *s2, inout(reg32) *s3,
        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
    );
}
