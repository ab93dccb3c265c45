//! The formats of elements: those that a tensor core multiplies, and those that it adds up.
//!
//! The conversions are `cvt.rn.bf16.f32`, `cvt.rn.f16.f32`, `cvt.f32.f16`, and `cvt.rn.bf16x2.f32` and
//! `cvt.rn.f16x2.f32` for two floats at once (PTX ISA, "Data Movement and Conversion Instructions: cvt").

/// bfloat16: the upper half of a 32-bit float, with 8 bits of precision.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bf16(pub u16);

/// Half precision (IEEE 754 binary16), with 11 bits of precision.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F16(pub u16);

/// TF32: a 32-bit float of which a tensor core uses 11 bits of precision. The lower bits are zero.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tf32(pub f32);

pub use core::primitive::f32;

/// An element of `a` or `b`, the matrices that are multiplied.
pub trait Element: Copy {
    /// The number 0.
    const ZERO: Self;

    /// Returns the value of this element, which a 32-bit float holds exactly.
    fn to_f32(self) -> f32;
}

/// An element of `c`, the product.
pub trait Output: Copy {
    /// Rounds a sum to the nearest value, ties to even.
    fn from_f32(sum: f32) -> Self;

    /// Two neighboring elements as one word: `u32` for elements of 16 bits.
    type Pair: Copy;

    /// Rounds two sums for neighboring elements.
    fn pair(first: f32, second: f32) -> Self::Pair;
}

/// Rounds two sums to one word of 16-bit elements: with one instruction from compute capability 8.0 on.
macro_rules! packed {
    ($instruction:literal, $element:ty, $first:ident, $second:ident) => {{
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        {
            let bits;
            // SAFETY: a conversion accesses no memory.
            unsafe {
                core::arch::asm!(concat!($instruction, " {}, {}, {};"), out(reg32) bits, in(reg32) $second,
                    in(reg32) $first, options(pure, nomem, nostack));
            }
            bits
        }
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
        {
            u32::from(<$element>::from_f32($first).0) | u32::from(<$element>::from_f32($second).0) << 16
        }
    }};
}

/// Two floats, aligned for one access of 8 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct Two(pub [f32; 2]);

impl Element for Bf16 {
    const ZERO: Self = Self(0);

    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl Output for Bf16 {
    #[inline(always)]
    fn from_f32(sum: f32) -> Self {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        {
            let bits;
            // SAFETY: a conversion accesses no memory.
            unsafe {
                core::arch::asm!("cvt.rn.bf16.f32 {}, {};", out(reg16) bits, in(reg32) sum,
                    options(pure, nomem, nostack));
            }
            Self(bits)
        }
        // Older devices have no instruction for this conversion.
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
        {
            let bits = sum.to_bits();
            if sum.is_nan() {
                return Self(0x7fff);
            }
            // Half a unit in the last place that is kept, or slightly less if that place is even (ties to even).
            let half = 0x7fff + (bits >> 16 & 1);
            Self((bits.wrapping_add(half) >> 16) as u16)
        }
    }

    type Pair = u32;

    #[inline(always)]
    fn pair(first: f32, second: f32) -> u32 {
        packed!("cvt.rn.bf16x2.f32", Self, first, second)
    }
}

impl Element for F16 {
    const ZERO: Self = Self(0);

    #[inline(always)]
    fn to_f32(self) -> f32 {
        let value: f32;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a conversion accesses no memory.
        unsafe {
            core::arch::asm!("cvt.f32.f16 {}, {};", out(reg32) value, in(reg16) self.0, options(pure, nomem, nostack));
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            value = 0.0;
        }
        value
    }
}

impl Output for F16 {
    #[inline(always)]
    fn from_f32(sum: f32) -> Self {
        let bits: u16;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a conversion accesses no memory.
        unsafe {
            core::arch::asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) sum, options(pure, nomem, nostack));
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            bits = sum as u16;
        }
        Self(bits)
    }

    type Pair = u32;

    #[inline(always)]
    fn pair(first: f32, second: f32) -> u32 {
        packed!("cvt.rn.f16x2.f32", Self, first, second)
    }
}

impl Element for Tf32 {
    const ZERO: Self = Self(0.0);

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self.0
    }
}

impl Output for f32 {
    #[inline(always)]
    fn from_f32(sum: f32) -> Self {
        sum
    }

    type Pair = Two;

    #[inline(always)]
    fn pair(first: f32, second: f32) -> Two {
        Two([first, second])
    }
}
