use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use cuda_std::thread;
    let indices = thread::thread_idx_x() + 1000 * thread::block_idx_x() + 100_000 * thread::block_dim_x();
    u64::from(indices) + u64::from(thread::index_1d() == i)
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    u64::from(i % 64 + 1000 * (i / 64) + 100_000 * 64) + 1
}
