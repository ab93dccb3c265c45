//! Fragments of 16-bit elements to shared memory (`stmatrix`; PTX ISA, "Warp-level matrix store instruction:
//! stmatrix").

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use crate::copy_async::Shared;

/// Stores four matrices of 8 × 8: lane `8 i + j` says where row `j` of matrix `i` goes, 16 bytes.
///
/// # Safety
/// All lanes of the warp come; each place is 16 bytes of this block's shared memory, aligned to 16, which no other
/// thread accesses.
#[inline(always)]
pub unsafe fn store_four(to: Shared, fragments: [u32; 4]) {
    ptx!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {{{}, {}, {}, {}}};", in(reg32) to.0, in(reg32) fragments[0],
        in(reg32) fragments[1], in(reg32) fragments[2], in(reg32) fragments[3], options(nostack, preserves_flags));
}

/// Stores four matrices like [`store_four`], each transposed: the row that a lane says where to put is a column of the
/// fragment.
///
/// # Safety
/// As for [`store_four`].
#[inline(always)]
pub unsafe fn store_four_transposed(to: Shared, fragments: [u32; 4]) {
    ptx!("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [{}], {{{}, {}, {}, {}}};", in(reg32) to.0,
        in(reg32) fragments[0], in(reg32) fragments[1], in(reg32) fragments[2], in(reg32) fragments[3],
        options(nostack, preserves_flags));
}

/// Stores two neighbouring floats (`st.shared.v2`).
///
/// # Safety
/// The place is 8 bytes of this block's shared memory, aligned to 8, which no other thread accesses.
#[inline(always)]
pub unsafe fn store_two(to: Shared, [first, second]: [f32; 2]) {
    ptx!("st.shared.v2.f32 [{}], {{{}, {}}};", in(reg32) to.0, in(reg32) first, in(reg32) second,
        options(nostack, preserves_flags));
}
