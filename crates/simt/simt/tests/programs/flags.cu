// Threads that wait for stores of other threads: lanes of the same warp, warps, and blocks.
// arch: compute_75
//
// Flags are volatile, or accessed with acquire loads and release stores. All blocks fit on the device at the same time.

#include "common.cuh"

// Each lane waits for the lane below it.
// launch: grid 1, block 64, out 64
extern "C" __global__ void lanes_wait_for_lower_lanes(unsigned *out, unsigned *scratch) {
    volatile unsigned *flags = scratch;
    unsigned thread = threadIdx.x, value = 1;
    if (thread > 0) {
        while (flags[thread - 1] == 0) {}
        value = flags[thread - 1] * 3 + thread;
    }
    flags[thread] = value | 1;
    out[thread] = value;
}

// Each lane waits for the lane above it.
// launch: grid 1, block 64, out 64
extern "C" __global__ void lanes_wait_for_higher_lanes(unsigned *out, unsigned *scratch) {
    volatile unsigned *flags = scratch;
    unsigned thread = threadIdx.x, value = 1;
    if (thread < 63) {
        while (flags[thread + 1] == 0) {}
        value = flags[thread + 1] * 3 + thread;
    }
    flags[thread] = value | 1;
    out[thread] = value;
}

// Even lanes and odd lanes alternate.
// launch: grid 1, block 32, out 32
extern "C" __global__ void lanes_alternate(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned ball[16];
    unsigned lane = threadIdx.x, pair = lane / 2;
    ball[pair] = 0;
    __syncwarp();
    unsigned sum = lane;
    if (lane % 2 == 0) {
        for (unsigned round = 0; round < 6; round++) {
            while (ball[pair] != round * 2) {}
            sum = sum * 3 + round;
            ball[pair] = round * 2 + 1;
        }
    } else {
        for (unsigned round = 0; round < 6; round++) {
            while (ball[pair] != round * 2 + 1) {}
            sum = sum * 5 + round;
            ball[pair] = round * 2 + 2;
        }
    }
    out[lane] = sum;
}

// A token passes through the lanes of two warps in an order that depends on its value.
// launch: grid 1, block 64, out 64
extern "C" __global__ void token_among_lanes(unsigned *out, unsigned *scratch) {
    // The token's holder, the number of passes, and the token's value. After 200 passes, all lanes leave.
    volatile unsigned *holder = &scratch[0], *times = &scratch[1], *token = &scratch[2];
    unsigned thread = threadIdx.x, held = 0;
    while (*times < 200) {
        if (*holder != thread) continue;
        __threadfence();
        if (*times >= 200) continue;
        unsigned value = *token * 1664525 + 1013904223 + thread;
        held = held * 31 + value;
        *token = value;
        *times = *times + 1;
        __threadfence();
        *holder = (value >> 20) % 64;
    }
    out[thread] = held;
}

// One warp writes items into a ring of four slots in shared memory, another warp removes them. Each waits for the
// other.
// launch: grid 1, block 64, out 32
extern "C" __global__ void ring_between_warps(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned slots[4][32];
    __shared__ volatile unsigned written, taken;
    unsigned lane = threadIdx.x % 32;
    if (threadIdx.x == 0) written = taken = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        for (unsigned item = 0; item < 16; item++) {
            while (item - taken >= 4) {}
            slots[item % 4][lane] = item * item + lane;
            __threadfence_block();
            __syncwarp();
            if (lane == 0) written = item + 1;
            __syncwarp();
        }
    } else {
        unsigned sum = 0;
        for (unsigned item = 0; item < 16; item++) {
            while (written <= item) {}
            __threadfence_block();
            sum = sum * 3 + slots[item % 4][31 - lane];
            __syncwarp();
            if (lane == 0) taken = item + 1;
        }
        out[lane] = sum;
    }
}

// Each lane waits for the same lane of the previous warp; different lanes wait at different times.
// launch: grid 1, block 128, out 128
extern "C" __global__ void lanes_across_warps(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned done[128];
    unsigned thread = threadIdx.x;
    done[thread] = 0;
    __syncthreads();
    unsigned value = thread % 32;
    for (unsigned step = 0; step < thread * 13 % 17; step++) value = value * 3 + scratch[step];
    if (thread >= 32) {
        while (done[thread - 32] == 0) {}
        value += done[thread - 32];
    }
    done[thread] = value + 1;
    out[thread] = value;
}

