//! Entry points for generic bodies: what `template<unsigned BLOCK>` and a `switch` are in CUDA C++.
//!
//! A kernel has no generics, for a launch names one piece of machine code. A static cannot use the
//! generics of the function around it either. So the body is a generic function that is handed its
//! shared memory, and [`entries!`](crate::entries) writes, for each block size, a kernel that declares the shared
//! static at its concrete size and calls the body:
//!
//! ```text
//! entries! {
//!     /// Sums each block's part of the input in shared memory.
//!     reduce_smem(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128];
//!     shared tile: [i32; BLOCK];
//!     // SAFETY: the body's contract is the kernel's.
//!     => unsafe { smem::<BLOCK, 1>(tile, input, output, n) }
//! }
//! ```
//!
//! gives `reduce_smem_64` and `reduce_smem_128`. Each promises the compiler that it is launched with
//! blocks of that size ([`launch_bounds!`](crate::launch_bounds)); a launch with a larger one is refused by the driver.

/// Tells the compiler how large a block the kernel around it is launched with, at most, and how many
/// blocks an SM should hold: CUDA C++'s `__launch_bounds__`.
///
/// The comment travels through the compiler inside an empty `asm!` block; our `cuda_builder` turns it
/// into the kernel's `.maxntid` and `.minnctapersm` (PTX ISA §11.4), upstream's leaves the comment be.
#[macro_export]
macro_rules! launch_bounds {
    ($max_threads:expr) => {
        $crate::launch_bounds!(@ "// launch_bounds {}", const $max_threads)
    };
    ($max_threads:expr, $min_blocks:expr) => {
        $crate::launch_bounds!(@ "// launch_bounds {} {}", const $max_threads, const $min_blocks)
    };
    (@ $($comment:tt)*) => {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a comment has no effect.
        unsafe {
            ::core::arch::asm!($($comment)*, options(nomem, nostack, preserves_flags));
        }
    };
}

/// Writes one kernel for each block size; see the [module](self).
///
/// The size is in scope as a constant of type `usize` under the name that follows `for`. `shared` is
/// optional; its pointer is to uninitialized memory, as for every shared static.
#[macro_export]
macro_rules! entries {
    // One size: the kernel itself.
    (@one $size:literal {
        [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),* $(,)?) $block:ident
        [$($tile:ident: [$element:ty; $len:expr])?] $body:expr
    }) => {
        ::pastey::paste! {
            $(#[$doc])*
            #[doc = concat!("\n\nFor blocks of ", stringify!($size), " threads.")]
            #[::cuda_std::kernel]
            pub unsafe fn [<$name _ $size>]($($arg: $ty),*) {
                const $block: usize = $size;
                $crate::launch_bounds!($block);
                $(
                    #[::cuda_std::address_space(shared)]
                    static mut TILE: ::core::mem::MaybeUninit<[$element; $len]> =
                        ::core::mem::MaybeUninit::uninit();
                    let $tile = (&raw mut TILE).cast::<$element>();
                )?
                $body
            }
        }
    };
    // Each size in turn: a macro cannot repeat one list for each item of another.
    (@each [] $spec:tt) => {};
    (@each [$size:literal $(, $more:literal)*] $spec:tt) => {
        $crate::entries! { @one $size $spec }
        $crate::entries! { @each [$($more),*] $spec }
    };
    ($(#[$doc:meta])* $name:ident $args:tt for $block:ident in $sizes:tt;
     $(shared $tile:ident: [$element:ty; $len:expr];)?
     => $body:expr) => {
        $crate::entries! { @each $sizes {
            [$(#[$doc])*] $name $args $block [$($tile: [$element; $len])?] $body
        } }
    };
}
