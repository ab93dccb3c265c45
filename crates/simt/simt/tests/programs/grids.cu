// Blocks that cooperate within one launch: grid barriers, tickets, look-back, queues.
// arch: compute_75
//
// All blocks of a grid fit on the device at the same time.

#include "common.cuh"

// A grid barrier with a counter that only grows.
__device__ void grid_barrier(unsigned *counter, unsigned round) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(counter, 1);
        while (*(volatile unsigned *)counter < (round + 1) * gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
}

// Each thread repeatedly adds the values of its neighbors in the whole grid.
// launch: grid 6, block 48, out 288
extern "C" __global__ void grid_barrier_counter(unsigned *out, unsigned *scratch) {
    unsigned threads = gridDim.x * blockDim.x, thread = global_id();
    volatile unsigned *from = &scratch[1024], *to = &scratch[2048];
    from[thread] = thread;
    grid_barrier(scratch, 0);
    for (unsigned round = 1; round < 7; round++) {
        to[thread] = from[(thread + 1) % threads] * 3 + from[(thread + threads - 60) % threads];
        grid_barrier(scratch, round);
        volatile unsigned *other = from;
        from = to;
        to = other;
    }
    out[thread] = from[thread];
}

// The last block to arrive resets the counter and flips the sense that the others wait for.
// launch: grid 5, block 64, out 320
extern "C" __global__ void grid_barrier_sense(unsigned *out, unsigned *scratch) {
    volatile unsigned *sense = &scratch[1];
    volatile unsigned *values = &scratch[1024];
    unsigned threads = gridDim.x * blockDim.x, thread = global_id(), value = thread * thread;
    for (unsigned round = 0; round < 10; round++) {
        if (round % 2 == 0)
            values[thread] = value;
        else
            value += values[(thread + round * 37) % threads];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned before = *sense;
            if (atomicAdd(&scratch[0], 1) == gridDim.x - 1) {
                scratch[0] = 0;
                __threadfence();
                *sense = !before;
            } else {
                while (*sense == before) {}
            }
            __threadfence();
        }
        __syncthreads();
    }
    out[thread] = value;
}

// A grid barrier at which every thread arrives and waits separately, in different branches.
// launch: grid 4, block 40, out 160
extern "C" __global__ void grid_barrier_of_all_threads(unsigned *out, unsigned *scratch) {
    volatile unsigned *values = &scratch[1024];
    unsigned threads = gridDim.x * blockDim.x, thread = global_id(), value = thread;
    for (unsigned round = 1; round <= 4; round++) {
        values[thread] = value;
        __threadfence();
        if (thread % 2) {
            atomicAdd(&scratch[0], 1);
            while (acquire(&scratch[0]) < threads * (round * 2 - 1)) {}
        } else {
            atomicAdd(&scratch[0], 1);
            while (atomicAdd(&scratch[0], 0) < threads * (round * 2 - 1)) __nanosleep(20);
        }
        value = value * 3 + values[(thread + 41) % threads];
        __threadfence();
        atomicAdd(&scratch[0], 1);
        while (acquire(&scratch[0]) < threads * round * 2) {}
    }
    out[thread] = value;
}

// Blocks take tickets; the ticket determines where a result is stored, whichever block took the ticket.
// launch: grid 9, block 32, out 288
extern "C" __global__ void block_tickets(unsigned *out, unsigned *scratch) {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(&scratch[0], 1);
    __syncthreads();
    unsigned item = ticket * 32 + threadIdx.x;
    out[item] = item * item + ticket;
}

// A single-pass scan with decoupled look-back. Each block publishes its sum, then adds the sums of the previous blocks,
// up to a block that has published its inclusive prefix (Merrill and Garland, 2016).
// launch: grid 12, block 64, out 768
extern "C" __global__ void look_back_scan(unsigned *out, unsigned *scratch) {
    // The state is in the upper two bits, 1 for a block's sum and 2 for its inclusive prefix; the sum is in the lower
    // bits.
    unsigned *states = &scratch[16];
    __shared__ unsigned ticket, before, warp_sums[2];
    if (threadIdx.x == 0) ticket = atomicAdd(&scratch[0], 1);
    __syncthreads();
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned item = ticket * 64 + threadIdx.x;
    unsigned value = item * 2654435761u >> 25;
    unsigned sum = value;
    for (unsigned step = 1; step < 32; step *= 2) {
        unsigned below = __shfl_up_sync(FULL, sum, step);
        if (lane >= step) sum += below;
    }
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 1) sum += warp_sums[0];
    unsigned all = warp_sums[0] + warp_sums[1];
    if (warp == 0) {
        if (lane == 0) release(&states[ticket], (ticket == 0 ? 2u << 30 : 1u << 30) | all);
        unsigned total = 0;
        // Look at 32 blocks at a time, the nearest block in lane 0; lanes before block 0 have no block.
        for (int nearest = (int)ticket - 1; nearest >= 0; nearest -= 32) {
            int block = nearest - (int)lane;
            unsigned state = 2u << 30;
            if (block >= 0) do state = acquire(&states[block]); while (state >> 30 == 0);
            unsigned whole = __ballot_sync(FULL, state >> 30 == 2);
            unsigned part = whole == 0 || lane <= __ffs(whole) - 1 ? state & 0x3fffffff : 0;
            for (unsigned step = 16; step > 0; step /= 2) part += __shfl_xor_sync(FULL, part, step);
            total += part;
            if (whole) break;
        }
        if (lane == 0) {
            if (ticket > 0) release(&states[ticket], 2u << 30 | (total + all));
            before = total;
        }
    }
    __syncthreads();
    out[item] = before + sum;
}

