// Thread block clusters: distributed shared memory, barriers and occupancy. Requires compute capability 9.0 or newer.
// nvcc: -arch=compute_90 -code=compute_90
#include "check.cuh"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Each block counts the values in its part of the data in shared memory. Block 0 of a cluster sums the counts of all
// blocks.
__global__ void counts(const unsigned char* data, int n, unsigned* out) {
    __shared__ unsigned bins[16];
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    int part = n / gridDim.x;
    for (int i = threadIdx.x; i < part; i += blockDim.x) atomicAdd(&bins[data[blockIdx.x * part + i]], 1);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x < 16) {
        unsigned total = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++)
            total += cluster.map_shared_rank(bins, rank)[threadIdx.x];
        atomicAdd(&out[threadIdx.x], total);
        if (threadIdx.x == 0) atomicAdd(&out[16], 1);
    }
    cluster.sync(); // no block may exit before its shared memory has been read
}

__global__ void __cluster_dims__(2, 1, 1) fixed(unsigned* out) {
    __shared__ unsigned value;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = 100 + blockIdx.x;
    cluster.sync();
    unsigned other = cluster.block_rank() ^ 1;
    if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&value, other);
    cluster.sync();
}

int main() {
    const int n = 4096;
    unsigned char host[n], *data;
    for (int i = 0; i < n; i++) host[i] = i * i / 7 % 16;
    unsigned *out, values[17];
    CHECK(cudaMalloc(&data, n));
    CHECK(cudaMalloc(&out, sizeof(values)));
    CHECK(cudaMemcpy(data, host, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(out, 0, sizeof(values)));
    cudaLaunchAttribute size;
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim = {4, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = 8;
    config.blockDim = 128;
    config.attrs = &size;
    config.numAttrs = 1;
    int clusters;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, counts, &config));
    HOLDS(clusters >= 1);
    CHECK(cudaLaunchKernelEx(&config, counts, (const unsigned char*)data, n, out));
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("%u of 0, %u of 1, %u of 4, %u of 9\n", values[0], values[1], values[4], values[9]);
    std::printf("%u clusters\n", values[16]);
    fixed<<<4, 32>>>(out);
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("neighbours %u %u %u %u\n", values[0], values[1], values[2], values[3]);
    config.gridDim = 6; // not a multiple of the cluster size
    HOLDS(cudaLaunchKernelEx(&config, counts, (const unsigned char*)data, n, out) != cudaSuccess);
    config.gridDim = 8;
    size.val.clusterDim = {64, 1, 1};
    HOLDS(cudaLaunchKernelEx(&config, counts, (const unsigned char*)data, n, out) != cudaSuccess);
    cudaGetLastError();
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, fixed));
    std::printf("required cluster %d %d %d\n", attributes.requiredClusterWidth, attributes.requiredClusterHeight,
                attributes.requiredClusterDepth);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(out));
    return 0;
}
