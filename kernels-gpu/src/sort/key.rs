//! Traits for the types of keys and values.
//!
//! A radix sort orders unsigned integers by their digits. A key of another type is first mapped to unsigned bits that
//! have the same order as the keys (Satish, Harris and Garland 2009, section 4; Merrill and Grimshaw 2011, section
//! 2.1):
//!
//! | key | order | bits |
//! |---|---|---|
//! | `u32`, `u64` | numeric | the key |
//! | `i32` | numeric | the sign bit flipped: negative keys are smaller |
//! | `f32` | [`f32::total_cmp`]: -NaN, -∞, …, -0, +0, …, +∞, +NaN | of a positive key, the sign bit flipped; of a negative key, all bits flipped |
//!
//! The method names differ from the inherent methods of the types. A kernel is compiled with `K` as an alias of its
//! type, so an inherent method such as `f32::to_bits` would take precedence.

/// A key type.
pub trait Key: Copy {
    /// The unsigned integer type of the key's size.
    type Ordered: Copy + Ord;

    /// The number of bits of a key.
    const KEY_BITS: u32;
    /// The greatest ordered bits of a key, which fill a tile after its last key.
    const GREATEST: Self::Ordered;

    /// Returns the key's ordered bits, which have the same order as the keys.
    fn to_ordered(self) -> Self::Ordered;
    /// Returns the key with these ordered bits.
    fn from_ordered(ordered: Self::Ordered) -> Self;
    /// Returns `WIDTH` of a key's ordered bits, starting at bit `shift`. Bit 0 is the lowest bit. `WIDTH` is at most
    /// 31.
    fn digit<const WIDTH: u32>(ordered: Self::Ordered, shift: u32) -> u32;
}

/// The ordered bits of a key.
pub type Ordered<K> = <K as Key>::Ordered;

/// The sign bit.
const SIGN: u32 = 1 << 31;

macro_rules! keys {
    ($($key:ident as $ordered:ident: $to:expr, $from:expr;)*) => {$(
        impl Key for $key {
            type Ordered = $ordered;
            const KEY_BITS: u32 = $ordered::BITS;
            const GREATEST: $ordered = $ordered::MAX;

            #[inline(always)]
            fn to_ordered(self) -> $ordered {
                $to(self)
            }

            #[inline(always)]
            fn from_ordered(ordered: $ordered) -> Self {
                $from(ordered)
            }

            #[inline(always)]
            fn digit<const WIDTH: u32>(ordered: $ordered, shift: u32) -> u32 {
                (ordered >> shift) as u32 & ((1 << WIDTH) - 1)
            }
        }
    )*};
}

keys! {
    u32 as u32: |key| key, |ordered| ordered;
    u64 as u64: |key| key, |ordered| ordered;
    i32 as u32: |key: i32| key.cast_unsigned() ^ SIGN, |ordered: u32| (ordered ^ SIGN).cast_signed();
    f32 as u32: float_to_ordered, ordered_to_float;
}

#[inline(always)]
fn float_to_ordered(key: f32) -> u32 {
    let bits = key.to_bits();
    // All ones for a negative key, and the sign bit for a positive key.
    let flipped = (bits.cast_signed() >> 31).cast_unsigned() | SIGN;
    bits ^ flipped
}

#[inline(always)]
fn ordered_to_float(ordered: u32) -> f32 {
    // The sign bit is set in the ordered bits of a positive key.
    let flipped = (ordered >> 31).wrapping_sub(1) | SIGN;
    f32::from_bits(ordered ^ flipped)
}

/// A value type. Values move with their keys.
pub trait Value: Copy {
    /// The value for the positions after the last value of a tile.
    const NONE: Self;
}
/// A sort without values: memory accesses of this type compile to nothing.
impl Value for () {
    const NONE: Self = ();
}
impl Value for u32 {
    const NONE: Self = 0;
}
