// Dynamic shared memory: two views of one array, and more than 48 KB after opting in.
#include "check.cuh"

extern __shared__ char storage[];

__global__ void reverse(int* data, int n) {
    int* words = (int*)storage;
    for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = words[n - 1 - i];
}

__global__ void two_arrays(double* out, int n) {
    double* wide = (double*)storage;
    short* narrow = (short*)(wide + n);
    __shared__ int fixed;
    if (threadIdx.x == 0) fixed = 1000 + n;
    wide[threadIdx.x] = threadIdx.x * 0.5;
    narrow[threadIdx.x] = -threadIdx.x;
    __syncthreads();
    unsigned size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    int other = (threadIdx.x + 1) % n;
    out[threadIdx.x] = wide[other] + narrow[other] + fixed + size * 10000.0;
}

int main() {
    const int bytes = 64 * 1024, n = bytes / sizeof(int);
    int *data, *host = new int[n], optin, per_block;
    for (int i = 0; i < n; i++) host[i] = i * 3;
    CHECK(cudaDeviceGetAttribute(&per_block, cudaDevAttrMaxSharedMemoryPerBlock, 0));
    CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    HOLDS(per_block == 49152 && optin >= 99 * 1024);
    CHECK(cudaMalloc(&data, bytes));
    CHECK(cudaMemcpy(data, host, bytes, cudaMemcpyHostToDevice));
    reverse<<<1, 512, bytes>>>(data, n);
    SHOW(cudaGetLastError());
    CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, reverse));
    std::printf("static %zu, dynamic at most %d\n", attributes.sharedSizeBytes, attributes.maxDynamicSharedSizeBytes);
    reverse<<<1, 512, bytes>>>(data, n);
    SHOW(cudaGetLastError());
    CHECK(cudaMemcpy(host, data, bytes, cudaMemcpyDeviceToHost));
    std::printf("%d %d %d\n", host[0], host[1], host[n - 1]);
    SHOW(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 1));
    SHOW(cudaFuncSetAttribute(reverse, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    cudaGetLastError();

    double *sums, first[2];
    CHECK(cudaMalloc(&sums, 64 * sizeof(double)));
    two_arrays<<<1, 64, 64 * 10>>>(sums, 64);
    CHECK(cudaMemcpy(first, sums + 62, sizeof(first), cudaMemcpyDeviceToHost));
    std::printf("%.1f %.1f\n", first[0], first[1]);
    CHECK(cudaFuncGetAttributes(&attributes, two_arrays));
    HOLDS(attributes.sharedSizeBytes >= sizeof(int));
    CHECK(cudaFree(data));
    CHECK(cudaFree(sums));
    delete[] host;
    return 0;
}
