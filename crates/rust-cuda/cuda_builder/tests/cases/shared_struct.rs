use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use cuda_std::{address_space, thread};
    struct Best {
        key: u32,
        lane: [u8; 4],
        wide: u64,
    }
    #[address_space(shared)]
    static mut BEST: MaybeUninit<Best> = MaybeUninit::uninit();
    unsafe {
        let best = (&raw mut BEST).cast::<Best>();
        if i % 64 == 9 {
            best.write(Best { key: i, lane: [1, 2, 3, i as u8], wide: u64::from(i) << 40 });
        }
        thread::sync_threads();
        u64::from((*best).key) + u64::from((*best).lane[i as usize % 4]) + (*best).wide
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let writer = i / 64 * 64 + 9;
    u64::from(writer) + u64::from([1, 2, 3, writer as u8][i as usize % 4]) + (u64::from(writer) << 40)
}
