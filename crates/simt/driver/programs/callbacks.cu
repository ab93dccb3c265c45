// Host functions in a stream: they run in order, and the stream waits until each function returns.
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
    int* data; // pinned, so the host sees the values that the device writes
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

    // Work queued after a host function is not ready until that function returns.
    *data = 0;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaLaunchHostFunc(stream, hold, nullptr));
    put<<<1, 1, 0, stream>>>(data, 50);
    CHECK(cudaEventRecord(event, stream));
    SHOW(cudaStreamQuery(stream));
    SHOW(cudaEventQuery(event));
    SHOW(cudaGetLastError());
    release = true;
    CHECK(cudaEventSynchronize(event));
    std::printf("released: %d\n", *data);
    SHOW(cudaStreamQuery(stream));
    SHOW(cudaLaunchHostFunc(stream, nullptr, nullptr));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(data));
    return 0;
}
