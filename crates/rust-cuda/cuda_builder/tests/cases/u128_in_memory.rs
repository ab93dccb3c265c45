use super::*;

static TABLE: [u128; 3] = [u128::MAX / 3, 1 << 100, 0x0123_4567_89ab_cdef_0011_2233_4455_6677];
#[derive(Clone, Copy)]
struct Pair {
    a: u8,
    b: u128,
}
pub fn value(i: u32) -> u64 {
    let pairs: [Pair; 3] = core::array::from_fn(|at| Pair { a: at as u8, b: TABLE[(at + i as usize) % 3] });
    let pair = core::hint::black_box(&pairs)[i as usize / 3 % 3];
    fold128(pair.b) + u64::from(pair.a) + size_of::<Pair>() as u64
}
