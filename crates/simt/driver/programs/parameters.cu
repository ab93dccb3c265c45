// Kernel parameters of each size and alignment, structs by value, 4 KB of parameters, and launches with argument
// pointers.
#include "check.cuh"

struct Mixed {
    char letter;
    double wide;
    short pair[2];
    float3 point;
};
struct Large {
    int values[900];
};
struct __align__(32) Aligned {
    long long a, b, c;
};

__global__ void mixed(char a, short b, Mixed m, bool flag, double d, int4 four, Aligned aligned, double* out) {
    out[0] = a + b;
    out[1] = m.letter + m.wide + m.pair[1] + m.point.z;
    out[2] = flag ? d : -d;
    out[3] = four.x + four.w;
    out[4] = aligned.a + aligned.c;
    out[5] = sizeof(Mixed) * 1000 + sizeof(Aligned);
}

__global__ void large(const __grid_constant__ Large all, int* out) {
    int sum = 0;
    for (int i = threadIdx.x; i < 900; i += blockDim.x) sum += all.values[i];
    atomicAdd(out, sum);
}

__global__ void shape(int* out) {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int all = blockDim.x * blockDim.y * blockDim.z;
    out[block * all + thread] = blockIdx.z * 100000 + blockIdx.y * 10000 + blockIdx.x * 1000 + threadIdx.z * 100 +
                                threadIdx.y * 10 + threadIdx.x;
}

int main() {
    double *out, host[6];
    CHECK(cudaMalloc(&out, 4096));
    Mixed m = {'A', 0.25, {3, 4}, {1, 2, 3.5f}};
    mixed<<<1, 1>>>(-3, 1000, m, true, 1e300, make_int4(1, 2, 3, 40), Aligned{1ll << 40, 2, 3}, out);
    CHECK(cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost));
    std::printf("%.0f %.2f %.0e %.0f %.0f %.0f\n", host[0], host[1], host[2], host[3], host[4], host[5]);

    // The same launch with an array of argument pointers.
    char a = 7;
    short b = -7;
    bool flag = false;
    double d = 2.5;
    int4 four = {4, 0, 0, 5};
    Aligned aligned = {10, 20, 30};
    void* arguments[] = {&a, &b, &m, &flag, &d, &four, &aligned, &out};
    CHECK(cudaLaunchKernel(mixed, dim3(1), dim3(1), arguments, 0, nullptr));
    CHECK(cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost));
    std::printf("%.0f %.2f %.1f %.0f %.0f\n", host[0], host[1], host[2], host[3], host[4]);

    Large all;
    int *sums, sum = 0, total;
    for (int i = 0; i < 900; i++) sum += all.values[i] = i * 7 % 31;
    CHECK(cudaMalloc(&sums, 4096));
    CHECK(cudaMemset(sums, 0, 4));
    large<<<1, 64>>>(all, sums);
    CHECK(cudaMemcpy(&total, sums, 4, cudaMemcpyDeviceToHost));
    std::printf("large: %d, %s\n", total, total == sum ? "right" : "WRONG");

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2, 3, 4);
    config.blockDim = dim3(5, 4, 2);
    int places[24 * 40];
    CHECK(cudaLaunchKernelEx(&config, shape, sums));
    CHECK(cudaMemcpy(places, sums, sizeof(places), cudaMemcpyDeviceToHost));
    std::printf("%d %d %d\n", places[0], places[7 * 40 + 23], places[24 * 40 - 1]);
    CHECK(cudaFree(out));
    CHECK(cudaFree(sums));
    return 0;
}
