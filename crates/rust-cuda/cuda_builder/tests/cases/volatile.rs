use super::*;

pub fn value(i: u32) -> u64 {
    let mut data = [i; 4];
    let at = &raw mut data[i as usize % 4];
    unsafe {
        at.write_volatile(at.read_volatile().wrapping_mul(3));
        let half = at.cast::<u16>();
        half.write_volatile(half.read_volatile() ^ 0xaaaa);
    }
    data.iter().fold(0, |sum, term| mix(sum, u64::from(*term)))
}
