//! Causal tiles: mask the keys that a query does not see, and skip tiles that no query sees.
//!
//! In attention with a causal mask, the last query sees all keys. Each earlier query sees one key fewer than the query
//! after it, but never fewer than 0. There can be more keys than queries, or more queries than keys.
//!
//! Here the output of a query is the sum of the values of the keys that it sees, or 0 if it sees no key. A block is one
//! warp, which computes 32 queries, one per lane. The warp loads tiles of 32 values, and each lane adds the values that
//! its query sees. There are n queries and 160 keys.
//!
//! Complete `keys_seen`. Then end the loop after the last tile that contains a key that some query of the warp sees.

use cuda_std::prelude::*;
use cuda_std::warp;

/// Returns the number of keys that a query sees, starting with the first key.
fn keys_seen(query: u32, queries: u32, keys: u32) -> u32 {
    // TODO: this number is correct only if the numbers of queries and keys are equal.
    let _ = queries;
    (query + 1).min(keys)
}

/// # Safety
/// `values` points to `keys` elements. `output` points to `queries` elements, one for each thread of the grid, except
/// that the last block may have more threads. A block has 32 threads. `queries` is not 0.
#[kernel]
pub unsafe fn causal_tiles(values: *const i32, output: *mut i32, queries: u32, keys: u32) {
    let (lane, first_query) = (thread::thread_idx_x(), thread::block_idx_x() * 32);
    let query = first_query + lane;
    let seen = keys_seen(query, queries, keys);
    // TODO: load only the keys that the warp needs.
    let end = keys;
    let mut sum = 0;
    for first_key in (0..end).step_by(32) {
        let key = first_key + lane;
        // SAFETY: key < keys where the value is read.
        let tile = if key < keys { unsafe { *values.add(key as usize) } } else { 0 };
        for i in 0..32 {
            // SAFETY: all lanes of the warp shuffle together.
            let (value, _) = unsafe { warp::warp_shuffle_idx(u32::MAX, tile, i, 32) };
            if first_key + i < seen {
                sum += value;
            }
        }
    }
    if query < queries {
        // SAFETY: query < queries, and each lane has a different query.
        unsafe { *output.add(query as usize) = sum };
    }
}
