// Lanes that have exited, and lanes that never existed, at operations of the whole warp or block.
// arch: compute_90
//
// A `.sync` operation waits for the lanes of its mask that have not exited (PTX ISA, shfl.sync: "all non-exited threads
// corresponding to membermask"). A barrier waits for the threads of the block that have not exited. Only the value of
// an exited lane must not be read.

#include "common.cuh"

// Of every three lanes, two remain. They swap their values under the full mask: 0 with 1, 3 with 4, …
// launch: grid 2, block 32, out 64
extern "C" __global__ void exit_then_shuffle(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    if (lane % 3 == 2) return;
    unsigned other = lane % 3 == 0 ? lane + 1 : lane - 1;
    out[global_id()] = __shfl_sync(FULL, lane * lane + blockIdx.x, other);
}

// Six lanes exit before each round of votes. The remaining lanes vote.
// launch: grid 1, block 32, out 512
extern "C" __global__ void exit_then_vote(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    for (unsigned round = 0; round < 4; round++) {
        if (lane >= 26 - 6 * round) return;
        unsigned *at = &out[(round * 32 + lane) * 4];
        at[0] = __ballot_sync(FULL, (lane + round) % 3 == 0);
        at[1] = __all_sync(FULL, lane < 26 - 6 * round);
        at[2] = __any_sync(FULL, lane >= 20);
        at[3] = __uni_sync(FULL, lane < 8);
    }
}

// Matches among the remaining lanes, which are the even ones.
// launch: grid 1, block 32, out 96
extern "C" __global__ void exit_then_match(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    if (lane % 2 == 1) return;
    int same;
    out[lane] = __match_any_sync(FULL, lane % 5);
    out[32 + lane] = __match_all_sync(FULL, lane & 1, &same) + same;
    out[64 + lane] = __match_any_sync(FULL, (unsigned long long)(lane / 8) << 40);
}

// Sums, bounds and bits of the remaining lanes.
// launch: grid 1, block 64, out 448
extern "C" __global__ void exit_then_redux(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    if (thread % 7 == 3 || thread == 63) return;
    unsigned *at = &out[thread * 7];
    at[0] = __reduce_add_sync(FULL, thread * thread);
    at[1] = __reduce_min_sync(FULL, 100 - thread);
    at[2] = __reduce_max_sync(FULL, thread ^ 21);
    at[3] = __reduce_min_sync(FULL, (int)thread - 40);
    at[4] = __reduce_and_sync(FULL, thread | 64);
    at[5] = __reduce_or_sync(FULL, 1u << thread % 11);
    at[6] = __reduce_xor_sync(FULL, thread * 2654435761u);
}

// The remaining lanes pass values through shared memory, with a __syncwarp() between write and read.
// launch: grid 1, block 64, out 64
extern "C" __global__ void exit_then_syncwarp(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[64];
    unsigned thread = threadIdx.x;
    values[thread] = 1000 + thread;
    __syncwarp();
    if (thread % 4 == 1) return;
    unsigned sum = 0;
    for (unsigned round = 0; round < 5; round++) {
        sum += values[thread ^ 2];
        __syncwarp();
        values[thread] = sum;
        __syncwarp();
    }
    out[thread] = sum;
}

// A counter that the active lanes increment together. The GPU chooses which lanes are active together, but exited lanes
// never are, and every other lane is active once.
// launch: grid 1, block 32, out 3
extern "C" __global__ void exit_then_activemask(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    if (lane % 3 == 1) return;
    unsigned active = __activemask();
    unsigned leader = __ffs(active) - 1;
    unsigned first = 0;
    if (lane == leader) first = atomicAdd(&scratch[0], __popc(active));
    first = __shfl_sync(active, first, leader);
    unsigned place = first + __popc(active & ((1u << lane) - 1));
    atomicOr(&out[0], 1u << place);
    atomicOr(&out[1], active);
    atomicAdd(&out[2], active >> lane & 1);
}

// One of the remaining lanes is elected, and all of them agree on it. The GPU chooses the lane.
// launch: grid 1, block 32, out 64
extern "C" __global__ void exit_then_elect(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    if (lane < 5 || lane % 4 == 0) return;
    unsigned leader, elected;
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }"
                 : "=r"(leader), "=r"(elected) : "r"(FULL));
    out[lane] = __popc(__ballot_sync(FULL, elected)) + 16 * (leader >= 5 && leader % 4 != 0);
    out[32 + lane] = elected == (leader == lane);
}

__device__ void census(unsigned *out) {
    unsigned thread = threadIdx.x, lane = thread % 32;
    unsigned warp = thread / 32;
    unsigned present = min(32u, blockDim.x - warp * 32);
    unsigned *at = &out[(blockIdx.x * blockDim.x + thread) * 8];
    at[0] = __ballot_sync(FULL, 1);
    at[1] = __ballot_sync(FULL, lane % 2);
    at[2] = __shfl_sync(FULL, thread * 3, (lane + 1) % present);
    at[3] = __reduce_add_sync(FULL, thread);
    at[4] = __all_sync(FULL, lane < present);
    at[5] = __match_any_sync(FULL, lane / 6);
    unsigned above = __shfl_down_sync(FULL, thread, 1, 4);
    at[6] = lane + 1 < present ? above : 7777;
    __syncwarp();
    at[7] = __syncthreads_count(lane % 3 == 0);
}

