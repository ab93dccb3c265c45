use super::*;

static TABLE: [[i16; 3]; 4] = [[1, -2, 3], [-4, 5, -6], [7, -8, 9], [i16::MIN, i16::MAX, 0]];
static FLOATS: [f64; 3] = [0.1, -1e300, f64::MIN_POSITIVE / 3.0];
pub fn value(i: u32) -> u64 {
    mix(TABLE[i as usize % 4][i as usize / 4 % 3] as u64, FLOATS[i as usize % 3].to_bits())
}
