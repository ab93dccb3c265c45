//! Accesses of 16 bytes, the maximum that a thread reads or writes with one instruction (`ld.v4.b32`, `st.v4.b32`).
//!
//! The 32 accesses of a warp are 512 bytes, or 16 sectors. With words of 4 bytes they are 128 bytes, or 4 sectors. The
//! same bytes need a quarter of the instructions, and a quarter of the requests keeps the same number of bytes in
//! flight.

use core::array;

/// `N` neighboring elements, aligned for an access of 16 bytes (PTX ISA, "Vectors").
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Wide<T, const N: usize>(pub [T; N]);

/// Returns the number of elements of type `T` in 16 bytes.
#[must_use]
pub const fn width<T>() -> usize {
    16 / size_of::<T>()
}

/// Loads `N` neighboring elements with one instruction.
///
/// # Safety
/// The caller must ensure that `from` points to `N` elements and is a multiple of 16, and that no thread writes these
/// elements at the same time.
#[inline(always)]
#[must_use]
pub unsafe fn load<T: Copy, const N: usize>(from: *const T) -> [T; N] {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // SAFETY: `from` points to `N` elements and is a multiple of 16.
    unsafe { (*from.cast::<Wide<T, N>>()).0 }
}

/// Stores `N` neighboring elements with one instruction.
///
/// # Safety
/// The caller must ensure that `to` points to `N` elements and is a multiple of 16, and that no other thread accesses
/// these elements at the same time.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(to: *mut T, elements: [T; N]) {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // Copied element by element, because the compiler copies a whole array from a load in pieces of 8 bytes.
    let elements = array::from_fn(|k| elements[k]);
    // SAFETY: `to` points to `N` elements and is a multiple of 16.
    unsafe { *to.cast::<Wide<T, N>>() = Wide(elements) };
}
