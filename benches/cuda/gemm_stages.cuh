// Stages of boxes in shared memory, their products, and the stores of sums to the product: the code of
// kernels-gpu/src/gemm that its rungs with warp-group products share. For Hopper only.
#pragma once

#include "gemm_tiles.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// stage.rs: the number of elements along k of a stage of boxes.
constexpr unsigned STAGE_DEPTH = ROW_BYTES / 2;

// tensor_core/pipeline.rs: the barriers of a ring of stages, and a position in the ring.
template <unsigned STAGES>
struct Barriers {
    static constexpr unsigned BYTES = 2 * STAGES * 8;
    Shared first;

    __device__ __forceinline__ Shared full(unsigned stage) const { return first + stage * 8; }
    __device__ __forceinline__ Shared empty(unsigned stage) const { return first + (STAGES + stage) * 8; }
    // Each warp arrives once for each stage that it releases.
    __device__ __forceinline__ void leave(unsigned stage) const {
        if (threadIdx.x % 32 == 0) {
            arrive(empty(stage));
        }
    }
    __device__ __forceinline__ void init(unsigned consumers) const {
#pragma unroll
        for (unsigned stage = 0; stage < STAGES; ++stage) {
            ::init(full(stage), 1);
            ::init(empty(stage), consumers);
        }
        fence_mbarrier_init();
        fence_for_bulk_copies();
    }
};

template <unsigned STAGES>
struct Position {
    unsigned stage = 0;
    unsigned parity = 0;

