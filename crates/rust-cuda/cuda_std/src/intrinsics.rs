//! libdevice's functions, under upstream's names: CUDA's `__nv_sinf` is `sinf` ("libdevice User's Guide").
//!
//! Upstream declares NVIDIA's library of LLVM bitcode, which comes with the CUDA toolkit. The functions here have the
//! same names, arguments and result types, and need no toolkit:
//! * A function that is one instruction in libdevice (rounding, conversion, `fast_…`) is the same instruction here,
//!   with bit-identical results. Such a function only runs on the GPU.
//! * Integer functions use Rust's operators, which become the same instructions.
//! * The remaining functions come from [`GpuFloat`] or the `libm` crate. Like libdevice's functions, they are accurate
//!   to within a few ulp, but their results can differ from libdevice's in the last bits. Functions that neither
//!   `GpuFloat` nor `libm` provides are implemented in this module ("made here"), in `f64` for both types.
//!
//! # Safety
//! A function that takes a pointer writes through it, so the caller must ensure that the pointer is valid for a write.
//! The other functions are `unsafe` only because upstream declares them as foreign functions.

use crate::{GpuFloat, gpu_only};
use pastey::paste;

/// Defines functions with a body and one line of documentation.
macro_rules! functions {
    ($($name:ident($($arg:ident: $ty:ty),*) $(-> $result:ty)? = $body:expr;)*) => {$(
        #[doc = concat!("libdevice's `__nv_", stringify!($name), "`.")]
        ///
        /// # Safety
        /// See the [module](self).
        #[inline]
        #[allow(unused_unsafe)]
        pub unsafe fn $name($($arg: $ty),*) $(-> $result)? {
            // SAFETY: a pointer argument is valid for a write, as the module requires; there are no other
            // preconditions.
            unsafe { $body }
        }
    )*};
}

/// Defines functions that are one instruction: `name(arguments: registers and types) -> register and type =
/// "instruction"`.
macro_rules! instructions {
    ($($name:ident($($arg:ident: $class:ident $ty:ty),*) -> $out:ident $result:ty = $text:expr;)*) => {$(
        #[doc = concat!("libdevice's `__nv_", stringify!($name), "`: `", $text, "`.")]
        ///
        /// # Safety
        /// See the [module](self).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name($($arg: $ty),*) -> $result {
            let result;
            // SAFETY: the instruction only reads and writes registers.
            unsafe {
                core::arch::asm!(
                    concat!($text, " {result}", $(", {", stringify!($arg), "}",)* ";"),
                    result = out($out) result,
                    $($arg = in($class) $arg,)*
                    options(pure, nomem, nostack),
                );
            }
            result
        }
    )*};
}

/// Defines the four rounding modes of an instruction: to nearest, toward 0, down and up. `float` is for arithmetic,
/// `integer` for conversions to integers.
macro_rules! rounded {
    (float: $($name:ident $args:tt -> $out:ident $result:ty = $op:literal, $ty:literal;)*) => {$(
        rounded!(@ $name $args $out $result, $op, $ty, "rn", "rz", "rm", "rp");
    )*};
    (integer: $($name:ident $args:tt -> $out:ident $result:ty = $op:literal, $ty:literal;)*) => {$(
        rounded!(@ $name $args $out $result, $op, $ty, "rni", "rzi", "rmi", "rpi");
    )*};
    (@ $name:ident $args:tt $out:ident $result:ty, $op:literal, $ty:literal, $rn:literal, $rz:literal, $rd:literal, $ru:literal) => {
        paste! { instructions! {
            [<$name _rn>] $args -> $out $result = concat!($op, ".", $rn, ".", $ty);
            [<$name _rz>] $args -> $out $result = concat!($op, ".", $rz, ".", $ty);
            [<$name _rd>] $args -> $out $result = concat!($op, ".", $rd, ".", $ty);
            [<$name _ru>] $args -> $out $result = concat!($op, ".", $ru, ".", $ty);
        }}
    };
}