// Each block waits for the previous block.
// launch: grid 8, block 32, out 256
extern "C" __global__ void blocks_wait_for_lower_blocks(unsigned *out, unsigned *scratch) {
    volatile unsigned *ready = &scratch[0], *values = &scratch[1024];
    unsigned block = blockIdx.x, value = threadIdx.x;
    if (block > 0) {
        if (threadIdx.x == 0) {
            while (ready[block - 1] == 0) {}
            __threadfence();
        }
        __syncthreads();
        value += values[(block - 1) * 32 + 31 - threadIdx.x] * 3;
    }
    values[global_id()] = value;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) ready[block] = 1;
    out[global_id()] = value;
}

// Each block waits for the next block, so all blocks must be resident at the same time.
// launch: grid 8, block 40, out 320
extern "C" __global__ void blocks_wait_for_higher_blocks(unsigned *out, unsigned *scratch) {
    volatile unsigned *values = &scratch[1024];
    unsigned value = threadIdx.x;
    if (blockIdx.x + 1 < gridDim.x) {
        // Every thread waits separately.
        unsigned *ready = &scratch[blockIdx.x + 1];
        while (acquire(ready) == 0) {}
        value += values[global_id() + 40] * 5;
    }
    values[global_id()] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        release(&scratch[blockIdx.x], 1);
    }
    out[global_id()] = value;
}

// Two blocks send each other messages, ten in each direction.
// launch: grid 2, block 32, out 64
extern "C" __global__ void blocks_alternate(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x, mine = blockIdx.x * 512, theirs = 512 - mine;
    unsigned value = lane + 1;
    for (unsigned round = 1; round <= 10; round++) {
        scratch[mine + 64 + round * 32 % 64 + lane] = value;
        __syncwarp();
        if (lane == 0) release(&scratch[mine], round);
        while (acquire(&scratch[theirs]) < round) {}
        value = value * 3 + *(volatile unsigned *)&scratch[theirs + 64 + round * 32 % 64 + 31 - lane] + blockIdx.x;
        __syncwarp();
    }
    out[global_id()] = value;
}

// Lanes wait with atomics that do not change the word; its bits tell them to continue.
// launch: grid 1, block 32, out 32
extern "C" __global__ void lanes_wait_with_atomics(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    // Lane 7n modulo 32 is the n-th to continue.
    unsigned before = (lane - 7) % 32;
    if (lane != 0)
        while ((atomicOr(&scratch[0], 0) >> before & 1) == 0) {}
    out[lane] = __popc(atomicOr(&scratch[0], 1u << lane));
}

// Lanes are nodes of a graph: each waits for all lanes that it depends on, both lower and higher lanes.
// launch: grid 1, block 48, out 48
extern "C" __global__ void dependencies_of_lanes(unsigned *out, unsigned *scratch) {
    // Thread t has the number 29 * t modulo 48, and depends on the numbers n / 2, n / 3 and n - 1.
    unsigned thread = threadIdx.x, number = thread * 29 % 48;
    unsigned value = number + 1;
    if (number > 0) {
        unsigned needed[3] = {number / 2, number / 3, number - 1};
        for (unsigned which = 0; which < 3; which++) {
            unsigned got;
            do got = acquire(&scratch[needed[which]]); while (got == 0);
            value = value * 3 + got;
        }
    }
    release(&scratch[number], value | 1);
    out[number] = value;
}

// A warp waits at a barrier for a warp whose lanes wait for each other, and for a third warp.
// launch: grid 1, block 96, out 96
extern "C" __global__ void flags_and_barriers(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned flags[96];
    unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    flags[thread] = 0;
    __syncthreads();
    for (unsigned round = 1; round <= 3; round++) {
        if (warp == 1) {
            // From the top lane down, after its partner in warp 2 has arrived.
            if (lane < 31) while (flags[thread + 1] < round) {}
            while (flags[thread + 32] < round) {}
            flags[thread] = round;
        } else if (warp == 2) {
            if (lane % 3 > 0) while (flags[thread - 1] < round) {}
            flags[thread] = round;
        }
        __syncthreads();
        out[thread] += flags[95 - thread] * (thread + 1);
        __syncthreads();
    }
}

