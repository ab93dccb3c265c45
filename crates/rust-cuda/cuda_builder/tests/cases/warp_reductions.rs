use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use cuda_std::warp;
    let mut sum = i;
    for by in [16, 8, 4, 2, 1] {
        sum += unsafe { warp::warp_shuffle_down(u32::MAX, sum, by, 32).0 };
    }
    u64::from(unsafe { warp::warp_shuffle_idx(u32::MAX, sum, 0, 32).0 })
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let first = u64::from(i / 32 * 32);
    (first..first + 32).sum()
}
