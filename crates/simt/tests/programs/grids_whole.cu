// Cooperative launches: grids that synchronize, and the special registers of launches without clusters.
// arch: compute_90

#include <cooperative_groups.h>
#include "common.cuh"

namespace cg = cooperative_groups;

// Blocks that read what others wrote before each of three synchronizations.
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

// Groups of two warps, which meet in memory that is reserved for the system.
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

// The place of a block in a grid without clusters.
// launch: grid 3x2x2, block 32, out 192, cooperative 1
extern "C" __global__ void no_clusters(unsigned *out, unsigned *scratch) {
    unsigned block = blockIdx.x + 3 * (blockIdx.y + 2 * blockIdx.z);
    unsigned found[16];
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(found[0]));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(found[1]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(found[2]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(found[3]));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(found[4]));
    asm volatile("mov.u32 %0, %%clusterid.z;" : "=r"(found[5]));
    asm volatile("mov.u32 %0, %%nclusterid.y;" : "=r"(found[6]));
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(found[7]));
    asm volatile("mov.u32 %0, %%envreg0;" : "=r"(found[8]));
    asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(found[9]));
    found[9] = found[9] > 0;
    asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(found[10]));
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(found[11]));
    unsigned long long graph;
    asm volatile("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
    found[12] = graph != 0;
    unsigned begin, end;
    asm volatile("mov.u32 %0, %%reserved_smem_offset_begin;" : "=r"(begin));
    asm volatile("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(end));
    found[13] = end > begin;
    found[14] = block;
    found[15] = 0;
    if (threadIdx.x < 16) out[block * 16 + threadIdx.x] = found[threadIdx.x];
}
