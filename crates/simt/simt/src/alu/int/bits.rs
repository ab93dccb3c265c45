//! Finding, extracting and inserting bits. No branches, but for `fns`: lanes run side by side.

/// `bfind` of a value with so many leading zeros and the top bit `top`; all ones if there is no bit.
#[inline(always)]
pub(super) fn top_bit(zeros: u32, top: u32) -> u32 {
    // No bit set: one leading zero too many, and the difference is -1.
    top.wrapping_sub(zeros)
}

/// `bfind.shiftamt`: how far the highest bit is from the top; all ones if there is no bit.
#[inline(always)]
pub(super) fn top_shift(zeros: u32, top: u32) -> u32 {
    if zeros > top { u32::MAX } else { zeros }
}

/// The parts of a field's position and length that the hardware uses. The ISA restricts them to 0 to 255. Of larger
/// numbers, the 32-bit instructions use the low byte, as the ISA's pseudo-code does. ptxas translates the 64-bit ones
/// into several instructions that use all bits (seen on an H100, which is followed here).
const LIMIT32: u32 = 0xff;
const LIMIT64: u32 = u32::MAX;

/// `bfe`: the bits `at` to `at + length - 1`.
pub(super) trait Extract {
    fn extract(self, at: u32, length: u32) -> Self;
}

macro_rules! extract {
    ($($unsigned:ident $signed:ident $limit:ident;)*) => {$(
        impl Extract for $unsigned {
            #[inline(always)]
            fn extract(self, at: u32, length: u32) -> Self {
                let (at, length) = (at & $limit, length & $limit);
                let field = self.checked_shr(at).unwrap_or(0);
                // All bits, for a field that is as wide as the register.
                field & !$unsigned::MAX.checked_shl(length).unwrap_or(0)
            }
        }

        impl Extract for $signed {
            #[inline(always)]
            fn extract(self, at: u32, length: u32) -> Self {
                let (at, length) = (at & $limit, length & $limit);
                // Bits behind the top one are copies of it, and so is the sign of a field that reaches
                // there.
                let field = self >> at.min($signed::BITS - 1);
                let spare = $signed::BITS.saturating_sub(length).min($signed::BITS - 1);
                if length == 0 { 0 } else { field << spare >> spare }
            }
        }
    )*};
}

extract! {
    u32 i32 LIMIT32;
    u64 i64 LIMIT64;
}

macro_rules! insert {
    ($($name:ident $ty:ident $limit:ident;)*) => {$(
        /// `bfi`: `b` with the low `length` bits of `a` from bit `at` on. Bits beyond the top are dropped.
        #[inline(always)]
        pub(super) fn $name(a: $ty, b: $ty, at: u32, length: u32) -> $ty {
            let (at, length) = (at & $limit, length & $limit);
            let ones = !$ty::MAX.checked_shl(length).unwrap_or(0);
            let field = ones.checked_shl(at).unwrap_or(0);
            b & !field | a.checked_shl(at).unwrap_or(0) & field
        }
    )*};
}

insert! {
    insert32 u32 LIMIT32;
    insert64 u64 LIMIT64;
}

/// `fns`: the position of the `offset`-th set bit of `mask`, counted from bit `base` on upwards, or
/// downwards if `offset` is negative; `base` itself if it is set and `offset` is 0. All ones if there is
/// none. The ISA leaves a `base` above 31 open; there is no bit there.
#[inline(always)]
pub(super) fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    let here = 1u32.checked_shl(base).unwrap_or(0);
    // The bits that count, in the order of counting from bit 0 up.
    let mut ahead = match offset {
        0 => mask & here,
        1.. => mask & here.wrapping_neg(),
        // Bits 0 to `base`, which end up at the other end.
        _ => (mask & (here | here.wrapping_sub(1))).reverse_bits(),
    };
    if offset == i32::MIN {
        // It has no absolute value; this is what an H200 answers.
        return 0;
    }
    if base > 31 {
        return u32::MAX;
    }
    let skipped = offset.unsigned_abs().saturating_sub(1);
    if skipped >= ahead.count_ones() {
        return u32::MAX;
    }
    for _ in 0..skipped {
        ahead &= ahead.wrapping_sub(1);
    }
    let found = ahead.trailing_zeros();
    if offset < 0 { 31 - found } else { found }
}

/// `bmsk`: ones from bit `a` on, `b` of them. `.clamp` takes the two as they are, `.wrap` their low 5 bits.
#[inline(always)]
pub(super) fn bmsk(a: u32, b: u32, clamp: bool) -> u32 {
    let (a, b) = if clamp { (a, b) } else { (a & 31, b & 31) };
    let from = u32::MAX.checked_shl(a).unwrap_or(0);
    let behind = u32::MAX.checked_shl(a.saturating_add(b)).unwrap_or(0);
    from & !behind
}

/// `szext`: the low `bits` bits of `a`, extended. `.clamp` leaves `a` as it is from 32 bits on, `.wrap`
/// takes the low 5 bits of the number.
#[inline(always)]
pub(super) fn szext(a: u32, bits: u32, clamp: bool, signed: bool) -> u32 {
    let bits = if clamp { bits } else { bits & 31 };
    let above = u32::MAX.checked_shl(bits).unwrap_or(0);
    let sign = a.checked_shr(bits.wrapping_sub(1)).unwrap_or(0) & 1;
    let fill = if signed && sign == 1 { above } else { 0 };
    a & !above | fill
}
