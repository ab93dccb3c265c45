//! Entry points for generic bodies, and the lists of rungs.
//!
//! A kernel has no generics, because a launch names one piece of machine code. A static cannot use the generics of
//! the function around it either. So the body is a generic function that is handed its shared memory, and
//! [`entries!`](crate::entries) writes, for each block size, a kernel that declares the shared static at its concrete
//! size and calls the body: what `template<unsigned BLOCK>` and a `switch` are in CUDA C++. From the same lines it
//! writes the rung's description:
//!
//! ```text
//! entries! {
//!     /// Sums each block's part of the input in shared memory.
//!     reduce_smem(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128];
//!     shared tile: [i32; BLOCK];
//!     rung ON_CHIP { lesson: "the rounds touch global memory no more" };
//!     // SAFETY: the body has the kernel's contract.
//!     => unsafe { smem::<BLOCK, 1>(tile, input, output, n) }
//! }
//! ```
//!
//! gives the kernels `reduce_smem_64` and `reduce_smem_128` and the constant `REDUCE_SMEM`, which is `ON_CHIP` but for
//! its name, its file, these blocks and this shared memory, and the lesson. Each kernel promises the compiler that it is
//! launched with blocks of its size ([`launch_bounds!`](crate::launch_bounds)); a launch with a larger one is refused
//! by the driver.

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

/// How many blocks along x form a cluster. It stands in the kernel's own body; our `cuda_builder` makes the directives
/// `.explicitcluster` and `.reqnctapercluster` of it (PTX ISA, "Cluster Dimension Directives").
#[macro_export]
macro_rules! cluster {
    ($blocks:literal) => {
        $crate::launch_bounds!(@ concat!("// cluster ", $blocks))
    };
}

/// Writes the description of the rung of this name, which differs from another one in its name, its file and these
/// fields. [`entries!`](crate::entries) does so by itself.
#[macro_export]
macro_rules! rung {
    ($name:ident: $base:path {$($field:ident: $value:expr),* $(,)?}) => {
        ::pastey::paste! {
            #[doc = concat!("The rung `", stringify!($name), "`.")]
            pub const [<$name:upper>]: ::rung::Rung = ::rung::Rung {
                name: stringify!($name),
                source: file!(),
                $($field: $value,)*
                ..$base
            };
        }
    };
}

/// Declares a ladder's files as modules and gathers their rungs, in the order of the list, as `RUNGS`.
///
/// Each file has a `pub const RUNGS: &[Rung]` of its own. Descriptions are the host's: the list is not there on a GPU,
/// where a file may be missing because the architecture is too old for it.
#[macro_export]
macro_rules! rungs {
    ($($file:ident),* $(,)?) => {
        $(pub mod $file;)*

        /// The rungs, in the order in which they are climbed.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const RUNGS: &[::rung::Rung] =
            &::rung::concat::<{ 0 $(+ $file::RUNGS.len())* }>(&[$($file::RUNGS),*]);
    };
}

/// Writes one kernel for each block size, and the rung's description; see the [module](self).
///
/// The size is in scope as a constant of type `usize` under the name that follows `for`; a block of two
/// dimensions is written `for X x Y in [32 x 16, …]` and gives `name_32x16`. `resident` says how many blocks an SM
/// should hold at a time. `shared` can stand any number of times; its pointer is to uninitialized memory, as for every
/// shared static. `dynamic` instead gives a pointer to as much shared memory as the launch asks for, which the
/// description has it do. `rung` names the description that this one differs from, and what differs; without it there
/// is no description.
#[macro_export]
macro_rules! entries {
    ($(#[$doc:meta])* $name:ident $args:tt for $($constant:ident)x+ in $sizes:tt;
     $(resident $resident:expr;)?
     $(shared $tile:ident: [$element:ty; $len:expr];)*
     $(dynamic $dynamic:ident: [$dynamic_element:ty; $dynamic_len:expr];)?
     $(rung $base:path {$($differs:tt)*};)?
     => $body:expr) => {
        $crate::entries! { @each [$($constant)*] $sizes {
            [$(#[$doc])*] $name $args [$($resident)?] [$($tile: [$element; $len])*]
            [$($dynamic: $dynamic_element)?] $body
        } }
        $crate::entries! { @rung $name [$($base {$($differs)*})?] [$($constant)*] $sizes
            [$($element; $len)*] [$($dynamic_element; $dynamic_len)?]
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

    // One kernel.
    (@kernel [$($suffix:tt)*] [$($constant:ident = $value:literal),*] {
        [$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),* $(,)?)
        [$($resident:expr)?] [$($tile:ident: [$element:ty; $len:expr])*]
        [$($dynamic:ident: $dynamic_element:ty)?] $body:expr
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
                $(let $dynamic = ::cuda_std::shared::dynamic_shared_mem::<$dynamic_element>();)?
                $body
            }
        }
    };

    // The description.
    (@rung $name:ident [] $constants:tt $sizes:tt $shared:tt $dynamic:tt) => {};
    (@rung $name:ident [$base:path {$($differs:tt)*}] $constants:tt $sizes:tt $shared:tt $dynamic:tt) => {
        $crate::rung! { $name: $base {
            entries: ::rung::Entries::PerBlock($crate::entries!(@blocks $sizes)),
            shared: $crate::entries!(@shared $constants $shared $dynamic),
            $($differs)*
        } }
    };
    (@blocks [$($size:literal),* $(,)?]) => { &[$([$size, 1, 1]),*] };
    (@blocks [$($width:literal x $height:literal),* $(,)?]) => { &[$([$width, $height, 1]),*] };
    (@shared $constants:tt [] []) => { ::rung::SharedMemory::None };
    (@shared $constants:tt $shared:tt []) => {
        ::rung::SharedMemory::Static($crate::entries!(@bytes $constants $shared))
    };
    (@shared $constants:tt [] $dynamic:tt) => {
        ::rung::SharedMemory::Dynamic($crate::entries!(@bytes $constants $dynamic))
    };
    (@bytes [$($constant:ident)*] [$($element:ty; $len:expr)*]) => {
        |block| {
            #[allow(non_snake_case, unused_variables)]
            let [$($constant,)* ..] = block.map(|side| side as usize);
            (0 $(+ size_of::<$element>() * ($len))*) as u32
        }
    };
}
