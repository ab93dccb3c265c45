// Times between events, and the errors for events without a time.
#include "check.cuh"

__global__ void spin(float* data, int rounds) {
    float x = data[threadIdx.x];
    for (int i = 0; i < rounds; i++) x = x * 0.5f + 1.0f;
    data[threadIdx.x] = x;
}

int main() {
    float* data;
    CHECK(cudaMalloc(&data, 128 * sizeof(float)));
    CHECK(cudaMemset(data, 0, 128 * sizeof(float)));
    cudaEvent_t first, second, third, untimed, never;
    for (cudaEvent_t* event : {&first, &second, &third, &never}) CHECK(cudaEventCreate(event));
    CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming | cudaEventBlockingSync));
    spin<<<1, 128>>>(data, 1);
    CHECK(cudaEventRecord(first));
    spin<<<1, 128>>>(data, 1000);
    CHECK(cudaEventRecord(second, 0));
    spin<<<1, 128>>>(data, 1000);
    spin<<<1, 128>>>(data, 1000);
    CHECK(cudaEventRecordWithFlags(third, 0, cudaEventRecordDefault));
    CHECK(cudaEventRecord(untimed));
    CHECK(cudaEventSynchronize(untimed));
    float one, two, both, back;
    CHECK(cudaEventElapsedTime(&one, first, second));
    CHECK(cudaEventElapsedTime(&two, second, third));
    CHECK(cudaEventElapsedTime(&both, first, third));
    CHECK(cudaEventElapsedTime(&back, second, first));
    HOLDS(one > 0);
    HOLDS(two > 0);
    HOLDS(both > one && both > two);
    HOLDS(both - one - two < 0.01f && one + two - both < 0.01f);
    HOLDS(back < 0);
    SHOW(cudaEventQuery(third));
    SHOW(cudaEventQuery(never));
    SHOW(cudaEventElapsedTime(&one, first, untimed));
    SHOW(cudaEventElapsedTime(&one, first, never));
    SHOW(cudaGetLastError());
    SHOW(cudaEventSynchronize(never));
    CHECK(cudaEventRecord(first)); // recorded again, so it is later than the other events
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventElapsedTime(&one, third, first));
    HOLDS(one > 0);
    float value;
    CHECK(cudaMemcpy(&value, data, sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%.1f\n", value);
    for (cudaEvent_t event : {first, second, third, untimed, never}) CHECK(cudaEventDestroy(event));
    CHECK(cudaFree(data));
    return 0;
}
