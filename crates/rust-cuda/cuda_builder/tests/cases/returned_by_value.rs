use super::*;

#[derive(Clone, Copy)]
struct Big {
    data: [u64; 9],
    tail: u8,
}
#[inline(never)]
fn grown(big: Big, by: u64) -> Big {
    Big { data: big.data.map(|it| it.wrapping_mul(by)), tail: big.tail.wrapping_add(by as u8) }
}
#[inline(never)]
fn pair(i: u32) -> (u32, [u8; 3]) {
    (i * 3, [i as u8, 1, 2])
}
pub fn value(i: u32) -> u64 {
    let big = grown(Big { data: core::array::from_fn(|at| at as u64 + u64::from(i)), tail: 250 }, 7);
    let (a, b) = pair(i);
    big.data.iter().fold(u64::from(big.tail), |sum, term| mix(sum, *term)) + u64::from(a) + u64::from(b[0])
}
