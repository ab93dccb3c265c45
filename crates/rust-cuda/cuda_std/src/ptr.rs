//! State spaces: functions that determine which memory a pointer points to, and that convert pointers between spaces.
//!
//! Rust's pointers are **generic**: they can address any memory, and shared and local memory are windows in the generic
//! address space (PTX ISA §5.1).

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.isspacep.global"]
    safe fn llvm_isspacep_global(ptr: *const u8) -> bool;
    #[link_name = "llvm.nvvm.isspacep.shared"]
    safe fn llvm_isspacep_shared(ptr: *const u8) -> bool;
    #[link_name = "llvm.nvvm.isspacep.const"]
    safe fn llvm_isspacep_const(ptr: *const u8) -> bool;
    #[link_name = "llvm.nvvm.isspacep.local"]
    safe fn llvm_isspacep_local(ptr: *const u8) -> bool;
}

/// The memories of a GPU that a pointer can point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Device memory that all threads read and write.
    Global,
    /// On-chip memory with one copy per block.
    Shared,
    /// Device memory that only the host writes, and that is cached for uniform reads.
    Constant,
    /// The private memory of each thread: its stack.
    Local,
}

/// Returns whether `ptr` points into `address_space`: `isspacep` (PTX ISA §9.7.9). The compiler folds the call if it
/// knows the result.
///
/// # Safety
/// There are no preconditions. The function is `unsafe` only because upstream's function is `unsafe`.
#[gpu_only]
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    let ptr = ptr.cast();
    match address_space {
        AddressSpace::Global => llvm_isspacep_global(ptr),
        AddressSpace::Shared => llvm_isspacep_shared(ptr),
        AddressSpace::Constant => llvm_isspacep_const(ptr),
        AddressSpace::Local => llvm_isspacep_local(ptr),
    }
}

/// Converts the generic `ptr` to an address within `address_space`: `cvta.to` (PTX ISA §9.7.9). The result is for
/// inline assembly that names the space; Rust code must not dereference it.
///
/// # Safety
/// The caller must ensure that `ptr` points into `address_space`.
#[gpu_only]
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
    let specific;
    // SAFETY: the instruction only reads and writes registers.
    unsafe {
        macro_rules! cvta {
            ($space:literal) => {
                core::arch::asm!(
                    concat!("cvta.to.", $space, ".u64 {}, {};"),
                    out(reg64) specific,
                    in(reg64) ptr,
                    options(pure, nomem, nostack),
                )
            };
        }
        match address_space {
            AddressSpace::Global => cvta!("global"),
            AddressSpace::Shared => cvta!("shared"),
            AddressSpace::Constant => cvta!("const"),
            AddressSpace::Local => cvta!("local"),
        }
    }
    specific
}

/// Converts the address `ptr` within `address_space` to a generic pointer: `cvta` (PTX ISA §9.7.9).
///
/// # Safety
/// The caller must ensure that `ptr` is an address within `address_space`.
#[gpu_only]
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
    let generic;
    // SAFETY: the instruction only reads and writes registers.
    unsafe {
        macro_rules! cvta {
            ($space:literal) => {
                core::arch::asm!(
                    concat!("cvta.", $space, ".u64 {}, {};"),
                    out(reg64) generic,
                    in(reg64) ptr,
                    options(pure, nomem, nostack),
                )
            };
        }
        match address_space {
            AddressSpace::Global => cvta!("global"),
            AddressSpace::Shared => cvta!("shared"),
            AddressSpace::Constant => cvta!("const"),
            AddressSpace::Local => cvta!("local"),
        }
    }
    generic
}
