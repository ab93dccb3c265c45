// Clusters of blocks: shared memory of other blocks, the cluster's barrier, and copies between blocks.
// arch: compute_90

#include "async.cuh"

// A kernel and the shape of its clusters.
#define CLUSTER(x, y, z, name) extern "C" __global__ void __cluster_dims__(x, y, z) name(unsigned *out, unsigned *scratch)
CLUSTER(2, 3, 1, cluster_registers);
CLUSTER(4, 1, 1, cluster_histogram);
CLUSTER(8, 1, 1, cluster_reduction);
CLUSTER(3, 1, 1, cluster_ring);
CLUSTER(4, 1, 1, cluster_remote_arrivals);
CLUSTER(2, 1, 1, cluster_st_async);
CLUSTER(4, 1, 1, cluster_multicast);
CLUSTER(3, 1, 1, cluster_bulk_copy);
CLUSTER(4, 1, 1, cluster_ranks_of_addresses);

__device__ inline unsigned rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline unsigned blocks() {
    unsigned blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}
__device__ inline void arrive() { asm volatile("barrier.cluster.arrive.aligned;" : : : "memory"); }
__device__ inline void wait() { asm volatile("barrier.cluster.wait.aligned;" : : : "memory"); }
__device__ inline void sync() {
    arrive();
    wait();
}
// The address of a variable in another block's shared memory.
__device__ inline unsigned map(unsigned at, unsigned rank) {
    unsigned mapped;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(at), "r"(rank));
    return mapped;
}
template <class T> __device__ inline T *map(T *at, unsigned rank) {
    T *mapped;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(at), "r"(rank));
    return mapped;
}

// The special registers that describe each block's cluster.
// launch: grid 4x6, block 32, out 192
extern "C" __global__ void cluster_registers(unsigned *out, unsigned *scratch) {
    unsigned id[2], ids[2], at[2], of[2], is_explicit;
    asm volatile("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y;" : "=r"(id[0]), "=r"(id[1]));
    asm volatile("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y;" : "=r"(ids[0]), "=r"(ids[1]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.x; mov.u32 %1, %%cluster_ctaid.y;" : "=r"(at[0]), "=r"(at[1]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_nctaid.y;" : "=r"(of[0]), "=r"(of[1]));
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(is_explicit));
    unsigned block = blockIdx.y * 4 + blockIdx.x;
    if (threadIdx.x == 0) {
        out[block * 8 + 0] = id[0] * 16 + id[1];
        out[block * 8 + 1] = ids[0] * 16 + ids[1];
        out[block * 8 + 2] = at[0] * 16 + at[1];
        out[block * 8 + 3] = of[0] * 16 + of[1];
        out[block * 8 + 4] = rank();
        out[block * 8 + 5] = blocks();
        out[block * 8 + 6] = is_explicit;
        out[block * 8 + 7] = blockIdx.x * 16 + blockIdx.y;
    }
}

// A histogram whose bins are spread over the blocks of the cluster.
// launch: grid 4, block 128, out 64
extern "C" __global__ void cluster_histogram(unsigned *out, unsigned *scratch) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    sync();
    for (unsigned i = 0; i < 10; i++) {
        unsigned value = (global_id() * 10 + i) * 2654435761u >> 26;
        atomicAdd(map(&bins[value % 16], value / 16), 1);
    }
    sync();
    if (threadIdx.x < 16) out[rank() * 16 + threadIdx.x] = bins[threadIdx.x];
}

// A sum over the cluster: each block reads the sums of all blocks.
// launch: grid 8, block 64, out 8
extern "C" __global__ void cluster_reduction(unsigned *out, unsigned *scratch) {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, global_id() * global_id());
    sync();
    if (threadIdx.x == 0) {
        unsigned all = 0;
        for (unsigned other = 0; other < blocks(); other++) {
            unsigned part;
            asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(part) : "r"(map(shared(&sum), other)) : "memory");
            all = all * 3 + part;
        }
        out[blockIdx.x] = all;
    }
    sync();
}

// Each block passes its values to the next block, repeatedly; it works between arrival and wait.
// launch: grid 6, block 32, out 192
extern "C" __global__ void cluster_ring(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[2][32];
    values[0][threadIdx.x] = global_id();
    unsigned extra = 0;
    for (unsigned round = 0; round < 7; round++) {
        sync();
        unsigned value = values[round % 2][threadIdx.x];
        *map(&values[(round + 1) % 2][31 - threadIdx.x], (rank() + 1) % blocks()) = value * 3 + round;
        arrive();
        extra = extra * 5 + value % 7;
        wait();
    }
    sync();
    out[global_id()] = values[1][threadIdx.x] + extra;
}

