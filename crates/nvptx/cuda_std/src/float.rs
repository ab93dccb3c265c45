//! The mathematical functions of `f32` and `f64` that are in `std` but not in `core`: [`GpuFloat`].
//!
//! `min`, `max`, `abs`, `clamp`, `signum` and the like are `core`'s own methods and need no trait
//! (`f32::max` becomes `max.f32`).

#[cfg(any(target_arch = "nvptx64", test))]
mod exp;

/// Mathematics for `f32` and `f64` without `std`, with the names of `std`'s methods.
///
/// # Accuracy
/// Each method names one of three classes:
/// * **exact**: the correctly rounded result, in one or a few instructions;
/// * **approx**: the hardware's approximation or made from it, with a relative error of at most
///   2^-22 (4 ulp) over the whole range, subnormals included; CUDA C++ does the same for the function
///   of that name, and measures 2 ulp;
/// * **libm**: the portable code of the `libm` crate, about 1 ulp, the same result as on the host, and
///   50 to 1000 instructions; those that reduce large angles use local memory. Upstream calls NVIDIA's libdevice here, which is faster
///   and of the same order of accuracy, but comes only with the CUDA toolkit.
///
/// Off the GPU all is libm's, so that **approx** may differ there in the last bits.
///
/// Where speed matters more than a few ulp, build on [`exp2`](Self::exp2), which for `f32` is one
/// instruction.
pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
    /// The greatest integer not above `self`. Exact (`cvt.rmi`).
    #[must_use]
    fn floor(self) -> Self;
    /// The least integer not below `self`. Exact (`cvt.rpi`).
    #[must_use]
    fn ceil(self) -> Self;
    /// The nearest integer, halves away from 0. Exact.
    #[must_use]
    fn round(self) -> Self;
    /// The integer part, towards 0. Exact (`cvt.rzi`).
    #[must_use]
    fn trunc(self) -> Self;
    /// `self - self.trunc()`. Exact.
    #[must_use]
    fn fract(self) -> Self;
    /// The absolute value. Exact (`abs`).
    #[must_use]
    fn abs(self) -> Self;
    /// 1 or -1 with the sign of `self`; NaN for a NaN. Exact.
    #[must_use]
    fn signum(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`. Exact (`copysign`).
    #[must_use]
    fn copysign(self, sign: Self) -> Self;
    /// `self * a + b`, rounded once. Exact (`fma.rn`).
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The integer `n` for which `self - n * rhs` is [`rem_euclid`](Self::rem_euclid). libm.
    #[must_use]
    fn div_euclid(self, rhs: Self) -> Self;
    /// The least nonnegative remainder of `self` by `rhs`. libm, whose remainder is exact where the
    /// PTX backend's own `%` is not.
    #[must_use]
    fn rem_euclid(self, rhs: Self) -> Self;
    /// `self` to the power `n`, by repeated multiplication: an error of about half an ulp each.
    #[must_use]
    fn powi(self, n: i32) -> Self;
    /// `self` to the power `n`. libm.
    #[must_use]
    fn powf(self, n: Self) -> Self;
    /// The square root; NaN below 0. Exact (`sqrt.rn`).
    #[must_use]
    fn sqrt(self) -> Self;
    /// e to the power `self`. `f32`: approx (`ex2.approx` after an exact reduction); `f64`: libm.
    #[must_use]
    fn exp(self) -> Self;
    /// 2 to the power `self`. `f32`: approx (`ex2.approx`); `f64`: libm.
    #[must_use]
    fn exp2(self) -> Self;
    /// The natural logarithm. libm.
    #[must_use]
    fn ln(self) -> Self;
    /// The logarithm to `base`: `self.ln() / base.ln()`. libm.
    #[must_use]
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2. libm.
    #[must_use]
    fn log2(self) -> Self;
    /// The logarithm to base 10. libm.
    #[must_use]
    fn log10(self) -> Self;
    /// The cube root. libm.
    #[must_use]
    fn cbrt(self) -> Self;
    /// The root of `self² + other²`, without overflow on the way. libm.
    #[must_use]
    fn hypot(self, other: Self) -> Self;
    /// The sine of `self` radians. libm.
    #[must_use]
    fn sin(self) -> Self;
    /// The cosine of `self` radians. libm.
    #[must_use]
    fn cos(self) -> Self;
    /// The tangent of `self` radians. libm.
    #[must_use]
    fn tan(self) -> Self;
    /// The arcsine, in radians. libm.
    #[must_use]
    fn asin(self) -> Self;
    /// The arccosine, in radians. libm.
    #[must_use]
    fn acos(self) -> Self;
    /// The arctangent, in radians. libm.
    #[must_use]
    fn atan(self) -> Self;
    /// The angle of the point (`other`, `self`), in radians, -π to π. libm.
    #[must_use]
    fn atan2(self, other: Self) -> Self;
    /// Sine and cosine of `self` radians. libm.
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
    /// e to the power `self`, minus 1, accurate near 0. libm.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// The natural logarithm of 1 + `self`, accurate near 0. libm.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// The hyperbolic sine. libm.
    #[must_use]
    fn sinh(self) -> Self;
    /// The hyperbolic cosine. libm.
    #[must_use]
    fn cosh(self) -> Self;
    /// The hyperbolic tangent. libm.
    #[must_use]
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine. libm.
    #[must_use]
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine. libm.
    #[must_use]
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent. libm.
    #[must_use]
    fn atanh(self) -> Self;
}

mod private {
    /// Only `f32` and `f64`: the trait may grow.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The functions that differ between the GPU and the host, under the same names.
#[cfg(target_arch = "nvptx64")]
mod basic {
    /// `core`'s functions, which are LLVM's intrinsics.
    macro_rules! core_math {
        ($($type:ident),*) => {$(
            pub(super) mod $type {
                pub(in super::super) use core::$type::math::{ceil, floor, mul_add, round, sqrt, trunc};
            }
        )*};
    }
    core_math!(f32, f64);

    unsafe extern "unadjusted" {
        #[link_name = "llvm.nvvm.ex2.approx.f32"]
        safe fn llvm_ex2_approx(x: f32) -> f32;
    }

    /// `ex2.approx.f32` (PTX ISA §9.7.3.21): relative error at most 2^-22.5.
    #[inline(always)]
    pub(super) fn exp2_f32(x: f32) -> f32 {
        llvm_ex2_approx(x)
    }

    #[inline(always)]
    pub(super) fn exp_f32(x: f32) -> f32 {
        super::exp::exp_from_exp2(x, exp2_f32)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod basic {
    pub(super) use libm::{exp2f as exp2_f32, expf as exp_f32};

    pub(super) mod f32 {
        pub(in super::super) use libm::{
            ceilf as ceil, floorf as floor, fmaf as mul_add, roundf as round, sqrtf as sqrt,
            truncf as trunc,
        };
    }

    pub(super) mod f64 {
        pub(in super::super) use libm::{ceil, floor, fma as mul_add, round, sqrt, trunc};
    }
}

/// Methods that are one function of one argument.
macro_rules! unary {
    ($($method:ident = $function:path;)*) => {$(
        #[inline(always)]
        fn $method(self) -> Self {
            $function(self)
        }
    )*};
}

macro_rules! binary {
    ($($method:ident = $function:path;)*) => {$(
        #[inline(always)]
        fn $method(self, other: Self) -> Self {
            $function(self, other)
        }
    )*};
}

macro_rules! gpu_float {
    ($type:ident: $fmod:path, $sincos:path, { $($one:tt)* }, { $($two:tt)* }) => {
        impl GpuFloat for $type {
            unary! {
                floor = basic::$type::floor;
                ceil = basic::$type::ceil;
                round = basic::$type::round;
                trunc = basic::$type::trunc;
                sqrt = basic::$type::sqrt;
                // Inherent methods of `core`; the path finds them before the trait's.
                abs = $type::abs;
                signum = $type::signum;
                $($one)*
            }

            binary! {
                copysign = $type::copysign;
                $($two)*
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                basic::$type::mul_add(self, a, b)
            }

            #[inline(always)]
            fn fract(self) -> Self {
                self - basic::$type::trunc(self)
            }

            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = basic::$type::trunc(self / rhs);
                if $fmod(self, rhs) < 0.0 {
                    if rhs > 0.0 { quotient - 1.0 } else { quotient + 1.0 }
                } else {
                    quotient
                }
            }

            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let remainder = $fmod(self, rhs);
                if remainder < 0.0 { remainder + rhs.abs() } else { remainder }
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                let (mut square, mut left, mut power) = (self, n.unsigned_abs(), 1.0);
                loop {
                    if left & 1 == 1 {
                        power *= square;
                    }
                    left >>= 1;
                    if left == 0 {
                        break;
                    }
                    square *= square;
                }
                if n < 0 { 1.0 / power } else { power }
            }

            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }

            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                $sincos(self)
            }
        }
    };
}

gpu_float!(f32: libm::fmodf, libm::sincosf, {
    exp = basic::exp_f32;
    exp2 = basic::exp2_f32;
    ln = libm::logf;
    log2 = libm::log2f;
    log10 = libm::log10f;
    cbrt = libm::cbrtf;
    sin = libm::sinf;
    cos = libm::cosf;
    tan = libm::tanf;
    asin = libm::asinf;
    acos = libm::acosf;
    atan = libm::atanf;
    exp_m1 = libm::expm1f;
    ln_1p = libm::log1pf;
    sinh = libm::sinhf;
    cosh = libm::coshf;
    tanh = libm::tanhf;
    asinh = libm::asinhf;
    acosh = libm::acoshf;
    atanh = libm::atanhf;
}, {
    powf = libm::powf;
    hypot = libm::hypotf;
    atan2 = libm::atan2f;
});

gpu_float!(f64: libm::fmod, libm::sincos, {
    exp = libm::exp;
    exp2 = libm::exp2;
    ln = libm::log;
    log2 = libm::log2;
    log10 = libm::log10;
    cbrt = libm::cbrt;
    sin = libm::sin;
    cos = libm::cos;
    tan = libm::tan;
    asin = libm::asin;
    acos = libm::acos;
    atan = libm::atan;
    exp_m1 = libm::expm1;
    ln_1p = libm::log1p;
    sinh = libm::sinh;
    cosh = libm::cosh;
    tanh = libm::tanh;
    asinh = libm::asinh;
    acosh = libm::acosh;
    atanh = libm::atanh;
}, {
    powf = libm::pow;
    hypot = libm::hypot;
    atan2 = libm::atan2;
});

#[cfg(test)]
mod tests {
    use super::GpuFloat;

    #[test]
    fn remainders_are_euclidean() {
        for (a, b, quotient, remainder) in [
            (7.5_f32, 2.0_f32, 3.0, 1.5),
            (-7.5, 2.0, -4.0, 0.5),
            (7.5, -2.0, -3.0, 1.5),
            (-7.5, -2.0, 4.0, 0.5),
            (1e7, 3.0, 3_333_333.0, 1.0),
        ] {
            assert_eq!(
                (GpuFloat::div_euclid(a, b), GpuFloat::rem_euclid(a, b)),
                (quotient, remainder)
            );
        }
    }

    #[test]
    fn integer_powers() {
        assert_eq!(GpuFloat::powi(3.0_f32, 0), 1.0);
        assert_eq!(GpuFloat::powi(3.0_f32, 5), 243.0);
        assert_eq!(GpuFloat::powi(-2.0_f64, 3), -8.0);
        assert_eq!(GpuFloat::powi(2.0_f64, -10), 1.0 / 1024.0);
        assert_eq!(GpuFloat::powi(2.0_f64, i32::MIN), 0.0);
        assert_eq!(GpuFloat::powi(1.0_f32, i32::MIN), 1.0);
    }

    #[test]
    fn each_method_is_the_function_of_its_name() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let x = 0.375_f64;
        near(GpuFloat::sin(x) / GpuFloat::cos(x), GpuFloat::tan(x));
        near(GpuFloat::sin(GpuFloat::asin(x)), x);
        near(GpuFloat::cos(GpuFloat::acos(x)), x);
        near(GpuFloat::tan(GpuFloat::atan(x)), x);
        near(GpuFloat::atan2(x, 1.0), GpuFloat::atan(x));
        near(GpuFloat::sinh(x) / GpuFloat::cosh(x), GpuFloat::tanh(x));
        near(GpuFloat::sinh(GpuFloat::asinh(x)), x);
        near(GpuFloat::cosh(GpuFloat::acosh(2.0)), 2.0);
        near(GpuFloat::tanh(GpuFloat::atanh(x)), x);
        near(GpuFloat::exp(GpuFloat::ln(x)), x);
        near(GpuFloat::exp2(GpuFloat::log2(x)), x);
        near(GpuFloat::powf(10.0, GpuFloat::log10(x)), x);
        near(GpuFloat::log(8.0, 2.0_f64), 3.0);
        near(GpuFloat::exp_m1(x), GpuFloat::exp(x) - 1.0);
        near(GpuFloat::ln_1p(x), GpuFloat::ln(1.0 + x));
        near(GpuFloat::cbrt(0.125), 0.5);
        near(GpuFloat::hypot(3.0, 4.0), 5.0);
        assert_eq!(GpuFloat::sin_cos(x), (GpuFloat::sin(x), GpuFloat::cos(x)));
        assert_eq!([2.5_f64, -2.5].map(GpuFloat::floor), [2.0, -3.0]);
        assert_eq!([2.5_f64, -2.5].map(GpuFloat::ceil), [3.0, -2.0]);
        assert_eq!([2.5_f64, -2.5].map(GpuFloat::round), [3.0, -3.0]);
        assert_eq!([2.5_f64, -2.5].map(GpuFloat::trunc), [2.0, -2.0]);
        assert_eq!([2.5_f64, -2.5].map(GpuFloat::fract), [0.5, -0.5]);
        assert_eq!([2.5_f64, -2.5].map(GpuFloat::abs), [2.5, 2.5]);
        assert_eq!([2.5_f64, -2.5].map(GpuFloat::signum), [1.0, -1.0]);
        assert_eq!(GpuFloat::copysign(2.5_f64, -1.0), -2.5);
        assert_eq!(GpuFloat::mul_add(2.0_f64, 3.0, 4.0), 10.0);
        assert_eq!(GpuFloat::sqrt(2.25_f64), 1.5);
    }
}
