use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use cuda_std::{address_space, thread};
    #[address_space(shared)]
    static mut TILE: [[MaybeUninit<u8>; 9]; 8] = [[const { MaybeUninit::uninit() }; 9]; 8];
    let (x, y) = (i as usize % 8, i as usize / 8 % 8);
    unsafe {
        TILE[y][x].write(i as u8);
        thread::sync_threads();
        u64::from(TILE[x][y].assume_init())
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    u64::from((i / 64 * 64 + i % 8 * 8 + i / 8 % 8) as u8)
}
