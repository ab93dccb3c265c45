use super::*;

/// The same condition is tested before, between and after barriers. A function that is not
/// inlined has barriers, too, and another one is called through a pointer.
#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use cuda_std::{shared_array, thread, warp};
    #[inline(never)]
    fn meet(own: u32, value: u32) -> u32 {
        let tile = shared_array![u32; 64];
        unsafe {
            if own < 40 {
                *tile.add(own as usize) = value;
            }
            thread::sync_threads();
            let found = if own < 40 { *tile.add(39 - own as usize) } else { 7 };
            thread::sync_threads();
            found
        }
    }
    fn vote(own: u32, value: u32) -> u32 {
        unsafe { warp::warp_vote_ballot(u32::MAX, (own ^ value) % 2 == 0) }
    }
    let own = thread::thread_idx_x();
    let mut value = hash(i);
    if own < 40 {
        value = value.wrapping_mul(3);
    }
    value = meet(own, value);
    if own < 40 {
        value = value.wrapping_add(5);
    }
    let calls = core::hint::black_box([meet as fn(u32, u32) -> u32, vote]);
    for call in calls {
        value = call(own, value).wrapping_add(u32::from(own < 40));
    }
    let (value, _) = unsafe { warp::warp_shuffle_xor(u32::MAX, value, 1, 32) };
    if own < 40 { u64::from(value) } else { u64::from(value) << 8 }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let (first, own) = (i / 64 * 64, i % 64);
    let small = |own: u32| u32::from(own < 40);
    let met = |value: &dyn Fn(u32) -> u32, own: u32| if own < 40 { value(39 - own) } else { 7 };
    let tripled = |own: u32| hash(first + own).wrapping_mul(1 + 2 * small(own));
    let once = |own: u32| met(&tripled, own).wrapping_add(5 * small(own));
    let twice = |own: u32| met(&once, own).wrapping_add(small(own));
    let voted = |own: u32| {
        let lanes = own / 32 * 32..own / 32 * 32 + 32;
        let ballot = lanes.map(|lane| u32::from((lane ^ twice(lane)) % 2 == 0) << (lane % 32)).sum::<u32>();
        ballot.wrapping_add(small(own))
    };
    let value = u64::from(voted(own ^ 1));
    if own < 40 { value } else { value << 8 }
}
