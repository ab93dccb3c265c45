//! The heap of kernels, which `alloc` takes its memory from, and the sizes of a kernel's shared memory.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::{
    alloc::{GlobalAlloc, Layout},
    ffi::c_void,
};

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

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Memory of the device's heap, of 8 MiB unless the host sets `CU_LIMIT_MALLOC_HEAP_SIZE`, aligned to 16 bytes; null
    /// when there is no room ("CUDA C++ Programming Guide", "Dynamic Global Memory Allocation"). It stays until
    /// [`free`], over the end of the launch.
    pub fn malloc(size: usize) -> *mut c_void;

    /// Gives memory of [`malloc`] back; of null, does nothing.
    pub fn free(ptr: *mut c_void);
}

/// The allocator of `alloc` in kernels: `malloc` and `free`. Off the GPU it is not installed.
pub struct CUDAAllocator;

/// What `malloc` aligns to.
#[cfg(target_arch = "nvptx64")]
const MALLOC_ALIGN: usize = 16;

// SAFETY: memory of `malloc` is nobody else's until it is freed, and large and aligned enough.
#[cfg(target_arch = "nvptx64")]
unsafe impl GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN {
            // SAFETY: any size will do.
            return unsafe { malloc(layout.size()).cast() };
        }
        // SAFETY: the pointer moves by 16 to `align` bytes, which are there, and a multiple of 16 lies below it, where
        // the word fits that says by how much.
        unsafe {
            let whole = malloc(layout.size() + layout.align()).cast::<u8>();
            if whole.is_null() {
                return whole;
            }
            let offset = layout.align() - (whole.addr() & (layout.align() - 1));
            let aligned = whole.add(offset);
            aligned.cast::<usize>().sub(1).write(offset);
            aligned
        }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `alloc` has given `ptr`, and has written the word before it if the alignment is such.
        unsafe {
            let offset = if layout.align() <= MALLOC_ALIGN { 0 } else { ptr.cast::<usize>().sub(1).read() };
            free(ptr.sub(offset).cast());
        }
    }
}

/// What `alloc` takes memory from.
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;
