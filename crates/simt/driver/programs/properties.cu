// Device properties and attributes that hold for each GPU with compute capability 8.0 or newer.
#include "check.cuh"
#include <cstring>

static int attribute(cudaDeviceAttr which) {
    int value = -1;
    CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

int main() {
    int count, device, driver, runtime;
    CHECK(cudaGetDeviceCount(&count));
    HOLDS(count >= 1);
    CHECK(cudaSetDevice(count - 1));
    CHECK(cudaGetDevice(&device));
    HOLDS(device == count - 1);
    CHECK(cudaSetDevice(0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    HOLDS(runtime == CUDART_VERSION);
    HOLDS(driver >= 12000);
    HOLDS(driver / 1000 >= runtime / 1000);
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    HOLDS(std::strlen(p.name) > 0);
    HOLDS(p.major >= 8);
    HOLDS(p.warpSize == 32);
    HOLDS(p.maxThreadsPerBlock == 1024);
    HOLDS(p.maxThreadsDim[0] == 1024 && p.maxThreadsDim[1] == 1024 && p.maxThreadsDim[2] == 64);
    HOLDS(p.maxGridSize[0] == 2147483647 && p.maxGridSize[1] == 65535 && p.maxGridSize[2] == 65535);
    HOLDS(p.sharedMemPerBlock == 48 * 1024);
    HOLDS(p.sharedMemPerBlockOptin > p.sharedMemPerBlock);
    HOLDS(p.sharedMemPerMultiprocessor == p.sharedMemPerBlockOptin + p.reservedSharedMemPerBlock);
    HOLDS(p.reservedSharedMemPerBlock == 1024);
    HOLDS(p.totalConstMem == 64 * 1024);
    HOLDS(p.regsPerBlock == 65536 && p.regsPerMultiprocessor == 65536);
    HOLDS(p.maxThreadsPerMultiProcessor >= 1024 && p.maxThreadsPerMultiProcessor % 256 == 0);
    HOLDS(p.maxBlocksPerMultiProcessor >= 16);
    HOLDS(p.multiProcessorCount >= 1);
    HOLDS(p.totalGlobalMem > (size_t(1) << 30));
    HOLDS(p.l2CacheSize >= 1 << 20);
    HOLDS(p.memoryBusWidth > 0 && p.memoryBusWidth % 32 == 0);
    HOLDS(p.textureAlignment == 512 && p.texturePitchAlignment == 32);
    HOLDS(p.unifiedAddressing && p.canMapHostMemory && p.managedMemory && p.concurrentKernels);
    HOLDS(p.cooperativeLaunch && p.streamPrioritiesSupported && p.memoryPoolsSupported);
    HOLDS(p.clusterLaunch == (p.major >= 9));
    HOLDS(p.maxTexture1D >= 131072 && p.maxTexture2D[0] >= 131072 && p.maxTexture3D[2] >= 16384);
    HOLDS(attribute(cudaDevAttrComputeCapabilityMajor) == p.major);
    HOLDS(attribute(cudaDevAttrComputeCapabilityMinor) == p.minor);
    HOLDS(attribute(cudaDevAttrMultiProcessorCount) == p.multiProcessorCount);
    HOLDS(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == (int)p.sharedMemPerBlockOptin);
    HOLDS(attribute(cudaDevAttrClockRate) > 100000);
    HOLDS(attribute(cudaDevAttrMemoryClockRate) > 100000);
    HOLDS(attribute(cudaDevAttrL2CacheSize) == p.l2CacheSize);
    HOLDS(attribute(cudaDevAttrComputeMode) == cudaComputeModeDefault);
    int chosen = -1;
    CHECK(cudaChooseDevice(&chosen, &p));
    HOLDS(chosen >= 0 && chosen < count);
    char bus[32];
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
    CHECK(cudaDeviceGetByPCIBusId(&device, bus));
    HOLDS(device == 0);
    unsigned flags;
    CHECK(cudaGetDeviceFlags(&flags));
    SHOW(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    SHOW(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
    SHOW(cudaDeviceReset());
    return 0;
}