    __device__ __forceinline__ unsigned before() const { return stage == 0 ? STAGES - 1 : stage - 1; }
    __device__ __forceinline__ void advance() {
        ++stage;
        if (stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

// Starts the tensor copies that fill a stage with the parts of both factors from k on.
template <unsigned A_BOXES, unsigned B_BOXES>
__device__ __forceinline__ void fill(const TensorMap& a, const TensorMap& b, Corner place, unsigned k, Shared stage,
                                     Shared full) {
    arrive_expecting(full, (A_BOXES + B_BOXES) * BOX_BYTES);
#pragma unroll
    for (unsigned i = 0; i < A_BOXES; ++i) {
        a.load(k, place.row + i * BOX_ROWS, stage + i * BOX_BYTES, full);
    }
#pragma unroll
    for (unsigned i = 0; i < B_BOXES; ++i) {
        b.load(place.column + i * BOX_ROWS, k, stage + (A_BOXES + i) * BOX_BYTES, full);
    }
}

// tiles.rs: writes 64 rows of sums from registers in their layout.
template <unsigned N>
__device__ __forceinline__ void write_sums(const float (&sums)[N], Corner place, Bf16* c, unsigned m, unsigned n) {
    const unsigned t = threadIdx.x % 128;
    const unsigned top = place.row + t / 32 * 16 + t % 32 / 4, left = place.column + t % 4 * 2;
    const bool has_pairs = n % 2 == 0 && reinterpret_cast<unsigned long long>(c) % 4 == 0;
#pragma unroll
    for (unsigned lower = 0; lower < 2; ++lower) {
        const unsigned row = top + 8 * lower;
        if (row >= m) {
            continue;
        }
        // All stores of the row are at constant distances from this address, which LLVM finds automatically.
        Bf16* const to = c + row * n + left;
#pragma unroll
        for (unsigned i = 0; i < N / 4; ++i) {
            const float* const pair = &sums[4 * i + 2 * lower];
            if (has_pairs && left + 8 * i < n) {
                *reinterpret_cast<unsigned*>(to + 8 * i) = pair_of(pair[0], pair[1]);
            }
        }
        if (has_pairs) {
            continue;
        }
#pragma unroll
        for (unsigned i = 0; i < N / 4; ++i) {
#pragma unroll
            for (unsigned j = 0; j < 2; ++j) {
                if (left + 8 * i + j < n) {
                    to[8 * i + j] = rounded(sums[4 * i + 2 * lower + j]);
                }
            }
        }
    }
}

// staged_output.rs: writes 64 rows of sums through a consumer's two boxes.
constexpr unsigned SLOTS = 2, STAGING_BYTES = SLOTS * BOX_BYTES;

template <unsigned N>
__device__ __forceinline__ void store_sums(const float (&sums)[N], Corner place, const TensorMap& c_map, Bf16* c,
                                           unsigned m, unsigned n, unsigned char* staging, unsigned consumer) {
    constexpr unsigned COLUMNS = ROW_BYTES / 2;
    const unsigned t = threadIdx.x % 128, warp = t / 32, lane = t % 32;
    const bool has_map = n * 2 % 16 == 0;
#pragma unroll
    for (unsigned index = 0; index < 2 * N / COLUMNS; ++index) {
        unsigned char* const slot = staging + index % SLOTS * BOX_BYTES;
        const unsigned first_column = place.column + index * COLUMNS;
        if (t == 0) {
            wait_for_stores<SLOTS - 1>();
        }
        sync_some(1 + consumer, 128);
#pragma unroll
        for (unsigned pair = 0; pair < 4; ++pair) {
            const float* s = &sums[(index * 8 + pair * 2) * 4];
            const unsigned fragments[4] = {pair_of(s[0], s[1]), pair_of(s[2], s[3]), pair_of(s[4], s[5]),
                                           pair_of(s[6], s[7])};
            store_fragment(shared_of(slot) + place_in_box(warp * 16 + lane % 16, pair * 2 + lane / 16), fragments);
        }
        fence_for_bulk_copies();
        sync_some(1 + consumer, 128);
        if (has_map) {
            if (t == 0) {
                c_map.store(first_column, place.row, shared_of(slot));
                commit_stores();
            }
            continue;
        }
        const unsigned column = t % COLUMNS, rows = min(BOX_ROWS, m > place.row ? m - place.row : 0);
#pragma unroll 1
        for (unsigned row = t / COLUMNS; row < rows && first_column + column < n; row += 128 / COLUMNS) {
            const unsigned at = place_in_box(row, column * 2 / 16) + column * 2 % 16;
            c[(place.row + row) * n + first_column + column] = *reinterpret_cast<const Bf16*>(slot + at);
        }
    }
}

// small_tile.rs: a tile of 128 × 128 for one warp group.
namespace small_tile {

constexpr unsigned SIDE = 128, SUMS = 64, BOXES = 2, STAGE_BYTES = 2 * BOXES * BOX_BYTES, STAGES = 3;

__device__ __forceinline__ void multiply(float (&upper)[SUMS], float (&lower)[SUMS], Shared stage, bool is_added) {
    const Descriptor a = tile_at<true>(stage), below = tile_at<true>(stage + BOX_BYTES);
    const Descriptor b = tile_at<false>(stage + BOXES * BOX_BYTES);
    fence_products();
#pragma unroll
    for (unsigned step = 0; step < STEPS; ++step) {
        ::multiply(upper, step_of<true>(a, step), step_of<false>(b, step), is_added || step > 0);
        ::multiply(lower, step_of<true>(below, step), step_of<false>(b, step), is_added || step > 0);
    }
    commit_products();
}

__device__ __forceinline__ void write(float (&upper)[SUMS], float (&lower)[SUMS], Corner place, Bf16* c, unsigned m,
                                      unsigned n) {
    finish(upper);
    write_sums(upper, place, c, m, n);
    finish(lower);
    write_sums(lower, {place.row + BOX_ROWS, place.column}, c, m, n);
}

}  // namespace small_tile

// large_tile.rs: a tile of 128 × 256 for two warp groups.
namespace large_tile {

constexpr unsigned ROWS = 128, COLUMNS = 256, CONSUMERS = 2, SUMS = 128, STAGES = 4;
constexpr unsigned A_BOXES = ROWS / BOX_ROWS, B_BOXES = COLUMNS / BOX_ROWS;
constexpr unsigned STAGE_BYTES = (A_BOXES + B_BOXES) * BOX_BYTES;

__device__ __forceinline__ void multiply(float (&sums)[SUMS], unsigned consumer, Shared stage, bool is_added) {
    const Descriptor a = tile_at<true>(stage + consumer * BOX_BYTES), b = tile_at<false>(stage + A_BOXES * BOX_BYTES);
    fence_products();
#pragma unroll
    for (unsigned step = 0; step < STEPS; ++step) {
        ::multiply(sums, step_of<true>(a, step), step_of<false>(b, step), is_added || step > 0);
    }
    commit_products();
}

// Starts the products of `count` stages; the caller must wait for the last one.
__device__ __forceinline__ void multiply_stages(float (&sums)[SUMS], unsigned consumer, Shared stages,
                                                Barriers<STAGES> barriers, Position<STAGES>& at, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        wait(barriers.full(at.stage), at.parity);
        multiply(sums, consumer, stages + at.stage * STAGE_BYTES, i > 0);
        wait_for_products<1>();
        if (i > 0) {
            barriers.leave(at.before());
        }
        at.advance();
    }
}

// Fills the stages for all of k.
__device__ __forceinline__ void fill_stages(const TensorMap& a, const TensorMap& b, Corner place, Shared stages,
                                            Barriers<STAGES> barriers, Position<STAGES>& at, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        wait(barriers.empty(at.stage), at.parity ^ 1);
        fill<A_BOXES, B_BOXES>(a, b, place, i * STAGE_DEPTH, stages + at.stage * STAGE_BYTES, barriers.full(at.stage));
        at.advance();
    }
}

// Initializes a block before its warp groups take different roles.
__device__ __forceinline__ void begin(const TensorMap& a, const TensorMap& b, const TensorMap& c_map,
                                      Barriers<STAGES> barriers) {
    if (threadIdx.x == 0) {
        a.prefetch();
        b.prefetch();
        c_map.prefetch();
        barriers.init(CONSUMERS * 4);
    }
    __syncthreads();
}

}  // namespace large_tile

#endif
