// __constant__ and __device__ variables: initial values, copies in both directions, addresses and sizes.
#include "check.cuh"

struct Curve {
    float scale;
    int offset;
    double bias[2];
};

__constant__ int table[8] = {1, 1, 2, 3, 5, 8, 13, 21};
__constant__ Curve curve;
__device__ int counter = 40;
__device__ float matrix[4][4];
__device__ int* link = &counter;

__global__ void use(int* out) {
    int i = threadIdx.x;
    out[i] = table[i] * curve.offset + (int)(curve.scale * 2) + (int)curve.bias[i % 2];
    matrix[i / 4][i % 4] += i;
    if (i == 0) *link += 2;
}

int main() {
    Curve host = {1.5f, 10, {100.0, 200.0}};
    CHECK(cudaMemcpyToSymbol(curve, &host, sizeof(host)));
    int replaced[2] = {50, 60};
    CHECK(cudaMemcpyToSymbol(table, replaced, sizeof(replaced), 2 * sizeof(int)));
    int *out, values[8], now;
    CHECK(cudaMalloc(&out, sizeof(values)));
    use<<<1, 8>>>(out);
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    for (int value : values) std::printf("%d ", value);
    CHECK(cudaMemcpyFromSymbol(&now, counter, sizeof(now)));
    std::printf("\ncounter %d\n", now);
    void* address;
    size_t size;
    CHECK(cudaGetSymbolAddress(&address, counter));
    CHECK(cudaGetSymbolSize(&size, counter));
    now = 5;
    CHECK(cudaMemcpy(address, &now, size, cudaMemcpyHostToDevice));
    use<<<1, 8>>>(out);
    CHECK(cudaMemcpyFromSymbolAsync(&now, counter, sizeof(now), 0, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaDeviceSynchronize());
    float row[4];
    CHECK(cudaMemcpyFromSymbol(row, matrix, sizeof(row), sizeof(row)));
    std::printf("counter %d, row %.0f %.0f %.0f %.0f\n", now, row[0], row[1], row[2], row[3]);
    CHECK(cudaGetSymbolSize(&size, curve));
    HOLDS(size == sizeof(Curve));
    CHECK(cudaGetSymbolSize(&size, matrix));
    HOLDS(size == 64);
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaMemcpy(values, address, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("table %d %d %d %d\n", values[0], values[2], values[3], values[7]);
    SHOW(cudaMemcpyToSymbol(table, replaced, sizeof(replaced), 7 * sizeof(int)));
    SHOW(cudaGetSymbolSize(&size, host));
    SHOW(cudaGetLastError());
    SHOW(cudaGetLastError());
    CHECK(cudaFree(out));
    return 0;
}
