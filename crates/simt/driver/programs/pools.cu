// Stream-ordered allocation: the default pool, user-created pools, attributes, and reuse of memory.
#include "check.cuh"

__global__ void fill(int* data, int n, int value) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = value + i;
}

static unsigned long long used(cudaMemPool_t pool, cudaMemPoolAttr which) {
    unsigned long long bytes = 0;
    CHECK(cudaMemPoolGetAttribute(pool, which, &bytes));
    return bytes;
}

int main() {
    int supported;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    HOLDS(supported == 1);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemPool_t pool, current, new_pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    HOLDS(pool == current);
    unsigned long long keep = ~0ull, threshold = 0;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    HOLDS(threshold == 0);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    HOLDS(threshold == keep);

    const int n = 100000;
    int total = 0, last;
    for (int round = 0; round < 10; round++) {
        int* data;
        CHECK(cudaMallocAsync(&data, n * sizeof(int), stream));
        fill<<<1, 256, 0, stream>>>(data, n, round);
        CHECK(cudaMemcpyAsync(&last, data + n - 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(data, stream));
        CHECK(cudaStreamSynchronize(stream));
        total += last;
    }
    std::printf("total %d\n", total);
    HOLDS(used(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
    HOLDS(used(pool, cudaMemPoolAttrUsedMemHigh) >= n * sizeof(int));
    HOLDS(used(pool, cudaMemPoolAttrReservedMemCurrent) >= n * sizeof(int));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    HOLDS(used(pool, cudaMemPoolAttrReservedMemCurrent) == 0);

    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    CHECK(cudaMemPoolCreate(&new_pool, &properties));
    int *a, *b;
    CHECK(cudaMallocFromPoolAsync(&a, 1000, new_pool, stream));
    CHECK(cudaMallocFromPoolAsync(&b, 1000, new_pool, stream));
    fill<<<1, 250, 0, stream>>>(a, 250, 5);
    fill<<<1, 250, 0, stream>>>(b, 250, 9);
    int sides[2];
    CHECK(cudaMemcpyAsync(sides, a + 249, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(sides + 1, b, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%d %d\n", sides[0], sides[1]);
    HOLDS(used(new_pool, cudaMemPoolAttrUsedMemCurrent) >= 2000);
    CHECK(cudaFreeAsync(a, stream));
    CHECK(cudaFreeAsync(b, stream));
    CHECK(cudaStreamSynchronize(stream));
    HOLDS(used(new_pool, cudaMemPoolAttrUsedMemCurrent) == 0);
    CHECK(cudaDeviceSetMemPool(0, new_pool));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    HOLDS(current == new_pool);
    CHECK(cudaMallocAsync(&a, 64, stream));
    HOLDS(used(new_pool, cudaMemPoolAttrUsedMemCurrent) > 0);
    CHECK(cudaFreeAsync(a, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceSetMemPool(0, pool));
    CHECK(cudaMemPoolDestroy(new_pool));
    SHOW(cudaMallocAsync(&a, size_t(1) << 50, stream));
    SHOW(cudaGetLastError());
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
