//! Registers that hold several small integers.

/// Applies `f` to the unsigned halves of two registers.
#[inline(always)]
pub(super) fn halves_u(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let low = f(a as u16, b as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16);
    u32::from(high) << 16 | u32::from(low)
}

/// Applies `f` to the signed halves of two registers.
#[inline(always)]
pub(super) fn halves_s(a: u32, b: u32, f: impl Fn(i16, i16) -> i16) -> u32 {
    halves_u(a, b, |a, b| f(a.cast_signed(), b.cast_signed()).cast_unsigned())
}

/// Returns the four bytes, lowest first.
#[inline(always)]
pub(super) fn bytes_u(value: u32) -> [i32; 4] {
    let [a, b, c, d] = value.to_le_bytes();
    [a.into(), b.into(), c.into(), d.into()]
}

/// Returns the four sign-extended bytes, lowest first.
#[inline(always)]
pub(super) fn bytes_s(value: u32) -> [i32; 4] {
    let [a, b, c, d] = value.to_le_bytes();
    [a.cast_signed().into(), b.cast_signed().into(), c.cast_signed().into(), d.cast_signed().into()]
}

/// Returns the two halves, lowest first.
#[inline(always)]
pub(super) fn pair_u(value: u32) -> [i32; 2] {
    [(value as u16).into(), ((value >> 16) as u16).into()]
}

/// Returns the two sign-extended halves, lowest first.
#[inline(always)]
pub(super) fn pair_s(value: u32) -> [i32; 2] {
    [(value as i16).into(), ((value >> 16) as i16).into()]
}

/// Returns the sum of the products, over the length of the shorter array.
#[inline(always)]
pub(super) fn dot<const N: usize>(a: [i32; N], b: [i32; 4]) -> u32 {
    let mut sum = 0i32;
    for (a, b) in a.into_iter().zip(b) {
        sum = sum.wrapping_add(a.wrapping_mul(b));
    }
    sum.cast_unsigned()
}
