// Graphs built from nodes: kernel, memset, copy and host nodes, changes of parameters, clones and updates.
#include "check.cuh"

__global__ void scale(int* data, int n, int by, int plus) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * by + plus;
}

static void CUDART_CB count(void* calls) { ++*(int*)calls; }

int main() {
    const int n = 256;
    int *data, host[n] = {}, calls = 0, size = n, by = 3, plus = 1;
    CHECK(cudaMalloc(&data, sizeof(host)));
    cudaGraph_t graph, copy;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill, kernel, download, called, empty;
    cudaMemsetParams fills = {};
    fills.dst = data;
    fills.value = 7;
    fills.elementSize = 4;
    fills.width = n;
    fills.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fills));
    void* arguments[] = {&data, &size, &by, &plus};
    cudaKernelNodeParams launch = {};
    launch.func = (void*)scale;
    launch.gridDim = 2;
    launch.blockDim = 128;
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
    CHECK(cudaGraphAddMemcpyNode1D(&download, graph, &kernel, 1, host, data, sizeof(host), cudaMemcpyDeviceToHost));
    cudaHostNodeParams call = {count, &calls};
    CHECK(cudaGraphAddHostNode(&called, graph, nullptr, 0, &call));
    CHECK(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
    cudaGraphNode_t from[] = {download, called}, to[] = {called, empty};
    CHECK(cudaGraphAddDependencies(graph, from, to, nullptr, 2));
    cudaGraphNodeType type;
    for (cudaGraphNode_t node : {fill, kernel, download, called, empty}) {
        size_t dependencies, dependents;
        CHECK(cudaGraphNodeGetType(node, &type));
        CHECK(cudaGraphNodeGetDependencies(node, nullptr, nullptr, &dependencies));
        CHECK(cudaGraphNodeGetDependentNodes(node, nullptr, nullptr, &dependents));
        std::printf("type %d, %zu dependencies, %zu dependents\n", type, dependencies, dependents);
    }
    cudaGraphExec_t program;
    CHECK(cudaGraphInstantiate(&program, graph, 0));
    for (int i = 0; i < 5; i++) CHECK(cudaGraphLaunch(program, 0));
    CHECK(cudaDeviceSynchronize());
    std::printf("%d %d, %d calls\n", host[0], host[n - 1], calls);

    by = 10; // the node keeps the values from its creation
    CHECK(cudaGraphLaunch(program, 0));
    CHECK(cudaDeviceSynchronize());
    std::printf("unchanged: %d\n", host[0]);
    CHECK(cudaGraphExecKernelNodeSetParams(program, kernel, &launch));
    CHECK(cudaGraphLaunch(program, 0));
    CHECK(cudaDeviceSynchronize());
    std::printf("changed: %d\n", host[0]);
    cudaKernelNodeParams got;
    CHECK(cudaGraphKernelNodeGetParams(kernel, &got));
    std::printf("the graph's node has %d, %u by %u\n", *(int*)got.kernelParams[2], got.gridDim.x, got.blockDim.x);

    CHECK(cudaGraphClone(&copy, graph));
    cudaGraphNode_t inner;
    CHECK(cudaGraphNodeFindInClone(&inner, fill, copy));
    fills.value = 1;
    CHECK(cudaGraphMemsetNodeSetParams(inner, &fills));
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(program, copy, &result));
    CHECK(cudaGraphLaunch(program, 0));
    CHECK(cudaDeviceSynchronize());
    std::printf("updated: %d, result %d\n", host[0], result.result);
    CHECK(cudaGraphDestroyNode(empty));
    SHOW(cudaGraphExecUpdate(program, graph, &result));
    SHOW(cudaGraphAddDependencies(graph, &called, &fill, nullptr, 1));
    cudaGraphExec_t circle;
    HOLDS(cudaGraphInstantiate(&circle, graph, 0) != cudaSuccess);
    CHECK(cudaGraphExecDestroy(program));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(copy));
    CHECK(cudaFree(data));
    return 0;
}
