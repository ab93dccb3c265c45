use super::*;

pub fn value(i: u32) -> u64 {
    let mut sieve = [true; 1024];
    for k in 2..core::hint::black_box(32) {
        for multiple in (k * k..1024).step_by(k) {
            sieve[multiple] = false;
        }
    }
    let mut table = [[0_u16; 16]; 32];
    for (at, row) in table.iter_mut().enumerate() {
        row[at % 16] = at as u16 * i as u16;
    }
    u64::from(sieve[i as usize * 4 + 1]) + u64::from(table[i as usize % 32][i as usize % 16])
}
