// Copies of tensor tiles described by a map. The first coordinate is a multiple of 16 bytes, and that of a store is not
// negative; otherwise, an H200 reports an illegal instruction.
// arch: compute_90

#include "tensors.cuh"

// A kernel and the shape of its clusters.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    tensor_multicast(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map);

// Tiles inside the tensor, across its edges and outside.
// launch: grid 1, block 64, out 384, map u32 20x12, tile 8x4
extern "C" __global__ void tensor_edges(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned tile[32];
    __shared__ unsigned long long full;
    fill(scratch, 240);
    begin(&full);
    if (threadIdx.x == 0) asm volatile("prefetch.tensormap [%0];" : : "l"(&map) : "memory");
    for (int number = 0; number < 12; number++) {
        if (threadIdx.x == 0) {
            expect(&full, 128);
            load(tile, &map, &full, number % 4 * 8 - 4, number / 4 * 5 - 2);
        }
        wait(&full, number % 2);
        if (threadIdx.x < 32) out[number * 32 + threadIdx.x] = tile[threadIdx.x];
        __syncthreads();
    }
}

// Writes a tile to the output in the layout of shared memory.
template <unsigned WORDS, class... At>
__device__ void raw(unsigned *out, unsigned *scratch, unsigned tensor, const TensorMap *map, At... at) {
    TILE unsigned tile[WORDS];
    __shared__ unsigned long long full;
    fill(scratch, tensor, 1);
    begin(&full);
    if (threadIdx.x == 0) {
        expect(&full, WORDS * 4);
        load(tile, map, &full, at...);
    }
    wait(&full, 0);
    for (unsigned i = threadIdx.x; i < WORDS; i += blockDim.x) out[i] = tile[i];
}

// launch: grid 1, block 128, out 512, map u32 40x24, tile 32x16, swizzle 128
extern "C" __global__ void tensor_swizzle_128(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    raw<512>(out, scratch, 960, &map, 4, 5);
}

// launch: grid 1, block 128, out 256, map u32 40x24, tile 16x16, swizzle 64
extern "C" __global__ void tensor_swizzle_64(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    raw<256>(out, scratch, 960, &map, 28, -2);
}

// launch: grid 1, block 128, out 128, map f16 80x24, tile 16x16, swizzle 32
extern "C" __global__ void tensor_swizzle_32(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    raw<128>(out, scratch, 960, &map, 24, 17);
}

// launch: grid 1, block 64, out 48, map u8 400, tile 192
extern "C" __global__ void tensor_of_one_side(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    raw<48>(out, scratch, 100, &map, 336);
}

// Every second element of a dimension.
// launch: grid 1, block 64, out 96, map u32 8x9x6, tile 4x7x6, steps 1x1x2
extern "C" __global__ void tensor_of_three_sides(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    raw<84>(out, scratch, 432, &map, 4, 3, 1);
}

// launch: grid 1, block 64, out 96, map u32 4x3x5x2x3, tile 4x2x3x2x2
extern "C" __global__ void tensor_of_five_sides(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    raw<96>(out, scratch, 360, &map, 0, 1, 3, -1, 1);
}

// Elements outside the tensor are NaN.
// launch: grid 1, block 64, out 128, map f32 16x16, tile 16x8, nan 1
extern "C" __global__ void tensor_of_nan(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    raw<128>(out, scratch, 256, &map, 8, 12);
}

// Stores from shared memory to a tensor; elements outside the tensor are not stored.
// launch: grid 1, block 128, out 640, map u32 20x32, tile 16x8, swizzle 64
extern "C" __global__ void tensor_stores(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned tile[4][128];
    for (unsigned i = threadIdx.x; i < 512; i += 128) tile[i / 128][i % 128] = i + 1000;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store(&map, tile[0], 0, 0);
        store(&map, tile[1], 12, 9);
        commit();
        store(&map, tile[2], 0, 20);
        store(&map, tile[3], 8, 28);
        commit();
        wait_group<0>();
        __threadfence();
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 640; i += 128) out[i] = scratch[i];
}

// Overlapping tiles are added to the tensor.
// launch: grid 1, block 128, out 320, map u32 20x16, tile 8x8
extern "C" __global__ void tensor_reductions(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned tile[2][64];
    if (threadIdx.x < 64) {
        tile[0][threadIdx.x] = threadIdx.x * threadIdx.x;
        tile[1][threadIdx.x] = 1u << threadIdx.x % 32;
    }
    fill(scratch, 320, 3);
    if (threadIdx.x == 0) {
        for (int at = 0; at < 16; at += 4)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
                         : : "l"(&map), "r"(shared(tile[0])), "r"(at), "r"(at) : "memory");
        commit();
        wait_group<0>();
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile.bulk_group [%0, {%2, %3}], [%1];"
                     : : "l"(&map), "r"(shared(tile[1])), "r"(12), "r"(2) : "memory");
        commit();
        wait_group<0>();
        __threadfence();
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 320; i += 128) out[i] = scratch[i];
}

