// Fills of one, two and three dimensions, the bytes that must not change, and the amount of free memory.
#include "check.cuh"
#include <vector>

int main() {
    std::vector<unsigned char> bytes(64 * 10);
    unsigned char* memory;
    CHECK(cudaMalloc(&memory, bytes.size()));
    CHECK(cudaMemset(memory, 0, bytes.size()));
    CHECK(cudaMemset(memory + 3, 0x1ab, 5)); // only the low byte counts
    CHECK(cudaMemset2D(memory + 64 * 2 + 7, 64, 0x11, 9, 3));
    CHECK(cudaMemset2DAsync(memory + 64 * 6, 64, 0x22, 64, 2, 0));
    CHECK(cudaMemsetAsync(memory + 64 * 9 + 1, 0x33, 0, 0)); // fills no bytes
    CHECK(cudaMemsetAsync(memory + 64 * 9 + 2, 0x44, 2, 0));
    CHECK(cudaMemcpy(bytes.data(), memory, bytes.size(), cudaMemcpyDeviceToHost));
    for (int y = 0; y < 10; y++) {
        std::printf("row %d:", y);
        for (int x = 0; x < 64;) {
            int end = x;
            while (end < 64 && bytes[y * 64 + end] == bytes[y * 64 + x]) end++;
            std::printf(" %d of %02x", end - x, bytes[y * 64 + x]);
            x = end;
        }
        std::printf("\n");
    }
    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, make_cudaExtent(10, 4, 3)));
    CHECK(cudaMemset3D(box, 1, make_cudaExtent(10, 4, 3)));
    CHECK(cudaMemset3D(box, 2, make_cudaExtent(5, 2, 2)));
    std::vector<unsigned char> cube(120);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(cube.data(), 10, 10, 4);
    copy.extent = make_cudaExtent(10, 4, 3);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    int ones = 0, twos = 0;
    for (unsigned char byte : cube) ones += byte == 1, twos += byte == 2;
    std::printf("3D: %d ones, %d twos\n", ones, twos);

    size_t before, during, total, all;
    const size_t size = 64 << 20;
    void* large;
    CHECK(cudaMemGetInfo(&before, &total));
    CHECK(cudaMalloc(&large, size));
    CHECK(cudaMemGetInfo(&during, &all));
    HOLDS(before <= total);
    HOLDS(during + size <= before);
    HOLDS(all == total);
    CHECK(cudaFree(large));
    CHECK(cudaMemGetInfo(&during, &all));
    HOLDS(during == before);
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    HOLDS(properties.totalGlobalMem == total);
    CHECK(cudaFree(memory));
    CHECK(cudaFree(box.ptr));
    return 0;
}
