// A process that exits with pending work, and a process that forks after it has used the device: neither hangs.
#include "check.cuh"
#include <sys/wait.h>
#include <unistd.h>

__global__ void spin(unsigned* data, int rounds) {
    unsigned x = threadIdx.x;
    for (int i = 0; i < rounds; i++) x = x * 1664525 + 1013904223;
    data[threadIdx.x] = x;
}

static int in_child(int (*run)()) {
    std::fflush(stdout);
    pid_t process = fork();
    if (process == 0) std::exit(run());
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main() {
    // Before the parent uses the device, a child process may use it without restrictions.
    int code = in_child([] {
        unsigned* data;
        cudaStream_t stream;
        CHECK(cudaMalloc(&data, 256));
        CHECK(cudaStreamCreate(&stream));
        for (int i = 0; i < 10; i++) spin<<<1, 32, 0, stream>>>(data, 2000);
        CHECK(cudaMemsetAsync(data, 0, 256, stream));
        return 7; // without waiting, freeing or destroying anything
    });
    std::printf("pending: %d\n", code);

    unsigned *data, host[32];
    CHECK(cudaMalloc(&data, sizeof(host)));
    spin<<<1, 32>>>(data, 10);
    CHECK(cudaDeviceSynchronize());
    // After the parent has used the device, a child process cannot use it.
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
    spin<<<1, 32>>>(data, 1000); // this process also exits with pending work
    return 0;
}
