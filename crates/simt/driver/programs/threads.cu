// Host threads on one device, each with its per-thread default stream.
// Compiled with nvcc's default options: machine code for one GPU and PTX, both compressed.
// nvcc: --default-stream per-thread
#include "check.cuh"
#include <thread>
#include <vector>

__global__ void step(unsigned* data, int n, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * 1664525 + seed;
}

static unsigned results[8];
static cudaError_t errors[8];

static void work(int number) {
    const int n = 2000;
    std::vector<unsigned> host(n, number);
    unsigned* data;
    cudaEvent_t done;
    CHECK(cudaSetDevice(0));
    CHECK(cudaMallocAsync(&data, n * sizeof(unsigned), cudaStreamPerThread));
    CHECK(cudaEventCreate(&done));
    CHECK(cudaMemcpyAsync(data, host.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice, cudaStreamPerThread));
    for (int i = 0; i < 10; i++) step<<<(n + 127) / 128, 128, 0, cudaStreamPerThread>>>(data, n, i);
    CHECK(cudaEventRecord(done, cudaStreamPerThread));
    CHECK(cudaEventSynchronize(done));
    CHECK(cudaMemcpyAsync(host.data(), data, n * sizeof(unsigned), cudaMemcpyDeviceToHost, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaFreeAsync(data, cudaStreamPerThread));
    results[number] = host[n - 1];
    step<<<1, 2000, 0, cudaStreamPerThread>>>(data, 0, 0); // the last error belongs to this thread only
    errors[number] = number % 2 ? cudaGetLastError() : cudaSuccess;
    CHECK(cudaEventDestroy(done));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
    int wrong = 0;
    for (int i = 0; i < 8; i++) {
        unsigned expected = i;
        for (int round = 0; round < 10; round++) expected = expected * 1664525 + round;
        wrong += results[i] != expected;
    }
    std::printf("%d wrong\n", wrong);
    SHOW(errors[0]);
    SHOW(errors[1]);
    SHOW(cudaGetLastError());

    // A thread that exits with pending work, which the device completes.
    static unsigned* left;
    CHECK(cudaMalloc(&left, 64 * sizeof(unsigned)));
    CHECK(cudaMemset(left, 0, 64 * sizeof(unsigned)));
    CHECK(cudaDeviceSynchronize()); // the default stream of the new thread does not wait for this thread's stream
    std::thread([] { step<<<1, 64, 0, cudaStreamPerThread>>>(left, 64, 3); }).join();
    CHECK(cudaDeviceSynchronize());
    unsigned value;
    CHECK(cudaMemcpy(&value, left + 63, sizeof(value), cudaMemcpyDeviceToHost));
    std::printf("left %u\n", value);
    CHECK(cudaFree(left));
    return 0;
}