// A block of 20 threads: twelve lanes of its warp do not exist.
// launch: grid 2, block 20, out 320
extern "C" __global__ void block_of_20(unsigned *out, unsigned *scratch) { census(out); }

// A block of 33 threads: its second warp has a single lane.
// launch: grid 1, block 33, out 264
extern "C" __global__ void block_of_33(unsigned *out, unsigned *scratch) { census(out); }

// A block of 48 threads: its second warp has 16 lanes.
// launch: grid 2, block 48, out 768
extern "C" __global__ void block_of_48(unsigned *out, unsigned *scratch) { census(out); }

// A block of 7 × 5 threads, whose lanes are numbered across its rows.
// launch: grid 1, block 7x5, out 35
extern "C" __global__ void block_of_7_by_5(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.y * 7 + threadIdx.x;
    unsigned sum = __reduce_add_sync(FULL, threadIdx.x * 10 + threadIdx.y);
    out[thread] = sum + 65536 * __popc(__ballot_sync(FULL, threadIdx.x > threadIdx.y));
}

// Single threads and whole warps return; the others exchange values at __syncthreads().
// launch: grid 2, block 128, out 256
extern "C" __global__ void exit_then_syncthreads(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[128];
    unsigned thread = threadIdx.x;
    values[thread] = thread * thread;
    __syncthreads();
    if (thread / 32 == 1 || thread % 5 == 4) return;
    __syncthreads();
    if (thread % 9 == 4) return;
    unsigned sum = 0;
    for (unsigned round = 0; round < 4; round++) {
        unsigned next = values[(thread + 35) % 128];
        __syncthreads();
        values[thread] = sum += next;
        __syncthreads();
    }
    out[global_id()] = sum;
}

// Reductions at barriers count the remaining threads.
// launch: grid 1, block 96, out 288
extern "C" __global__ void exit_then_syncthreads_count(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    if (thread % 3 == 0 || thread >= 80) return;
    out[thread] = __syncthreads_count(thread < 50);
    out[96 + thread] = __syncthreads_and(thread % 3 > 0) * 2 + (__syncthreads_and(thread > 10) != 0);
    if (thread > 64) return;
    out[192 + thread] = (__syncthreads_or(thread > 64) != 0) * 2 + (__syncthreads_or(thread == 64) != 0);
}

// Lanes exit while others of their block wait: the barrier completes when the last of these lanes exits.
// launch: grid 1, block 64, out 64
extern "C" __global__ void exit_completes_a_barrier(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    if (thread < 32) {
        unsigned sum = 0;
        for (unsigned step = 0; step < thread * 4; step++) sum += scratch[step] + step;
        out[thread] = sum;
        return;
    }
    __syncthreads();
    out[thread] = __syncthreads_count(1);
}

__device__ __noinline__ unsigned leave_if_odd(unsigned lane) {
    if (lane % 2 == 1) asm volatile("exit;");
    return __shfl_xor_sync(FULL, lane * 5, 2);
}

// Lanes exit inside a function from which the others return.
// launch: grid 1, block 32, out 32
extern "C" __global__ void exit_in_a_function(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned value = leave_if_odd(lane);
    out[lane] = value + __reduce_add_sync(FULL, 1);
}

// Lanes exit in different branches and iterations of nested loops; the remaining lanes meet after each iteration.
// launch: grid 1, block 32, out 32
extern "C" __global__ void exit_from_nested_loops(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned history = 0;
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned step = 0; step < lane; step++) {
            if (step * round == 20 + lane) {
                out[lane] = 1000 + history;
                return;
            }
            if (round == 3 && step == 25) return;
        }
        history = history * 3 + __popc(__ballot_sync(FULL, lane % 2));
    }
    out[lane] = history;
}

// Lanes exit late, after loops, while the others wait for them under the full mask.
// launch: grid 1, block 32, out 32
extern "C" __global__ void exit_completes_a_shuffle(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    if (lane % 2) {
        unsigned sum = lane;
        for (unsigned step = 0; step < lane * 20; step++) sum = sum * 3 + scratch[step];
        out[lane] = sum;
        if (lane % 4 == 1) return;
        asm volatile("exit;");
    }
    out[lane] = __shfl_xor_sync(FULL, lane + 7, 4) + __popc(__ballot_sync(FULL, 1));
}

// The same at a barrier of the block: some lanes of each warp wait there, and the others exit much later.
// launch: grid 1, block 64, out 64
extern "C" __global__ void exit_completes_a_barrier_of_its_warp(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    if (thread % 3 == 1) {
        for (unsigned step = 0; step < thread * 10; step++) scratch[thread] += step;
        out[thread] = scratch[thread];
        return;
    }
    out[thread] = __syncthreads_count(thread % 2) + 100 * __syncthreads_count(thread > 40);
}

// A barrier with a thread count counts whole warps, including their exited lanes.
// launch: grid 1, block 96, out 96
extern "C" __global__ void exit_then_named_barrier(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[96];
    unsigned thread = threadIdx.x, count;
    values[thread] = thread * 3;
    __syncwarp();
    if (thread % 5 == 2) return;
    if (thread < 64) {
        asm volatile("barrier.sync.aligned 1, 64;" : : : "memory");
        out[thread] = values[63 - thread];
    }
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 30; barrier.red.popc.aligned.u32 %0, 2, 96, p; }"
                 : "=r"(count) : "r"(thread) : "memory");
    out[thread] += count * 1000;
}
