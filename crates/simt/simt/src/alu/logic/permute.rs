//! Bytes and shifts across two registers.

/// `shf.l`: the upper half of `b:a` shifted left by at most 32.
#[inline(always)]
pub(super) fn shift_left(a: u32, b: u32, by: u32) -> u32 {
    b.checked_shl(by).unwrap_or(0) | a.checked_shr(32 - by).unwrap_or(0)
}

/// `shf.r`: the lower half of `b:a` shifted right by at most 32.
#[inline(always)]
pub(super) fn shift_right(a: u32, b: u32, by: u32) -> u32 {
    b.checked_shl(32 - by).unwrap_or(0) | a.checked_shr(by).unwrap_or(0)
}

/// `prmt`: each nibble of `select` selects one of the 8 bytes of `b:a`. If the nibble's top bit is set, the nibble
/// selects eight copies of that byte's sign bit instead.
#[inline(always)]
pub(super) fn permute(a: u32, b: u32, select: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let mut result = 0;
    for at in 0..4 {
        let nibble = select >> (4 * at);
        let byte = (both >> ((nibble & 7) * 8)) as u32 & 0xff;
        let sign = (byte >> 7).wrapping_neg() & 0xff;
        let byte = if nibble & 8 == 0 { byte } else { sign };
        result |= byte << (8 * at);
    }
    result
}

/// Returns the selector that the low two bits of `select` encode in a mode of `prmt`.
#[inline(always)]
pub(super) fn four(select: u32, mode: [u32; 4]) -> u32 {
    let [zero, one, two, three] = mode;
    let even = if select & 2 == 0 { zero } else { two };
    let odd = if select & 2 == 0 { one } else { three };
    if select & 1 == 0 { even } else { odd }
}

/// Four bytes, forward.
pub(super) const F4E: [u32; 4] = [0x3210, 0x4321, 0x5432, 0x6543];
/// Four bytes, backward.
pub(super) const B4E: [u32; 4] = [0x5670, 0x6701, 0x7012, 0x0123];
/// One byte, repeated four times.
pub(super) const RC8: [u32; 4] = [0x0000, 0x1111, 0x2222, 0x3333];
/// Edge clamp on the left.
pub(super) const ECL: [u32; 4] = [0x3210, 0x3211, 0x3222, 0x3333];
/// Edge clamp on the right.
pub(super) const ECR: [u32; 4] = [0x0000, 0x1110, 0x2210, 0x3210];
/// One half, repeated twice.
pub(super) const RC16: [u32; 4] = [0x1010, 0x3232, 0x1010, 0x3232];
