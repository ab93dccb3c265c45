// Copies of one, two and three dimensions in each direction, copies to and from arrays, and asynchronous copies.
#include "check.cuh"
#include <cstring>
#include <vector>

int main() {
    const int n = 1000;
    std::vector<int> in(n), out(n, -1);
    for (int i = 0; i < n; i++) in[i] = i * i;
    int *a, *b;
    CHECK(cudaMalloc(&a, n * sizeof(int)));
    CHECK(cudaMalloc(&b, n * sizeof(int)));
    CHECK(cudaMemcpy(a, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b + 1, a, (n - 1) * sizeof(int), cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(b, a + n - 1, sizeof(int), cudaMemcpyDefault));
    CHECK(cudaMemcpy(out.data(), b, n * sizeof(int), cudaMemcpyDefault));
    std::printf("1D: %d %d %d\n", out[0], out[1], out[n - 1]);

    // A window of 10 by 6 out of 20 by 12 is copied to pitched memory, to a part of an array, and back.
    size_t pitch;
    char* pitched;
    CHECK(cudaMallocPitch(&pitched, &pitch, 10 * sizeof(int), 6));
    std::printf("2D: the pitch holds a row: %d, is aligned: %d\n", pitch >= 40, pitch % 32 == 0);
    CHECK(cudaMemcpy2D(pitched, pitch, in.data() + 3 * 20 + 5, 80, 40, 6, cudaMemcpyHostToDevice));
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&array, &format, 16, 8));
    CHECK(cudaMemcpy2DToArray(array, 2 * sizeof(int), 1, pitched, pitch, 40, 6, cudaMemcpyDeviceToDevice));
    std::vector<int> window(60, -1);
    CHECK(cudaMemcpy2DFromArray(window.data(), 40, array, 8, 1, 40, 6, cudaMemcpyDeviceToHost));
    bool same = true;
    for (int y = 0; y < 6; y++) same &= !std::memcmp(&window[y * 10], &in[(y + 3) * 20 + 5], 40);
    std::printf("2D: %d %d, the same: %d\n", window[0], window[59], same);

    // A box of 4 by 3 by 2 at (1, 2, 1) of a box of 8 by 6 by 4 is copied to the corner of another box.
    cudaExtent size = make_cudaExtent(8 * sizeof(int), 6, 4);
    cudaPitchedPtr from, to;
    CHECK(cudaMalloc3D(&from, size));
    CHECK(cudaMalloc3D(&to, make_cudaExtent(4 * sizeof(int), 3, 2)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(in.data(), 8 * sizeof(int), 8, 6);
    copy.dstPtr = from;
    copy.extent = size;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    copy.srcPtr = from;
    copy.srcPos = make_cudaPos(1 * sizeof(int), 2, 1);
    copy.dstPtr = to;
    copy.extent = make_cudaExtent(4 * sizeof(int), 3, 2);
    copy.kind = cudaMemcpyDeviceToDevice;
    CHECK(cudaMemcpy3D(&copy));
    std::vector<int> box(24, -1);
    copy.srcPtr = to;
    copy.srcPos = make_cudaPos(0, 0, 0);
    copy.dstPtr = make_cudaPitchedPtr(box.data(), 4 * sizeof(int), 4, 3);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&copy, 0));
    CHECK(cudaDeviceSynchronize());
    std::printf("3D: %d %d %d\n", box[0], box[4], box[23]);

    int* pinned;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost(&pinned, 2 * n * sizeof(int)));
    std::memcpy(pinned, in.data(), n * sizeof(int));
    CHECK(cudaMemcpyAsync(b, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(pinned + n, b, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("pinned: the same: %d\n", !std::memcmp(pinned, pinned + n, n * sizeof(int)));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeArray(array));
    for (void* memory : {(void*)a, (void*)b, (void*)pitched, from.ptr, to.ptr}) CHECK(cudaFree(memory));
    return 0;
}
