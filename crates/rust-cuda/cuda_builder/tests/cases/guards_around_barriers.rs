use super::*;

/// The same condition is tested before, between and after barriers. One function that is not inlined contains barriers,
/// and another function is called through a pointer.
#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use cuda_std::{shared_array, thread, warp};
    #[inline(never)]
    fn meet(index: u32, value: u32) -> u32 {
        let tile = shared_array![u32; 64];
        unsafe {
            if index < 40 {
                *tile.add(index as usize) = value;
            }
            thread::sync_threads();
            let found = if index < 40 { *tile.add(39 - index as usize) } else { 7 };
            thread::sync_threads();
            found
        }
    }
    fn vote(index: u32, value: u32) -> u32 {
        unsafe { warp::warp_vote_ballot(u32::MAX, (index ^ value) % 2 == 0) }
    }
    let index = thread::thread_idx_x();
    let mut value = hash(i);
    if index < 40 {
        value = value.wrapping_mul(3);
    }
    value = meet(index, value);
    if index < 40 {
        value = value.wrapping_add(5);
    }
    let calls = core::hint::black_box([meet as fn(u32, u32) -> u32, vote]);
    for call in calls {
        value = call(index, value).wrapping_add(u32::from(index < 40));
    }
    let (value, _) = unsafe { warp::warp_shuffle_xor(u32::MAX, value, 1, 32) };
    if index < 40 { u64::from(value) } else { u64::from(value) << 8 }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let (first, index) = (i / 64 * 64, i % 64);
    let small = |index: u32| u32::from(index < 40);
    let met = |value: &dyn Fn(u32) -> u32, index: u32| if index < 40 { value(39 - index) } else { 7 };
    let tripled = |index: u32| hash(first + index).wrapping_mul(1 + 2 * small(index));
    let once = |index: u32| met(&tripled, index).wrapping_add(5 * small(index));
    let twice = |index: u32| met(&once, index).wrapping_add(small(index));
    let voted = |index: u32| {
        let lanes = index / 32 * 32..index / 32 * 32 + 32;
        let ballot = lanes.map(|lane| u32::from((lane ^ twice(lane)) % 2 == 0) << (lane % 32)).sum::<u32>();
        ballot.wrapping_add(small(index))
    };
    let value = u64::from(voted(index ^ 1));
    if index < 40 { value } else { value << 8 }
}
