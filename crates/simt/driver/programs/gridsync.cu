// Cooperative launches: barriers across the grid, and a grid that does not fit on the device.
#include "check.cuh"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// In each round, every element becomes the sum of its neighbors from the previous round.
__global__ void rounds(unsigned* a, unsigned* b, int n, int count) {
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < count; round++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[(i + n - 1) % n] + a[(i + 1) % n];
        grid.sync();
        unsigned* other = a;
        a = b;
        b = other;
    }
    if (grid.thread_rank() == 0) a[n] = grid.is_valid() * 1000 + grid.num_blocks();
}

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    HOLDS(properties.cooperativeLaunch == 1);
    int n = 1000, count = 9, fits;
    unsigned host[1001] = {}, expected[1000], next[1000];
    for (int i = 0; i < n; i++) expected[i] = host[i] = i % 17;
    for (int round = 0; round < count; round++) {
        for (int i = 0; i < n; i++) next[i] = expected[(i + n - 1) % n] + expected[(i + 1) % n];
        for (int i = 0; i < n; i++) expected[i] = next[i];
    }
    unsigned *a, *b;
    CHECK(cudaMalloc(&a, sizeof(host)));
    CHECK(cudaMalloc(&b, sizeof(host)));
    CHECK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
    void* arguments[] = {&a, &b, &n, &count};
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fits, rounds, 64, 0));
    HOLDS(fits >= 1);
    CHECK(cudaLaunchCooperativeKernel(rounds, 8, 64, arguments, 0, 0));
    CHECK(cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += host[i] != expected[i];
    std::printf("%u, %d wrong, the grid says %u\n", host[500], wrong, host[1000]);
    dim3 too_large(fits * properties.multiProcessorCount + 1);
    SHOW(cudaLaunchCooperativeKernel(rounds, too_large, 64, arguments, 0, 0));
    SHOW(cudaGetLastError());

    // The same launch with launch attributes.
    cudaLaunchAttribute cooperative;
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 4;
    config.blockDim = 32;
    config.attrs = &cooperative;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, rounds, a, b, n, 2));
    CHECK(cudaMemcpy(host, a, sizeof(host), cudaMemcpyDeviceToHost));
    std::printf("the grid says %u\n", host[1000]);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    return 0;
}
