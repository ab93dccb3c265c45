// Managed memory: variables and allocations that host and device use, hints, and attributes of ranges.
#include "check.cuh"

struct Node {
    int value;
    Node* next;
};

__managed__ int total;
__managed__ Node* list;

__global__ void sum() {
    for (Node* node = list; node; node = node->next) {
        total += node->value;
        node->value *= 2;
    }
}

__global__ void scale(float* data, int n, float by) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] *= by;
}

int main() {
    // The host builds a list that the device traverses.
    for (int i = 1; i <= 10; i++) {
        Node* node;
        CHECK(cudaMallocManaged(&node, sizeof(Node)));
        *node = {i, list};
        list = node;
    }
    total = 100;
    sum<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    std::printf("total %d, first %d\n", total, list->value);
    while (list) {
        Node* next = list->next;
        CHECK(cudaFree(list));
        list = next;
    }
    const int n = 10000;
    float* data;
    CHECK(cudaMallocManaged(&data, n * sizeof(float), cudaMemAttachGlobal));
    for (int i = 0; i < n; i++) data[i] = i;
    int concurrent;
    CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    if (concurrent) {
        CHECK(cudaMemAdvise(data, n * sizeof(float), cudaMemAdviseSetPreferredLocation, device));
        CHECK(cudaMemAdvise(data, n * sizeof(float), cudaMemAdviseSetAccessedBy, host));
        CHECK(cudaMemPrefetchAsync(data, n * sizeof(float), device, 0, 0));
        int where = -7, mostly = -7;
        CHECK(cudaMemRangeGetAttribute(&where, sizeof(int), cudaMemRangeAttributePreferredLocation, data, 4 * n));
        CHECK(cudaMemRangeGetAttribute(&mostly, sizeof(int), cudaMemRangeAttributeReadMostly, data, 4 * n));
        if (where != 0 || mostly != 0) std::printf("the range is at %d, read mostly %d\n", where, mostly);
    }
    scale<<<8, 128>>>(data, n, 3);
    scale<<<8, 128>>>(data + n / 2, n / 2, 2);
    if (concurrent) CHECK(cudaMemPrefetchAsync(data, n * sizeof(float), host, 0, 0));
    CHECK(cudaDeviceSynchronize());
    std::printf("%.0f %.0f %.0f\n", data[1], data[n / 2 - 1], data[n - 1]);
    CHECK(cudaMemset(data, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    std::printf("%.0f\n", data[n - 1]);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data));
    HOLDS(attributes.type == cudaMemoryTypeManaged);
    HOLDS(attributes.hostPointer == data && attributes.devicePointer == data);
    CHECK(cudaFree(data));
    SHOW(cudaMallocManaged(&data, 16, 9));
    return 0;
}
