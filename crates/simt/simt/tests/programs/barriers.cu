// Barriers of a block: reductions, named barriers for some of the warps, and barriers that the lanes of a warp reach
// separately.
// arch: compute_75

#include "common.cuh"

__device__ inline void sync(unsigned barrier, unsigned threads) {
    asm volatile("barrier.sync.aligned %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}
__device__ inline void arrive(unsigned barrier, unsigned threads) {
    asm volatile("barrier.arrive.aligned %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}
// Not aligned: the lanes of a warp may reach the barrier at different times and from different instructions.
__device__ inline void sync_in_parts(unsigned barrier) {
    asm volatile("barrier.sync %0;" : : "r"(barrier) : "memory");
}

// Counts and votes of a block, several times.
// launch: grid 2, block 96, out 192
extern "C" __global__ void barrier_reductions(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x, history = 0;
    for (unsigned round = 1; round < 6; round++) {
        history = history * 7 + __syncthreads_count(thread % round == blockIdx.x);
        history = history * 2 + (__syncthreads_and(thread < 96 - round % 2) != 0);
        history = history * 2 + (__syncthreads_or(thread == 100 * (round % 2) + 50) != 0);
    }
    out[global_id()] = history;
}

// Two warps fill a buffer of two halves, two warps empty it. Barriers 1 and 2 mean that a half is full, barriers 3 and
// 4 that it is empty; one side arrives, the other waits.
// launch: grid 1, block 128, out 64
extern "C" __global__ void named_barriers_producer_consumer(unsigned *out, unsigned *scratch) {
    __shared__ unsigned buffer[2][64];
    unsigned thread = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (unsigned item = 0; item < 8; item++) {
            unsigned half = item % 2;
            if (item >= 2) sync(3 + half, 128);
            buffer[half][thread] = item * 100 + thread * thread;
            arrive(1 + half, 128);
        }
    } else {
        unsigned sum = 0;
        for (unsigned item = 0; item < 8; item++) {
            unsigned half = item % 2;
            sync(1 + half, 128);
            sum = sum * 5 + buffer[half][63 - thread];
            if (item + 2 < 8) arrive(3 + half, 128);
        }
        out[thread] = sum;
    }
}

// Each pair of warps has a separate barrier, whose number is in a register. The pairs synchronize different numbers of
// times.
// launch: grid 1, block 256, out 256
extern "C" __global__ void named_barriers_of_pairs(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[256];
    unsigned thread = threadIdx.x, pair = thread / 64;
    unsigned value = thread + 1;
    for (unsigned round = 0; round <= pair * 3; round++) {
        values[thread] = value;
        sync(1 + pair, 64);
        value = value * 3 + values[thread ^ 32];
        sync(1 + pair, 64);
    }
    __syncthreads();
    out[thread] = value;
}

// A chain: each warp waits at its barrier for the previous warp, then arrives at the next warp's barrier.
// launch: grid 1, block 192, out 192
extern "C" __global__ void named_barriers_chain(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[192];
    unsigned thread = threadIdx.x, warp = thread / 32;
    unsigned value = thread;
    if (warp > 0) {
        sync(warp, 64);
        value += values[thread - 32] * 2;
    }
    values[thread] = value;
    if (warp < 5) arrive(warp + 1, 64);
    out[thread] = value;
}

// One warp waits for all other warps, which do not wait for it.
// launch: grid 1, block 160, out 32
extern "C" __global__ void named_barrier_collects(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[160];
    unsigned thread = threadIdx.x;
    values[thread] = thread * 3;
    if (thread >= 32) {
        arrive(7, 160);
        return;
    }
    sync(7, 160);
    unsigned sum = 0;
    for (unsigned from = thread; from < 160; from += 32) sum = sum * 3 + values[from];
    out[thread] = sum;
}

// The odd lanes wait at one barrier.sync, the even lanes at another; both name the same barrier of the block.
// launch: grid 1, block 64, out 64
extern "C" __global__ void barrier_from_both_branches(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[64];
    unsigned thread = threadIdx.x;
    if (thread % 2) {
        values[thread] = thread * 3;
        sync_in_parts(0);
        out[thread] = values[thread ^ 33] + 1;
    } else {
        values[thread] = thread * 5;
        sync_in_parts(0);
        out[thread] = values[thread ^ 1] * 2;
    }
}

// Lanes reach the barrier after loops of different lengths, in several rounds, from both sides of a branch.
// launch: grid 1, block 96, out 96
extern "C" __global__ void barrier_in_parts_of_warps(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned values[96];
    unsigned thread = threadIdx.x, value = thread;
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned step = 0; step < (thread * 7 + round) % 11; step++) value = value * 3 + scratch[step];
        values[thread] = value;
        if ((thread + round) % 3 == 0) {
            sync_in_parts(2);
            value += values[(thread + 1) % 96];
            sync_in_parts(3);
        } else {
            sync_in_parts(2);
            value ^= values[(thread + 37) % 96];
            sync_in_parts(3);
        }
    }
    out[thread] = value;
}

// There is no test of reductions at a barrier that the lanes of a warp reach separately. For barrier.red.popc, an H200
// gives the lanes that arrive first 0xffffffff, although the ISA requires the total for all threads.

// Warps wait at different barriers at the same time, then all at the barrier of the block.
// launch: grid 1, block 128, shared 512, out 128
extern "C" __global__ void barriers_side_by_side(unsigned *out, unsigned *scratch) {
    extern __shared__ unsigned values[];
    unsigned thread = threadIdx.x, warp = thread / 32;
    values[thread] = thread;
    // First 0 with 1 and 2 with 3, then 0 with 2 and 1 with 3.
    sync(1 + warp / 2, 64);
    unsigned sum = values[thread ^ 32];
    sync(3 + warp % 2, 64);
    sum = sum * 100 + values[thread ^ 64];
    __syncthreads();
    values[thread] = sum;
    __syncthreads();
    out[thread] = values[(thread + 50) % 128];
}

// Threads of a block with a partial last warp meet at unaligned barriers inside a loop. The threads leave the loop one
// after another and then exit.
// launch: grid 1, block 50, out 50
extern "C" __global__ void barrier_in_parts_and_exits(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned values[50];
    unsigned thread = threadIdx.x, sum = thread;
    for (unsigned round = 0; round < 4; round++) {
        values[thread] = sum;
        sync_in_parts(0);
        if (thread % 4 >= round) sum += values[(thread + 5) % 50];
        sync_in_parts(0);
        if (thread % 4 == round) {
            out[thread] = sum;
            return;
        }
    }
}

__device__ __noinline__ unsigned meet_at_depth(unsigned depth, volatile unsigned *values) {
    if (depth > 0) return meet_at_depth(depth - 1, values) * 3 + depth;
    values[threadIdx.x] = threadIdx.x * 11;
    sync_in_parts(1);
    return values[63 - threadIdx.x];
}

// Lanes reach one barrier from calls of different depths.
// launch: grid 1, block 64, out 64
extern "C" __global__ void barrier_at_different_depths(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned values[64];
    out[threadIdx.x] = meet_at_depth(threadIdx.x % 6, values);
}
