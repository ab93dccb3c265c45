//! The kernels' heap, from which `alloc` allocates, and the sizes of a kernel's shared memory.

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

/// Returns the launch's dynamic shared memory in bytes: `%dynamic_smem_size` (PTX ISA §10).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn dynamic_smem_size() -> u32 {
    llvm_dynamic_smem_size()
}

/// Returns the shared memory of each block in bytes, static plus dynamic, rounded up to the hardware's allocation unit:
/// `%total_smem_size` (PTX ISA §10).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn total_smem_size() -> u32 {
    llvm_total_smem_size()
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Allocates `size` bytes on the device's heap, aligned to 16 bytes. Returns null when the heap is full ("CUDA C++
    /// Programming Guide", "Dynamic Global Memory Allocation"). The heap is 8 MiB unless the host sets
    /// `CU_LIMIT_MALLOC_HEAP_SIZE`. The allocation lives until it is [freed](free), even beyond the end of the launch.
    pub fn malloc(size: usize) -> *mut c_void;

    /// Frees memory that [`malloc`] returned. Does nothing for null.
    pub fn free(ptr: *mut c_void);
}

/// The global allocator of kernels, based on `malloc` and `free`. Off the GPU it is not installed.
pub struct CUDAAllocator;

/// The alignment that `malloc` guarantees.
#[cfg(target_arch = "nvptx64")]
const MALLOC_ALIGN: usize = 16;

// SAFETY: memory from `malloc` belongs to one allocation until it is freed, and `alloc` meets the layout's size and
// alignment.
#[cfg(target_arch = "nvptx64")]
unsafe impl GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN {
            // SAFETY: `malloc` accepts any size.
            return unsafe { malloc(layout.size()).cast() };
        }
        // SAFETY: `offset` is at most `align`, so the `size` bytes at `aligned` are within the allocation. `offset` is
        // at least 16, so the word that stores `offset` fits before `aligned`.
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
        // SAFETY: `ptr` comes from `alloc`, which stores the offset in the preceding word if the alignment exceeds
        // `MALLOC_ALIGN`.
        unsafe {
            let offset = if layout.align() <= MALLOC_ALIGN { 0 } else { ptr.cast::<usize>().sub(1).read() };
            free(ptr.sub(offset).cast());
        }
    }
}

/// The allocator that `alloc` uses.
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;
