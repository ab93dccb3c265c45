// Graphs captured from streams: a capture that forks and joins, replays with other data, and invalid captures.
#include "check.cuh"

__global__ void add(int* data, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

__global__ void join(const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * 1000 + b[i];
}

int main() {
    const int n = 512;
    int *a, *b, *out, host[n];
    for (int** memory : {&a, &b, &out}) {
        CHECK(cudaMalloc(memory, sizeof(host)));
        CHECK(cudaMemset(*memory, 0, sizeof(host)));
    }
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t forked, joined;
    CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));

    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    add<<<4, 128, 0, first>>>(a, n, 1);
    CHECK(cudaEventRecord(forked, first));
    CHECK(cudaStreamWaitEvent(second, forked, 0));
    CHECK(cudaStreamIsCapturing(second, &status));
    HOLDS(status == cudaStreamCaptureStatusActive);
    add<<<4, 128, 0, first>>>(a, n, 2);
    add<<<4, 128, 0, second>>>(b, n, 10);
    CHECK(cudaMemsetAsync(out, 0xff, sizeof(host), second));
    CHECK(cudaEventRecord(joined, second));
    CHECK(cudaStreamWaitEvent(first, joined, 0));
    join<<<4, 128, 0, first>>>(a, b, out, n);
    CHECK(cudaMemcpyAsync(host, out, sizeof(host), cudaMemcpyDeviceToHost, first));
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaStreamIsCapturing(first, &status));
    HOLDS(status == cudaStreamCaptureStatusNone);
    size_t nodes, edges, roots;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    std::printf("%zu nodes, %zu edges, %zu root\n", nodes, edges, roots);
    host[5] = -1;
    CHECK(cudaDeviceSynchronize());
    std::printf("captured, not run: %d\n", host[5]);
    cudaGraphExec_t program;
    CHECK(cudaGraphInstantiate(&program, graph, 0));
    for (int i = 0; i < 20; i++) CHECK(cudaGraphLaunch(program, first));
    CHECK(cudaStreamSynchronize(first));
    std::printf("after 20: %d %d\n", host[0], host[n - 1]);
    CHECK(cudaMemset(a, 0, sizeof(host)));
    CHECK(cudaGraphLaunch(program, second));
    CHECK(cudaStreamSynchronize(second));
    std::printf("after 21: %d\n", host[100]);
    CHECK(cudaGraphExecDestroy(program));
    CHECK(cudaGraphDestroy(graph));

    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    add<<<4, 128, 0, first>>>(a, n, 1);
    SHOW(cudaStreamSynchronize(first));
    SHOW(cudaStreamEndCapture(first, &graph));
    HOLDS(graph == nullptr);
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
    SHOW(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(forked, first));
    CHECK(cudaStreamWaitEvent(second, forked, 0));
    add<<<4, 128, 0, second>>>(a, n, 1);
    SHOW(cudaStreamEndCapture(first, &graph)); // second is not joined
    SHOW(cudaStreamEndCapture(first, &graph));
    cudaGetLastError();
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    SHOW(cudaDeviceSynchronize());
    return 0;
}
