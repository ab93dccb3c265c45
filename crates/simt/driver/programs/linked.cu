// Relocatable device code: kernels in two files that use functions and variables of the other file.
// The second file is linked_functions.cu.
// nvcc: -rdc=true -arch=compute_80 -code=compute_80 linked_functions.cu
#include "check.cuh"

extern __device__ int shared_counter;
extern __device__ float curve(float x);
__device__ float offset = 0.5f;
extern __global__ void other_kernel(float* data, int n);

__global__ void kernel(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    data[i] = curve(i);
    atomicAdd(&shared_counter, 1);
}

int main() {
    const int n = 200;
    float *data, host[n];
    CHECK(cudaMalloc(&data, sizeof(host)));
    kernel<<<2, 128>>>(data, n);
    CHECK(cudaGetLastError());
    other_kernel<<<2, 128>>>(data, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
    int counter;
    CHECK(cudaMemcpyFromSymbol(&counter, shared_counter, sizeof(counter)));
    std::printf("%.1f %.1f, counter %d\n", host[1], host[n - 1], counter);
    CHECK(cudaFree(data));
    return 0;
}
