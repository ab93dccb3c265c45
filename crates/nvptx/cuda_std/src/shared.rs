//! Shared memory: on the chip, one copy for each thread block, uninitialized when the block starts
//! and gone when it ends (PTX ISA §5.1.7).
//!
//! Three ways to have some:
//! * a static with [`#[address_space(shared)]`](crate::address_space), its size known at compile time;
//! * [`shared_array!`](crate::shared_array), the same as an expression;
//! * [`dynamic_shared_mem`], its size chosen at each launch.

use crate::gpu_only;

/// A `*mut T` to `N` uninitialized elements of shared memory: `shared_array![T; N]`.
///
/// `N` is a constant expression of type `usize`; it and `T` cannot use generics of the function
/// around it. The memory is one static per place in the source: the same call always gives the same
/// memory, another call other memory.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::shared_array;
///
/// /// Reverses 64 elements.
/// ///
/// /// # Safety
/// /// One block of 64 threads; `data` points to 64 elements.
/// #[kernel]
/// pub unsafe fn reverse(data: *mut i32) {
///     let tile = shared_array![i32; 64];
///     let i = thread::thread_idx_x() as usize;
///     // SAFETY: `i` is below 64; each element is written before the barrier and read after it.
///     unsafe {
///         *tile.add(i) = *data.add(i);
///         thread::sync_threads();
///         *data.add(i) = *tile.add(63 - i);
///     }
/// }
/// ```
///
/// # Safety
/// The pointer is safe to get. Using it is not: the memory is uninitialized until a thread of the
/// block writes it, and what one thread writes another may read only after
/// [`sync_threads`](crate::thread::sync_threads) (within a warp, [`sync_warp`](crate::warp::sync_warp)).
#[macro_export]
macro_rules! shared_array {
    ($array_type:ty; $len:expr) => {{
        #[$crate::gpu_only]
        #[inline(always)]
        fn shared_array() -> *mut $array_type {
            #[$crate::address_space(shared)]
            static mut SHARED: ::core::mem::MaybeUninit<[$array_type; $len]> = ::core::mem::MaybeUninit::uninit();
            (&raw mut SHARED).cast()
        }
        shared_array()
    }};
}

/// The shared memory that the launch asked for, beside what statics take; every call gives the same
/// pointer, aligned to 16 bytes.
///
/// How many bytes there are is the launch's `shared_mem_bytes`;
/// [`dynamic_smem_size`](crate::mem::dynamic_smem_size) reads it. In PTX it is one `.extern .shared`
/// array without a size (PTX ISA §11.6.1); `cuda_builder` makes it so from the symbol
/// `_Zcuda_std_dyn_shared`, which is upstream's.
///
/// # Safety
/// Getting the pointer is safe, using it is not: the memory is uninitialized until a thread of the block
/// writes it, another thread may read it only after [`sync_threads`](crate::thread::sync_threads), and
/// an access has to lie within the bytes that the launch asked for. `T` needs an alignment of at most
/// 16.
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
