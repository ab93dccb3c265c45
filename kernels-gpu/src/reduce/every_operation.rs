//! Writes the kernels of a rung that computes more than the sum of `i32`.

/// Writes a rung's kernels for every operation and type but the sum of `i32`, which the rung writes itself by
/// [`entries!`](crate::entries): `name_max_f32_128` and so on, with blocks of 128 threads unless others are named. The
/// constant `EVERY_OPERATION` is then the rung's entries, those of the sum of `i32` first.
///
/// `body` is generic over the element, the operation and the block, and takes shared memory of `len`
/// elements first. A further argument, which a kernel has before `n`, is named behind the blocks. Operations other than
/// all are named at the end, with their words and their types.
macro_rules! every_operation {
    ($name:ident; $($rest:tt)*) => {
        every_operation! { $name for [128]; $($rest)* }
    };
    ($name:ident for $blocks:tt $(with $arg:ident: $ty:ty)?; shared [$len:expr]; $body:ident) => {
        every_operation! {
            $name for $blocks $(with $arg: $ty)?; shared [$len]; $body;
            Sum sum [u32 i64 f32 f64],
            Product product [i32 u32 i64 f32 f64],
            Min min [i32 u32 i64 f32 f64],
            Max max [i32 u32 i64 f32 f64],
        }
    };
    ($name:ident for $blocks:tt $(with $arg:ident: $ty:ty)?; shared [$len:expr]; $body:ident;
     $($operations:tt)*) => {
        every_operation! { @each [$name $blocks [$($arg: $ty)?] [$len] $body] $name $blocks $($operations)* }
    };
    (@each $rung:tt $name:ident $blocks:tt $($operation:ident $word:ident [$($type:ident)*]),* $(,)?) => {
        $($(every_operation! { @kernels $rung $operation $word $type })*)*
        ::pastey::paste! {
            /// The entries for every operation and type.
            const EVERY_OPERATION: ::rung::Entries = ::rung::Entries::PerVariant(&[
                ("", [<$name:upper>].entries),
                $($((
                    concat!(stringify!($word), "_", stringify!($type)),
                    ::rung::Entries::PerBlock($crate::entries!(@blocks $blocks)),
                ),)*)*
            ]);
        }
    };
    (@kernels [$name:ident $blocks:tt [$($arg:ident: $ty:ty)?] [$len:expr] $body:ident]
     $operation:ident $word:ident $type:ident) => {
        ::pastey::paste! {
            entries! {
                #[doc = concat!("The ", stringify!($word), " of `", stringify!($type), "`.")]
                ///
                /// # Safety
                #[doc = concat!("As `", stringify!($name), "`.")]
                [<$name _ $word _ $type>](input: *const $type, output: *mut $type, $($arg: $ty,)? n: u32)
                for BLOCK in $blocks;
                shared tile: [$type; $len];
                // SAFETY: the body has the kernel's contract.
                => unsafe {
                    $body::<$type, $crate::reduce::operation::$operation, BLOCK>(
                        tile, input, output, $($arg,)? n,
                    );
                }
            }
        }
    };
}
pub(super) use every_operation;
