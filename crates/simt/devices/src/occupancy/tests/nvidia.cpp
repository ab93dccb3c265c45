// Reads limits and cases. For each case, prints the number of blocks and the limiting factors that NVIDIA's calculator
// returns, followed by the carveout for each KiB of shared memory. nvidia.rs compiles this program.
#include <climits>
#include <cstdio>
#include "cuda_occupancy.h"
int main() {
    cudaOccDeviceProp device;
    cudaOccDeviceState state;
    device.warpSize = 32;
    device.numSms = 1;
    int barriers, cases;
    while (scanf("%d %d %d %d %d %d %zu %zu %zu %zu %d %d", &device.computeMajor, &device.computeMinor,
                 &device.maxThreadsPerBlock, &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
                 &device.regsPerMultiprocessor, &device.sharedMemPerBlock, &device.sharedMemPerMultiprocessor,
                 &device.sharedMemPerBlockOptin, &device.reservedSharedMemPerBlock, &barriers, &cases) == 12) {
        for (int i = 0; i < cases; i++) {
            int registers, threads;
            size_t shared;
            if (scanf("%d %d %zu", &registers, &threads, &shared) != 3) return 1;
            cudaOccFuncAttributes kernel;
            kernel.maxThreadsPerBlock = INT_MAX;
            kernel.numRegs = registers;
            kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
            kernel.maxDynamicSharedSizeBytes = shared;
            kernel.numBlockBarriers = barriers;
            cudaOccResult result;
            if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, shared)) {
                puts("? ?");
                continue;
            }
            printf("%d %u\n", result.activeBlocksPerMultiprocessor, result.limitingFactors);
        }
        for (size_t kib = 0; kib <= device.sharedMemPerMultiprocessor >> 10; kib++) {
            size_t size = kib << 10;
            if (cudaOccAlignUpShmemSizeVoltaPlus(&size, &device)) return 1;
            printf("%zu ", size >> 10);
        }
        puts("");
    }
}
