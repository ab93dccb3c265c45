//! Finding, extracting and inserting bits. All functions except `fns` are branch-free, so that the loops over the lanes
//! can become vector code.

/// `bfind` of a value with `zeros` leading zeros and the top bit `top`; all ones if no bit is set.
#[inline(always)]
pub(super) fn top_bit(zeros: u32, top: u32) -> u32 {
    // If no bit is set, `zeros` is `top + 1` and the difference is -1.
    top.wrapping_sub(zeros)
}

/// `bfind.shiftamt`: the distance of the highest set bit from the top; all ones if no bit is set.
#[inline(always)]
pub(super) fn top_shift(zeros: u32, top: u32) -> u32 {
    if zeros > top { u32::MAX } else { zeros }
}

/// The masks for a field's position and length, which the ISA restricts to 0 to 255. For larger numbers, the 32-bit
/// instructions use the low byte, as in the ISA's pseudocode. ptxas translates the 64-bit instructions into several
/// instructions that use all bits. The simulator follows this behavior, which was observed on an H100.
const LIMIT32: u32 = 0xff;
const LIMIT64: u32 = u32::MAX;

/// `bfe`: extracts the bits `at` to `at + length - 1`.
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
                // If the field is as wide as the register, the mask keeps all bits.
                field & !$unsigned::MAX.checked_shl(length).unwrap_or(0)
            }
        }

        impl Extract for $signed {
            #[inline(always)]
            fn extract(self, at: u32, length: u32) -> Self {
                let (at, length) = (at & $limit, length & $limit);
                // Bits beyond the register are copies of the top bit. The top bit is also the sign of a field that
                // extends beyond the register.
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
        /// `bfi`: inserts the low `length` bits of `a` into `b` at bit `at`. Bits beyond the top are dropped.
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

/// `fns`: the position of the `offset`-th set bit of `mask`, counted upward from bit `base`, or downward if `offset` is
/// negative. If `offset` is 0, the result is `base` if that bit is set. If there is no such bit, the result is all
/// ones. The ISA does not define a `base` above 31; this function treats such a bit as not set.
#[inline(always)]
pub(super) fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    let base_bit = 1u32.checked_shl(base).unwrap_or(0);
    // The candidate bits, arranged so that counting starts at bit 0.
    let mut candidates = match offset {
        0 => mask & base_bit,
        1.. => mask & base_bit.wrapping_neg(),
        // Bits 0 to `base`, reversed to the other end of the word.
        _ => (mask & (base_bit | base_bit.wrapping_sub(1))).reverse_bits(),
    };
    if offset == i32::MIN {
        // `i32::MIN` has no absolute value; an H200 returns 0.
        return 0;
    }
    if base > 31 {
        return u32::MAX;
    }
    let skipped = offset.unsigned_abs().saturating_sub(1);
    if skipped >= candidates.count_ones() {
        return u32::MAX;
    }
    for _ in 0..skipped {
        candidates &= candidates.wrapping_sub(1);
    }
    let found = candidates.trailing_zeros();
    if offset < 0 { 31 - found } else { found }
}

/// `bmsk`: `b` ones from bit `a` on. `.clamp` uses `a` and `b` unchanged, `.wrap` uses their low 5 bits.
#[inline(always)]
pub(super) fn bmsk(a: u32, b: u32, clamp: bool) -> u32 {
    let (a, b) = if clamp { (a, b) } else { (a & 31, b & 31) };
    let from = u32::MAX.checked_shl(a).unwrap_or(0);
    let tail = u32::MAX.checked_shl(a.saturating_add(b)).unwrap_or(0);
    from & !tail
}

/// `szext`: the low `bits` bits of `a`, sign- or zero-extended. `.clamp` returns `a` if `bits` is 32 or more; `.wrap`
/// uses the low 5 bits of `bits`.
#[inline(always)]
pub(super) fn szext(a: u32, bits: u32, clamp: bool, signed: bool) -> u32 {
    let bits = if clamp { bits } else { bits & 31 };
    let upper_bits = u32::MAX.checked_shl(bits).unwrap_or(0);
    let sign = a.checked_shr(bits.wrapping_sub(1)).unwrap_or(0) & 1;
    let fill = if signed && sign == 1 { upper_bits } else { 0 };
    a & !upper_bits | fill
}
