//! `warp`: shuffles, votes, matches, reductions.

use cuda_std::prelude::*;
use cuda_std::warp::*;

#[kernel]
pub unsafe fn shuffle_xor_full(data: *mut i32) {
    let p = unsafe { data.add(thread::thread_idx_x() as usize) };
    unsafe { *p = warp_shuffle_xor(u32::MAX, *p, 16, 32).0 };
}

#[kernel]
pub unsafe fn shuffle_modes(data: *mut f32) {
    let p = unsafe { data.add(thread::thread_idx_x() as usize) };
    unsafe {
        *p += warp_shuffle_up(u32::MAX, *p, 1, 32).0;
        *p += warp_shuffle_down(u32::MAX, *p, 2, 16).0;
        *p += warp_shuffle_idx(u32::MAX, *p, 3, 8).0;
        *p += warp_shuffle_xor(u32::MAX, *p, 4, 32).0;
        let (value, in_segment) = warp_shuffle_up(u32::MAX, *p, 5, 4);
        if in_segment {
            *p += value;
        }
    }
}

/// The width is known only at run time, so that the check remains.
#[kernel]
pub unsafe fn shuffle_runtime(data: *mut u32, delta: u32, width: u32) {
    let p = unsafe { data.add(thread::thread_idx_x() as usize) };
    unsafe { *p = warp_shuffle_down(u32::MAX, *p, delta, width).0 };
}

macro_rules! shuffle_types {
    ($($name:ident: $type:ty;)*) => {$(
        #[kernel]
        pub unsafe fn $name(data: *mut $type) {
            let p = unsafe { data.add(thread::thread_idx_x() as usize) };
            unsafe { *p = warp_shuffle_down(u32::MAX, *p, 1, 32).0 };
        }
    )*};
}

shuffle_types! {
    shuffle_i8: i8;
    shuffle_u8: u8;
    shuffle_i16: i16;
    shuffle_u16: u16;
    shuffle_u32: u32;
    shuffle_i64: i64;
    shuffle_u64: u64;
    shuffle_f64: f64;
    shuffle_i128: i128;
    shuffle_u128: u128;
}

#[kernel]
pub unsafe fn votes(data: *mut u32) {
    let p = unsafe { data.add(lane_id() as usize) };
    unsafe {
        let odd = *p & 1 == 1;
        *p = u32::from(warp_vote_all(u32::MAX, odd)) + 2 * u32::from(warp_vote_any(u32::MAX, odd));
        sync_warp(u32::MAX);
        *p += warp_vote_ballot(0xffff, odd) + activemask() + *data;
    }
}

#[kernel]
pub unsafe fn matches(words: *mut u32, longs: *const f64) {
    let lane = lane_id() as usize;
    unsafe {
        let (word, long) = (*words.add(lane), *longs.add(lane));
        let any = warp_match_any(u32::MAX, word as i32) ^ warp_match_any(u32::MAX, long);
        let all = warp_match_all(u32::MAX, word).unwrap_or(1) ^ warp_match_all(u32::MAX, long).unwrap_or(2);
        *words.add(lane) = any ^ all;
    }
}

#[cfg(feature = "redux")]
#[kernel]
pub unsafe fn reductions(signed: *mut i32, unsigned: *mut u32) {
    use WarpReductionOp::{Add, And, Max, Min, Or, Xor};
    let lane = lane_id() as usize;
    unsafe {
        for op in [Add, Min, Max, And, Or, Xor] {
            *signed.add(lane) = warp_reduce(u32::MAX, *signed.add(lane), op);
            *unsigned.add(lane) = warp_reduce(u32::MAX, *unsigned.add(lane), op);
        }
    }
}
