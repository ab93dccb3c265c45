// The product of two matrices on tensor cores, for bfloat16 and a row-major second matrix: the CUDA ports of
// kernels-gpu/src/gemm/*.rs.
//
// Each kernel is a line-by-line translation of its Rust rung, with the same entry name and parameters, so that only the
// compiler differs. The files of the rungs document the algorithms. The headers contain shared code: gemm_tiles.cuh and
// gemm_stages.cuh contain parts of the kernels, and tensor_core.cuh contains the instructions.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_90a gemm.cu, or compute_80 for the kernels of all devices with mma.sync

#include "gemm_stages.cuh"

#if __CUDA_ARCH__ >= 800

namespace mma_sync {

// Tiles that a thread reads into registers and writes to shared memory, alternating with the products of the tiles.
template <typename TileA, typename TileB>
__device__ __forceinline__ void multiply_tiles(TileA tile_a, TileB tile_b, const Bf16* a, const Bf16* b, Bf16* c,
                                               unsigned m, unsigned n, unsigned k) {
    const Corner place = corner<ROWS, ROWS, 8>(blockIdx.x, m, n);
    Chunks<true> chunks_a(a, m, k, place.row, TileA::row(), TileA::column());
    Chunks<false> chunks_b(b, k, n, place.column, TileB::row(), TileB::column());
    WarpTile<2> part;
    for (unsigned first = 0; first < k; first += DEPTH) {
        const uint4 a_first = chunks_a.get(0), a_second = chunks_a.get(TileA::APART);
        const uint4 b_first = chunks_b.get(0), b_second = chunks_b.get(TileB::APART);
        __syncthreads();
        tile_a.write(a_first, a_second);
        tile_b.write(b_first, b_second);
        __syncthreads();
#pragma unroll
        for (unsigned step = 0; step < DEPTH / SIDE; ++step) {
            Fragment fragments_a[DOWN], fragments_b[2];
            tile_a.template fragments<false>(part.row, step, fragments_a);
            tile_b.template fragments<true>(part.column, step, fragments_b);
            part.multiply_add(fragments_a, fragments_b);
        }
        chunks_a.advance();
        chunks_b.advance();
    }
    part.write(place, c, m, n);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_mma_256(const Bf16* a, const Bf16* b, Bf16* c, unsigned m, unsigned n, unsigned k) {
    __shared__ __align__(16) unsigned words[PaddedTile<true>::WORDS + PaddedTile<false>::WORDS];
    multiply_tiles(PaddedTile<true>{words}, PaddedTile<false>{words + PaddedTile<true>::WORDS}, a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_ldmatrix_256(const Bf16* a, const Bf16* b, Bf16* c, unsigned m, unsigned n, unsigned k) {
    using TileA = SwizzledTile<true, ROWS>;
    using TileB = SwizzledTile<false, ROWS>;
    __shared__ __align__(16) unsigned char tiles[TileA::BYTES + TileB::BYTES];
    multiply_tiles(TileA{0, tiles}, TileB{TileA::BYTES, tiles}, a, b, c, m, n, k);
}

constexpr unsigned ALONG = 4, COLUMNS = columns_of(ALONG), STAGES = 4;
using TileA = SwizzledTile<true, ROWS>;
using TileB = SwizzledTile<false, COLUMNS>;
constexpr unsigned STAGE = TileA::BYTES + TileB::BYTES;

__device__ __forceinline__ unsigned after(unsigned stage) { return stage == (STAGES - 1) * STAGE ? 0 : stage + STAGE; }

struct Fragments {
    Fragment a[DOWN];
    Fragment b[ALONG];

    __device__ __forceinline__ Fragments(unsigned stage, const WarpTile<ALONG>& part, unsigned step) {
        TileA{stage}.fragments<false>(part.row, step, a);
        TileB{stage + TileA::BYTES}.fragments<true>(part.column, step, b);
    }
};

struct Copies {
    Chunks<true> a;
    Chunks<false> b;
    unsigned stage;
    unsigned left;

    __device__ __forceinline__ void start_next() {
        if (left > 0) {
            a.copy<TileA::BYTES / TileA::BYTES_APART>(TileA::APART, TileA{stage}.first_chunk(), TileA::BYTES_APART);
            b.copy<TileB::BYTES / TileA::BYTES_APART>(TileB::APART, TileB{stage + TileA::BYTES}.first_chunk(),
                                                      TileA::BYTES_APART);
            a.advance();
            b.advance();
            stage = after(stage);
            left -= min(left, DEPTH);
        }
        commit_copies();
    }
};

__device__ __forceinline__ void wait_for_next_stage() {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_cp_async_256(const Bf16* a, const Bf16* b, Bf16* c, unsigned m, unsigned n, unsigned k) {
    const Corner place = corner<ROWS, COLUMNS, 8>(blockIdx.x, m, n);
    WarpTile<ALONG> part;
    Copies copies{{a, m, k, place.row, TileA::row(), TileA::column()},
                  {b, k, n, place.column, TileB::row(), TileB::column()},
                  0,
                  k};
    unsigned stage = 0;
#pragma unroll 1
    for (unsigned i = 1; i < STAGES; ++i) {
        copies.start_next();
    }
    wait_for_next_stage();
    Fragments now(stage, part, 0);
    for (unsigned first = 0; first < k; first += DEPTH) {
        const Fragments next(stage, part, 1);
        copies.start_next();
        part.multiply_add(now.a, now.b);
        wait_for_next_stage();
        // Reading the last stage once more is unnecessary, but costs less than a branch in every round.
        stage = first + DEPTH < k ? after(stage) : stage;
        now = Fragments(stage, part, 0);
        part.multiply_add(next.a, next.b);
    }
    part.write(place, c, m, n);
}

}  // namespace mma_sync

#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

namespace small_tile {

// wgmma.rs: starts the copies of two boxes of a matrix. The second box starts at `first` + `next`.
__device__ __forceinline__ void fill_boxes(const Bf16* data, unsigned rows, unsigned columns, Corner first, Corner next,
                                           unsigned char* to) {
    constexpr unsigned COPIES = BOX_BYTES / 16 / 128, ELEMENTS = 8;
    unsigned char* place;
    const auto copy = [&](unsigned i) -> Corner {
        const unsigned index = i / COPIES, chunk = threadIdx.x % (ROW_BYTES / 16);
        const unsigned row = i % COPIES * (128 * 16 / ROW_BYTES) + threadIdx.x / (ROW_BYTES / 16);
        place = to + (index * BOX_BYTES + place_in_box(row, chunk));
        return {first.row + index * next.row + row, first.column + index * next.column + chunk * ELEMENTS};
    };
    if (columns % ELEMENTS == 0 && reinterpret_cast<unsigned long long>(data) % 16 == 0) {
#pragma unroll
        for (unsigned i = 0; i < BOXES * COPIES; ++i) {
            const Corner from = copy(i);
            const bool exists = from.row < rows && from.column < columns;
            copy_four(shared_of(place), data + (exists ? from.row * columns + from.column : 0), exists);
        }
        return;
    }
#pragma unroll 1
    for (unsigned i = 0; i < BOXES * COPIES; ++i) {
        const Corner from = copy(i);
#pragma unroll
        for (unsigned element = 0; element < ELEMENTS; ++element) {
            const bool exists = from.row < rows && from.column + element < columns;
            const Bf16* const at = data + (from.row * columns + from.column + element);
            reinterpret_cast<Bf16*>(place)[element] = exists ? *at : 0;
        }
    }
}

extern "C" __global__ void __launch_bounds__(128, 2)
    gemm_wgmma_128(const Bf16* a, const Bf16* b, Bf16* c, unsigned m, unsigned n, unsigned k) {
    const Shared begin = shared_of(shared_memory), start = aligned_to(begin, BOX_ALIGN);
    unsigned char* const stages = shared_memory + (start - begin);
    const Corner place = corner<SIDE, SIDE, 8>(blockIdx.x, m, n);
    const unsigned count = ceiling(k, STAGE_DEPTH);
    const auto fill = [&](unsigned index, unsigned char* stage) {
        const unsigned first = index * STAGE_DEPTH;
        fill_boxes(a, m, k, {place.row, first}, {BOX_ROWS, 0}, stage);
        fill_boxes(b, k, n, {first, place.column}, {0, BOX_ROWS}, stage + BOXES * BOX_BYTES);
    };
#pragma unroll
    for (unsigned i = 0; i < STAGES - 1; ++i) {
        if (i < count) {
            fill(i, stages + i * STAGE_BYTES);
        }
        commit_copies();
    }
    float upper[SUMS] = {}, lower[SUMS] = {};
    unsigned used = 0, filled = STAGES - 1;
    for (unsigned i = 0; i < count; ++i) {
        wait_for_copies<STAGES - 2>();
        fence_for_bulk_copies();
        __syncthreads();
        multiply(upper, lower, start + used * STAGE_BYTES, i > 0);
        if (i + STAGES - 1 < count) {
            fill(i + STAGES - 1, stages + filled * STAGE_BYTES);
        }
        commit_copies();
        wait_for_products<0>();
        used = used + 1 == STAGES ? 0 : used + 1;
        filled = filled + 1 == STAGES ? 0 : filled + 1;
    }
    write(upper, lower, place, c, m, n);
}

extern "C" __global__ void __launch_bounds__(128, 2)
    gemm_tma_128(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                 const __grid_constant__ TensorMap c_map, Bf16* c, unsigned m, unsigned n, unsigned k) {
    const Shared stages = aligned_to(shared_of(shared_memory), BOX_ALIGN);
    const Barriers<STAGES> barriers{stages + STAGES * STAGE_BYTES};
    const Corner place = corner<SIDE, SIDE, 8>(blockIdx.x, m, n);
    const unsigned count = ceiling(k, STAGE_DEPTH);
    Position<STAGES> filled, used;
    const auto fill = [&](unsigned part, unsigned stage) {
        ::fill<BOXES, BOXES>(a, b, place, part * STAGE_DEPTH, stages + stage * STAGE_BYTES, barriers.full(stage));
    };
    if (threadIdx.x == 0) {
        a.prefetch();
        b.prefetch();
        c_map.prefetch();
        barriers.init(1);
        for (unsigned i = 0; i < min(STAGES - 1, count); ++i) {
            fill(i, i);
        }
    }
    filled.stage = STAGES - 1;
    __syncthreads();
    float upper[SUMS] = {}, lower[SUMS] = {};
    for (unsigned i = 0; i < count; ++i) {
        wait(barriers.full(used.stage), used.parity);
        multiply(upper, lower, stages + used.stage * STAGE_BYTES, i > 0);
        used.advance();
        wait_for_products<1>();
        __syncthreads();
        const unsigned next = i + STAGES - 1;
        if (threadIdx.x == 0 && next < count) {
            fill(next, filled.stage);
        }
        filled.advance();
    }
    write(upper, lower, place, c, m, n);
}

}  // namespace small_tile

namespace large_tile {

extern "C" __global__ void __launch_bounds__(384)
    gemm_warp_specialized_384(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                              const __grid_constant__ TensorMap c_map, Bf16* c, unsigned m, unsigned n, unsigned k) {
    const Shared stages = aligned_to(shared_of(shared_memory), BOX_ALIGN);
    const Barriers<STAGES> barriers{stages + STAGES * STAGE_BYTES};
    const unsigned group = threadIdx.x / 128;
    begin(a, b, c_map, barriers);
    const Corner place = corner<ROWS, COLUMNS, 8>(blockIdx.x, m, n);
    const unsigned count = ceiling(k, STAGE_DEPTH);
    Position<STAGES> at;
    if (group == 0) {
        keep_registers<40>();
        if (threadIdx.x % 128 == 0) {
            fill_stages(a, b, place, stages, barriers, at, count);
        }
        return;
    }
    take_registers<232>();
    const unsigned consumer = group - 1;
    float sums[SUMS] = {};
    multiply_stages(sums, consumer, stages, barriers, at, count);
    finish(sums);
    write_sums(sums, {place.row + consumer * BOX_ROWS, place.column}, c, m, n);
}

extern "C" __global__ void __launch_bounds__(384)
    gemm_persistent_384(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                        const __grid_constant__ TensorMap c_map, Bf16* c, unsigned m, unsigned n, unsigned k) {
    const Shared begins = shared_of(shared_memory), stages = aligned_to(begins, BOX_ALIGN);
    unsigned char* const staging = shared_memory + (stages - begins) + STAGES * STAGE_BYTES;
    const Barriers<STAGES> barriers{stages + STAGES * STAGE_BYTES + CONSUMERS * STAGING_BYTES};
    const unsigned group = threadIdx.x / 128;
    begin(a, b, c_map, barriers);
    const unsigned tiles = ceiling(m, ROWS) * ceiling(n, COLUMNS), count = ceiling(k, STAGE_DEPTH);
    const auto corner_of = [&](unsigned tile) { return corner<ROWS, COLUMNS, 8>(tile, m, n); };
    Position<STAGES> at;
    if (group == 0) {
        keep_registers<40>();
        if (threadIdx.x % 128 == 0) {
            for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
                fill_stages(a, b, corner_of(tile), stages, barriers, at, count);
            }
        }
        return;
    }
    take_registers<232>();
    const unsigned consumer = group - 1;
    float sums[SUMS] = {};
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        multiply_stages(sums, consumer, stages, barriers, at, count);
        // The address is computed while the last products run.
        const Corner place = corner_of(tile);
        finish(sums);
        barriers.leave(at.before());
        store_sums(sums, {place.row + consumer * BOX_ROWS, place.column}, c_map, c, m, n,
                   staging + consumer * STAGING_BYTES, consumer);
    }
    if (threadIdx.x % 128 == 0) {
        wait_for_stores<0>();
    }
}

}  // namespace large_tile

#endif
