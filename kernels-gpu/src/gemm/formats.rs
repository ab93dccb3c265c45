//! The entries of a rung for every format that it computes.

/// Writes a rung's kernels, one for each format, and its description.
///
/// ```text
/// products! {
///     /// What it does.
///     gemm_naive for [256] threads;
///     shared 0;
///     rung BASE { lesson: "…" };
///     formats [bf16, f16, tf32];
///     pointers => naive
/// }
/// ```
///
/// gives the kernels `gemm_naive_256` (bfloat16 in and out), `gemm_naive_columns_256`, `gemm_naive_f32_256` (32-bit
/// floats out), `gemm_naive_f16_f32_columns_256` and so on, and the constant `GEMM_NAIVE`. Each calls the unsafe
/// function `naive::<A, C, COLUMN_MAJOR>` with its dynamic shared memory, a `*mut u8` of `shared` bytes, and its
/// arguments: a [`Product`](super::Product) for `pointers`, a `TensorProduct` for `tensor_maps`, that with its
/// workspaces for `tensor_maps_and_workspace`, and with a workspace and the factors to copy for `tensor_maps_of_copies`.
macro_rules! products {
    ($(#[$doc:meta])* $name:ident for [$threads:literal] threads;
     $(resident $resident:literal;)?
     $(cluster $cluster:literal;)?
     shared $shared:expr;
     rung $base:path {$($differs:tt)*};
     formats [$($format:ident),*];
     $arguments:ident => $body:path) => {
        products! { @expand [$($format)*] [] {
            [$(#[$doc])*] $name $threads [$($resident)?] [$($cluster)?] [$shared] [$base] [$($differs)*] $arguments $body
        } }
    };

    // The variants of each format: the name that the host knows it by, the end of the kernel's name, the types of the
    // elements, and whether `b` lies column after column.
    (@expand [bf16 $($more:ident)*] [$($all:tt)*] $spec:tt) => {
        products! { @expand [bf16_to_bf16 $($more)*] [$($all)*] $spec
            ["f32" [_f32] Bf16 f32 false]
            ["f32_columns" [_f32_columns] Bf16 f32 true]
        }
    };
    (@expand [f16 $($more:ident)*] [$($all:tt)*] $spec:tt) => {
        products! { @expand [f16_to_f16 $($more)*] [$($all)*] $spec
            ["f16_f32" [_f16_f32] F16 f32 false]
            ["f16_f32_columns" [_f16_f32_columns] F16 f32 true]
        }
    };
    // The product in the factors' type alone, or with further variants behind.
    (@expand [bf16_to_bf16 $($more:ident)*] [$($all:tt)*] $spec:tt $($variant:tt)*) => {
        products! { @expand [$($more)*] [$($all)*
            ["" [] Bf16 Bf16 false]
            ["columns" [_columns] Bf16 Bf16 true]
            $($variant)*
        ] $spec }
    };
    (@expand [f16_to_f16 $($more:ident)*] [$($all:tt)*] $spec:tt $($variant:tt)*) => {
        products! { @expand [$($more)*] [$($all)*
            ["f16" [_f16] F16 F16 false]
            ["f16_columns" [_f16_columns] F16 F16 true]
            $($variant)*
        ] $spec }
    };
    (@expand [tf32 $($more:ident)*] [$($all:tt)*] $spec:tt) => {
        products! { @expand [tf32_columns $($more)*] [$($all)* ["tf32" [_tf32] Tf32 f32 false]] $spec }
    };
    (@expand [tf32_columns $($more:ident)*] [$($all:tt)*] $spec:tt) => {
        products! { @expand [$($more)*] [$($all)* ["tf32_columns" [_tf32_columns] Tf32 f32 true]] $spec }
    };
    (@expand [] [$($variant:tt)*] $spec:tt) => {
        $(products! { @kernel $variant $spec })*
        products! { @rung [$($variant)*] $spec }
    };

    (@rung [$([$variant:literal $($kernel:tt)*])*] {
        $doc:tt $name:ident $threads:literal $resident:tt $cluster:tt [$shared:expr] [$base:path] [$($differs:tt)*]
        $arguments:ident $body:path
    }) => {
        rung! { $name: $base {
            entries: ::rung::Entries::PerVariant(
                &[$(($variant, ::rung::Entries::PerBlock(&[[$threads, 1, 1]]))),*]
            ),
            shared: ::rung::SharedMemory::Dynamic(|_| $shared),
            form: products!(@form $arguments),
            default_block: [$threads, 1, 1],
            $($differs)*
        } }
    };
    (@form pointers) => { ::rung::Form::Usual };
    (@form tensor_maps) => { ::rung::Form::TensorMaps };
    (@form tensor_maps_of_copies) => { ::rung::Form::TensorMapsOfCopies };
    (@form tensor_maps_and_workspace) => { ::rung::Form::TensorMapsAndWorkspace };

    (@kernel [$variant:literal [$($suffix:ident)?] $a:ident $c:ident $columns:literal] {
        [$(#[$doc:meta])*] $name:ident $threads:literal [$($resident:literal)?] [$($cluster:literal)?] $shared:tt
        $base:tt $differs:tt $arguments:ident $body:path
    }) => {
        products! { @arguments $arguments [$($suffix)?] $a $c
            [$(#[$doc])*] $name $threads [$($resident)?] [$($cluster)?] [$body] [$columns]
        }
    };
    (@arguments pointers [$($suffix:ident)?] $a:ident $c:ident
        $doc:tt $name:ident $threads:literal $resident:tt [] [$body:path] [$columns:literal]
    ) => {
        ::pastey::paste! {
            products! { @entry [<$name $($suffix)? _ $threads>] $doc $threads $resident []
                (
                    a: *const $crate::tensor_core::element::$a, b: *const $crate::tensor_core::element::$a,
                    c: *mut $crate::tensor_core::element::$c, m: u32, n: u32, k: u32,
                ) shared => $body::<_, _, $columns>(shared, &$crate::gemm::Product { a, b, c, m, n, k })
            }
        }
    };
    (@arguments tensor_maps $($more:tt)*) => { products! { @maps [] [] $($more)* } };
    (@arguments tensor_maps_and_workspace $($more:tt)*) => {
        products! { @maps [workspace: *mut u32, parts: *mut f32] [workspace, parts] $($more)* }
    };
    (@arguments tensor_maps_of_copies $($more:tt)*) => {
        products! { @maps
            [workspace: *mut u32, from_a: *const u16, from_b: *const u16, to_a: *mut u16, to_b: *mut u16]
            [workspace, &$crate::gemm::repacked::Copies { from: [from_a, from_b], to: [to_a, to_b] }] $($more)*
        }
    };
    (@maps [$($memory:ident: $type:ty),*] [$($passed:expr),*] [$($suffix:ident)?] $a:ident $c:ident
        $doc:tt $name:ident $threads:literal $resident:tt $cluster:tt [$body:path] [$columns:literal]
    ) => {
        ::pastey::paste! {
            products! { @entry [<$name $($suffix)? _ $threads>] $doc $threads $resident $cluster
                (
                    #[grid_constant] a: &$crate::tensor_core::tensor_map::TensorMap,
                    #[grid_constant] b: &$crate::tensor_core::tensor_map::TensorMap,
                    #[grid_constant] c_map: &$crate::tensor_core::tensor_map::TensorMap,
                    c: *mut $crate::tensor_core::element::$c, m: u32, n: u32, k: u32, $($memory: $type),*
                ) shared => $body::<$crate::tensor_core::element::$a, $crate::tensor_core::element::$c, $columns>(
                    shared,
                    &$crate::gemm::TensorProduct { a, b, c_map, c, m, n, k, elements: ::core::marker::PhantomData },
                    $($passed),*
                )
            }
        }
    };
    (@entry $entry:ident [$(#[$doc:meta])*] $threads:literal [$($resident:literal)?] [$($cluster:literal)?]
        $arguments:tt $shared:ident => $call:expr
    ) => {
        $(#[$doc])*
        #[doc = "\n\n# Safety\nAs [`gemm`](super) says."]
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters are those of its launch")]
        #[::cuda_std::kernel]
        pub unsafe fn $entry $arguments {
            launch_bounds!($threads $(, $resident)?);
            $(cluster!($cluster);)?
            let $shared = ::cuda_std::shared::dynamic_shared_mem::<u8>();
            // SAFETY: the body has the kernel's contract.
            unsafe { $call }
        }
    };
}
