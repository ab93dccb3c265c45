// Thrust and CUB from the toolkit's headers: sort, reduce, scan, and kernels built from iterators.
// nvcc: -arch=compute_80 -code=compute_80
#include "check.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

static unsigned state = 1;
static unsigned next() { return state = state * 1664525 + 1013904223; }

// Calls a CUB device algorithm twice: once to get the size of its workspace, and once with the workspace.
template <typename F>
static void with_workspace(F algorithm) {
    void* workspace = nullptr;
    size_t size = 0;
    CHECK(algorithm(workspace, size));
    CHECK(cudaMalloc(&workspace, size));
    CHECK(algorithm(workspace, size));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(workspace));
}

int main() {
    const int n = 5000;
    static unsigned keys[n], sorted[n], scanned[n];
    static int values[n];
    unsigned *in, *out, total, expected = 0;
    int *values_in, *values_out;
    for (int i = 0; i < n; i++) keys[i] = next() >> 16, values[i] = i;
    for (void** memory : {(void**)&in, (void**)&out, (void**)&values_in, (void**)&values_out})
        CHECK(cudaMalloc(memory, n * sizeof(int)));
    CHECK(cudaMemcpy(in, keys, sizeof(keys), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(values_in, values, sizeof(values), cudaMemcpyHostToDevice));
    with_workspace([&](void* workspace, size_t& size) {
        return cub::DeviceRadixSort::SortPairs(workspace, size, in, out, values_in, values_out, n, 0, 16);
    });
    CHECK(cudaMemcpy(sorted, out, sizeof(sorted), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(values, values_out, sizeof(values), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        wrong += sorted[i] != keys[values[i]];
        if (i > 0) wrong += sorted[i - 1] > sorted[i] || (sorted[i - 1] == sorted[i] && values[i - 1] > values[i]);
    }
    std::printf("sort: %d wrong, %u to %u\n", wrong, sorted[0], sorted[n - 1]);

    with_workspace([&](void* workspace, size_t& size) { return cub::DeviceReduce::Sum(workspace, size, in, out, n); });
    CHECK(cudaMemcpy(&total, out, sizeof(total), cudaMemcpyDeviceToHost));
    for (unsigned key : keys) expected += key;
    std::printf("sum: %u, %s\n", total, total == expected ? "right" : "WRONG");
    with_workspace([&](void* workspace, size_t& size) {
        return cub::DeviceScan::InclusiveSum(workspace, size, in, out, n);
    });
    CHECK(cudaMemcpy(scanned, out, sizeof(scanned), cudaMemcpyDeviceToHost));
    wrong = 0;
    expected = 0;
    for (int i = 0; i < n; i++) wrong += scanned[i] != (expected += keys[i]);
    std::printf("scan: %d wrong\n", wrong);
    for (void* memory : {(void*)in, (void*)out, (void*)values_in, (void*)values_out}) CHECK(cudaFree(memory));
    return 0;
}
