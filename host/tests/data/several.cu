// The parts of a module other than entries. Compiled by
//   nvcc -ptx -arch=compute_75 -lineinfo -o several.ptx several.cu
#include <cstdio>

__constant__ float weights[4] = {1.0f, 0.5f, 0.25f, 0.125f};
__constant__ int limit;
__device__ unsigned int arrivals;
__device__ const char *words = "{ in a string } // and no comment";
extern __shared__ float dynamic[];

template <typename T> struct Pair { T first, second; };

__device__ __noinline__ float weighted(float x, int place) { return x * weights[place & 3]; }
__device__ __noinline__ float twice(float x) { return weighted(x, 1) + weighted(x, 2); }

extern "C" __global__ void plain(float *out) { out[threadIdx.x] = threadIdx.x; }

extern "C" __global__ void __launch_bounds__(128, 2) through_functions(float *out) {
    out[threadIdx.x] = twice(out[threadIdx.x]);
}

extern "C" __global__ void staged(float *out, int n) {
    __shared__ float tile[32];
    tile[threadIdx.x & 31] = out[threadIdx.x];
    dynamic[threadIdx.x] = tile[31 - (threadIdx.x & 31)];
    __syncthreads();
    if (threadIdx.x < n) out[threadIdx.x] = dynamic[n - threadIdx.x];
}

extern "C" __global__ void says(int n) {
    if (n > limit) printf("%d { of } \"%s\" /* %d */\n", n, words, limit);
}

extern "C" __global__ void arrives(unsigned int *out) { *out = atomicAdd(&arrivals, 1u); }
extern "C" __global__ void forgets() { arrivals = 0; }

extern "C" __global__ void takes(Pair<double> pair, double *out) { *out = pair.first + pair.second; }
