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
/// The size is in scope as a constant of type `usize` under the name that follows `for`; a block of two
/// dimensions is written `for X x Y in [32 x 16, …]` and gives `name_32x16`. `shared` can stand any number
/// of times; its pointer is to uninitialized memory, as for every shared static. `resident` before it says how
/// many blocks an SM should hold at a time.
#[macro_export]
macro_rules! entries {
    // The kernel itself.
    (@kernel [$($suffix:tt)*] [$($constant:ident = $value:literal),*] {
        [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),* $(,)?)
        [$($resident:expr)?] [$($tile:ident: [$element:ty; $len:expr])*] $body:expr
    }) => {
        ::pastey::paste! {
            $(#[$doc])*
            #[doc = concat!("\n\nFor blocks of ", stringify!($($suffix)*), " threads.")]
            #[::cuda_std::kernel]
            pub unsafe fn [<$name _ $($suffix)*>]($($arg: $ty),*) {
                $(const $constant: usize = $value;)*
                $crate::launch_bounds!(1 $(* $constant)* $(, $resident)?);
                $(
                    let $tile = {
                        #[::cuda_std::address_space(shared)]
                        static mut TILE: ::core::mem::MaybeUninit<[$element; $len]> =
                            ::core::mem::MaybeUninit::uninit();
                        (&raw mut TILE).cast::<$element>()
                    };
                )*
                $body
            }
        }
    };
    // Each size in turn: a macro cannot repeat one list for each item of another.
    (@each $constants:tt [] $spec:tt) => {};
    (@each [$x:ident $y:ident] [$width:literal x $height:literal $(, $($more:tt)*)?] $spec:tt) => {
        $crate::entries! { @kernel [$width x $height] [$x = $width, $y = $height] $spec }
        $crate::entries! { @each [$x $y] [$($($more)*)?] $spec }
    };
    (@each [$block:ident] [$size:literal $(, $($more:tt)*)?] $spec:tt) => {
        $crate::entries! { @kernel [$size] [$block = $size] $spec }
        $crate::entries! { @each [$block] [$($($more)*)?] $spec }
    };
    ($(#[$doc:meta])* $name:ident $args:tt for $block:ident in $sizes:tt;
     $(resident $resident:expr;)?
     $(shared $tile:ident: [$element:ty; $len:expr];)*
     => $body:expr) => {
        $crate::entries! { @each [$block] $sizes {
            [$(#[$doc])*] $name $args [$($resident)?] [$($tile: [$element; $len])*] $body
        } }
    };
    ($(#[$doc:meta])* $name:ident $args:tt for $x:ident x $y:ident in $sizes:tt;
     $(resident $resident:expr;)?
     $(shared $tile:ident: [$element:ty; $len:expr];)*
     => $body:expr) => {
        $crate::entries! { @each [$x $y] $sizes {
            [$(#[$doc])*] $name $args [$($resident)?] [$($tile: [$element; $len])*] $body
        } }
    };
}
