//! Products with twice the width of the operands.

/// An integer type with a product type of twice its width.
pub(super) trait Wide: Sized {
    type Product;
    /// Returns the full product.
    fn wide(self, other: Self) -> Self::Product;
    /// Returns the upper half of the product.
    fn high(self, other: Self) -> Self;
}

macro_rules! wide {
    ($($ty:ident in $product:ident;)*) => {$(
        impl Wide for $ty {
            type Product = $product;
            #[inline(always)]
            fn wide(self, other: Self) -> $product {
                // The product type can hold every product.
                $product::from(self).wrapping_mul($product::from(other))
            }
            #[inline(always)]
            fn high(self, other: Self) -> Self {
                (self.wide(other) >> $ty::BITS) as $ty
            }
        }
    )*};
}

wide! {
    u16 in u32;
    i16 in i32;
    u32 in u64;
    i32 in i64;
    u64 in u128;
    i64 in i128;
}

/// Returns the 48-bit product of the low 24 bits.
#[inline(always)]
pub(super) fn mul24_u(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff).wrapping_mul(u64::from(b & 0xff_ffff))
}

/// Returns the product of the low 24 bits of the operands, whose signs are in bit 23.
#[inline(always)]
pub(super) fn mul24_s(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8).wrapping_mul(i64::from(b << 8 >> 8))
}
