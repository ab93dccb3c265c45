//! The sizes of a kernel's shared memory.

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.dynamic_smem_size"]
    safe fn llvm_dynamic_smem_size() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.total_smem_size"]
    safe fn llvm_total_smem_size() -> u32;
}

/// Bytes of shared memory that the launch asked for: `%dynamic_smem_size` (PTX ISA §10).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn dynamic_smem_size() -> u32 {
    llvm_dynamic_smem_size()
}

/// Bytes of shared memory that each block has, static and dynamic together, rounded up to the
/// hardware's allocation unit: `%total_smem_size` (PTX ISA §10).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn total_smem_size() -> u32 {
    llvm_total_smem_size()
}
