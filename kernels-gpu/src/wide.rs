//! Accesses of 16 bytes: the most that a thread reads or writes with one instruction.
//!
//! A warp's 32 such accesses are 512 bytes, 16 sectors, where words are 4. The same bytes take a quarter of the
//! instructions, and as many bytes are in flight with a quarter of the requests.

use core::array;

/// `N` neighbouring elements, aligned as an access of 16 bytes needs it (PTX ISA §9.7.9, "Vector Data Types").
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Wide<T, const N: usize>(pub [T; N]);

/// How many elements of a type are 16 bytes.
#[must_use]
pub const fn width<T>() -> usize {
    16 / size_of::<T>()
}

/// Reads `N` neighbouring elements at once.
///
/// # Safety
/// `from` points to `N` elements that no thread writes meanwhile, and is a multiple of 16.
#[inline(always)]
#[must_use]
pub unsafe fn load<T: Copy, const N: usize>(from: *const T) -> [T; N] {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // SAFETY: as the caller promises.
    unsafe { (*from.cast::<Wide<T, N>>()).0 }
}

/// Writes `N` neighbouring elements at once.
///
/// # Safety
/// `to` points to `N` elements that no other thread accesses meanwhile, and is a multiple of 16.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(to: *mut T, elements: [T; N]) {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // One by one: what is passed on from a load as a whole is copied by pieces of 8 bytes.
    let elements = array::from_fn(|k| elements[k]);
    // SAFETY: as the caller promises.
    unsafe { *to.cast::<Wide<T, N>>() = Wide(elements) };
}
