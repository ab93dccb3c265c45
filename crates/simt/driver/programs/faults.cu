// Kernels that fault, each in a separate process: the results of the calls that follow, and a reset.
#include "check.cuh"
#include <cassert>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(int* data, int value) { data[threadIdx.x] = value; }
__global__ void misaligned(char* data) { *(int*)(data + 1) = 1; }
__global__ void trap() { asm volatile("trap;"); }
__global__ void failed_assert(int* data) { assert(data == nullptr); }
__global__ void shared_beyond() {
    extern __shared__ int words[];
    words[threadIdx.x + (1 << 20)] = 1;
}

static void child(int fault) {
    int *data, host = 0;
    CHECK(cudaMalloc(&data, 1024));
    switch (fault) {
    case 0: fill<<<1, 1>>>((int*)64, 1); break;
    case 1: misaligned<<<1, 1>>>((char*)data); break;
    case 2: trap<<<1, 1>>>(); break;
    case 3: failed_assert<<<1, 1>>>(data); break;
    case 4: shared_beyond<<<1, 1, 128>>>(); break;
    }
    fill<<<1, 32>>>(data, 5); // queued after the fault
    SHOW(cudaDeviceSynchronize());
    SHOW(cudaGetLastError());
    SHOW(cudaMemcpy(&host, data, sizeof(int), cudaMemcpyDeviceToHost));
    SHOW(cudaMalloc(&data, 16));
    fill<<<1, 32>>>(data, 5);
    SHOW(cudaPeekAtLastError());
    SHOW(cudaGetLastError());
    SHOW(cudaGetLastError());
    std::printf("data is %d\n", host);
    SHOW(cudaDeviceReset());
    SHOW(cudaGetLastError());
}

int main() {
    const char* names[] = {"illegal address", "misaligned address", "trap", "failed assert", "shared memory"};
    for (int fault = 0; fault < 5; fault++) {
        std::printf("== %s\n", names[fault]);
        std::fflush(stdout);
        pid_t process = fork(); // CUDA is not initialized yet, so each child starts fresh
        if (process == 0) {
            child(fault);
            return 0;
        }
        int status = 0;
        waitpid(process, &status, 0);
        std::printf("%s\n", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "ended" : "DID NOT END WELL");
    }
    return 0;
}
