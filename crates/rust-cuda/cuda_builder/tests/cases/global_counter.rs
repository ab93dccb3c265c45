use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::sync::atomic::{AtomicU32, Ordering};
    static SEEN: [AtomicU32; 256] = [const { AtomicU32::new(5) }; 256];
    SEEN[i as usize].fetch_add(i, Ordering::Relaxed);
    u64::from(SEEN[i as usize].load(Ordering::Relaxed))
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    u64::from(i + 5)
}
