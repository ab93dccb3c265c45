// mbarrier objects, and asynchronous copies.
// arch: compute_90

#include "async.cuh"

// Each thread arrives, and waits with the state that its arrival returns.
// launch: grid 2, block 96, out 192
extern "C" __global__ void mbarrier_phases(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[96];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) init(&barrier, 96);
    __syncthreads();
    unsigned value = global_id();
    for (unsigned round = 0; round < 5; round++) {
        values[threadIdx.x] = value;
        unsigned long long state = arrive(&barrier);
        unsigned done;
        do {
            asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(shared(&barrier)), "l"(state) : "memory");
        } while (!done);
        value = values[(threadIdx.x + 37) % 96] * 3 + round;
        __syncthreads();
    }
    out[global_id()] = value;
}

// Warps that leave drop out of the following phases; some arrivals count for several threads.
// launch: grid 1, block 128, out 8
extern "C" __global__ void mbarrier_drops(unsigned *out, unsigned *scratch) {
    __shared__ unsigned long long barrier;
    __shared__ unsigned count[4];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        init(&barrier, 4 * 3);
        for (unsigned round = 0; round < 4; round++) count[round] = 0;
    }
    __syncthreads();
    if (lane != 0) return;
    for (unsigned round = 0; round < 4; round++) {
        atomicAdd(&count[round], warp + 1);
        if (round == warp && warp < 3) {
            asm volatile("mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [%0], 3;"
                         : : "r"(shared(&barrier)) : "memory");
            return;
        } else {
            arrive(&barrier, 3);
        }
        wait(&barrier, round % 2);
        if (warp == 3) out[round] = count[round];
    }
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(shared(&barrier)) : "memory");
    unsigned long long state;
    unsigned pending;
    init(&barrier, 77);
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 30;"
                 : "=l"(state) : "r"(shared(&barrier)) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[4] = pending;
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;"
                 : "=l"(state) : "r"(shared(&barrier)) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[5] = pending;
    out[6] = test(&barrier, 0) * 2 + test(&barrier, 1);
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(shared(&barrier)) : "memory");
    out[7] = warp;
}

// One warp fills a ring of buffers, the others empty it: each buffer has a full and an empty mbarrier.
// launch: grid 2, block 160, out 256
extern "C" __global__ void mbarrier_producer_consumer(unsigned *out, unsigned *scratch) {
    __shared__ unsigned buffer[3][32];
    __shared__ unsigned long long full[3], empty[3];
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < 3; i++) {
            init(&full[i], 32);
            init(&empty[i], 128);
        }
    __syncthreads();
    if (threadIdx.x >= 128) {
        for (unsigned item = 0; item < 20; item++) {
            unsigned at = item % 3, lane = threadIdx.x - 128;
            if (item >= 3) wait(&empty[at], (item / 3 - 1) % 2);
            buffer[at][lane] = item * item * 3 + lane * (blockIdx.x + 1);
            arrive(&full[at]);
        }
    } else {
        unsigned sum = 0;
        for (unsigned item = 0; item < 20; item++) {
            unsigned at = item % 3;
            wait(&full[at], item / 3 % 2);
            sum = sum * 5 + buffer[at][(threadIdx.x * 7 + item) % 32];
            arrive(&empty[at]);
        }
        out[blockIdx.x * 128 + threadIdx.x] = sum;
    }
}

// A thread prefetches tiles for the others, which wait for the bytes.
// launch: grid 3, block 64, out 192
extern "C" __global__ void bulk_pipeline(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned tile[2][64];
    __shared__ unsigned long long full[2];
    unsigned *source = scratch + blockIdx.x * 1024;
    for (unsigned i = threadIdx.x; i < 640; i += 64) source[i] = i * 31 + blockIdx.x;
    if (threadIdx.x == 0) {
        init(&full[0], 1);
        init(&full[1], 1);
        fence_init();
    }
    __threadfence();
    fence_async();
    __syncthreads();
    auto begin = [&](unsigned item) {
        expect(&full[item % 2], 256);
        copy_in(tile[item % 2], source + item * 64, 128, &full[item % 2]);
        copy_in(tile[item % 2] + 32, source + item * 64 + 32, 128, &full[item % 2]);
    };
    if (threadIdx.x == 0) begin(0);
    unsigned sum = 0;
    for (unsigned item = 0; item < 10; item++) {
        if (threadIdx.x == 0 && item + 1 < 10) begin(item + 1);
        wait(&full[item % 2], item / 2 % 2);
        sum = sum * 3 + tile[item % 2][63 - threadIdx.x];
        __syncthreads();
    }
    out[global_id()] = sum;
}