// Lanes count their polls of the flag of a lane that has not reached this point.
// launch: grid 1, block 32, out 32
extern "C" __global__ void lanes_count_their_attempts(unsigned *out, unsigned *scratch) {
    volatile unsigned *flag = &scratch[0];
    unsigned lane = threadIdx.x, attempts = 0;
    if (lane != 5)
        while (*flag == 0) attempts++;
    else
        out[31] = 1;
    // Lane 5 waits for the others here, if it waits at all.
    if (lane == 5) *flag = 1;
    if (lane != 31) out[lane] = attempts > 4000000000u ? 1 : 2;
}

// Blocks count their polls of the flag of a later block.
// launch: grid 2, block 32, out 64
extern "C" __global__ void blocks_count_their_attempts(unsigned *out, unsigned *scratch) {
    volatile unsigned *flags = scratch;
    unsigned attempts = 0;
    if (blockIdx.x + 1 < gridDim.x)
        while (flags[blockIdx.x + 1] == 0) attempts++;
    if (threadIdx.x == 0) flags[blockIdx.x] = 1;
    out[global_id()] = attempts > 4000000000u ? 1 : 2;
}

// A lane waits for some time to pass, the other lanes wait for that lane, and a later block waits for that block.
// launch: grid 2, block 32, out 64
extern "C" __global__ void wait_by_the_clock(unsigned *out, unsigned *scratch) {
    volatile unsigned *flag = &scratch[0];
    unsigned lane = threadIdx.x;
    if (lane == 3 && blockIdx.x == 1) {
        long long start = clock64();
        while (clock64() - start < 20000) {}
        *flag = 9;
    } else {
        while (*flag == 0) {}
    }
    out[global_id()] = *flag + lane;
}

// Lane 0 works for the other lanes: they write their requests and wait for the answers.
// launch: grid 1, block 40, out 40
extern "C" __global__ void lane_that_serves_the_others(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned wanted[40], answers[40];
    unsigned thread = threadIdx.x;
    wanted[thread] = answers[thread] = 0;
    __syncthreads();
    if (thread == 0) {
        for (unsigned served = 0; served < 39 * 3;) {
            for (unsigned client = 1; client < 40; client++) {
                unsigned value = wanted[client];
                if (value == 0) continue;
                wanted[client] = 0;
                __threadfence_block();
                answers[client] = value * value + 1;
                served++;
            }
        }
        out[0] = 1;
    } else {
        unsigned value = thread;
        for (unsigned round = 0; round < 3; round++) {
            wanted[thread] = value;
            unsigned answer;
            while ((answer = answers[thread]) == 0) {}
            answers[thread] = 0;
            __threadfence_block();
            value = (answer | 1) + round;
        }
        out[thread] = value;
    }
}

__device__ __noinline__ unsigned wait_at_depth(unsigned depth, volatile unsigned *flag) {
    if (depth > 0) return wait_at_depth(depth - 1, flag) * 3 + depth;
    while (*flag == 0) {}
    return *flag;
}

// Lanes wait for each other in calls of different depths. Odd lanes set their flag after they have returned, while even
// lanes are still in the same call.
// launch: grid 1, block 32, out 32
extern "C" __global__ void lanes_wait_at_different_depths(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned flags[32];
    unsigned lane = threadIdx.x;
    flags[lane] = 0;
    __syncwarp();
    if (lane % 2 == 0) flags[lane] = lane + 1;
    unsigned value = wait_at_depth(lane % 5, &flags[lane ^ 1]);
    if (lane % 2 == 1) flags[lane] = value;
    out[lane] = value;
}

// A lane counts in memory until another lane, which waits for the count, stops it: within a warp, and between blocks.
// launch: grid 2, block 64, out 3
extern "C" __global__ void attempts_counted_in_memory(unsigned *out, unsigned *scratch) {
    volatile unsigned *counts = &scratch[0], *flags = &scratch[64];
    // Three pairs of a counting and a waiting thread, by their indices in the grid.
    const unsigned counters[3] = {0, 33, 97}, waiters[3] = {1, 64, 65};
    for (unsigned pair = 0; pair < 3; pair++) {
        if (global_id() == counters[pair])
            while (flags[pair] == 0) atomicAdd(&scratch[pair], 1);
        if (global_id() == waiters[pair]) {
            while (counts[pair] < 60) {}
            flags[pair] = 1;
            out[pair] = counts[pair] >= 60;
        }
    }
}
