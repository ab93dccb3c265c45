//! The modifiers of floating-point instructions and of `cvt`, as a set of flags.

/// A set of modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modifiers(u16);

impl Modifiers {
    /// No modifier.
    pub const NONE: Self = Self(0);
    /// A rounding mode: `.rn`, `.rz`, `.rm`, `.rp`; for `cvt` also `.rna`.
    pub const ROUNDING: Self = Self(1);
    /// Subnormal operands and results are flushed to zero.
    pub const FTZ: Self = Self(1 << 1);
    /// The result is clamped to 0…1, or to the range of the integer type.
    pub const SAT: Self = Self(1 << 2);
    /// `.approx`
    pub const APPROX: Self = Self(1 << 3);
    /// `.full`, for `div`.
    pub const FULL: Self = Self(1 << 4);
    /// `min`, `max`: the result is NaN if any operand is NaN.
    pub const NAN: Self = Self(1 << 5);
    /// `min`, `max`: the result's sign is the exclusive or of the operands' signs.
    pub const XORSIGN: Self = Self(1 << 6);
    /// `min`, `max`: the magnitudes are compared.
    pub const ABS: Self = Self(1 << 7);
    /// A negative result becomes zero.
    pub const RELU: Self = Self(1 << 8);
    /// Infinity becomes the largest finite number.
    pub const SATFINITE: Self = Self(1 << 9);
    /// `cvt`: a floating-point number is rounded to an integer first (`.rni` and the like).
    pub const INTEGRAL: Self = Self(1 << 10);
    /// The numbers are `bf16` instead of `f16`. PTX writes this as the type, not as a modifier.
    pub const BRAIN: Self = Self(1 << 11);
    /// A 32-bit register holds two 16-bit numbers. PTX writes this as the type, not as a modifier.
    pub const PACKED: Self = Self(1 << 12);
    /// `fma`: the result is zero if a factor is the out-of-bounds NaN.
    pub const OOB: Self = Self(1 << 13);

    /// Returns the modifiers of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the modifiers of this set that are not in the other set.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether the two sets have a modifier in common.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether all modifiers of this set are in `allowed`.
    pub const fn within(self, allowed: Self) -> bool {
        self.0 & !allowed.0 == 0
    }
}
