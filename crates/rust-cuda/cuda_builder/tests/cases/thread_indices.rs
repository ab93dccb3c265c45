use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use cuda_std::thread;
    let own = thread::thread_idx_x() + 1000 * thread::block_idx_x() + 100_000 * thread::block_dim_x();
    u64::from(own) + u64::from(thread::index_1d() == i)
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    u64::from(i % 64 + 1000 * (i / 64) + 100_000 * 64) + 1
}
