// Shared by all kernels.
#pragma once

#define FULL 0xffffffffu

// The index of the thread in a one-dimensional grid.
__device__ inline unsigned global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A load that sees the stores before the `release` that stored the value.
__device__ inline unsigned acquire(const unsigned *from) {
    unsigned value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ inline void release(unsigned *to, unsigned value) {
    asm volatile("st.release.gpu.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}
