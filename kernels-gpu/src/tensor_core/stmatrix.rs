//! `stmatrix`: a warp stores 8 × 8 matrices of 16-bit elements from the registers of its lanes to shared memory.
//!
//! (PTX ISA, "Warp-level matrix store instruction: stmatrix".)

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use crate::copy_async::Shared;

/// Stores four 8 × 8 matrices. Lane `8 i + j` passes the address of row `j` of matrix `i`, which is 16 bytes long.
///
/// # Safety
/// The caller must ensure that all lanes of the warp call it, and that each address points to 16 bytes of this block's
/// shared memory, aligned to 16, which no other thread accesses.
#[inline(always)]
pub unsafe fn store_x4(to: Shared, fragments: [u32; 4]) {
    ptx!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {{{}, {}, {}, {}}};", in(reg32) to.0, in(reg32) fragments[0],
        in(reg32) fragments[1], in(reg32) fragments[2], in(reg32) fragments[3], options(nostack, preserves_flags));
}

/// Stores four 8 × 8 matrices like [`store_x4`], each of them transposed.
///
/// # Safety
/// As for [`store_x4`].
#[inline(always)]
pub unsafe fn store_x4_transposed(to: Shared, fragments: [u32; 4]) {
    ptx!("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [{}], {{{}, {}, {}, {}}};", in(reg32) to.0,
        in(reg32) fragments[0], in(reg32) fragments[1], in(reg32) fragments[2], in(reg32) fragments[3],
        options(nostack, preserves_flags));
}

/// Stores two neighboring 32-bit floats, for which `stmatrix` has no form (`st.shared.v2`; PTX ISA, "Data Movement and
/// Conversion Instructions: st").
///
/// # Safety
/// The caller must ensure that the address points to 8 bytes of this block's shared memory, aligned to 8, which no
/// other thread accesses.
#[inline(always)]
pub unsafe fn store_two_floats(to: Shared, [first, second]: [f32; 2]) {
    ptx!("st.shared.v2.f32 [{}], {{{}, {}}};", in(reg32) to.0, in(reg32) first, in(reg32) second,
        options(nostack, preserves_flags));
}
