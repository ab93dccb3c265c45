use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::sync::atomic::Ordering::Relaxed;
    use cuda_std::atomic::AtomicF32;
    static SUMS: [AtomicF32; 4] = [const { AtomicF32::new(0.5) }; 4];
    // Each of the four sums belongs to one block and is exact.
    let sum = &SUMS[(i / 64) as usize];
    sum.fetch_add((i % 64) as f32, Relaxed);
    cuda_std::thread::sync_threads();
    bits32(sum.load(Relaxed))
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(_: u32) -> u64 {
    bits32(0.5 + 63.0 * 32.0)
}
