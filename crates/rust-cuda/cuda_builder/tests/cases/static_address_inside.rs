use super::*;

static DATA: [u32; 6] = [10, 20, 30, 40, 50, 60];
static MIDDLE: &[u32] = DATA.split_at(2).1;
static LAST: &u32 = &DATA[5];
pub fn value(i: u32) -> u64 {
    u64::from(MIDDLE[i as usize % 4] + *LAST) + MIDDLE.len() as u64
}
