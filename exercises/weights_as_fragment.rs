//! Weights as a fragment: the sums of one tensor-core product are a factor of the next product.
//!
//! One warp computes `(q kᵀ) v`, for 16 × 16 matrices `q` and `k` and a 16 × 8 matrix `v`. In attention, the softmax is
//! between the two products. Two `mma.m16n8k16` compute the scores: `left` for keys 0 to 7, and `right` for keys 8 to
//! 15. A third `mma` multiplies the scores by `v`. No score needs to leave its lane: the sums that `mma` returns to a
//! lane are exactly the elements of a factor that `mma` reads from this lane.
//!
//! A lane holds these elements, for `row` = lane / 4 and `column` = lane % 4 * 2:
//! - sums 0 and 1 of a product: two neighbors in `row`, starting at `column`
//! - sums 2 and 3 of a product: the same columns of `row + 8`
//! - registers 0 to 3 of a 16 × 16 factor: two neighbors in a row, starting at (`row`, `column`), (`row + 8`,
//!   `column`),
//!   (`row`, `column + 8`) and (`row + 8`, `column + 8`)
//!
//! Complete `fragment`.

use cuda_std::prelude::*;

/// Returns the registers of a factor whose columns 0 to 7 are the sums `left`, and whose columns 8 to 15 are `right`.
fn fragment(left: [f32; 4], right: [f32; 4]) -> [u32; 4] {
    // TODO: choose the correct pairs.
    [pair(left[0], left[2]), pair(left[1], left[3]), pair(right[0], right[2]), pair(right[1], right[3])]
}

/// Returns two neighbors of a row as bfloat16 in a register. The scores of this exercise are exact in bfloat16.
fn pair(first: f32, second: f32) -> u32 {
    first.to_bits() >> 16 | second.to_bits() & 0xffff_0000
}

/// # Safety
/// `q` and `k` point to 128 words each. A word of `q` holds two neighbors of a row, and a word of `k` holds two
/// neighbors of a key's row. `v` points to 64 words, each with two neighbors of a column. `output` points to 128
/// floats. There is one block of 32 threads.
#[kernel]
pub unsafe fn weights_as_fragment(q: *const u32, k: *const u32, v: *const u32, output: *mut f32) {
    let lane = thread::thread_idx_x() as usize;
    let (row, word) = (lane / 4, lane % 4);
    // SAFETY: the words are in `q`, `k` and `v`, and each element of `output` has one writer. All lanes execute the
    // products.
    unsafe {
        let q = [0, 1, 2, 3].map(|register| *q.add((row + register % 2 * 8) * 8 + word + register / 2 * 4));
        let (mut left, mut right, mut sums) = ([0.0; 4], [0.0; 4], [0.0; 4]);
        multiply_add(&mut left, q, [0, 1].map(|register| *k.add(row * 8 + word + register * 4)));
        multiply_add(&mut right, q, [0, 1].map(|register| *k.add((row + 8) * 8 + word + register * 4)));
        multiply_add(&mut sums, fragment(left, right), [0, 1].map(|register| *v.add(row * 8 + word + register * 4)));
        for (i, sum) in sums.into_iter().enumerate() {
            *output.add((row + i / 2 * 8) * 8 + word * 2 + i % 2) = sum;
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
