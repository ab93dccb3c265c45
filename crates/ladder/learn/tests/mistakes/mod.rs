//! Typical mistakes: what learners write in the place of a part of the solution, and what they are to be told of it.

/// A mistake.
pub(crate) struct Mistake {
    /// The exercise.
    pub(crate) exercise: &'static str,
    /// A part of the solution, whose first occurrence is replaced.
    pub(crate) instead_of: &'static str,
    /// What is written there.
    pub(crate) written: &'static str,
    /// A part of what the learner is told.
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
    guard: "i < n {" => "i <= n {", "a guard";
    two_dimensions: "row * columns" => "row * rows", "race";
    two_dimensions: "row < rows && column < columns" => "row * columns + column < rows * columns", "race";
    neighbours: "if i + 1 < n" => "if i < n", "a guard";
    grid_stride: "i += threads" => "i += thread::block_dim_x()", "race";
    coalesced_copy: "k * threads + thread::thread_idx_x()" => "thread::thread_idx_x() * WORDS + k", "sectors a load: 32";
    vector_load: "first + 4 <= n" => "first < n", "a guard";
    even_and_odd: "2 * (t % 64) + t / 64" => "2 * (t % 64)", "race";
    shared_static: "#[address_space(shared)]" => "", "race";
    first_barrier: "thread::sync_threads();" => "cuda_std::warp::sync_warp(u32::MAX);", "race";
    halo: "if t < 6" => "if t < 3", "uninitialized";
    halo: "    thread::sync_threads();\n" => "", "race";
    dynamic_shared: "threads - 1 - t" => "threads - t", "a guard";
    reduce_tree: "            thread::sync_threads();\n" => "", "race";
    reduce_tree: "t % (2 * stride) == 0" => "t % stride == 0", "race";
    reduce_together: "let mut stride = 64" => "let mut stride = 128", "a guard";
    reduce_more_a_thread: "if i < n" => "if first < n", "a guard";
    reduce_block_size: "BLOCK / 2" => "thread::block_dim_x() as usize / 2", "branches:";
    butterfly: "let mut bits = 16" => "let mut bits = 8", "expected ";
    segments: "own, 0, 8" => "own, 0, 32", "expected ";
    scan: "if exists {" => "{", "expected ";
    reduce_warps: "if lane < 8" => "if lane < 32", "a guard";
    reduce_warps: "thread::sync_threads();" => "", "race";
    count_votes: ".count_ones()" => "", "expected ";
    compact: "(1 << lane) - 1" => "(2 << lane) - 1", "wrong";
    bank_stride: "t + 128))" => "t + 64))", "expected ";
    transpose_tile: "*tile.add((x * 32 + y) as usize)" => "*tile.add((y * 32 + x) as usize)", "expected ";
    bank_padding: "const PITCH: u32 = 33" => "const PITCH: u32 = 34", "a guard";
    bank_swizzle: "column ^ row" => "column + row", "An access leaves";
    matmul_naive: "i * n + column" => "column * n + i", "expected ";
    matmul_tile: "            }\n            thread::sync_threads();" => "            }", "race";
    corner_turning: "tile_b.add((x * 16 + y)" => "tile_b.add((y * 16 + x)", "expected ";
    register_tile: "p[r], q[s]" => "p[s], q[r]", "expected ";
    private_histogram: "        *tile.add(t) = 0;\n" => "", "written";
    aggregated_histogram: "same.count_ones()" => "1", "expected ";
    append: "        let (first, _) = warp::warp_shuffle_idx(u32::MAX, first, 0, 32);\n" => "", "race";
    compare_and_swap: "        if was == seen {\n                    break;\n                }" => "        break;", "expected ";
    publish: "flag, Release, 1" => "flag, core::sync::atomic::Ordering::Relaxed, 1", "race";
    last_block: "        thread::device_fence();\n        let" => "        let", "race";
    last_block: "before == blocks - 1" => "block as u32 == blocks - 1", "race";
    async_copy: "        wait::<0>();\n" => "", "race";
    copy_pipeline: "        thread::sync_threads();\n" => "", "race";
    generic_operation: "i32::MIN" => "0", "expected ";
}
