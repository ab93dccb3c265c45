// Shared by the kernels with tensor maps. The map is a kernel's third parameter; the comment above the kernel describes
// it.
#pragma once

#include "async.cuh"

// A CUtensorMap, which is opaque to programs.
struct alignas(64) TensorMap {
    unsigned long long words[16];
};

// A tile in shared memory, aligned to the start of the swizzle's pattern.
#define TILE __shared__ alignas(1024)

#define LOAD(sides, coordinates, ...)                                                                              \
    asm volatile("cp.async.bulk.tensor." sides ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "       \
                 "[%0], [%1, {" coordinates "}], [%2];"                                                           \
                 : : "r"(shared(to)), "l"(map), "r"(shared(barrier)), __VA_ARGS__ : "memory")
__device__ inline void load(void *to, const TensorMap *map, unsigned long long *barrier, int x) {
    LOAD("1d", "%3", "r"(x));
}
__device__ inline void load(void *to, const TensorMap *map, unsigned long long *barrier, int x, int y) {
    LOAD("2d", "%3, %4", "r"(x), "r"(y));
}
__device__ inline void load(void *to, const TensorMap *map, unsigned long long *barrier, int x, int y, int z) {
    LOAD("3d", "%3, %4, %5", "r"(x), "r"(y), "r"(z));
}
__device__ inline void load(void *to, const TensorMap *map, unsigned long long *barrier, int x, int y, int z, int v,
                            int w) {
    LOAD("5d", "%3, %4, %5, %6, %7", "r"(x), "r"(y), "r"(z), "r"(v), "r"(w));
}
__device__ inline void store(const TensorMap *map, const void *from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 : : "l"(map), "r"(shared(from)), "r"(x), "r"(y) : "memory");
}

// Initializes an mbarrier of one arrival for all threads of the block.
__device__ inline void begin(unsigned long long *barrier) {
    if (threadIdx.x == 0) {
        init(barrier, 1);
        fence_init();
    }
    __syncthreads();
}

// Writes numbers to the tensor, and makes them visible to copies.
__device__ inline void fill(unsigned *tensor, unsigned words, unsigned factor = 2654435761u) {
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) tensor[i] = i * factor;
    __threadfence();
    asm volatile("fence.proxy.async;" : : : "memory");
    __syncthreads();
}
