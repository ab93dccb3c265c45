// Cooperative groups within a block: tiles, coalesced and labeled groups, reductions and scans.
#include "check.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void tiles(int* out) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int value = block.thread_rank();
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int most = cg::reduce(tile, value * 7 % 13, cg::greater<int>());
    int before = cg::exclusive_scan(tile, value);
    int last = tile.shfl(value, tile.size() - 1);
    int swapped = tile.shfl_xor(value, 1);
    bool any = tile.any(value == 17);
    block.sync();
    out[value] = sum + 1000 * most + 10000 * (before % 7) + last - swapped + 100000 * any;
}

__global__ void coalesced(int* out) {
    int i = threadIdx.x;
    out[i] = 0;
    if (i % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        out[i] = 100 * active.size() + active.thread_rank();
        auto halves = cg::binary_partition(active, i % 2 == 0);
        out[i] += 10000 * halves.size();
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto labelled = cg::labeled_partition(warp, i % 5);
    out[i] += 1000000 * cg::reduce(labelled, 1, cg::plus<int>());
}

__global__ void whole_block(unsigned* out) {
    __shared__ cg::block_tile_memory<256> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto wide = cg::tiled_partition<64>(block);
    unsigned sum = cg::reduce(wide, block.thread_rank() + 1, cg::plus<unsigned>());
    if (wide.thread_rank() == 0) out[wide.meta_group_rank()] = sum;
    if (block.thread_rank() == 0) {
        out[4] = block.size() + wide.meta_group_size();
        dim3 place = block.group_index();
        out[5] = place.x + block.dim_threads().y;
    }
}

static void show(const char* name, const unsigned* device, int n) {
    unsigned values[256], total = 0;
    CHECK(cudaMemcpy(values, device, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) total = total * 31 + values[i];
    std::printf("%s: %u %u %u %u, all %u\n", name, values[0], values[1], values[3], values[n - 1], total);
}

int main() {
    unsigned* out;
    CHECK(cudaMalloc(&out, 256 * sizeof(unsigned)));
    tiles<<<1, 64>>>((int*)out);
    show("tiles", out, 64);
    coalesced<<<1, 32>>>((int*)out);
    show("coalesced", out, 32);
    whole_block<<<1, 256>>>(out);
    show("block", out, 6);
    CHECK(cudaFree(out));
    return 0;
}
