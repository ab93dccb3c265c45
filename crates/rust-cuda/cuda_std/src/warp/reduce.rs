//! Reductions in one instruction (PTX ISA §9.7.13.12, `redux.sync`, sm_80 and newer).

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

/// The operation by which [`warp_reduce`] combines the values.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// Their sum, wrapping.
    Add,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Their bitwise and.
    And,
    /// Their bitwise or.
    Or,
    /// Their bitwise exclusive or.
    Xor,
}

/// The reduction of `value` over the lanes in `mask`, given to each of them.
///
/// One `redux.sync` where `op` is a constant. Needs compute capability 8.0: the device build for an
/// older one fails where this is used.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has ended, and all of them make this call with
/// the same `mask` and `op`.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the same contract.
    unsafe { T::reduce(mask, value, op) }
}

/// A value that [`warp_reduce`] takes: `i32` and `u32`.
pub trait WarpReduceValue: Sized {
    /// See [`warp_reduce`].
    ///
    /// # Safety
    /// The calling lane is in `mask`, no lane in `mask` has ended, and all of them make this call with
    /// the same `mask` and `op`.
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

impl WarpReduceValue for u32 {
    #[gpu_only]
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
        // SAFETY: the same contract.
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
        // SAFETY: the same contract. Only the order of values depends on the sign.
        unsafe {
            match op {
                WarpReductionOp::Min => llvm_redux_min(value, mask),
                WarpReductionOp::Max => llvm_redux_max(value, mask),
                _ => u32::reduce(mask, value as u32, op) as i32,
            }
        }
    }
}
