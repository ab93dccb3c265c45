// A stream blocked by a host function does not block other streams, nor a kernel that waits for the host.
#include "check.cuh"
#include <atomic>

__global__ void put(int* data, int value) { *data = value; }

__global__ void answer(volatile int* request, volatile int* response) {
    while (*request == 0) {}
    *response = *request + 1;
}

static std::atomic<bool> release{false};

static void CUDART_CB hold(void*) {
    while (!release) {}
}

int main() {
    cudaStream_t held, other;
    CHECK(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    int* data;
    CHECK(cudaMallocHost(&data, 4 * sizeof(int)));
    for (int i = 0; i < 4; i++) data[i] = 0;
    put<<<1, 1, 0, other>>>(data, -1); // loads the kernel
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaLaunchHostFunc(held, hold, nullptr));
    put<<<1, 1, 0, held>>>(data, 50);
    put<<<1, 1, 0, other>>>(data + 1, 60);
    CHECK(cudaStreamSynchronize(other));
    SHOW(cudaStreamQuery(held));
    std::printf("the other stream: %d, this one: %d\n", data[1], data[0]);
    release = true;
    CHECK(cudaStreamSynchronize(held));
    std::printf("released: %d\n", data[0]);

    answer<<<1, 1, 0, held>>>(data + 2, data + 3);
    SHOW(cudaStreamQuery(held));
    *(volatile int*)(data + 2) = 41;
    CHECK(cudaStreamSynchronize(held));
    std::printf("answered: %d\n", data[3]);
    return 0;
}
