//! Functions that only the compiler calls.
//!
//! `core` compares bytes with `memcmp`. On this target, LLVM cannot compile float remainders or conversions between
//! floats and 128-bit integers, so `cuda_builder` inserts calls to functions of this module instead. These functions
//! have the same names as in the C library and in compiler-rt, and a crate can override them with functions of the same
//! names. Functions that are not called do not appear in the PTX.

#[cfg(target_arch = "nvptx64")]
mod exported {
    use core::ffi::c_int;
    use core::ptr;

    use super::{f32, f64};

    /// Defines functions with the C ABI that another crate can override.
    macro_rules! builtins {
        ($($name:ident($($param:ident: $ty:ty),*) -> $result:ty { $($body:tt)* })*) => { $(
            #[unsafe(no_mangle)]
            #[linkage = "weak"]
            unsafe extern "C" fn $name($($param: $ty),*) -> $result {
                $($body)*
            }
        )* };
    }

    builtins! {
        memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
            // SAFETY: C's contract of `memcpy`: `n` bytes are valid at both addresses and do not overlap.
            unsafe { ptr::copy_nonoverlapping(from, to, n) };
            to
        }
        memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
            // SAFETY: C's contract of `memmove`: `n` bytes are valid at both addresses.
            unsafe { ptr::copy(from, to, n) };
            to
        }
        memset(to: *mut u8, value: c_int, n: usize) -> *mut u8 {
            // SAFETY: C's contract of `memset`: `n` bytes are valid at `to`. C uses the lowest byte of `value`.
            unsafe { ptr::write_bytes(to, value as u8, n) };
            to
        }
        memcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
            // SAFETY: C's contract of `memcmp`: `n` bytes are valid at both addresses.
            unsafe { super::compare(a, b, n) }
        }
        bcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
            // SAFETY: the contract of `bcmp`: `n` bytes are valid at both addresses.
            unsafe { super::compare(a, b, n) }
        }

        fmodf(x: f32, y: f32) -> f32 { libm::fmodf(x, y) }
        fmod(x: f64, y: f64) -> f64 { libm::fmod(x, y) }
        __floatuntisf(x: u128) -> f32 { f32::from_unsigned(x) }
        __floatuntidf(x: u128) -> f64 { f64::from_unsigned(x) }
        __floattisf(x: i128) -> f32 { f32::from_signed(x) }
        __floattidf(x: i128) -> f64 { f64::from_signed(x) }
        __fixunssfti(x: f32) -> u128 { f32::to_unsigned(x) }
        __fixunsdfti(x: f64) -> u128 { f64::to_unsigned(x) }
        __fixsfti(x: f32) -> i128 { f32::to_signed(x) }
        __fixdfti(x: f64) -> i128 { f64::to_signed(x) }
    }
}

/// Returns the difference between the first two bytes that differ, or 0.
///
/// # Safety
/// The caller must ensure that `n` bytes are valid at both addresses.
#[cfg(any(target_arch = "nvptx64", test))]
#[inline(always)]
unsafe fn compare(a: *const u8, b: *const u8, n: usize) -> i32 {
    // Comparing words would need fewer steps, but would require testing whether an address is a multiple of 8. With this
    // test, the compiler would lose track of the address space.
    for at in 0..n {
        // SAFETY: `at < n`, and `n` bytes are valid at both addresses.
        let (x, y) = unsafe { (*a.add(at), *b.add(at)) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

/// Defines the conversions between a float type and 128-bit integers, with the results of Rust's `as`.
macro_rules! conversions {
    ($($float:ident: $bits:ident)*) => { $(
        #[cfg(any(target_arch = "nvptx64", test))]
        mod $float {
            const MANTISSA: u32 = $float::MANTISSA_DIGITS - 1;
            const BIAS: u32 = $float::MAX_EXP as u32 - 1;

            pub(super) fn from_unsigned(x: u128) -> $float {
                let Err(_) = u64::try_from(x) else {
                    return x as u64 as $float;
                };
                let zeros = x.leading_zeros();
                let x = x << zeros;
                // The lower half affects only the rounding of the upper half, so one sticky bit replaces it.
                let upper = (x >> 64) as u64 | u64::from(x as u64 != 0);
                let power_of_2 = $float::from_bits($bits::from(BIAS + 64 - zeros) << MANTISSA);
                upper as $float * power_of_2
            }

            pub(super) fn from_signed(x: i128) -> $float {
                let magnitude = from_unsigned(x.unsigned_abs());
                if x < 0 { -magnitude } else { magnitude }
            }

            pub(super) fn to_unsigned(x: $float) -> u128 {
                if x.is_nan() || x < 1.0 {
                    return 0;
                }
                let exponent = (x.to_bits() >> MANTISSA) as u32 - BIAS;
                let mantissa = x.to_bits() & ((1 << MANTISSA) - 1) | 1 << MANTISSA;
                match exponent {
                    128.. => u128::MAX,
                    MANTISSA.. => u128::from(mantissa) << (exponent - MANTISSA),
                    _ => u128::from(mantissa >> (MANTISSA - exponent)),
                }
            }

            pub(super) fn to_signed(x: $float) -> i128 {
                let magnitude = i128::try_from(to_unsigned(x.abs()));
                if x < 0.0 { magnitude.map_or(i128::MIN, |value| -value) } else { magnitude.unwrap_or(i128::MAX) }
            }
        }
    )* };
}

conversions!(f32: u32 f64: u64);

#[cfg(test)]
mod tests;
