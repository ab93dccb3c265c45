// Attributes of functions and pointers as the runtime reports them.
#include "check.cuh"

__constant__ int constants[256];
__device__ float table[100];

__global__ void simple(int* data) { data[threadIdx.x] = constants[threadIdx.x]; }

__global__ void __launch_bounds__(192) with_arrays(float* data, int index) {
    __shared__ float words[300];
    volatile float values[64];
    for (int i = 0; i < 64; i++) values[i] = data[i];
    words[threadIdx.x] = values[index];
    __syncthreads();
    data[threadIdx.x] = words[299 - threadIdx.x] + table[threadIdx.x % 100];
}

static void describe(const char* name, const void* pointer) {
    cudaPointerAttributes a = {};
    cudaError_t error = cudaPointerGetAttributes(&a, pointer);
    const char* types[] = {"unregistered", "host", "device", "managed"};
    std::printf("%s: %s, %s, device pointer %s, host pointer %s\n", name, cudaGetErrorName(error), types[a.type],
                a.devicePointer == nullptr ? "none" : a.devicePointer == pointer ? "the same" : "another",
                a.hostPointer == nullptr ? "none" : a.hostPointer == pointer ? "the same" : "another");
}

int main() {
    cudaFuncAttributes f;
    CHECK(cudaFuncGetAttributes(&f, simple));
    HOLDS(f.maxThreadsPerBlock == 1024);
    HOLDS(f.numRegs > 0 && f.numRegs <= 255);
    HOLDS(f.sharedSizeBytes == 0);
    HOLDS(f.localSizeBytes == 0);
    HOLDS(f.ptxVersion == 80);
    HOLDS(f.binaryVersion >= 80);
    HOLDS(f.cacheModeCA == 0 || f.cacheModeCA == 1);
    HOLDS(f.maxDynamicSharedSizeBytes == 48 * 1024);
    CHECK(cudaFuncGetAttributes(&f, with_arrays));
    HOLDS(f.maxThreadsPerBlock == 192);
    HOLDS(f.sharedSizeBytes == 1200);
    HOLDS(f.maxDynamicSharedSizeBytes == 48 * 1024 - 1200);
    with_arrays<<<1, 256>>>(nullptr, 0);
    SHOW(cudaGetLastError());
    CHECK(cudaFuncSetCacheConfig(simple, cudaFuncCachePreferL1));
    cudaFunction_t function;
    SHOW(cudaGetFuncBySymbol(&function, (const void*)simple));

    int *device, *host, *managed, local = 0;
    void* symbol;
    CHECK(cudaMalloc(&device, 1000));
    CHECK(cudaMallocHost(&host, 1000));
    CHECK(cudaMallocManaged(&managed, 1000));
    CHECK(cudaGetSymbolAddress(&symbol, table));
    describe("device", device);
    describe("within device", device + 100);
    describe("pinned", host + 1);
    describe("managed", managed + 2);
    describe("symbol", symbol);
    describe("local", &local);
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, device));
    HOLDS(a.device == 0);
    CHECK(cudaFree(device));
    describe("freed", device);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(managed));
    SHOW(cudaPointerGetAttributes(nullptr, &local));
    SHOW(cudaFuncGetAttributes(&f, (const void*)describe));
    return 0;
}
