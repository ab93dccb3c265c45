// Warps: shuffles, votes, matches, reductions in one instruction, and partial lane masks.
#include "check.cuh"

__global__ void warps(unsigned* out) {
    const unsigned all = 0xffffffff, lane = threadIdx.x % 32;
    unsigned* row = out + threadIdx.x * 16;
    unsigned value = threadIdx.x * 3 + 1;
    row[0] = __shfl_sync(all, value, 5);
    row[1] = __shfl_up_sync(all, value, 2);
    row[2] = __shfl_down_sync(all, value, 3, 8);
    row[3] = __shfl_xor_sync(all, value, 16);
    row[4] = __ballot_sync(all, value % 4 == 1);
    row[5] = __any_sync(all, lane == 31) * 2 + __all_sync(all, lane < 31);
    row[6] = __popc(__match_any_sync(all, lane / 5));
    int same;
    row[7] = __match_all_sync(all, lane / 32, &same) + same;
    row[8] = __reduce_add_sync(all, value);
    row[9] = __reduce_max_sync(all, value ^ 8);
    row[10] = __reduce_xor_sync(all, value);
    row[11] = __activemask();
    row[12] = row[13] = 0;
    if (lane < 7) {
        row[12] = __reduce_min_sync(0x7f, 100 - lane);
        row[13] = __ballot_sync(0x7f, lane & 1);
    }
    __syncwarp();
    unsigned scan = value;
    for (int step = 1; step < 32; step *= 2) {
        unsigned below = __shfl_up_sync(all, scan, step);
        if (lane >= step) scan += below;
    }
    row[14] = scan;
    double wide = __shfl_sync(all, lane * 1.5, 31 - lane);
    row[15] = (unsigned)(wide * 2);
}

__global__ void lane_masks(unsigned* out) {
    unsigned id, less;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(less));
    out[threadIdx.x] = id + __popc(less) * 100 + __fns(0xf0f0, 0, 3) * 10000;
}

int main() {
    const int threads = 64;
    unsigned *out, rows[threads][16];
    CHECK(cudaMalloc(&out, sizeof(rows)));
    warps<<<1, threads>>>(out);
    CHECK(cudaMemcpy(rows, out, sizeof(rows), cudaMemcpyDeviceToHost));
    for (int thread : {0, 6, 33, 63}) {
        std::printf("%d:", thread);
        for (unsigned value : rows[thread]) std::printf(" %x", value);
        std::printf("\n");
    }
    lane_masks<<<1, 40>>>(out);
    CHECK(cudaMemcpy(rows, out, 40 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::printf("%u %u %u\n", rows[0][0], rows[1][15], rows[2][7]);
    CHECK(cudaFree(out));
    return 0;
}
