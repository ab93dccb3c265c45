// Cooperative launches: grids that synchronize, and the special registers of launches without clusters.
// arch: compute_90

#include <cooperative_groups.h>
#include "common.cuh"

namespace cg = cooperative_groups;

// Blocks read what other blocks wrote before each of three synchronizations.
// launch: grid 12, block 64, out 768, cooperative 1
extern "C" __global__ void grid_sync(unsigned *out, unsigned *scratch) {
    cg::grid_group grid = cg::this_grid();
    unsigned thread = global_id(), count = gridDim.x * blockDim.x;
    unsigned value = thread * 3 + 1;
    for (unsigned round = 0; round < 3; round++) {
        scratch[round * count + thread] = value;
        grid.sync();
        value = value * 5 + scratch[round * count + (thread * 7 + round) % count];
    }
    out[thread] = value;
}

// Groups of two warps, which synchronize through memory that is reserved for the system.
// launch: grid 2, block 256, out 512, cooperative 1
extern "C" __global__ void tiles_of_two_warps(unsigned *out, unsigned *scratch) {
    __shared__ cg::block_tile_memory<256> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    unsigned value = threadIdx.x * 7;
    value += tile.shfl(value, 5) + tile.any(value == 70) * 1000 + tile.num_threads();
    tile.sync();
    out[global_id()] = value + tile.thread_rank();
}