// Each block of a cluster loads half of a tile for both blocks.
// launch: grid 4, block 64, out 2048, map u32 16x64, tile 16x16, swizzle 64
extern "C" __global__ void tensor_multicast(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned tile[512];
    __shared__ unsigned long long barrier;
    // Both blocks write the same numbers.
    fill(scratch, 1024);
    begin(&barrier);
    if (threadIdx.x == 0) expect(&barrier, 2048);
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : : : "memory");
    if (threadIdx.x == 0) {
        unsigned rank = blockIdx.x % 2;
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
                     : : "r"(shared(tile) + rank * 1024), "l"(&map), "r"(shared(&barrier)), "r"(0),
                       "r"(blockIdx.x * 16), "h"((unsigned short)3) : "memory");
    }
    wait(&barrier, 0);
    for (unsigned i = threadIdx.x; i < 512; i += 64) out[blockIdx.x * 512 + i] = tile[i];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : : : "memory");
}

// One warp copies tiles into a ring of buffers, and four other warps sum them.
// launch: grid 2, block 160, out 256, map u32 32x256, tile 32x4
extern "C" __global__ void tensor_ring(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned tile[3][128];
    __shared__ unsigned long long full[3], empty[3];
    fill(scratch, 32 * 256);
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 3; i++) {
            init(&full[i], 1);
            init(&empty[i], 4);
        }
        fence_init();
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        for (unsigned item = 0; item < 20; item++) {
            unsigned at = item % 3;
            if (item >= 3) wait(&empty[at], (item / 3 - 1) % 2);
            expect(&full[at], 512);
            load(tile[at], &map, &full[at], 0, (item * 2 + blockIdx.x) * 4);
        }
    } else if (threadIdx.x < 128) {
        unsigned sum = 0;
        for (unsigned item = 0; item < 20; item++) {
            unsigned at = item % 3;
            wait(&full[at], item / 3 % 2);
            sum = sum * 5 + tile[at][(threadIdx.x * 7 + item) % 128];
            __syncwarp();
            if (threadIdx.x % 32 == 0) arrive(&empty[at]);
        }
        out[blockIdx.x * 128 + threadIdx.x] = sum;
    }
}

#define LOAD4(offsets, ...)                                                                                            \
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "                \
                 "[%0], [%1, {%3, %4, %5, %6}], [%2], {" offsets "};"                                                 \
                 : : "r"(shared(to)), "l"(map), "r"(shared(barrier)), "r"(c), "r"(x), "r"(y), "r"(n), __VA_ARGS__ : "memory")
__device__ inline void load_pixels(void *to, const TensorMap *map, unsigned long long *barrier, int c, int x, int y, int n,
                                   unsigned short offset_x, unsigned short offset_y) {
    LOAD4("%7, %8", "h"(offset_x), "h"(offset_y));
}

// The pixels for each element of a 3 x 3 filter, with a border of one: across the end of one image into the next image,
// and past the last image.
template <unsigned WORDS> __device__ void filter(unsigned *out, unsigned *scratch, const TensorMap *map, int c, int x) {
    TILE unsigned tile[WORDS];
    __shared__ unsigned long long full;
    fill(scratch, 8192, 1);
    begin(&full);
    for (unsigned item = 0; item < 9; item++) {
        if (threadIdx.x == 0) {
            expect(&full, WORDS * 4);
            load_pixels(tile, map, &full, c, x, (int)(item / 3) * 2 - 1, item % 3, item % 3, item / 3);
        }
        wait(&full, item % 2);
        for (unsigned i = threadIdx.x; i < WORDS; i += blockDim.x) out[item * WORDS + i] = tile[i];
        __syncthreads();
    }
}

// launch: grid 1, block 128, out 2304, map u32 8x9x7x3, lower -1x-1, upper -1x-1, channels 8, pixels 32
extern "C" __global__ void tensor_im2col(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    filter<256>(out, scratch, &map, 0, 4);
}

// Every second pixel, with some of the channels.
// launch: grid 1, block 128, out 1152, map u32 16x11x9x3, lower -1x-1, upper 0x-1, channels 8, pixels 16, steps 1x2x2x1
extern "C" __global__ void tensor_im2col_steps(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    filter<128>(out, scratch, &map, 4, -1);
}

// launch: grid 1, block 128, out 4608, map f16 64x5x6x3, lower -1x-1, upper -1x-1, channels 64, pixels 16, swizzle 128
extern "C" __global__ void tensor_im2col_swizzled(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    filter<512>(out, scratch, &map, 0, 2);
}

// Stores of pixels to a tensor.
// launch: grid 1, block 128, out 1512, map u32 8x9x7x3, lower 1x1, upper -1x-1, channels 8, pixels 24
extern "C" __global__ void tensor_im2col_stores(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned tile[192];
    for (unsigned i = threadIdx.x; i < 192; i += 128) tile[i] = i + 1;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%2, %3, %3, %2}], [%1];"
                     : : "l"(&map), "r"(shared(tile)), "r"(0), "r"(3) : "memory");
        commit();
        wait_group<0>();
        __threadfence();
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1512; i += 128) out[i] = scratch[i];
}
