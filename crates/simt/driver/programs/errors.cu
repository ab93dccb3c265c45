// Errors after which the device is still usable: codes, names, the last error, bad launches, pointers and handles.
#include "check.cuh"
#include <cstring>

__global__ void nothing() {}
__global__ void uses_shared(int* out) {
    __shared__ int words[1024];
    words[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = words[1023 - threadIdx.x];
}
static void no_kernel() {}

int main() {
    SHOW(cudaGetLastError());
    nothing<<<0, 32>>>();
    SHOW(cudaPeekAtLastError());
    SHOW(cudaPeekAtLastError());
    SHOW(cudaGetLastError());
    SHOW(cudaGetLastError());
    nothing<<<1, 1025>>>();
    SHOW(cudaGetLastError());
    nothing<<<1, dim3(1, 1, 65)>>>();
    SHOW(cudaGetLastError());
    nothing<<<dim3(1, 65536), 1>>>();
    SHOW(cudaGetLastError());
    nothing<<<1, 1, 300 * 1024>>>();
    SHOW(cudaGetLastError());
    uses_shared<<<1, 1, 48 * 1024>>>(nullptr);
    SHOW(cudaGetLastError());
    SHOW(cudaLaunchKernel((const void*)no_kernel, 1, 1, nullptr, 0, 0));
    SHOW(cudaGetLastError());
    SHOW(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30));
    SHOW(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    cudaGetLastError();

    int local, count, *memory;
    SHOW(cudaMalloc(&memory, size_t(1) << 50));
    SHOW(cudaMalloc(&memory, 0));
    HOLDS(memory == nullptr);
    SHOW(cudaMalloc((void**)nullptr, 16));
    SHOW(cudaMalloc(&memory, 256));
    SHOW(cudaFree(&local));
    SHOW(cudaFree(memory));
    SHOW(cudaFree(memory));
    SHOW(cudaFree(nullptr));
    SHOW(cudaFreeHost(&local));
    SHOW(cudaMemcpy(nullptr, &local, 4, cudaMemcpyHostToDevice));
    SHOW(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
    SHOW(cudaMemcpy(&local, &count, 4, (cudaMemcpyKind)77));
    SHOW(cudaMemset(nullptr, 0, 16));
    SHOW(cudaMemcpy2D(&local, 4, &count, 4, 8, 1, cudaMemcpyHostToHost)); // the pitch is less than the width
    SHOW(cudaSetDevice(1000));
    SHOW(cudaSetDevice(-1));
    SHOW(cudaSetDevice(0));
    SHOW(cudaGetDeviceCount(nullptr));
    SHOW(cudaDeviceGetAttribute(&local, (cudaDeviceAttr)100000, 0));
    SHOW(cudaEventQuery(nullptr));
    SHOW(cudaFuncSetCacheConfig((const void*)no_kernel, cudaFuncCachePreferL1));
    SHOW(cudaStreamCreateWithFlags(nullptr, 0));
    SHOW(cudaGetLastError());

    for (int code : {0,   1,   2,   3,   9,   13,  35,  98,  100, 101, 200, 209,
                     222, 400, 600, 700, 710, 716, 719, 720, 801, 999, 12345}) {
        const char* name = cudaGetErrorName((cudaError_t)code);
        std::printf("%d %s: %s\n", code, name, cudaGetErrorString((cudaError_t)code));
    }
    nothing<<<1, 1>>>();
    SHOW(cudaDeviceSynchronize());
    return 0;
}
