// Virtual memory management: a reserved address range, memory mapped to two of its addresses, and access rights.
#include "driver.cuh"

__global__ void fill(int* data, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] = i;
}

int main() {
    CHECK(cudaFree(nullptr)); // creates the context
    int supported = 0;
    SHOW_DRIVER(cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    HOLDS(supported == 1);
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    size_t grain = 0;
    SHOW_DRIVER(cuMemGetAllocationGranularity, &grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    HOLDS(grain > 0 && (grain & (grain - 1)) == 0);
    CUdeviceptr base = 0;
    SHOW_DRIVER(cuMemAddressReserve, &base, 3 * grain, 0, 0, 0);
    HOLDS(base != 0 && base % grain == 0);
    CUmemGenericAllocationHandle first = 0, second = 0;
    SHOW_DRIVER(cuMemCreate, &first, grain, &properties, 0);
    SHOW_DRIVER(cuMemCreate, &second, grain, &properties, 0);
    SHOW_DRIVER(cuMemMap, base, grain, 0, first, 0);
    SHOW_DRIVER(cuMemMap, base + grain, grain, 0, second, 0);
    SHOW_DRIVER(cuMemMap, base + 2 * grain, grain, 0, first, 0); // the first allocation again
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    SHOW_DRIVER(cuMemSetAccess, base, 3 * grain, &access, 1);
    unsigned long long rights = 0;
    SHOW_DRIVER(cuMemGetAccess, &rights, &properties.location, base + grain);
    HOLDS(rights == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    const int n = 2 * grain / sizeof(int), half = n / 2;
    int *data = (int*)base, values[3];
    fill<<<16, 256>>>(data, n); // across the border between the two mappings
    CHECK(cudaMemcpy(&values[0], data + half - 1, 2 * sizeof(int), cudaMemcpyDeviceToHost));
    HOLDS(values[0] == half - 1 && values[1] == half);
    CHECK(cudaMemcpy(&values[2], data + n + 5, sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("seen at the other place: %d\n", values[2]);
    SHOW_DRIVER(cuMemUnmap, base, 3 * grain);
    SHOW_DRIVER(cuMemRelease, first);
    SHOW_DRIVER(cuMemRelease, second);
    SHOW_DRIVER(cuMemAddressFree, base, 3 * grain);
    HOLDS(cudaMemcpy(values, data, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess);
    cudaGetLastError();
    SHOW(cudaDeviceSynchronize());
    return 0;
}
