//! Matches: operations that find the lanes that hold the same value (PTX ISA §9.7.13.10, `match.sync`, sm_70 and
//! newer).

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn llvm_match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    fn llvm_match_any_64(mask: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.match.all.sync.i32p"]
    fn llvm_match_all_32(mask: u32, value: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.match.all.sync.i64p"]
    fn llvm_match_all_64(mask: u32, value: u64) -> (u32, bool);
}

/// Returns the lanes in `mask` whose `value` has the same bits as this lane's: `match.any.sync`.
///
/// # Safety
/// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
/// All lanes in `mask` must make this call with the same `mask`.
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { T::match_any(mask, value) }
}

/// Returns `Some(mask)` if `value` has the same bits in all lanes in `mask`, and `None` otherwise: `match.all.sync`.
///
/// # Safety
/// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
/// All lanes in `mask` must make this call with the same `mask`.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { T::match_all(mask, value) }
}

/// A value that a match can compare: 32-bit and 64-bit integers, `f32` and `f64`. Floats are compared by their bits:
/// 0.0 and -0.0 differ, and a NaN equals itself.
pub trait WarpMatchValue: Sized {
    /// See [`warp_match_any`].
    ///
    /// # Safety
    /// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
    /// All lanes in `mask` must make this call with the same `mask`.
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// See [`warp_match_all`].
    ///
    /// # Safety
    /// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
    /// All lanes in `mask` must make this call with the same `mask`.
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32>;
}

#[gpu_only]
#[inline(always)]
unsafe fn match_any_32(mask: u32, value: u32) -> u32 {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_match_any_32(mask, value) }
}

#[gpu_only]
#[inline(always)]
unsafe fn match_any_64(mask: u32, value: u64) -> u32 {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_match_any_64(mask, value) }
}

#[gpu_only]
#[inline(always)]
unsafe fn match_all_32(mask: u32, value: u32) -> (u32, bool) {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_match_all_32(mask, value) }
}

#[gpu_only]
#[inline(always)]
unsafe fn match_all_64(mask: u32, value: u64) -> (u32, bool) {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_match_all_64(mask, value) }
}

/// Implements the trait for a type, given the functions for its width and the conversion to bits.
macro_rules! impl_match {
    ($($type:ty: $any:ident, $all:ident, $to:expr;)*) => {$(
        impl WarpMatchValue for $type {
            #[inline(always)]
            unsafe fn match_any(mask: u32, value: Self) -> u32 {
                // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
                unsafe { $any(mask, $to(value)) }
            }

            #[inline(always)]
            unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
                // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
                let (lanes, all) = unsafe { $all(mask, $to(value)) };
                all.then_some(lanes)
            }
        }
    )*};
}

impl_match! {
    i32: match_any_32, match_all_32, |v| v as u32;
    u32: match_any_32, match_all_32, |v| v;
    f32: match_any_32, match_all_32, f32::to_bits;
    i64: match_any_64, match_all_64, |v| v as u64;
    u64: match_any_64, match_all_64, |v| v;
    f64: match_any_64, match_all_64, f64::to_bits;
}