// Copies from shared to global memory in groups; a buffer is reused after its bytes have been read.
// launch: grid 2, block 64, out 1024
extern "C" __global__ void bulk_groups(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned tile[2][64];
    for (unsigned item = 0; item < 8; item++) {
        if (threadIdx.x == 0 && item >= 2) wait_group_read<1>();
        __syncthreads();
        tile[item % 2][threadIdx.x] = item * 1000 + threadIdx.x * (blockIdx.x + 1);
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            copy_out(out + (blockIdx.x * 8 + item) * 64, tile[item % 2], 256);
            commit();
        }
    }
    if (threadIdx.x == 0) wait_group<0>();
}

// Blocks add their tiles to a tile in global memory.
// launch: grid 5, block 64, out 256
extern "C" __global__ void bulk_reductions(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned tile[64];
    __shared__ alignas(16) int least[64];
    __shared__ alignas(16) unsigned bits[64];
    tile[threadIdx.x] = threadIdx.x * threadIdx.x + blockIdx.x;
    least[threadIdx.x] = (int)(threadIdx.x * 77 % 64) - 50 - (int)blockIdx.x;
    bits[threadIdx.x] = 1u << (threadIdx.x + blockIdx.x * 5) % 32;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256;"
                     : : "l"(out), "r"(shared(tile)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], 256;"
                     : : "l"(out + 64), "r"(shared(least)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32 [%0], [%1], 256;"
                     : : "l"(out + 128), "r"(shared(bits)) : "memory");
        commit();
        wait_group<0>();
    }
}

// Each thread issues copies in groups; the last groups may still be pending.
// launch: grid 2, block 64, out 128
extern "C" __global__ void async_groups(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned stage[4][64];
    unsigned *source = scratch + blockIdx.x * 1024;
    for (unsigned i = 0; i < 12; i++) source[i * 64 + threadIdx.x] = i * 100 + threadIdx.x;
    auto begin = [&](unsigned item) {
        if (item < 12)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                         : : "r"(shared(&stage[item % 4][threadIdx.x])), "l"(source + item * 64 + threadIdx.x) : "memory");
        asm volatile("cp.async.commit_group;" : : : "memory");
    };
    for (unsigned item = 0; item < 3; item++) begin(item);
    unsigned sum = 0;
    for (unsigned item = 0; item < 12; item++) {
        asm volatile("cp.async.wait_group 2;" : : : "memory");
        sum = sum * 3 + stage[item % 4][threadIdx.x];
        begin(item + 3);
    }
    out[global_id()] = sum;
}

// Copies of the threads arrive at an mbarrier on completion; the arrivals are counted in advance or not.
// launch: grid 2, block 64, out 256
extern "C" __global__ void async_mbarrier_arrivals(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned tile[2][64];
    __shared__ unsigned long long noinc, inc;
    unsigned *source = scratch + blockIdx.x * 1024;
    source[threadIdx.x] = threadIdx.x * 13 + blockIdx.x;
    source[64 + threadIdx.x] = threadIdx.x * 17 + blockIdx.x;
    if (threadIdx.x == 0) {
        init(&noinc, 64);
        init(&inc, 64);
    }
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 : : "r"(shared(&tile[0][threadIdx.x])), "l"(source + threadIdx.x) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" : : "r"(shared(&noinc)) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 : : "r"(shared(&tile[1][threadIdx.x])), "l"(source + 64 + threadIdx.x), "r"(threadIdx.x % 2 * 4)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" : : "r"(shared(&inc)) : "memory");
    arrive(&inc);
    wait(&noinc, 0);
    out[blockIdx.x * 128 + threadIdx.x] = tile[0][63 - threadIdx.x];
    wait(&inc, 0);
    out[blockIdx.x * 128 + 64 + threadIdx.x] = tile[1][(threadIdx.x + 5) % 64];
}

// Waits for the bytes of plain stores: complete_tx and expect_tx are separate from arrivals.
// launch: grid 1, block 64, out 64
extern "C" __global__ void mbarrier_bytes(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[32];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        init(&barrier, 1);
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 128;" : : "r"(shared(&barrier)) : "memory");
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        values[threadIdx.x] = threadIdx.x * 9;
        __threadfence_block();
        asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cta.b64 [%0], 4;"
                     : : "r"(shared(&barrier)) : "memory");
        if (threadIdx.x == 31) arrive(&barrier);
    }
    unsigned polls = 0;
    while (!test(&barrier, 0)) polls++;
    out[threadIdx.x] = values[threadIdx.x % 32] + (threadIdx.x >= 32) + (polls > 1000000);
}
