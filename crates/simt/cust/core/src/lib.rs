//! The crate that cust shares with device code, with the same name and items as upstream: [`DeviceCopy`] and its
//! derive.
//!
//! A `[patch.crates-io]` replaces the registry's crate with this one. This crate depends on `libcuda`, so every program
//! that uses cust starts even on machines without a CUDA driver, with no change to its source.
//!
//! There is one difference from upstream: the types of glam, mint and vek are `DeviceCopy` only if the features with
//! those names are on (cust's `impl_glam`, `impl_mint`, `impl_vek`). Upstream has them on by default.
#![no_std]

// Links `libcuda`, which defines the functions that cust calls.
#[cfg(not(target_arch = "nvptx64"))]
use libcuda as _;

pub use _hidden::DeviceCopy;
pub use cust_derive::DeviceCopyCore as DeviceCopy;

/// The name by which cust imports the trait without its derive macro.
#[doc(hidden)]
pub mod _hidden {
    use core::marker::PhantomData;
    use core::num::{NonZero, Wrapping};

    /// A type whose values can be copied to and from a device byte by byte.
    ///
    /// `#[derive(DeviceCopy)]` checks that all fields are `DeviceCopy`.
    ///
    /// # Safety
    /// The implementer must ensure that the type holds no reference, and no pointer to memory that the device cannot
    /// access.
    pub unsafe trait DeviceCopy: Copy {}

    macro_rules! plain {
        ($([$($generic:ident),*] $ty:ty;)*) => {$(
            // SAFETY: the type is a number, or consists only of its type parameters, which are `DeviceCopy`.
            unsafe impl<$($generic: DeviceCopy),*> DeviceCopy for $ty {}
        )*};
    }

    plain! {
        [] (); [] bool; [] char; [] f32; [] f64;
        [] u8; [] u16; [] u32; [] u64; [] u128; [] usize;
        [] i8; [] i16; [] i32; [] i64; [] i128; [] isize;
        [] NonZero<u8>; [] NonZero<u16>; [] NonZero<u32>; [] NonZero<u64>; [] NonZero<u128>;
        [] PhantomData<&()>;
        [T] PhantomData<T>; [T] Option<T>; [T] Wrapping<T>; [L, R] Result<L, R>;
        [A, B] (A, B); [A, B, C] (A, B, C); [A, B, C, D] (A, B, C, D); [A, B, C, D, E] (A, B, C, D, E);
        [A, B, C, D, E, F] (A, B, C, D, E, F); [A, B, C, D, E, F, G] (A, B, C, D, E, F, G);
        [A, B, C, D, E, F, G, H] (A, B, C, D, E, F, G, H);
    }

    // SAFETY: an array consists only of its elements, which are `DeviceCopy`.
    unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}

    #[cfg(feature = "glam")]
    plain! { [] glam::Vec2; [] glam::Vec3; [] glam::Vec4; [] glam::IVec2; [] glam::IVec3; [] glam::IVec4; }
    #[cfg(feature = "half")]
    plain! { [] half::f16; [] half::bf16; }
    #[cfg(feature = "num-complex")]
    plain! { [T] num_complex::Complex<T>; }
    #[cfg(feature = "mint")]
    plain! {
        [T] mint::Vector2<T>; [T] mint::Vector3<T>; [T] mint::Vector4<T>;
        [T] mint::ColumnMatrix2<T>; [T] mint::ColumnMatrix3<T>; [T] mint::ColumnMatrix4<T>;
        [T] mint::ColumnMatrix3x4<T>; [T] mint::RowMatrix2<T>; [T] mint::RowMatrix3<T>; [T] mint::RowMatrix4<T>;
        [T] mint::RowMatrix3x4<T>;
    }
    #[cfg(feature = "vek")]
    plain! {
        [T] vek::Vec2<T>; [T] vek::Vec3<T>; [T] vek::Vec4<T>; [T] vek::Extent2<T>; [T] vek::Extent3<T>;
        [T] vek::Mat2<T>; [T] vek::Mat3<T>; [T] vek::Mat4<T>;
        [T] vek::CubicBezier2<T>; [T] vek::CubicBezier3<T>; [T] vek::Quaternion<T>;
    }
}
