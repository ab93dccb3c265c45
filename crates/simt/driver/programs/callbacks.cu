// Functions on the host that streams call: in order, with the stream held back until they return.
#include "check.cuh"
#include <atomic>
#include <string>

__global__ void put(int* data, int value) { *data = value; }

static std::string story;
static std::atomic<bool> release{false};

struct Step {
    const int* seen;
    char name;
};

static void CUDART_CB tell(void* argument) {
    const Step* step = (const Step*)argument;
    story += step->name;
    story += std::to_string(*step->seen) + " ";
}

static void CUDART_CB finished(cudaStream_t, cudaError_t status, void* argument) {
    story += (const char*)argument;
    story += cudaGetErrorName(status);
}

static void CUDART_CB hold(void*) {
    while (!release) {}
}

int main() {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int* data; // pinned, so that the device's values are seen on the host
    CHECK(cudaMallocHost(&data, sizeof(int)));
    Step steps[] = {{data, 'a'}, {data, 'b'}, {data, 'c'}};
    int value = 1;
    for (Step& step : steps) {
        put<<<1, 1, 0, stream>>>(data, value++);
        CHECK(cudaLaunchHostFunc(stream, tell, &step));
    }
    char last[] = "and last ";
    CHECK(cudaStreamAddCallback(stream, finished, last, 0));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%s\n", story.c_str());

    // What is behind a function that does not return is not ready.
    *data = 0;
    cudaEvent_t behind;
    CHECK(cudaEventCreate(&behind));
    CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
    put<<<1, 1, 0, stream>>>(data, 50);
    CHECK(cudaEventRecord(behind, stream));
    SHOW(cudaStreamQuery(stream));
    SHOW(cudaEventQuery(behind));
    SHOW(cudaGetLastError());
    release = true;
    CHECK(cudaEventSynchronize(behind));
    std::printf("released: %d\n", *data);
    SHOW(cudaStreamQuery(stream));
    SHOW(cudaLaunchHostFunc(stream, nullptr, nullptr));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(data));
    return 0;
}
