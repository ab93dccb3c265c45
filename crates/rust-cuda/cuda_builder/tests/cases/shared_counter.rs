use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use core::sync::atomic::{AtomicU32, Ordering};
    use cuda_std::{address_space, thread};
    #[address_space(shared)]
    static COUNT: MaybeUninit<AtomicU32> = MaybeUninit::uninit();
    unsafe {
        let count = &*COUNT.as_ptr();
        if i % 64 == 5 {
            count.store(100, Ordering::Relaxed);
        }
        thread::sync_threads();
        count.fetch_add(i % 64, Ordering::Relaxed);
        thread::sync_threads();
        u64::from(count.load(Ordering::Relaxed))
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(_: u32) -> u64 {
    100 + 63 * 64 / 2
}
