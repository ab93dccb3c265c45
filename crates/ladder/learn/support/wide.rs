//! 16-byte accesses, the widest accesses that a thread can make with one instruction (`ld.v4.b32`, `st.v4.b32`).
//!
//! The 32 accesses of a warp are 512 bytes, or 16 sectors. With 4-byte words, they are 128 bytes, or 4 sectors. So wide
//! accesses need a quarter of the instructions for the same bytes, and a quarter of the requests to keep the same
//! number of bytes in flight.

use core::array;

/// `N` neighboring elements, aligned for a 16-byte access (PTX ISA, "Vectors").
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
/// The caller must ensure that `from` points to `N` elements and is aligned to 16 bytes, and that no thread writes
/// these elements at the same time.
#[inline(always)]
#[must_use]
pub unsafe fn load<T: Copy, const N: usize>(from: *const T) -> [T; N] {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // SAFETY: `from` points to `N` elements and is aligned to 16 bytes.
    unsafe { (*from.cast::<Wide<T, N>>()).0 }
}

/// Stores `N` neighboring elements with one instruction.
///
/// # Safety
/// The caller must ensure that `to` points to `N` elements and is aligned to 16 bytes, and that no other thread
/// accesses these elements at the same time.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(to: *mut T, elements: [T; N]) {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // The array is copied element by element, because the compiler copies a whole loaded array 8 bytes at a time.
    let elements = array::from_fn(|k| elements[k]);
    // SAFETY: `to` points to `N` elements and is aligned to 16 bytes.
    unsafe { *to.cast::<Wide<T, N>>() = Wide(elements) };
}
