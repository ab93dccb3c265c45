//! Single-instruction reductions (PTX ISA §9.7.13.12, `redux.sync`, sm_80 and newer).

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.redux.sync.add"]
    fn llvm_redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    fn llvm_redux_min(value: i32, mask: u32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    fn llvm_redux_umin(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    fn llvm_redux_max(value: i32, mask: u32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    fn llvm_redux_umax(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    fn llvm_redux_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    fn llvm_redux_or(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    fn llvm_redux_xor(value: u32, mask: u32) -> u32;
}

/// The operation that [`warp_reduce`] combines the values with.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The wrapping sum.
    Add,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The bitwise and.
    And,
    /// The bitwise or.
    Or,
    /// The bitwise exclusive or.
    Xor,
}

/// Reduces `value` over the lanes in `mask` and returns the result to each of these lanes.
///
/// If `op` is a constant, the call is one `redux.sync`. The function requires compute capability 8.0. A device build
/// for an older architecture fails at the call.
///
/// # Safety
/// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
/// All lanes in `mask` must make this call with the same `mask` and `op`.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask` and `op`.
    unsafe { T::reduce(mask, value, op) }
}

/// A value that [`warp_reduce`] supports: `i32` and `u32`.
pub trait WarpReduceValue: Sized {
    /// See [`warp_reduce`].
    ///
    /// # Safety
    /// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
    /// All lanes in `mask` must make this call with the same `mask` and `op`.
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

impl WarpReduceValue for u32 {
    #[gpu_only]
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask` and `op`.
        unsafe {
            match op {
                WarpReductionOp::Add => llvm_redux_add(value, mask),
                WarpReductionOp::Min => llvm_redux_umin(value, mask),
                WarpReductionOp::Max => llvm_redux_umax(value, mask),
                WarpReductionOp::And => llvm_redux_and(value, mask),
                WarpReductionOp::Or => llvm_redux_or(value, mask),
                WarpReductionOp::Xor => llvm_redux_xor(value, mask),
            }
        }
    }
}

impl WarpReduceValue for i32 {
    #[gpu_only]
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask` and `op`. Only
        // comparisons depend on the sign.
        unsafe {
            match op {
                WarpReductionOp::Min => llvm_redux_min(value, mask),
                WarpReductionOp::Max => llvm_redux_max(value, mask),
                _ => u32::reduce(mask, value as u32, op) as i32,
            }
        }
    }
}