rounded! { float:
    fadd(x: reg32 f32, y: reg32 f32) -> reg32 f32 = "add", "f32";
    fsub(x: reg32 f32, y: reg32 f32) -> reg32 f32 = "sub", "f32";
    fmul(x: reg32 f32, y: reg32 f32) -> reg32 f32 = "mul", "f32";
    fdiv(x: reg32 f32, y: reg32 f32) -> reg32 f32 = "div", "f32";
    fmaf(x: reg32 f32, y: reg32 f32, z: reg32 f32) -> reg32 f32 = "fma", "f32";
    frcp(x: reg32 f32) -> reg32 f32 = "rcp", "f32";
    fsqrt(x: reg32 f32) -> reg32 f32 = "sqrt", "f32";
    dadd(x: reg64 f64, y: reg64 f64) -> reg64 f64 = "add", "f64";
    dmul(x: reg64 f64, y: reg64 f64) -> reg64 f64 = "mul", "f64";
    ddiv(x: reg64 f64, y: reg64 f64) -> reg64 f64 = "div", "f64";
    fma(x: reg64 f64, y: reg64 f64, z: reg64 f64) -> reg64 f64 = "fma", "f64";
    drcp(x: reg64 f64) -> reg64 f64 = "rcp", "f64";
    dsqrt(x: reg64 f64) -> reg64 f64 = "sqrt", "f64";
    double2float(d: reg64 f64) -> reg32 f32 = "cvt", "f32.f64";
    int2float(i: reg32 i32) -> reg32 f32 = "cvt", "f32.s32";
    uint2float(i: reg32 i32) -> reg32 f32 = "cvt", "f32.u32";
    ll2float(l: reg64 i64) -> reg32 f32 = "cvt", "f32.s64";
    ull2float(l: reg64 i64) -> reg32 f32 = "cvt", "f32.u64";
    ll2double(l: reg64 i64) -> reg64 f64 = "cvt", "f64.s64";
    ull2double(l: reg64 i64) -> reg64 f64 = "cvt", "f64.u64";
}

rounded! { integer:
    float2int(f: reg32 f32) -> reg32 i32 = "cvt", "s32.f32";
    float2uint(f: reg32 f32) -> reg32 i32 = "cvt", "u32.f32";
    float2ll(f: reg32 f32) -> reg64 i64 = "cvt", "s64.f32";
    float2ull(f: reg32 f32) -> reg64 i64 = "cvt", "u64.f32";
    double2int(d: reg64 f64) -> reg32 i32 = "cvt", "s32.f64";
    double2uint(d: reg64 f64) -> reg32 i32 = "cvt", "u32.f64";
    double2ll(d: reg64 f64) -> reg64 i64 = "cvt", "s64.f64";
    double2ull(d: reg64 f64) -> reg64 i64 = "cvt", "u64.f64";
}

instructions! {
    rint(x: reg64 f64) -> reg64 f64 = "cvt.rni.f64.f64";
    rintf(x: reg32 f32) -> reg32 f32 = "cvt.rni.f32.f32";
    nearbyint(x: reg64 f64) -> reg64 f64 = "cvt.rni.f64.f64";
    nearbyintf(x: reg32 f32) -> reg32 f32 = "cvt.rni.f32.f32";
    llrint(x: reg64 f64) -> reg64 i64 = "cvt.rni.s64.f64";
    llrintf(x: reg32 f32) -> reg64 i64 = "cvt.rni.s64.f32";
    rsqrtf(x: reg32 f32) -> reg32 f32 = "rsqrt.approx.f32";
    float2half_rn(f: reg32 f32) -> reg16 i16 = "cvt.rn.f16.f32";
    half2float(h: reg16 i16) -> reg32 f32 = "cvt.f32.f16";
    byte_perm(x: reg32 i32, y: reg32 i32, z: reg32 i32) -> reg32 i32 = "prmt.b32";
    fast_sinf(x: reg32 f32) -> reg32 f32 = "sin.approx.f32";
    fast_cosf(x: reg32 f32) -> reg32 f32 = "cos.approx.f32";
    fast_log2f(x: reg32 f32) -> reg32 f32 = "lg2.approx.f32";
    fast_fdividef(x: reg32 f32, y: reg32 f32) -> reg32 f32 = "div.approx.f32";
}

/// Defines functions that call methods of [`GpuFloat`], from a list of the `f64` name and the `f32` name.
macro_rules! methods {
    ($($name:ident $name32:ident $args:tt = $method:ident;)*) => {$(
        methods!(@ $name f64 $args $method);
        methods!(@ $name32 f32 $args $method);
    )*};
    (@ $name:ident $ty:ident (x) $method:ident) => { functions! { $name(x: $ty) -> $ty = GpuFloat::$method(x); } };
    (@ $name:ident $ty:ident (x, y) $method:ident) => {
        functions! { $name(x: $ty, y: $ty) -> $ty = GpuFloat::$method(x, y); }
    };
}

