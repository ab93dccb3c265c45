// Locks among the lanes of a warp, the warps of a block, and blocks.
// arch: compute_75
//
// Since Volta, the lane that holds a lock makes progress while other lanes of its warp try to take it. The sums do not
// depend on the order of the threads.

#include "common.cuh"

__device__ volatile unsigned *shared_counter(unsigned *scratch) { return &scratch[64]; }

// Each lane tries to take the lock, and on success does its work within the loop.
// launch: grid 1, block 64, out 2
extern "C" __global__ void lock_with_a_flag(unsigned *out, unsigned *scratch) {
    volatile unsigned *counter = shared_counter(scratch);
    bool done = false;
    while (!done) {
        if (atomicCAS(&scratch[0], 0, 1) == 0) {
            __threadfence();
            counter[0] = counter[0] + threadIdx.x;
            counter[1] = counter[1] + 1;
            __threadfence();
            atomicExch(&scratch[0], 0);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x < 2) out[threadIdx.x] = counter[threadIdx.x];
}

// Each lane spins until it has the lock, and does its work after the loop.
// launch: grid 1, block 64, out 2
extern "C" __global__ void lock_before_the_work(unsigned *out, unsigned *scratch) {
    volatile unsigned *counter = shared_counter(scratch);
    while (atomicCAS(&scratch[0], 0, 1) != 0) {}
    __threadfence();
    counter[0] = counter[0] + threadIdx.x;
    counter[1] = counter[1] + 1;
    __threadfence();
    atomicExch(&scratch[0], 0);
    __syncthreads();
    if (threadIdx.x < 2) out[threadIdx.x] = counter[threadIdx.x];
}

__device__ __noinline__ void take(unsigned *lock) {
    while (atomicExch(lock, 1) != 0) {}
    __threadfence();
}

__device__ __noinline__ void give(unsigned *lock) {
    __threadfence();
    *(volatile unsigned *)lock = 0;
}

__device__ __noinline__ unsigned next_number(unsigned *lock, volatile unsigned *counter) {
    take(lock);
    unsigned number = *counter;
    *counter = number + 1;
    give(lock);
    return number;
}

// Nested functions take and release a lock. Each number is assigned once, and a thread's second
// number is the larger one.
// launch: grid 1, block 40, out 40
extern "C" __global__ void lock_in_functions(unsigned *out, unsigned *scratch) {
    unsigned first = next_number(&scratch[0], shared_counter(scratch));
    unsigned second = next_number(&scratch[0], shared_counter(scratch));
    atomicAdd(&out[first / 2], 1);
    atomicAdd(&out[second / 2], second > first ? 1 : 1000);
}

// Lanes move amounts between accounts with one lock each; a lane takes the lock of the lower account first.
// launch: grid 2, block 32, out 16
extern "C" __global__ void two_locks(unsigned *out, unsigned *scratch) {
    volatile unsigned *balance = shared_counter(scratch);
    unsigned thread = global_id();
    unsigned from = thread * 7 % 16, to = (thread * 3 + 5) % 16;
    if (from == to) to = (to + 1) % 16;
    unsigned *low = &scratch[min(from, to)], *high = &scratch[max(from, to)];
    bool done = false;
    while (!done) {
        if (atomicCAS(low, 0, 1) == 0) {
            while (atomicCAS(high, 0, 1) != 0) {}
            __threadfence();
            balance[from] = balance[from] - (thread + 1);
            balance[to] = balance[to] + (thread + 1);
            __threadfence();
            atomicExch(high, 0);
            atomicExch(low, 0);
            done = true;
        }
    }
    __threadfence();
    __syncthreads();
    // The last block to finish reports the result.
    __shared__ bool last;
    if (threadIdx.x == 0) last = atomicAdd(&scratch[100], 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x < 16) out[threadIdx.x] = balance[threadIdx.x];
}

// Threads are served in the order of their tickets. Each reads the number of threads served before it.
// launch: grid 2, block 48, out 96
extern "C" __global__ void ticket_lock(unsigned *out, unsigned *scratch) {
    volatile unsigned *serving = &scratch[1];
    volatile unsigned *counter = shared_counter(scratch);
    unsigned ticket = atomicAdd(&scratch[0], 1);
    while (*serving != ticket) {}
    __threadfence();
    unsigned before = *counter;
    *counter = before + 3;
    __threadfence();
    *serving = ticket + 1;
    out[ticket] = before;
}

// A thread that does not get the lock sleeps, longer after each attempt.
// launch: grid 2, block 32, out 1
extern "C" __global__ void try_lock_and_sleep(unsigned *out, unsigned *scratch) {
    unsigned sleep = 8;
    while (atomicCAS(&scratch[0], 0, 1) != 0) {
        __nanosleep(sleep);
        if (sleep < 256) sleep *= 2;
    }
    __threadfence();
    volatile unsigned *sum = out;
    *sum = *sum + threadIdx.x * 2 + blockIdx.x;
    __threadfence();
    atomicExch(&scratch[0], 0);
}

// A hash table of lists, with a lock for each bucket, in shared memory.
// launch: grid 1, block 96, out 32
extern "C" __global__ void lock_for_each_bucket(unsigned *out, unsigned *scratch) {
    __shared__ unsigned locks[8];
    __shared__ volatile int heads[8];
    __shared__ volatile int nexts[96];
    unsigned thread = threadIdx.x;
    if (thread < 8) {
        locks[thread] = 0;
        heads[thread] = -1;
    }
    __syncthreads();
    unsigned bucket = (thread * 2654435761u) >> 29;
    bool done = false;
    do {
        if (atomicCAS(&locks[bucket], 0, 1) == 0) {
            __threadfence_block();
            nexts[thread] = heads[bucket];
            heads[bucket] = thread;
            __threadfence_block();
            atomicExch(&locks[bucket], 0);
            done = true;
        }
    } while (!done);
    __syncthreads();
    if (thread >= 8) return;
    unsigned length = 0, sum = 0, squares = 0, bits = 0;
    for (int at = heads[thread]; at >= 0; at = nexts[at]) {
        length++;
        sum += at;
        squares += at * at;
        bits ^= 1u << at % 32;
    }
    out[thread] = length;
    out[8 + thread] = sum;
    out[16 + thread] = squares;
    out[24 + thread] = bits;
}

// One lock for all threads of several blocks.
// launch: grid 4, block 40, out 2
extern "C" __global__ void lock_across_blocks(unsigned *out, unsigned *scratch) {
    volatile unsigned *result = out;
    for (bool done = false; !done;) {
        if (atomicCAS(&scratch[0], 0, 1) == 0) {
            __threadfence();
            result[0] = result[0] + global_id();
            result[1] = result[1] ^ (global_id() * 2654435761u);
            __threadfence();
            atomicExch(&scratch[0], 0);
            done = true;
        }
    }
}

// At most three threads are inside at a time.
// launch: grid 1, block 64, out 2
extern "C" __global__ void semaphore(unsigned *out, unsigned *scratch) {
    unsigned *free = &scratch[0], *inside = &scratch[1], *most = &scratch[2];
    if (threadIdx.x == 0) atomicExch(free, 3);
    __syncthreads();
    bool done = false;
    while (!done) {
        unsigned seen = *(volatile unsigned *)free;
        if (seen > 0 && atomicCAS(free, seen, seen - 1) == seen) {
            __threadfence();
            unsigned now = atomicAdd(inside, 1) + 1;
            atomicMax(most, now);
            atomicAdd(&out[0], threadIdx.x);
            atomicSub(inside, 1);
            __threadfence();
            atomicAdd(free, 1);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[1] = atomicAdd(most, 0) <= 3 && atomicAdd(free, 0) == 3 && atomicAdd(inside, 0) == 0;
}

// A queue lock: each thread waits at a separate word until its predecessor, in any warp, passes the lock on.
// launch: grid 2, block 48, out 1
extern "C" __global__ void queue_lock(unsigned *out, unsigned *scratch) {
    unsigned me = global_id() + 1;
    unsigned *tail = &scratch[0];
    volatile unsigned *next = &scratch[1000], *locked = &scratch[2000];
    next[me] = 0;
    locked[me] = 1;
    __threadfence();
    unsigned before = atomicExch(tail, me);
    if (before != 0) {
        next[before] = me;
        while (locked[me]) {}
    }
    __threadfence();
    volatile unsigned *sum = out;
    *sum = *sum + me * me;
    __threadfence();
    if (next[me] == 0) {
        if (atomicCAS(tail, me, 0) == me) return;
        while (next[me] == 0) {}
    }
    locked[next[me]] = 0;
}

// Readers count themselves, and writers wait until there are no readers. A reader finds two words that were written
// together.
// launch: grid 1, block 64, out 66
extern "C" __global__ void readers_and_writers(unsigned *out, unsigned *scratch) {
    // The number of readers, or -1 while a thread writes.
    int *state = (int *)&scratch[0];
    volatile unsigned *words = shared_counter(scratch);
    bool writer = threadIdx.x % 8 == 3;
    bool done = false;
    while (!done) {
        int seen = *(volatile int *)state;
        if (writer ? seen != 0 : seen < 0) continue;
        if (atomicCAS(state, seen, writer ? -1 : seen + 1) != seen) continue;
        __threadfence();
        if (writer) {
            words[0] = words[0] + threadIdx.x;
            words[1] = words[1] + threadIdx.x * 2;
        } else {
            out[2 + threadIdx.x] = words[0] * 2 == words[1];
        }
        __threadfence();
        atomicAdd(state, writer ? 1 : -1);
        done = true;
    }
    __syncthreads();
    if (threadIdx.x < 2) out[threadIdx.x] = words[threadIdx.x];
}

// One lane of each warp takes the lock for the whole warp; the other lanes wait at __syncwarp().
// launch: grid 2, block 96, out 3
extern "C" __global__ void lock_for_a_warp(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x % 32;
    volatile unsigned *words = shared_counter(scratch);
    if (lane == 0) {
        while (atomicCAS(&scratch[0], 0, 1) != 0) {}
        __threadfence();
    }
    __syncwarp();
    words[lane] = words[lane] + threadIdx.x + lane * blockIdx.x;
    __threadfence();
    __syncwarp();
    if (lane < 3) out[lane] = words[lane * 10];
    __threadfence();
    __syncwarp();
    if (lane == 0) atomicExch(&scratch[0], 0);
}

// Peterson's lock for two threads: each declares its intent, then gives the other thread priority.
// launch: grid 1, block 34, out 2
extern "C" __global__ void peterson_lock(unsigned *out, unsigned *scratch) {
    volatile unsigned *wants = &scratch[0], *turn = &scratch[2], *sum = &scratch[64];
    // Lane 0 against lane 1 of a warp, then lane 0 against lane 0 of the other warp.
    for (unsigned pair = 0; pair < 2; pair++) {
        unsigned other = pair == 0 ? 1 : 32;
        if (threadIdx.x != 0 && threadIdx.x != other) continue;
        unsigned me = threadIdx.x != 0;
        for (unsigned round = 0; round < 10; round++) {
            wants[pair * 8 + me] = 1;
            __threadfence();
            turn[pair * 8] = 1 - me;
            __threadfence();
            while (wants[pair * 8 + 1 - me] && turn[pair * 8] != me) {}
            __threadfence();
            sum[pair] = sum[pair] + me * 100 + round;
            __threadfence();
            wants[pair * 8 + me] = 0;
        }
    }
    __syncthreads();
    if (threadIdx.x < 2) out[threadIdx.x] = sum[threadIdx.x];
}

// A lock-free stack: each thread pushes two nodes and pops one. Nodes are not reused.
// launch: grid 2, block 40, out 4
extern "C" __global__ void stack_without_locks(unsigned *out, unsigned *scratch) {
    unsigned *head = &scratch[0];
    volatile unsigned *nexts = &scratch[1024];
    for (unsigned node = global_id() * 2 + 1; node <= global_id() * 2 + 2; node++) {
        unsigned before = atomicAdd(head, 0), seen;
        do {
            seen = before;
            nexts[node] = seen;
            __threadfence();
            before = atomicCAS(head, seen, node);
        } while (before != seen);
    }
    unsigned top = atomicAdd(head, 0);
    while (true) {
        __threadfence();
        unsigned found = atomicCAS(head, top, nexts[top]);
        if (found == top) break;
        top = found;
    }
    atomicAdd(&scratch[1], top);
    __threadfence();
    __syncthreads();
    // The last thread of both blocks sums the remaining nodes.
    if (threadIdx.x != 0 || atomicAdd(&scratch[2], 1) == 0) return;
    __threadfence();
    unsigned left = 0, sum = atomicAdd(&scratch[1], 0), squares = 0;
    for (unsigned node = *(volatile unsigned *)head; node; node = nexts[node]) {
        left++;
        sum += node;
        squares += node > 160;
    }
    out[0] = left;
    out[1] = sum;
    out[2] = squares;
    out[3] = 1;
}
