// printf in kernels: formats, its return value, the order relative to the host's output, and several launches.
#include "check.cuh"

__global__ void formats() {
    int count = printf("%d %5d|%-5d|%05d %+d %u %x %#X %o\n", -42, 7, 7, 7, 7, 3000000000u, 255, 255, 8);
    printf("%s had %d arguments; %c%c %%\n", "the line", count, 'o', 'k');
    printf("%f %.2f %8.3f|%-8.1f|%e %g %G\n", 1.5, 2.0 / 3, 3.14159, 2.5f, 12345.678, 1e-10, 1e20);
    printf("%lld %llu %llx %hd %ld\n", -1234567890123ll, 18446744073709551615ull, 0xabcdef012345ull, (short)-3, -5l);
    printf("%*d|%-*d|\n", 6, 12, 4, 3);
    printf("no line end, ");
    printf("none\n");
    printf("");
}

__global__ void alternate(const char* name, int number) {
    for (unsigned turn = 0; turn < blockDim.x; turn++) {
        if (threadIdx.x == turn) printf("%s %d: thread %u of %u\n", name, number, threadIdx.x, blockDim.x);
        __syncthreads();
    }
}

__device__ char words[] = "from memory";

__global__ void lengthy(int rows) {
    for (int row = 0; row < rows; row++) printf("row %d of %s\n", row, words);
}

int main() {
    std::printf("the host begins\n");
    formats<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    std::printf("the host goes on\n");
    char* name;
    CHECK(cudaMalloc(&name, 16));
    CHECK(cudaMemcpy(name, "launch", 7, cudaMemcpyHostToDevice));
    for (int i = 0; i < 3; i++) alternate<<<1, i + 1>>>(name, i);
    CHECK(cudaDeviceSynchronize());
    size_t size;
    CHECK(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
    HOLDS(size >= 4096);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    lengthy<<<1, 1, 0, stream>>>(4);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(name));
    std::printf("the host ends\n");
    return 0;
}
