// Cooperation of the threads of a warp, a block and a grid, as in kernels-gpu/src/scan/shuffle.rs and
// kernels-gpu/src/grid_barrier.rs, for the ladders scan and sort.
#pragma once

constexpr unsigned FULL_MASK = 0xffffffff;

// shuffle.rs

// Returns the value of the lane that is `stride` lanes before this lane, or 0 if there is no such lane. __shfl_up_sync
// does not return the predicate that warp_shuffle_up returns.
__device__ __forceinline__ int shuffle_up(int value, unsigned stride) {
    int before;
    asm volatile("{ .reg .pred exists; shfl.sync.up.b32 %0|exists, %1, %2, 0, -1; selp.b32 %0, %0, 0, exists; }"
                 : "=r"(before) : "r"(value), "r"(stride));
    return before;
}

__device__ __forceinline__ int scan_warp(int value) {
    int sum = value;
#pragma unroll
    for (unsigned stride = 1; stride < 32; stride *= 2) {
        sum += shuffle_up(sum, stride);
    }
    return sum;
}

__device__ __forceinline__ int sum_warp(int sum) {
#pragma unroll
    for (unsigned lane_mask = 16; lane_mask > 0; lane_mask /= 2) {
        sum += __shfl_xor_sync(FULL_MASK, sum, lane_mask);
    }
    return sum;
}

template <unsigned BLOCK>
__device__ __forceinline__ int sum_of_warps_before(int* warp_sums, int sum) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 31) {
        warp_sums[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        const int total = scan_warp(lane < BLOCK / 32 ? warp_sums[lane] : 0);
        if (lane < BLOCK / 32) {
            warp_sums[lane] = total;
        }
    }
    __syncthreads();
    return warp > 0 ? warp_sums[warp - 1] : 0;
}

__device__ __forceinline__ unsigned ceiling(unsigned a, unsigned b) { return a / b + (a % b != 0); }

// Relaxed accesses with device scope, which compilers may move across other accesses, and a fence, across which
// compilers may not move accesses.
using Word = unsigned long long;

__device__ __forceinline__ unsigned load_relaxed(const unsigned* from) {
    unsigned value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(from)));
    return value;
}
__device__ __forceinline__ Word load_relaxed(const Word* from) {
    Word value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)));
    return value;
}
__device__ __forceinline__ void store_relaxed(unsigned* to, unsigned value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value));
}
__device__ __forceinline__ void store_relaxed(Word* to, Word value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(value));
}
__device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// grid_barrier.rs
struct GridBarrier {
    unsigned* counter;
    unsigned target = 0;

    __device__ __forceinline__ void wait() {
        target += gridDim.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            fence();
            atomicAdd(counter, 1);
            while (load_relaxed(counter) < target) {
            }
            fence();
        }
        __syncthreads();
    }

    __device__ __forceinline__ void finish() {
        if (threadIdx.x == 0) {
            const unsigned arrived = atomicAdd(counter, 1) + 1;
            if (arrived == target + gridDim.x) {
                store_relaxed(counter, 0);
            }
        }
    }
};
