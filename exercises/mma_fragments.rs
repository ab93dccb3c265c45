//! Fragments: give each lane its elements of a tensor-core product.
//!
//! One warp multiplies `a` (16 × 16 elements, row-major) by `b` (16 × 8 elements, column-major) with one
//! `mma.m16n8k16`. An element is a bfloat16, and a word holds two neighbors along `k`. A row of `a` or a column of `b`
//! is therefore 8 words. A lane passes four words of `a` and two of `b`, and receives four sums.
//!
//! The figure of `ladder why gemm_mma --figures=fragments` shows which lane holds which element; each color is a
//! register. Complete `word_of_a` and `word_of_b`, so that all 128 sums are correct. `place_of_sum` is complete and
//! shows the pattern.

use cuda_std::prelude::*;

/// Returns the index of the word of `a` that a lane holds in register `register`, 0 to 3.
fn word_of_a(lane: usize, register: usize) -> usize {
    // TODO: each register holds a quarter of `a`: 8 rows of 4 words.
    let (row, word) = (lane / 4, lane % 4 + register);
    row * 8 + word
}

/// Returns the index of the word of `b` that a lane holds in register `register`, 0 or 1.
fn word_of_b(lane: usize, register: usize) -> usize {
    // TODO: each register holds half of `b`.
    let (column, word) = (lane / 4, lane % 4 + register);
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
