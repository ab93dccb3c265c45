//! Typical mistakes: the text that learners write instead of a part of the solution, and the text that the verdict must
//! contain.

/// A mistake.
pub(crate) struct Mistake {
    /// The exercise.
    pub(crate) exercise: &'static str,
    /// A part of the solution. The first occurrence of this part is replaced.
    pub(crate) instead_of: &'static str,
    /// The replacement.
    pub(crate) written: &'static str,
    /// A part of the expected verdict.
    pub(crate) says: &'static str,
}

macro_rules! mistakes {
    ($($exercise:ident: $instead_of:literal => $written:literal, $says:literal;)*) => {
        pub(crate) const MISTAKES: &[Mistake] = &[$(Mistake {
            exercise: stringify!($exercise),
            instead_of: $instead_of,
            written: $written,
            says: $says,
        }),*];
    };
}

mistakes! {
    global_index: "thread::block_dim_x()" => "thread::grid_dim_x()", "wrong";
    guard: "i < n {" => "i <= n {", "bounds check";
    two_dimensions: "row * columns" => "row * rows", "race";
    two_dimensions: "row < rows && column < columns" => "row * columns + column < rows * columns", "race";
    neighbors: "if i + 1 < n" => "if i < n", "bounds check";
    grid_stride: "i += threads" => "i += thread::block_dim_x()", "race";
    coalesced_copy: "k * threads + thread::thread_idx_x()" => "thread::thread_idx_x() * WORDS + k", "sectors per load request: 32,";
    vector_load: "first + 4 <= n" => "first < n", "bounds check";
    even_and_odd: "2 * (t % 64) + t / 64" => "2 * (t % 64)", "race";
    shared_static: "#[address_space(shared)]" => "", "race";
    first_barrier: "thread::sync_threads();" => "cuda_std::warp::sync_warp(u32::MAX);", "race";
    halo: "if t < 6" => "if t < 3", "uninitialized";
    halo: "    thread::sync_threads();\n" => "", "race";
    dynamic_shared: "threads - 1 - t" => "threads - t", "bounds check";
    reduce_tree: "            thread::sync_threads();\n" => "", "race";
    reduce_tree: "t % (2 * stride) == 0" => "t % stride == 0", "race";
    reduce_together: "let mut stride = 64" => "let mut stride = 128", "bounds check";
    reduce_more_a_thread: "if i < n" => "if first < n", "bounds check";
    reduce_block_size: "BLOCK / 2" => "thread::block_dim_x() as usize / 2", "branches executed by warps in total:";
    butterfly: "let mut bits = 16" => "let mut bits = 8", "expected ";
    segments: "value, 0, 8" => "value, 0, 32", "expected ";
    scan: "if exists {" => "{", "expected ";
    reduce_warps: "if lane < 8" => "if lane < 32", "bounds check";
    reduce_warps: "thread::sync_threads();" => "", "race";
    count_votes: ".count_ones()" => "", "expected ";
    compact: "(1 << lane) - 1" => "(2 << lane) - 1", "wrong";
    exclusive_maximum: "i32::MIN" => "0", "expected ";
    exclusive_maximum: "largest, 1, 32" => "largest, 2, 32", "expected ";
    scan_rows: "scan_warp(*element) + carry" => "scan_warp(*element + carry)", "expected ";
    scan_padding: "const WORDS: usize = 264" => "const WORDS: usize = 256", "outside its buffer";
    scan_padding: "i + i / 32" => "i + i / 64", "extra wavefronts of shared loads in total:";
    tile_state: "while word >> 32 == 0" => "while word == u64::MAX", "expected ";
    compare_exchange: "(lane & size == 0)" => "(lane & size != 0)", "expected ";
    split_by_bit: "(!ones).count_ones() + " => "", "race";
    stable_rank: "peers & before).count_ones()" => "peers & !before).count_ones()", "expected ";
    scatter_in_order: "        thread::sync_threads();\n" => "", "race";
    row_maximum: "f32::NEG_INFINITY" => "0.0_f32", "expected ";
    row_maximum: "exp(value(k) - max) / sum" => "exp(value(k)) / sum", "expected ";
    online_softmax: "sum * exp(max - new)" => "sum", "expected ";
    online_softmax: "exp(max - new)" => "exp(new - max)", "expected ";
    online_softmax: "        max = new;\n" => "", "expected ";
    merge_parts: "    if larger == f32::NEG_INFINITY {\n        return (larger, 0.0);\n    }\n" => "", "n = Some(10)";
    merge_parts: "other_sum * exp(other_max - larger)" => "other_sum", "expected ";
    row_in_registers: "if column(i) < n { *input.add(first + column(i) as usize) } else { 0.0 }" => "*input.add(first + column(i) as usize)", "bounds check";
    row_in_registers: "else { 0.0 }" => "else { 1.0 }", "expected ";
    row_in_registers: "n as f32" => "256.0", "expected ";
    rescaled_sums: "            sum *= factor;\n" => "", "expected ";
    rescaled_sums: "exp2(max - score);" => "exp2(score - max);", "expected ";
    causal_tiles: "(query + 1 + keys).saturating_sub(queries).min(keys)" => "(query + 1).min(keys)", "expected ";
    causal_tiles: "(query + 1 + keys).saturating_sub(queries)" => "(query + 1 + keys).wrapping_sub(queries)", "expected ";
    causal_tiles: "keys_seen(last_query, queries, keys)" => "keys_seen(first_query, queries, keys)", "expected ";
    causal_tiles: "keys_seen(last_query, queries, keys)" => "keys", "load requests in total:";
    weights_as_fragment: "pair(left[2], left[3]), pair(right[0], right[1])" => "pair(right[0], right[1]), pair(left[2], left[3])", "expected ";
    bank_stride: "t + 128))" => "t + 64))", "expected ";
    transpose_tile: "*tile.add((x * 32 + y) as usize)" => "*tile.add((y * 32 + x) as usize)", "expected ";
    bank_padding: "const PITCH: u32 = 34" => "const PITCH: u32 = 33", "extra wavefronts of shared loads in total: 128,";
    bank_swizzle: "column ^ row" => "column + row", "outside its buffer";
    matmul_naive: "i * n + column" => "column * n + i", "expected ";
    matmul_tile: "            }\n            thread::sync_threads();" => "            }", "race";
    corner_turning: "tile_b.add((x * 16 + y)" => "tile_b.add((y * 16 + x)", "expected ";
    register_tile: "p[r], q[s]" => "p[s], q[r]", "expected ";
    private_histogram: "        *tile.add(t) = 0;\n" => "", "uninitialized";
    aggregated_histogram: "same.count_ones()" => "1", "expected ";
    append: "        let (first, _) = warp::warp_shuffle_idx(u32::MAX, first, 0, 32);\n" => "", "race";
    compare_and_swap: "        if was == seen {\n                    break;\n                }" => "        break;", "expected ";
    publish: "flag, Release, 1" => "flag, core::sync::atomic::Ordering::Relaxed, 1", "race";
    last_block: "        thread::device_fence();\n        let" => "        let", "race";
    last_block: "before == blocks - 1" => "block as u32 == blocks - 1", "race";
    async_copy: "        wait::<0>();\n" => "", "race";
    copy_pipeline: "        thread::sync_threads();\n" => "", "race";
    one_tile: "        thread::sync_threads();\n        reverse" => "        reverse", "race";
    block_size: "THREADS: u32 = 256" => "THREADS: u32 = 768", "resident warps per SM: 48, goal: at least 64";
    grid_size: ".max(1)" => "", "has no blocks";
    shared_bytes: "size_of::<i32>()" => "2", "bounds check";
    bounds_checks: "8 * i..8 * i + 8" => "8 * i..8 * i + 9", "panic";
    inline_ptx: "in(reg32) 0" => "in(reg32) 1", "expected ";
    generic_operation: "i32::MIN" => "0", "expected ";
}
