//! Hints:
//!
//! 1. The last query, `queries - 1`, sees `keys` keys. Query `i` is `queries - 1 - i` queries earlier. How many keys
//!    does it see?
//! 2. `query + 1 + keys - queries` is negative for a query that sees no key. `saturating_sub` returns 0 instead.
//! 3. The last query of the warp sees the most keys, so `end` is the result of `keys_seen` for this query. In the last
//!    block, the last query of the warp is the last query of all.
//!
//! If the numbers of queries and keys are equal, the warps load about half of all tiles. Only the tiles at the diagonal
//! contain keys that some of the queries do not see. A kernel can omit the comparisons in all other tiles.

use cuda_std::prelude::*;
use cuda_std::warp;

/// Returns the number of keys that a query sees, starting with the first key.
fn keys_seen(query: u32, queries: u32, keys: u32) -> u32 {
    (query + 1 + keys).saturating_sub(queries).min(keys)
}

/// # Safety
/// `values` points to `keys` elements. `output` points to `queries` elements, one for each thread of the grid, except
/// that the last block may have more threads. A block has 32 threads. `queries` is not 0.
#[kernel]
pub unsafe fn causal_tiles(values: *const i32, output: *mut i32, queries: u32, keys: u32) {
    let (lane, first_query) = (thread::thread_idx_x(), thread::block_idx_x() * 32);
    let query = first_query + lane;
    let seen = keys_seen(query, queries, keys);
    let last_query = (first_query + 31).min(queries - 1);
    let end = keys_seen(last_query, queries, keys);
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