methods! {
    acos acosf(x) = acos; acosh acoshf(x) = acosh; asin asinf(x) = asin; asinh asinhf(x) = asinh;
    atan atanf(x) = atan; atanh atanhf(x) = atanh; cbrt cbrtf(x) = cbrt; ceil ceilf(x) = ceil; cos cosf(x) = cos;
    cosh coshf(x) = cosh; exp expf(x) = exp; exp2 exp2f(x) = exp2; expm1 expm1f(x) = exp_m1; fabs fabsf(x) = abs;
    floor floorf(x) = floor; log logf(x) = ln; log10 log10f(x) = log10; log1p log1pf(x) = ln_1p;
    log2 log2f(x) = log2; round roundf(x) = round; sin sinf(x) = sin; sinh sinhf(x) = sinh; sqrt sqrtf(x) = sqrt;
    tan tanf(x) = tan; tanh tanhf(x) = tanh; trunc truncf(x) = trunc;
    atan2 atan2f(x, y) = atan2; copysign copysignf(x, y) = copysign; hypot hypotf(x, y) = hypot; pow powf(x, y) = powf;
}

/// Defines functions that call the `libm` function of the same name.
macro_rules! of_libm {
    ($ty:ident: $($one:ident)*; $($two:ident)*) => { functions! {
        $($one(x: $ty) -> $ty = libm::$one(x);)*
        $($two(x: $ty, y: $ty) -> $ty = libm::$two(x, y);)*
    }};
}

of_libm!(f64: erf erfc exp10 j0 j1 y0 y1 lgamma tgamma; fdim fmax fmin fmod nextafter remainder);
of_libm!(f32: erff erfcf exp10f j0f j1f y0f y1f lgammaf tgammaf; fdimf fmaxf fminf fmodf nextafterf remainderf);

/// Defines the functions that are the same for both types, from one list of names.
macro_rules! both {
    ($ty:ident: $([$($name:ident)*])*) => { both! { @ $ty $($($name)*)* } };
    (@ $ty:ident $fma:ident $frexp:ident $ilogb:ident $jn:ident $yn:ident $ldexp:ident $scalbn:ident $llround:ident
        $logb:ident $modf:ident $nan:ident $powi:ident $remquo:ident $sincos:ident $sincospi:ident $cospi:ident $sinpi:ident
        $erfcinv:ident $erfcx:ident $erfinv:ident $normcdf:ident $normcdfinv:ident $rcbrt:ident
        $isinf:ident $isnan:ident $finite:ident $signbit:ident) => { functions! {
        $fma(x: $ty, y: $ty, z: $ty) -> $ty = GpuFloat::mul_add(x, y, z);
        $frexp(x: $ty, b: *mut i32) -> $ty = store(libm::$frexp(x), b);
        $ilogb(x: $ty) -> i32 = libm::$ilogb(x);
        $jn(n: i32, x: $ty) -> $ty = libm::$jn(n, x);
        $yn(n: i32, x: $ty) -> $ty = libm::$yn(n, x);
        $ldexp(x: $ty, y: i32) -> $ty = libm::$ldexp(x, y);
        $scalbn(x: $ty, y: i32) -> $ty = libm::$scalbn(x, y);
        $llround(x: $ty) -> i64 = GpuFloat::round(x) as i64;
        $logb(x: $ty) -> $ty = match x {
            0.0 => $ty::NEG_INFINITY,
            _ if x.is_finite() => libm::$ilogb(x) as $ty,
            _ => x * x,
        };
        $modf(x: $ty, b: *mut $ty) -> $ty = store(libm::$modf(x), b);
        $nan(_tagp: *mut i8) -> $ty = $ty::NAN;
        $powi(x: $ty, y: i32) -> $ty = GpuFloat::powi(x, y);
        $remquo(x: $ty, y: $ty, quo: *mut i32) -> $ty = store(libm::$remquo(x, y), quo);
        $sincos(x: $ty, sptr: *mut $ty, cptr: *mut $ty) = (*sptr, *cptr) = GpuFloat::sin_cos(x);
        $sincospi(x: $ty, sptr: *mut $ty, cptr: *mut $ty) = {
            let (sin, cos) = made::sin_cos_pi(f64::from(x));
            (*sptr, *cptr) = (sin as $ty, cos as $ty);
        };
        $cospi(x: $ty) -> $ty = made::sin_cos_pi(f64::from(x)).1 as $ty;
        $sinpi(x: $ty) -> $ty = made::sin_cos_pi(f64::from(x)).0 as $ty;
        $erfcinv(x: $ty) -> $ty = made::erfc_inv(f64::from(x)) as $ty;
        $erfcx(x: $ty) -> $ty = made::erfcx(f64::from(x)) as $ty;
        $erfinv(x: $ty) -> $ty = made::erf_inv(f64::from(x)) as $ty;
        $normcdf(x: $ty) -> $ty = made::normal_cdf(f64::from(x)) as $ty;
        $normcdfinv(x: $ty) -> $ty = (-made::erfc_inv(2.0 * f64::from(x)) * core::f64::consts::SQRT_2) as $ty;
        $rcbrt(x: $ty) -> $ty = 1.0 / GpuFloat::cbrt(x);
        $isinf(x: $ty) -> i32 = i32::from(x.is_infinite());
        $isnan(x: $ty) -> i32 = i32::from(x.is_nan());
        $finite(x: $ty) -> i32 = i32::from(x.is_finite());
        $signbit(x: $ty) -> i32 = i32::from(x.is_sign_negative());
    }};
}

