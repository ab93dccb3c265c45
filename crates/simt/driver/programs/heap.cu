// malloc, free, new and delete in kernels, and device limits.
#include "check.cuh"

struct Matrix {
    float values[16];
    __device__ Matrix(float first) {
        for (int i = 0; i < 16; i++) values[i] = first + i;
    }
    __device__ ~Matrix() { values[0] = -1; }
};

__global__ void allocate(int** slots) {
    int* memory = (int*)malloc((threadIdx.x + 1) * sizeof(int));
    for (unsigned i = 0; i <= threadIdx.x; i++) memory[i] = threadIdx.x * i;
    slots[threadIdx.x] = memory;
}

__global__ void release(int** slots, int* sums) {
    int sum = 0;
    for (unsigned i = 0; i <= threadIdx.x; i++) sum += slots[threadIdx.x][i];
    sums[threadIdx.x] = sum;
    free(slots[threadIdx.x]);
}

__global__ void objects(float* out) {
    Matrix* matrix = new Matrix(threadIdx.x);
    int* list = new int[8];
    for (int i = 0; i < 8; i++) list[i] = i;
    out[threadIdx.x] = matrix->values[15] + list[7];
    delete[] list;
    delete matrix;
}

__global__ void too_much(int* failed) {
    void* memory = malloc(size_t(1) << 40);
    *failed = memory == nullptr;
    free(nullptr);
}

// Freed memory can be allocated again. Without reuse, this kernel would need 4 GB.
__global__ void again(int* failures) {
    for (int i = 0; i < 256; i++) {
        char* memory = (char*)malloc(1 << 14);
        if (memory == nullptr) {
            atomicAdd(failures, 1);
            continue;
        }
        memory[i] = i;
        free(memory);
    }
}

int main() {
    size_t heap, stack, stack_before;
    CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    HOLDS(heap == 8 << 20);
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    HOLDS(heap >= 32 << 20);
    CHECK(cudaDeviceGetLimit(&stack_before, cudaLimitStackSize));
    HOLDS(stack_before == 1024);
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
    CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    HOLDS(stack >= 8192);
    SHOW(cudaDeviceSetLimit((cudaLimit)1000, 1));
    SHOW(cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
    cudaGetLastError();

    int **slots, *sums, host[64], failed = -1;
    CHECK(cudaMalloc(&slots, 64 * sizeof(int*)));
    CHECK(cudaMalloc(&sums, sizeof(host)));
    allocate<<<1, 64>>>(slots);
    release<<<1, 64>>>(slots, sums);
    CHECK(cudaMemcpy(host, sums, sizeof(host), cudaMemcpyDeviceToHost));
    std::printf("sums %d %d %d\n", host[0], host[1], host[63]);
    objects<<<1, 32>>>((float*)sums);
    float values[32];
    CHECK(cudaMemcpy(values, sums, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("objects %.0f %.0f\n", values[0], values[31]);
    too_much<<<1, 1>>>(sums);
    CHECK(cudaMemcpy(&failed, sums, sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("too much: %d\n", failed);
    CHECK(cudaMemset(sums, 0, sizeof(int)));
    again<<<4, 32>>>(sums);
    CHECK(cudaMemcpy(&failed, sums, sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("failures: %d\n", failed);
    CHECK(cudaFree(slots));
    CHECK(cudaFree(sums));
    SHOW(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20)); // after kernels that use the heap
    return 0;
}
