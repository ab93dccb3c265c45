// A process that ends with work pending, and one that forks after it used the device: neither hangs.
#include "check.cuh"
#include <sys/wait.h>
#include <unistd.h>

__global__ void spin(unsigned* data, int rounds) {
    unsigned x = threadIdx.x;
    for (int i = 0; i < rounds; i++) x = x * 1664525 + 1013904223;
    data[threadIdx.x] = x;
}

static int in_child(int (*what)()) {
    std::fflush(stdout);
    pid_t process = fork();
    if (process == 0) std::exit(what());
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main() {
    // Before the device is used, a child may do everything.
    int code = in_child([] {
        unsigned* data;
        cudaStream_t stream;
        CHECK(cudaMalloc(&data, 256));
        CHECK(cudaStreamCreate(&stream));
        for (int i = 0; i < 10; i++) spin<<<1, 32, 0, stream>>>(data, 2000);
        CHECK(cudaMemsetAsync(data, 0, 256, stream));
        return 7; // nothing is waited for, freed or destroyed
    });
    std::printf("pending: %d\n", code);

    unsigned *data, host[32];
    CHECK(cudaMalloc(&data, sizeof(host)));
    spin<<<1, 32>>>(data, 10);
    CHECK(cudaDeviceSynchronize());
    // Afterwards a child has a copy of a process whose device it cannot use.
    code = in_child([] {
        void* memory;
        SHOW(cudaMalloc(&memory, 16));
        SHOW(cudaGetLastError());
        return 8;
    });
    std::printf("forked: %d\n", code);
    CHECK(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
    unsigned expected = 31;
    for (int i = 0; i < 10; i++) expected = expected * 1664525 + 1013904223;
    HOLDS(host[31] == expected);
    spin<<<1, 32>>>(data, 1000); // and this process ends so, too
    return 0;
}