both! { f64:
    [fma frexp ilogb jn yn ldexp scalbn llround logb modf nan powi remquo sincos sincospi cospi sinpi]
    [erfcinv erfcx erfinv normcdf normcdfinv rcbrt isinfd isnand isfinited signbitd]
}
both! { f32:
    [fmaf frexpf ilogbf jnf ynf ldexpf scalbnf llroundf logbf modff nanf powif remquof sincosf sincospif cospif sinpif]
    [erfcinvf erfcxf erfinvf normcdff normcdfinvf rcbrtf isinff isnanf finitef signbitf]
}

functions! {
    rsqrt(x: f64) -> f64 = 1.0 / GpuFloat::sqrt(x);
    frsqrt_rn(x: f32) -> f32 = (1.0 / GpuFloat::sqrt(f64::from(x))) as f32;
    // As with the modifier `.sat` of an instruction, the result for a NaN is 0.
    saturatef(x: f32) -> f32 = 1.0_f32.min(x.max(0.0));
    int2double_rn(i: i32) -> f64 = f64::from(i);
    uint2double_rn(i: i32) -> f64 = f64::from(i as u32);
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    double2hiint(d: f64) -> i32 = (d.to_bits() >> 32) as i32;
    double2loint(d: f64) -> i32 = d.to_bits() as i32;
    hiloint2double(x: i32, y: i32) -> f64 = f64::from_bits(u64::from(x as u32) << 32 | u64::from(y as u32));

    abs(x: i32) -> i32 = x.wrapping_abs();
    llabs(x: i64) -> i64 = x.wrapping_abs();
    brev(x: i32) -> i32 = x.reverse_bits();
    brevll(x: i64) -> i64 = x.reverse_bits();
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    popc(x: i32) -> i32 = x.count_ones() as i32;
    popcll(x: i64) -> i32 = x.count_ones() as i32;
    max(x: i32, y: i32) -> i32 = x.max(y);
    min(x: i32, y: i32) -> i32 = x.min(y);
    umax(x: i32, y: i32) -> i32 = (x as u32).max(y as u32) as i32;
    umin(x: i32, y: i32) -> i32 = (x as u32).min(y as u32) as i32;
    llmax(x: i64, y: i64) -> i64 = x.max(y);
    llmin(x: i64, y: i64) -> i64 = x.min(y);
    ullmax(x: i64, y: i64) -> i64 = (x as u64).max(y as u64) as i64;
    ullmin(x: i64, y: i64) -> i64 = (x as u64).min(y as u64) as i64;
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    mul24(x: i32, y: i32) -> i32 = (x << 8 >> 8).wrapping_mul(y << 8 >> 8);
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    sad(x: i32, y: i32, z: i32) -> i32 = (x.abs_diff(y) as i32).wrapping_add(z);
    usad(x: i32, y: i32, z: i32) -> i32 = ((x as u32).abs_diff(y as u32) as i32).wrapping_add(z);

    fast_expf(x: f32) -> f32 = GpuFloat::exp2(x * core::f32::consts::LOG2_E);
    fast_exp10f(x: f32) -> f32 = GpuFloat::exp2(x * core::f32::consts::LOG2_10);
    fast_logf(x: f32) -> f32 = fast_log2f(x) * core::f32::consts::LN_2;
    fast_log10f(x: f32) -> f32 = fast_log2f(x) * core::f32::consts::LOG10_2;
    fast_powf(x: f32, y: f32) -> f32 = GpuFloat::exp2(y * fast_log2f(x));
    fast_tanf(x: f32) -> f32 = fast_fdividef(fast_sinf(x), fast_cosf(x));
    fast_sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) = (*sptr, *cptr) = (fast_sinf(x), fast_cosf(x));
}

/// Returns the first part of a result and stores the second part in `to`.
///
/// # Safety
/// The caller must ensure that `to` is valid for a write.
unsafe fn store<T, U>((value, stored): (T, U), to: *mut U) -> T {
    // SAFETY: the caller ensures that `to` is valid for a write.
    unsafe { to.write(stored) };
    value
}

mod made;
