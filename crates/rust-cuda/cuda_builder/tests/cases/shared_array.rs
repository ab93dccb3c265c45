use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use cuda_std::{address_space, thread};
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<u64>; 64] = [const { MaybeUninit::uninit() }; 64];
    let (tile, index) = ((&raw mut TILE).cast::<u64>(), thread::thread_idx_x() as usize);
    unsafe {
        *tile.add(index) = u64::from(hash(i));
        thread::sync_threads();
        *tile.add(63 - index)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    u64::from(hash(i / 64 * 64 + 63 - i % 64))
}
