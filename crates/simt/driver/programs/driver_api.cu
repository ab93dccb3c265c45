// Driver functions used with the runtime: modules from PTX text, launches, and compiler errors.
#include "driver.cuh"
#include <cstring>

static const char ptx[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 bias = 1000;
.visible .entry twice(.param .u64 data, .param .u32 n) {
    .reg .pred %out;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %out, %r2, %r1;
    @%out bra DONE;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [%rd3];
    ld.global.u32 %r4, [bias];
    mad.lo.u32 %r5, %r3, 2, %r4;
    st.global.u32 [%rd3], %r5;
DONE:
    ret;
}
)";

int main() {
    int n = 64, host[64], version;
    unsigned bias = 5;
    int* data; // allocated by the runtime, used by a kernel of the driver API
    CHECK(cudaMalloc(&data, sizeof(host)));
    for (int i = 0; i < n; i++) host[i] = i;
    CHECK(cudaMemcpy(data, host, sizeof(host), cudaMemcpyHostToDevice));
    SHOW_DRIVER(cuDriverGetVersion, &version);
    HOLDS(version >= 12000);
    CUcontext context = nullptr;
    SHOW_DRIVER(cuCtxGetCurrent, &context);
    HOLDS(context != nullptr);
    CUmodule module;
    CUfunction function;
    CUdeviceptr address;
    size_t size;
    SHOW_DRIVER(cuModuleLoadData, &module, ptx);
    SHOW_DRIVER(cuModuleGetFunction, &function, module, "thrice");
    SHOW_DRIVER(cuModuleGetFunction, &function, module, "twice");
    void* arguments[] = {&data, &n};
    SHOW_DRIVER(cuLaunchKernel, function, 1, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr);
    SHOW_DRIVER(cuModuleGetGlobal, &address, &size, module, "bias");
    HOLDS(size == sizeof(bias));
    SHOW_DRIVER(cuMemcpyHtoD, address, &bias, size);
    SHOW_DRIVER(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    SHOW_DRIVER(cuCtxSynchronize);
    CHECK(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
    std::printf("%d %d %d\n", host[0], host[31], host[63]);

    // The arguments are passed as one buffer, and the block size is not a multiple of the warp size.
    struct {
        int* data;
        unsigned n;
    } packed = {data, 3};
    size_t bytes = 12;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    SHOW_DRIVER(cuLaunchKernel, function, 1, 1, 1, 7, 1, 1, 0, nullptr, nullptr, extra);
    CHECK(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
    std::printf("%d %d %d\n", host[0], host[2], host[3]);
    int registers = 0, threads = 0;
    SHOW_DRIVER(cuFuncGetAttribute, &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    SHOW_DRIVER(cuFuncGetAttribute, &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    HOLDS(threads == 1024 && registers > 0);
    SHOW_DRIVER(cuModuleUnload, module);

    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, (void*)sizeof(log)};
    char broken[sizeof(ptx)];
    std::memcpy(broken, ptx, sizeof(ptx));
    std::memcpy(std::strstr(broken, "mad.lo"), "mad lo", 6);
    SHOW_DRIVER(cuModuleLoadDataEx, &module, broken, 2, options, values);
    HOLDS(std::strstr(log, "line 19") != nullptr);
    SHOW(cudaGetLastError());
    CHECK(cudaFree(data));
    return 0;
}
