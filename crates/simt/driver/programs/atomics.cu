// Atomic operations on global and shared memory: every operation and type, and a histogram.
#include "check.cuh"
#include <cuda_fp16.h>

struct Results {
    int sum, least, most, bits_and, bits_or, bits_xor, exchanged, locked, counter;
    unsigned increased, decreased;
    unsigned long long wide, widest;
    float floats;
    double doubles;
    __half2 halves;
};

__global__ void all(Results* r) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&r->sum, i);
    atomicSub(&r->counter, 1);
    atomicMin(&r->least, 500 - i);
    atomicMax(&r->most, i * 3 % 1000);
    atomicAnd(&r->bits_and, ~(1 << i % 7));
    atomicOr(&r->bits_or, 1 << i % 9);
    atomicXor(&r->bits_xor, i);
    atomicAdd(&r->wide, (unsigned long long)i << 20);
    atomicMax(&r->widest, (unsigned long long)i << 33);
    atomicInc(&r->increased, 99);
    atomicDec(&r->decreased, 99);
    atomicAdd(&r->floats, 0.5f);
    atomicAdd(&r->doubles, 0.25);
    if (i < 256) atomicAdd(&r->halves, __floats2half2_rn(1, 2));
    if (i == 77) atomicExch(&r->exchanged, 77);
    // Adds 2 with compare-and-swap.
    int seen = r->locked, expected;
    do {
        expected = seen;
        seen = atomicCAS(&r->locked, expected, expected + 2);
    } while (seen != expected);
}

__global__ void histogram(const unsigned char* data, int n, unsigned* bins) {
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&mine[data[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd_system(&bins[i], mine[i]);
}

int main() {
    Results r = {}, *device;
    r.least = 1 << 30;
    r.bits_and = -1;
    r.counter = 5000;
    CHECK(cudaMalloc(&device, sizeof(r)));
    CHECK(cudaMemcpy(device, &r, sizeof(r), cudaMemcpyHostToDevice));
    all<<<8, 128>>>(device);
    CHECK(cudaMemcpy(&r, device, sizeof(r), cudaMemcpyDeviceToHost));
    std::printf("sum %d, counter %d, least %d, most %d\n", r.sum, r.counter, r.least, r.most);
    std::printf("and %x, or %x, xor %x\n", r.bits_and, r.bits_or, r.bits_xor);
    std::printf("exchanged %d, locked %d, wide %llx, widest %llx\n", r.exchanged, r.locked, r.wide, r.widest);
    std::printf("inc %u, dec %u, float %.1f, double %.2f\n", r.increased, r.decreased, r.floats, r.doubles);
    std::printf("half2 %.0f %.0f\n", __low2float(r.halves), __high2float(r.halves));
    const int n = 20000;
    static unsigned char bytes[n];
    unsigned state = 1, expected[256] = {}, got[256], *bins;
    for (unsigned char& byte : bytes) {
        state = state * 1664525 + 1013904223;
        expected[byte = state >> 24 & state >> 16]++;
    }
    unsigned char* data;
    CHECK(cudaMalloc(&data, n));
    CHECK(cudaMalloc(&bins, sizeof(got)));
    CHECK(cudaMemset(bins, 0, sizeof(got)));
    CHECK(cudaMemcpy(data, bytes, n, cudaMemcpyHostToDevice));
    histogram<<<4, 256>>>(data, n, bins);
    CHECK(cudaMemcpy(got, bins, sizeof(got), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < 256; i++) wrong += got[i] != expected[i];
    std::printf("histogram: %d wrong\n", wrong);
    for (void* each : {(void*)device, (void*)data, (void*)bins}) CHECK(cudaFree(each));
    return 0;
}
