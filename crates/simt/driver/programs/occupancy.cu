// The occupancy calculator: relations between its results and the device's limits.
#include "check.cuh"

__global__ void plain(float* data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

__global__ void shared(float* data) {
    extern __shared__ float words[];
    words[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(256, 2) bounded(float* data) { data[threadIdx.x] *= 2; }

struct Bytes {
    __host__ __device__ size_t operator()(int block) const { return block * sizeof(float); }
};

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    int blocks = -1, before = 1 << 30;
    bool fits = true, falls = true;
    for (int size = 32; size <= 1024; size += 32) {
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, size, 0));
        fits &= blocks >= 1 && blocks * size <= p.maxThreadsPerMultiProcessor && blocks <= p.maxBlocksPerMultiProcessor;
        falls &= blocks <= before;
        before = blocks;
    }
    HOLDS(fits);
    HOLDS(falls);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, 0));
    HOLDS(blocks * 256 == p.maxThreadsPerMultiProcessor);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 32, 24 * 1024));
    HOLDS(blocks == int(p.sharedMemPerMultiprocessor / (25 * 1024)));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 1056, 0));
    HOLDS(blocks == 0);
    CHECK(cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)p.sharedMemPerBlockOptin));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 32, p.sharedMemPerBlockOptin));
    HOLDS(blocks == 1);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, plain, 64, 0, cudaOccupancyDefault));
    HOLDS(blocks >= 16);

    int grid, block;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0));
    HOLDS(block % 32 == 0 && block > 0 && block <= 1024);
    HOLDS(grid % p.multiProcessorCount == 0 && grid > 0);
    HOLDS(grid / p.multiProcessorCount * block == p.maxThreadsPerMultiProcessor);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
    HOLDS(block <= 256);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 96));
    HOLDS(block <= 96);
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, shared, Bytes(), 0));
    HOLDS(block % 32 == 0 && block > 0 && block <= 1024);
    size_t dynamic;
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, plain, 2, 128));
    HOLDS(dynamic > 0 && dynamic <= p.sharedMemPerMultiprocessor / 2);
    SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, plain, 32, 0));
    return 0;
}