// Each block stores its sum; the last block to finish adds the sums (CUDA's sample threadFenceReduction).
// launch: grid 10, block 64, out 3
extern "C" __global__ void last_block_reduces(unsigned *out, unsigned *scratch) {
    __shared__ unsigned sums[64];
    __shared__ bool last;
    unsigned thread = threadIdx.x;
    sums[thread] = global_id() * global_id();
    __syncthreads();
    for (unsigned half = 32; half > 0; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread == 0) {
        *(volatile unsigned *)&scratch[16 + blockIdx.x] = sums[0];
        __threadfence();
        last = atomicInc(&scratch[0], gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    if (thread == 0) {
        unsigned sum = 0, history = 0;
        for (unsigned block = 0; block < gridDim.x; block++) {
            unsigned part = *(volatile unsigned *)&scratch[16 + block];
            sum += part;
            history = history * 31 + part;
        }
        out[0] = sum;
        out[1] = history;
        out[2] = scratch[0];
    }
}

// Pairs of blocks share a result: the second block waits for the first block's part, and adds its part.
// launch: grid 8, block 32, out 128
extern "C" __global__ void blocks_fix_up(unsigned *out, unsigned *scratch) {
    unsigned tile = blockIdx.x / 2, lane = threadIdx.x;
    unsigned part = 0;
    for (unsigned step = blockIdx.x % 2; step < 9; step += 2) part += step * lane + tile;
    volatile unsigned *parts = &scratch[1024];
    if (blockIdx.x % 2 == 1) {
        parts[tile * 32 + lane] = part;
        __threadfence();
        __syncthreads();
        if (lane == 0) atomicExch(&scratch[tile], 1);
    } else {
        if (lane == 0) while (atomicAdd(&scratch[tile], 0) == 0) __nanosleep(50);
        __syncthreads();
        __threadfence();
        out[tile * 32 + lane] = part * 100 + parts[tile * 32 + lane];
    }
}

// Blocks take nodes from a queue and append their children, until a whole tree has been visited.
// launch: grid 4, block 32, out 4
extern "C" __global__ void queue_of_work(unsigned *out, unsigned *scratch) {
    unsigned *head = &scratch[0], *tail = &scratch[1], *left = &scratch[2], *queue = &scratch[64];
    __shared__ unsigned node;
    if (global_id() == 0) {
        atomicExch(left, 1);
        release(&queue[atomicAdd(tail, 1)], 1);
        release(&scratch[3], 1);
    }
    while (acquire(&scratch[3]) == 0) {}
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) {
            // Reserve a position in the queue if there is one, then wait for the node at this position.
            node = 0;
            unsigned at = acquire(head);
            if (at < acquire(tail) && atomicCAS(head, at, at + 1) == at)
                do node = acquire(&queue[at]); while (node == 0);
            else if (acquire(left) == 0)
                node = FULL;
        }
        __syncthreads();
        if (node == FULL) return;
        if (node == 0) continue;
        if (threadIdx.x < 3 && node < 40) {
            atomicAdd(left, 1);
            unsigned at = atomicAdd(tail, 1);
            release(&queue[at], node * 3 + threadIdx.x - 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(&out[0], node);
            atomicAdd(&out[1], node * node);
            atomicXor(&out[2], node * 2654435761u);
            atomicAdd(&out[3], 1);
            atomicSub(left, 1);
        }
    }
}

// Many more blocks than fit on a small GPU; each waits for the block with the previous ticket, which has begun.
// launch: grid 150, block 32, out 150
extern "C" __global__ void chain_of_tickets(unsigned *out, unsigned *scratch) {
    if (threadIdx.x != 0) return;
    unsigned ticket = atomicAdd(&scratch[0], 1), value = 1;
    if (ticket > 0) {
        while ((value = acquire(&scratch[ticket])) == 0) {}
    }
    out[ticket] = value;
    release(&scratch[ticket + 1], (value * 5 + ticket) | 1);
}
