use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use cuda_std::{address_space, thread};
    #[address_space(shared)]
    static mut TEXT: [MaybeUninit<[u8; 40]>; 2] = [const { MaybeUninit::uninit() }; 2];
    unsafe {
        let text = (&raw mut TEXT).cast::<[u8; 40]>();
        if i % 64 < 2 {
            text.add(i as usize % 2).write([3; 40]);
        }
        thread::sync_threads();
        if i % 64 == 7 {
            (*text)[(i / 64) as usize * 10] += (i / 64) as u8;
        }
        thread::sync_threads();
        u64::from(*text == *text.add(1)) + 2 * u64::from(*text > *text.add(1))
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    if i < 64 { 1 } else { 2 }
}
