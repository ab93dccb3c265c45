// Asynchronous copies to shared memory: with groups, with the pipeline primitives, and with a barrier.
#include "check.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>

namespace cg = cooperative_groups;

__global__ void by_group(const int* in, int* out, int tiles) {
    __shared__ alignas(16) int tile[128];
    cg::thread_block block = cg::this_thread_block();
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
        cg::memcpy_async(block, tile, in + i * 128, sizeof(tile));
        cg::wait(block);
        sum += tile[127 - threadIdx.x];
        block.sync();
    }
    out[threadIdx.x] = sum;
}

// Two tiles are in flight while the block uses a third tile.
__global__ void by_stages(const int4* in, int* out, int tiles) {
    __shared__ int4 stages[3][64];
    int sum = 0;
    for (int i = 0; i < tiles + 2; i++) {
        if (i < tiles) __pipeline_memcpy_async(&stages[i % 3][threadIdx.x], in + i * 64 + threadIdx.x, sizeof(int4));
        __pipeline_commit();
        if (i < 2) continue;
        __pipeline_wait_prior(2);
        __syncthreads();
        int4 four = stages[(i - 2) % 3][63 - threadIdx.x];
        sum += four.x - 2 * four.y + 3 * four.z - four.w;
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

// The first half of the block produces, and the second half consumes.
__global__ void by_barrier(const int* in, int* out, int rounds) {
    __shared__ int value[32];
    __shared__ __mbarrier_t full, empty;
    if (threadIdx.x == 0) {
        __mbarrier_init(&full, 64);
        __mbarrier_init(&empty, 64);
    }
    __syncthreads();
    bool produces = threadIdx.x < 32;
    int lane = threadIdx.x % 32, sum = 0;
    for (int i = 0; i < rounds; i++) {
        if (produces) value[lane] = in[i * 32 + lane];
        __mbarrier_token_t token = __mbarrier_arrive(&full);
        while (!__mbarrier_test_wait(&full, token)) {}
        if (!produces) sum = sum * 3 + value[31 - lane];
        token = __mbarrier_arrive(&empty);
        while (!__mbarrier_test_wait(&empty, token)) {}
    }
    if (!produces) out[lane] = sum;
}

int main() {
    const int n = 1024;
    int host[n], *in, *out, got[128], wrong = 0;
    for (int i = 0; i < n; i++) host[i] = i * i % 101;
    CHECK(cudaMalloc(&in, sizeof(host)));
    CHECK(cudaMalloc(&out, sizeof(got)));
    CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
    by_group<<<1, 128>>>(in, out, 8);
    CHECK(cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost));
    for (int t = 0; t < 128; t++) {
        int expected = 0;
        for (int i = 0; i < 8; i++) expected += host[i * 128 + 127 - t];
        wrong += got[t] != expected;
    }
    std::printf("group: %d wrong, %d\n", wrong, got[5]);
    by_stages<<<1, 64>>>((int4*)in, out, 4);
    CHECK(cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost));
    for (int t = wrong = 0; t < 64; t++) {
        int expected = 0;
        for (int i = 0; i < 4; i++) {
            const int* four = host + (i * 64 + 63 - t) * 4;
            expected += four[0] - 2 * four[1] + 3 * four[2] - four[3];
        }
        wrong += got[t] != expected;
    }
    std::printf("stages: %d wrong, %d\n", wrong, got[5]);
    by_barrier<<<1, 64>>>(in, out, 10);
    CHECK(cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost));
    for (int t = wrong = 0; t < 32; t++) {
        int expected = 0;
        for (int i = 0; i < 10; i++) expected = expected * 3 + host[i * 32 + 31 - t];
        wrong += got[t] != expected;
    }
    std::printf("barrier: %d wrong, %d\n", wrong, got[5]);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return 0;
}
