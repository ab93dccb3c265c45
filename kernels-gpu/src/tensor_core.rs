//! The pieces that kernels on tensor cores are made of: fragments, warp-group products, tensor copies, barriers.
//!
//! Each piece is one PTX instruction or two, with shapes and layouts in its types, and says where the PTX ISA describes
//! it. LLVM has intrinsics for some of them; those take pointers with an address space, for which Rust has no words, or
//! return structures that its C ABI returns otherwise. So all of them are `asm!`, which `cuda_builder` makes convergent
//! where threads have to execute an instruction together. On anything but a GPU they do nothing.

/// An `asm!` block on a GPU, and nothing elsewhere. The contract is that of the function around it.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
macro_rules! ptx {
    ($($asm:tt)*) => {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the instruction's requirements are those of the function around it, or it has none.
        unsafe {
            ::core::arch::asm!($($asm)*);
        }
    };
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod barrier;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod cluster;
pub mod element;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod mbarrier;
pub mod mma;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod setmaxnreg;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod stmatrix;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod tma;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod wgmma;
