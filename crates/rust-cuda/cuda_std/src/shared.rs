//! Shared memory: on-chip memory with one copy per thread block, uninitialized when the block starts and discarded when
//! it ends (PTX ISA §5.1.7).
//!
//! There are two ways to declare shared memory:
//! * a static with [`#[address_space(shared)]`](crate::address_space), if its size is known at compile time;
//! * [`dynamic_shared_mem`], if each launch chooses its size.
//!
//! ```
//! use core::mem::MaybeUninit;
//! use cuda_std::{address_space, prelude::*};
//!
//! /// Reverses 64 elements.
//! ///
//! /// # Safety
//! /// The caller must launch one block of 64 threads, and `data` must point to 64 elements.
//! #[kernel]
//! pub unsafe fn reverse(data: *mut i32) {
//!     #[address_space(shared)]
//!     static mut TILE: MaybeUninit<[i32; 64]> = MaybeUninit::uninit();
//!     let tile = (&raw mut TILE).cast::<i32>();
//!     let i = thread::thread_idx_x() as usize;
//!     // SAFETY: i < 64, because the block has 64 threads. Each element is written before the
//!     // barrier and read after it.
//!     unsafe {
//!         *tile.add(i) = *data.add(i);
//!         thread::sync_threads();
//!         *data.add(i) = *tile.add(63 - i);
//!     }
//! }
//! ```
//!
//! The type is [`MaybeUninit`](core::mem::MaybeUninit), because the memory is uninitialized until a thread of the block
//! writes it. Access it through the raw pointer: a reference would promise that no other thread writes the memory.

use crate::gpu_only;

/// Returns a `*mut T` to `N` uninitialized elements of shared memory: `shared_array![T; N]`.
///
/// Do not use this macro in new code. It exists for kernels that were written for cuda_std 0.2.2 and older. Upstream
/// removed it "due to unsoundness" (its CHANGELOG.md, "Unreleased", at revision 946c91f). The commit, e13bca6, gives
/// these reasons: hand-written `Send` and `Sync` around an `UnsafeCell`, examples that ignore the rules of
/// [`MaybeUninit`](core::mem::MaybeUninit), and a macro that hides all of this. The macro is a safe expression, but
/// returns a pointer to uninitialized memory that all threads of the block write. The line that calls the macro shows
/// neither that the memory is uninitialized nor that all threads write it.
///
/// Write the static instead. It works with upstream's cuda_std and with this crate:
///
/// ```
/// # use core::mem::MaybeUninit;
/// # use cuda_std::address_space;
/// # fn kernel() {
/// #[address_space(shared)]
/// static mut TILE: MaybeUninit<[i32; 64]> = MaybeUninit::uninit();
/// let tile = (&raw mut TILE).cast::<i32>();
/// # }
/// ```
///
/// `N` is a constant expression of type `usize`. Neither `N` nor `T` can use generics of the enclosing function. Each
/// occurrence in the source is one static: the same occurrence always returns the same memory, and a different
/// occurrence returns different memory.
///
/// # Safety
/// Getting the pointer is safe, but using it is not. The memory is uninitialized until a thread of
/// the block writes it, and another thread may read it only after
/// [`sync_threads`](crate::thread::sync_threads) (within a warp,
/// [`sync_warp`](crate::warp::sync_warp)).
#[macro_export]
macro_rules! shared_array {
    ($array_type:ty; $len:expr) => {{
        #[$crate::address_space(shared)]
        #[allow(dead_code)]
        static mut SHARED: ::core::mem::MaybeUninit<[$array_type; $len]> = ::core::mem::MaybeUninit::uninit();
        #[$crate::gpu_only]
        #[inline(always)]
        fn shared_array() -> *mut $array_type {
            (&raw mut SHARED).cast()
        }
        shared_array()
    }};
}

/// Returns a pointer to the launch's dynamic shared memory, which is separate from the statics. Every call returns the
/// same pointer, aligned to 16 bytes.
///
/// The launch's `shared_mem_bytes` sets the size of this memory, and
/// [`dynamic_smem_size`](crate::mem::dynamic_smem_size) returns it. In PTX, the memory is one `.extern .shared` array
/// without a size (PTX ISA §11.6.1). `cuda_builder` creates the array from the symbol `_Zcuda_std_dyn_shared`, which is
/// upstream's name.
///
/// # Safety
/// Getting the pointer is safe, but using it is not. The memory is uninitialized until a thread of the block writes it.
/// Another thread may read it only after [`sync_threads`](crate::thread::sync_threads). Every access must lie within
/// the launch's dynamic shared memory. The alignment of `T` must be at most 16.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    #[repr(C, align(16))]
    struct Dynamic([u8; 0]);

    unsafe extern "C" {
        #[link_name = "_Zcuda_std_dyn_shared"]
        static mut DYNAMIC: Dynamic;
    }
    const { assert!(align_of::<T>() <= 16, "dynamic shared memory is aligned to 16 bytes") };
    (&raw mut DYNAMIC).cast()
}
