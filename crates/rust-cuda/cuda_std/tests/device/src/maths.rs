//! `GpuFloat`, and the related methods of `core`.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;
use pastey::paste;

macro_rules! unary {
    ($($method:ident)*) => {$(
        unary!(@one $method f32);
        unary!(@one $method f64);
    )*};
    (@one $method:ident $type:ident) => {paste! {
        #[kernel]
        pub unsafe fn [<math_ $method _ $type>](p: *mut $type) {
            let p = unsafe { p.add(thread::index_1d() as usize) };
            unsafe { *p = GpuFloat::$method(*p) };
        }
    }};
}

unary!(floor ceil round trunc fract abs signum sqrt exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p sinh cosh tanh asinh acosh atanh);

macro_rules! binary {
    ($($method:ident)*) => {$(
        binary!(@one $method f32);
        binary!(@one $method f64);
    )*};
    (@one $method:ident $type:ident) => {paste! {
        #[kernel]
        pub unsafe fn [<math_ $method _ $type>](p: *mut $type, q: *const $type) {
            let i = thread::index_1d() as usize;
            unsafe { *p.add(i) = GpuFloat::$method(*p.add(i), *q.add(i)) };
        }
    }};
}

binary!(copysign div_euclid rem_euclid powf log hypot atan2);

macro_rules! others {
    ($($type:ident)*) => {$(paste! {
        #[kernel]
        pub unsafe fn [<math_mul_add_ $type>](p: *mut $type, a: $type, b: $type) {
            unsafe { *p = (*p).mul_add(a, b) };
        }

        #[kernel]
        pub unsafe fn [<math_powi_ $type>](p: *mut $type, n: i32) {
            unsafe { *p = (*p).powi(n) };
        }

        #[kernel]
        pub unsafe fn [<math_sin_cos_ $type>](p: *mut $type) {
            unsafe { (*p, *p.add(1)) = (*p).sin_cos() };
        }

        /// Uses methods of `core` that no trait provides, with the usual method syntax.
        #[kernel]
        pub unsafe fn [<math_core_ $type>](p: *mut $type, q: $type) {
            unsafe { *p = (*p).max(q).abs() + (*p).min(q).sqrt() };
        }
    })*};
}

others!(f32 f64);