// Each block arrives at the mbarriers of all other blocks when its part is ready.
// launch: grid 4, block 64, out 256
extern "C" __global__ void cluster_remote_arrivals(unsigned *out, unsigned *scratch) {
    __shared__ unsigned parts[4][64];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        init(&full, 4 * 64);
        fence_init();
    }
    sync();
    for (unsigned other = 0; other < 4; other++) {
        *map(&parts[rank()][threadIdx.x], other) = global_id() * (other + 1);
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                     : : "r"(map(shared(&full), other)) : "memory");
    }
    asm volatile("{\n.reg .pred p;\nLOOP:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra LOOP;\n}" : : "r"(shared(&full)) : "memory");
    unsigned sum = 0;
    for (unsigned part = 0; part < 4; part++) sum = sum * 3 + parts[part][63 - threadIdx.x];
    out[global_id()] = sum;
    sync();
}

// Stores and additions that complete at the mbarrier of the destination block.
// launch: grid 2, block 32, out 128
extern "C" __global__ void cluster_st_async(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned values[64];
    __shared__ unsigned total;
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        total = 1000;
        init(&full, 1);
        fence_init();
        expect(&full, 32 * 8 + 32 * 4);
    }
    sync();
    unsigned other = rank() ^ 1;
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];"
                 : : "r"(map(shared(&values[threadIdx.x * 2]), other)), "r"(global_id() * 5), "r"(global_id() ^ 21),
                 "r"(map(shared(&full), other)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 : : "r"(map(shared(&total), other)), "r"(threadIdx.x + rank()), "r"(map(shared(&full), other))
                 : "memory");
    wait(&full, 0);
    out[blockIdx.x * 64 + threadIdx.x] = values[threadIdx.x];
    out[blockIdx.x * 64 + 32 + threadIdx.x] = values[32 + threadIdx.x] + total;
    sync();
}

// One copy from global memory to several blocks.
// launch: grid 4, block 64, out 256
extern "C" __global__ void cluster_multicast(unsigned *out, unsigned *scratch) {
    __shared__ alignas(128) unsigned tile[2][64];
    __shared__ unsigned long long full;
    if (rank() == 0)
        for (unsigned i = threadIdx.x; i < 128; i += 64) scratch[i] = i * i + 7;
    tile[0][threadIdx.x] = tile[1][threadIdx.x] = 1;
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, rank() == 2 ? 256 : rank() == 3 ? 0 : 512);
    }
    __threadfence();
    asm volatile("fence.proxy.async;" : : : "memory");
    sync();
    // The first tile goes to blocks 0, 1 and 2, the second tile to blocks 0 and 1.
    if (rank() < 2 && threadIdx.x == 0) {
        unsigned short to = rank() == 0 ? 7 : 3;
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], 256, [%2], %3;"
                     : : "r"(shared(tile[rank()])), "l"(scratch + rank() * 64), "r"(shared(&full)), "h"(to) : "memory");
    }
    wait(&full, 0);
    out[global_id()] = tile[0][threadIdx.x] * 3 + tile[1][threadIdx.x];
    sync();
}

// Copies from shared memory to the next block's shared memory.
// launch: grid 3, block 64, out 192
extern "C" __global__ void cluster_bulk_copy(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned from[64], to[64];
    __shared__ unsigned long long full;
    from[threadIdx.x] = global_id() * 7 + 1;
    to[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, 256);
    }
    asm volatile("fence.proxy.async;" : : : "memory");
    sync();
    if (threadIdx.x == 0) {
        unsigned next = (rank() + 1) % 3;
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     : : "r"(map(shared(to), next)), "r"(shared(from)), "r"(map(shared(&full), next)) : "memory");
    }
    wait(&full, 0);
    out[global_id()] = to[63 - threadIdx.x];
    sync();
}

// The block to which an address of shared memory belongs.
// launch: grid 4, block 32, out 128
extern "C" __global__ void cluster_ranks_of_addresses(unsigned *out, unsigned *scratch) {
    __shared__ unsigned value;
    unsigned of = threadIdx.x % 4, narrow, wide, generic;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(narrow) : "r"(map(shared(&value), of)));
    asm volatile("getctarank.u64 %0, %1;" : "=r"(wide) : "l"(map(&value, of)));
    asm volatile("getctarank.u64 %0, %1;" : "=r"(generic) : "l"(&value));
    out[global_id()] = narrow * 100 + wide * 10 + generic;
}
