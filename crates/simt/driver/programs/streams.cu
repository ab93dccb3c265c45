// Work in several streams, ordered by events; priorities, flags and queries.
#include "check.cuh"

__global__ void fill(int* data, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = value + i;
}

__global__ void add(const int* a, const int* b, int* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

int main() {
    const int n = 4096, block = 128, grid = n / block;
    int *a, *b, *c, *out;
    for (int** memory : {&a, &b, &c}) CHECK(cudaMalloc(memory, n * sizeof(int)));
    CHECK(cudaMallocHost(&out, n * sizeof(int)));
    cudaStream_t left, right, last;
    CHECK(cudaStreamCreate(&left));
    CHECK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
    int least, greatest;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    HOLDS(greatest <= least);
    CHECK(cudaStreamCreateWithPriority(&last, cudaStreamNonBlocking, greatest));
    int priority;
    unsigned flags;
    CHECK(cudaStreamGetPriority(last, &priority));
    HOLDS(priority == greatest);
    CHECK(cudaStreamGetFlags(last, &flags));
    HOLDS(flags == cudaStreamNonBlocking);
    CHECK(cudaStreamGetFlags(left, &flags));
    HOLDS(flags == cudaStreamDefault);
    cudaEvent_t forked, left_done, right_done;
    for (cudaEvent_t* event : {&forked, &left_done, &right_done})
        CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));

    // A diamond: left fills c, then left and right each fill one input, and last adds both inputs.
    unsigned total = 0;
    for (int round = 0; round < 10; round++) {
        fill<<<grid, block, 0, left>>>(c, n, -1);
        CHECK(cudaEventRecord(forked, left));
        CHECK(cudaStreamWaitEvent(right, forked, 0));
        fill<<<grid, block, 0, left>>>(a, n, round);
        fill<<<grid, block, 0, right>>>(b, n, 1000 * round);
        CHECK(cudaEventRecord(left_done, left));
        CHECK(cudaEventRecord(right_done, right));
        CHECK(cudaStreamWaitEvent(last, left_done, 0));
        CHECK(cudaStreamWaitEvent(last, right_done, 0));
        add<<<grid, block, 0, last>>>(a, b, c, n);
        CHECK(cudaMemcpyAsync(out, c, n * sizeof(int), cudaMemcpyDeviceToHost, last));
        CHECK(cudaStreamSynchronize(last));
        total += out[0] + out[n - 1];
    }
    std::printf("total %u\n", total);
    SHOW(cudaStreamQuery(last));
    SHOW(cudaEventQuery(right_done));
    // The default stream waits for left, which is a blocking stream.
    fill<<<grid, block, 0, left>>>(a, n, 7);
    add<<<grid, block>>>(a, a, b, n);
    CHECK(cudaMemcpy(out, b, n * sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("default stream: %d %d\n", out[0], out[n - 1]);
    for (cudaStream_t stream : {left, right, last}) CHECK(cudaStreamDestroy(stream));
    for (cudaEvent_t event : {forked, left_done, right_done}) CHECK(cudaEventDestroy(event));
    CHECK(cudaDeviceSynchronize());
    SHOW(cudaGetLastError());
    return 0;
}
