// Host memory that kernels access directly: mapped allocations and registered memory.
#include "check.cuh"
#include <cstdlib>
#include <cstring>

__global__ void square(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i];
}

int main() {
    const int n = 3000;
    int *in, *out, *on_device_in, *on_device_out;
    CHECK(cudaHostAlloc(&in, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
    CHECK(cudaHostAlloc(&out, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    CHECK(cudaHostGetDevicePointer(&on_device_in, in, 0));
    CHECK(cudaHostGetDevicePointer(&on_device_out, out, 0));
    for (int i = 0; i < n; i++) in[i] = i;
    std::memset(out, 0, n * sizeof(int));
    square<<<(n + 255) / 256, 256>>>(on_device_in, on_device_out, n);
    CHECK(cudaDeviceSynchronize());
    std::printf("mapped: %d %d %d\n", out[1], out[1000], out[n - 1]);
    unsigned flags;
    CHECK(cudaHostGetFlags(&flags, out));
    HOLDS(flags & cudaHostAllocMapped);
    HOLDS(flags & cudaHostAllocPortable);
    int* within;
    CHECK(cudaHostGetDevicePointer(&within, out + 10, 0));
    HOLDS(within == on_device_out + 10);

    const size_t size = 16384;
    int *plain = (int*)std::aligned_alloc(4096, size), *view;
    for (int i = 0; i < n; i++) plain[i] = i % 100;
    SHOW(cudaHostGetDevicePointer(&view, plain, 0));
    CHECK(cudaHostRegister(plain, size, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&view, plain, 0));
    square<<<(n + 255) / 256, 256>>>(view, view, n);
    CHECK(cudaDeviceSynchronize());
    std::printf("registered: %d %d %d\n", plain[1], plain[50], plain[n - 1]);
    SHOW(cudaHostRegister(plain, size, cudaHostRegisterMapped));
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, plain + 7));
    HOLDS(attributes.type == cudaMemoryTypeHost);
    HOLDS(attributes.hostPointer == plain + 7);
    CHECK(cudaHostUnregister(plain));
    SHOW(cudaHostUnregister(plain));
    CHECK(cudaPointerGetAttributes(&attributes, plain));
    HOLDS(attributes.type == cudaMemoryTypeUnregistered);
    cudaGetLastError();

    // With unified addressing, kernels can also use the host pointer.
    square<<<1, 32>>>(out, out, 4);
    CHECK(cudaDeviceSynchronize());
    std::printf("unified: %d %d\n", out[2], out[3]);
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    SHOW(cudaFreeHost(out));
    std::free(plain);
    return 0;
}
