use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use cuda_std::warp;
    let odd = hash(i) % 2 == 1;
    unsafe {
        u64::from(warp::warp_vote_ballot(u32::MAX, odd)) + (u64::from(warp::warp_vote_any(u32::MAX, i == 40)) << 33)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let first = i / 32 * 32;
    (0..32).map(|lane| u64::from(hash(first + lane) % 2) << lane).sum::<u64>() + (u64::from(first == 32) << 33)
}
