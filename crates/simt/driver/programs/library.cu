// Libraries: code loaded at run time, its kernels and globals, and missing names.
#include "check.cuh"
#include <cstring>

static const char ptx[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .f32 factor = 0f40400000;
.visible .entry scale(.param .u64 data) {
    .reg .b32 %r1;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    ld.global.f32 %f2, [factor];
    mul.f32 %f3, %f1, %f2;
    st.global.f32 [%rd3], %f3;
    ret;
}
.visible .entry nothing() { ret; }
)";

int main() {
    cudaLibrary_t library;
    cudaKernel_t scale, other;
    CHECK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    unsigned kernels;
    CHECK(cudaLibraryGetKernelCount(&kernels, library));
    std::printf("%u kernels\n", kernels);
    CHECK(cudaLibraryGetKernel(&scale, library, "scale"));
    SHOW(cudaLibraryGetKernel(&other, library, "skale"));
    float values[32], *data, *factor, two = 2;
    for (int i = 0; i < 32; i++) values[i] = i;
    CHECK(cudaMalloc(&data, sizeof(values)));
    CHECK(cudaMemcpy(data, values, sizeof(values), cudaMemcpyHostToDevice));
    void* arguments[] = {&data};
    CHECK(cudaLaunchKernel((const void*)scale, 1, 32, arguments, 0, 0));
    size_t size;
    CHECK(cudaLibraryGetGlobal((void**)&factor, &size, library, "factor"));
    HOLDS(size == 4);
    CHECK(cudaMemcpy(factor, &two, sizeof(two), cudaMemcpyHostToDevice));
    CHECK(cudaLaunchKernel((const void*)scale, 1, 16, arguments, 0, 0));
    CHECK(cudaMemcpy(values, data, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("%.0f %.0f %.0f\n", values[1], values[15], values[31]);
    SHOW(cudaLibraryGetGlobal((void**)&factor, &size, library, "fictor"));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, (const void*)scale));
    HOLDS(attributes.maxThreadsPerBlock == 1024);
    CHECK(cudaLibraryGetKernel(&other, library, "nothing"));
    CHECK(cudaLaunchKernel((const void*)other, 1, 1, nullptr, 0, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaLibraryUnload(library));
    SHOW(cudaLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaFree(data));
    return 0;
}
