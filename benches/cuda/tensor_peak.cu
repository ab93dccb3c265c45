// Measures the peak rate of the tensor cores of a Hopper GPU with warp-group products of random bfloat16 numbers that
// stay in shared memory. The number of products is that of a matrix product of 8192 x 8192 x 8192. Two warp groups
// alternate between stages as in gemm_persistent. No thread copies, waits for a barrier or writes.
//
// nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a --run tensor_peak.cu
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tensor_core.cuh"

constexpr unsigned BLOCKS = 132, STAGES = 4, STAGE_BYTES = (128 + 256) * 128, ALIGNMENT = 1024;
// The number of stages per block for 8192 x 8192 x 8192, rounded down.
constexpr unsigned COUNT = 8192ull * 8192 * 8192 / (128 * 256 * 64) / BLOCKS;
constexpr double FLOPS = 2.0 * 128 * 256 * 64 * COUNT * BLOCKS;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ void multiply_stages(unsigned count, float* never) {
    extern __shared__ unsigned char memory[];
    const Shared stages = aligned_to(shared_of(memory), ALIGNMENT);
    unsigned random = blockIdx.x * blockDim.x + threadIdx.x + 1;
    for (unsigned i = threadIdx.x; i < STAGES * STAGE_BYTES / 4; i += blockDim.x) {
        random = random * 1664525 + 1013904223;
        const float first = (random >> 20) / 2048.0f - 1.0f, second = (random >> 8 & 0xfff) / 2048.0f - 1.0f;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(stages + 4 * i), "r"(pair_of(first, second)) : "memory");
    }
    fence_for_bulk_copies();
    __syncthreads();
    float sums[128] = {};
    for (unsigned i = 0; i < count; ++i) {
        const Shared stage = stages + i % STAGES * STAGE_BYTES;
        const Descriptor a = tile_at<true>(stage + threadIdx.x / 128 * BOX_BYTES), b = tile_at<false>(stage + 2 * BOX_BYTES);
        fence_products();
#pragma unroll
        for (unsigned step = 0; step < STEPS; ++step) {
            multiply(sums, step_of<true>(a, step), step_of<false>(b, step), true);
        }
        commit_products();
        wait_for_products<1>();
    }
    finish(sums);
#pragma unroll
    for (const float sum : sums) {
        if (sum == 12345.678f) *never = sum;
    }
}
#endif

__global__ void __launch_bounds__(256, 1) products_alone(unsigned count, float* never) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    multiply_stages(count, never);
#endif
}

int main() {
    constexpr unsigned BYTES = STAGES * STAGE_BYTES + ALIGNMENT;
    cudaFuncSetAttribute(products_alone, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    std::vector<float> times;
    // The GPU reaches its power limit after about one second.
    for (unsigned run = 0; run < 1031; ++run) {
        float time = 0;
        cudaEventRecord(start);
        products_alone<<<BLOCKS, 256, BYTES>>>(COUNT, nullptr);
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&time, start, stop);
        times.push_back(time);
    }
    const auto median = [&](unsigned from, unsigned to) {
        std::sort(times.begin() + from, times.begin() + to);
        return times[(from + to) / 2];
    };
    const float last = median(1000, 1031), first = median(0, 31);
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    const cudaError_t error = cudaGetLastError();
    std::printf("%s: %s; %.1f TFLOP/s (%.3f ms) in the first 31 launches, %.1f TFLOP/s (%.3f ms) after 1000\n", device.name,
                cudaGetErrorString(error), FLOPS / first / 1e9, first, FLOPS / last / 1e9, last);
    return error != cudaSuccess;
}
