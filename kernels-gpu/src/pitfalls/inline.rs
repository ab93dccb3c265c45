//! Inline PTX for the pitfalls. `crates/ladder/learn` also copies this file into the crate of a learner's answer.
#![allow(unused, reason = "most kernels have no inline PTX")]

/// Expands to inline PTX on the GPU and to nothing on the host. Debug information points to the line of the call.
#[collapse_debuginfo(yes)]
macro_rules! ptx {
    ($($text:literal),+ $(, $direction:ident($class:ident) $operand:expr)* $(,)?) => {
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!($($text),+ $(, $direction($class) $operand)*, options(nostack, preserves_flags));
    };
}

/// Returns the address of `pointer` in the shared window, for use as an operand of PTX's `.shared` instructions.
///
/// `cuda_builder` replaces the instruction with an LLVM cast, so that the compiler can optimize it.
#[inline(always)]
pub fn shared_address<T>(pointer: *const T) -> u32 {
    let address: u64;
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction converts an address and accesses no memory.
    unsafe {
        core::arch::asm!(
            "cvta.to.shared.u64 {}, {};",
            out(reg64) address,
            in(reg64) pointer,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        address = pointer as u64;
    }
    // Addresses in the shared window are 32-bit (PTX ISA, "Generic Addressing").
    address as u32
}
