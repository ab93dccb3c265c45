use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use cuda_std::warp;
    let word = u64::from(hash(i)) << 20;
    unsafe { warp::warp_shuffle_xor(u32::MAX, word, 5, 32).0 ^ u64::from(warp::warp_shuffle_idx(u32::MAX, i, 3, 8).0) }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    u64::from(hash(i ^ 5)) << 20 ^ u64::from(i / 8 * 8 + 3)
}
