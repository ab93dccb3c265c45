use super::*;

pub fn value(i: u32) -> u64 {
    let data: [u32; 256] = core::array::from_fn(|at| hash(at as u32));
    let (a, b, c) = (i as u8, i as u16, u64::from(i));
    u64::from(data[usize::from(a)] ^ data[usize::from(b) / 2] ^ data[c as usize / 3])
        + data.get(i as usize * 2).map_or(1, |it| u64::from(*it))
}
