// Operations whose masks name part of the warp, and lanes that reach one operation from different instructions.
// arch: compute_80
//
// All lanes that a mask names execute the operation with the same mask, possibly at different instructions.

#include "common.cuh"

// The lanes of two branches swap their values: each branch has the shuffle.
// launch: grid 1, block 64, out 64
extern "C" __global__ void shuffle_from_two_branches(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x % 32;
    unsigned value;
    if (lane % 2 == 0) {
        value = __shfl_xor_sync(FULL, threadIdx.x + 100, 1);
        value = value * 3 + scratch[0];
    } else {
        unsigned hash = threadIdx.x;
        for (unsigned step = 0; step < lane; step++) hash = hash * 5 + scratch[step];
        value = __shfl_xor_sync(FULL, hash, 1) ^ 0xabcd;
    }
    out[threadIdx.x] = value;
}

// The lanes of two branches pass values through shared memory, with a __syncwarp() in each branch.
// launch: grid 1, block 32, out 32
extern "C" __global__ void syncwarp_from_two_branches(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned values[32];
    unsigned lane = threadIdx.x;
    unsigned got;
    if (lane < 13) {
        values[lane] = lane * lane;
        __syncwarp();
        got = values[31 - lane];
        __syncwarp();
        values[lane] = got + 1;
        __syncwarp();
    } else {
        unsigned sum = 0;
        for (unsigned step = 0; step < lane; step++) sum += step ^ scratch[step];
        values[lane] = sum;
        __syncwarp();
        got = values[31 - lane] * 2;
        __syncwarp();
        values[lane] = got;
        __syncwarp();
    }
    out[lane] = got + 65536 * values[(lane + 7) % 32];
}

// A vote whose lanes come from three branches.
// launch: grid 1, block 32, out 32
extern "C" __global__ void vote_from_three_branches(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned votes;
    if (lane % 3 == 0) {
        votes = __ballot_sync(FULL, lane > 10);
        out[lane] = votes + 1;
    } else if (lane % 3 == 1) {
        votes = __ballot_sync(FULL, lane * scratch[0] == 0);
        out[lane] = votes * 3;
    } else {
        votes = __ballot_sync(FULL, lane % 2);
        out[lane] = votes ^ 0xffff;
    }
}

// Lanes with the same key sum their values: the mask of each group is the result of __match_any_sync.
// launch: grid 1, block 64, out 128
extern "C" __global__ void match_groups_shuffle(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x, lane = thread % 32;
    unsigned key = thread * thread % 7;
    unsigned group = __match_any_sync(FULL, key);
    unsigned sum = 0;
    for (unsigned rest = group; rest; rest &= rest - 1)
        sum += __shfl_sync(group, thread + 3, __ffs(rest) - 1);
    out[thread] = sum;
    bool leader = lane == __ffs(group) - 1;
    if (leader) out[64 + thread] = key * 1000 + __popc(group);
}

// The same with redux: one instruction, with a different mask for each group of lanes.
// launch: grid 1, block 64, out 256
extern "C" __global__ void match_groups_redux(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    unsigned group = __match_any_sync(FULL, thread / 3 % 5);
    out[thread] = __reduce_add_sync(group, thread * 3);
    out[64 + thread] = __reduce_max_sync(group, thread * 37 % 64);
    out[128 + thread] = __ballot_sync(group, thread % 2);
    out[192 + thread] = __match_any_sync(group, thread % 4);
}

// The halves of a warp do different work a different number of times, each under a separate mask.
// launch: grid 1, block 32, out 32
extern "C" __global__ void halves_with_separate_masks(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned value = lane + 1;
    if (lane < 16) {
        for (unsigned step = 1; step < 16; step *= 2) value += __shfl_xor_sync(0x0000ffff, value, step);
    } else {
        for (unsigned round = 0; round < 9; round++) {
            value = value * 3 + __shfl_sync(0xffff0000, value, 16 + (lane + round) % 16);
            value += __any_sync(0xffff0000, value % 32 == 0);
        }
    }
    out[lane] = value;
}

// All lanes execute each shuffle. The mask names the lane's group of four lanes, then four lanes at distances of 8.
// launch: grid 1, block 32, out 64
extern "C" __global__ void separate_mask_for_each_lane(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned four = 0xfu << (lane & 28);
    out[lane] = __shfl_sync(four, lane * 11, (lane & 28) + (lane * 7 + 1) % 4);
    unsigned stride = 0;
    for (unsigned other = lane % 8; other < 32; other += 8) stride |= 1u << other;
    out[32 + lane] = __shfl_xor_sync(stride, lane + 500, 8) + __shfl_xor_sync(stride, lane, 16);
}

// Nested branches, each with the mask of the lanes that took it.
// launch: grid 1, block 32, out 96
extern "C" __global__ void masks_of_nested_branches(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned outer = __ballot_sync(FULL, lane % 3 != 0);
    if (lane % 3 != 0) {
        out[lane] = __shfl_sync(outer, lane, lane % 2 ? 1 : 31);
        unsigned inner = __ballot_sync(outer, lane & 4);
        if (lane & 4) {
            out[32 + lane] = __shfl_sync(inner, lane * 2, __ffs(inner) - 1);
            unsigned last = __ballot_sync(inner, lane > 20);
            if (lane > 20)
                out[64 + lane] = __all_sync(last, lane & 4) + last;
            else
                out[64 + lane] = __popc(__ballot_sync(inner & ~last, 1));
        } else {
            out[32 + lane] = __ballot_sync(outer & ~inner, lane % 2);
        }
        out[lane] += __ballot_sync(outer, lane < 9);
    } else {
        out[lane] = __ballot_sync(~outer, lane < 9);
    }
}

// A tile whose size is a power of two, as in cooperative groups.
template <unsigned SIZE> struct Tile {
    unsigned mask, rank;
    __device__ Tile() {
        unsigned lane = threadIdx.x % 32;
        rank = lane % SIZE;
        mask = (SIZE == 32 ? FULL : (1u << SIZE % 32) - 1) << (lane - rank);
    }
    __device__ void sync() { __syncwarp(mask); }
    __device__ unsigned from(unsigned value, unsigned source) { return __shfl_sync(mask, value, source, SIZE); }
    __device__ unsigned sum(unsigned value) {
        for (unsigned step = SIZE / 2; step > 0; step /= 2) value += __shfl_down_sync(mask, value, step, SIZE);
        return from(value, 0);
    }
    __device__ unsigned scan(unsigned value) {
        for (unsigned step = 1; step < SIZE; step *= 2) {
            unsigned below = __shfl_up_sync(mask, value, step, SIZE);
            if (rank >= step) value += below;
        }
        return value;
    }
};

template <unsigned SIZE> __device__ unsigned in_tiles(unsigned *shared) {
    Tile<SIZE> tile;
    unsigned thread = threadIdx.x;
    shared[thread] = tile.scan(thread + 1);
    tile.sync();
    unsigned mirrored = shared[thread - tile.rank + SIZE - 1 - tile.rank];
    tile.sync();
    return mirrored * 3 + tile.sum(thread * thread) + tile.from(thread, SIZE / 2);
}

// Sums and scans of tiles of 4, 8, 16 and 32 lanes, with shared memory between.
// launch: grid 1, block 64, out 256
extern "C" __global__ void tiles(unsigned *out, unsigned *scratch) {
    __shared__ unsigned shared[64];
    unsigned thread = threadIdx.x;
    out[thread] = in_tiles<4>(shared);
    __syncwarp();
    out[64 + thread] = in_tiles<8>(shared);
    __syncwarp();
    out[128 + thread] = in_tiles<16>(shared);
    __syncwarp();
    out[192 + thread] = in_tiles<32>(shared);
}

// Tiles of eight lanes in separate branches: each tile runs a different number of iterations.
// launch: grid 1, block 32, out 32
extern "C" __global__ void tiles_in_branches(unsigned *out, unsigned *scratch) {
    Tile<8> tile;
    unsigned value = threadIdx.x;
    switch (threadIdx.x / 8) {
    case 0: value = tile.sum(value); break;
    case 1: for (unsigned round = 0; round < 5; round++) value = tile.scan(value % 100); break;
    case 2: value = tile.from(value * value, 3); break;
    default: while (tile.sum(value) < 3000) value += tile.from(value, tile.rank / 2);
    }
    out[threadIdx.x] = value;
}

// Lanes leave a loop one after another; the remaining lanes continue with a mask of the lanes that continue.
// launch: grid 1, block 32, out 64
extern "C" __global__ void loop_with_a_shrinking_mask(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned value = lane * 40503 % 97 + 1;
    unsigned mask = FULL, rounds = 0, seen = 0;
    while (true) {
        unsigned next = __ballot_sync(mask, value > 1);
        if (value <= 1) break;
        mask = next;
        value = value % 2 ? value * 3 + 1 : value / 2;
        seen = seen * 31 + __shfl_sync(mask, value, __ffs(mask) - 1);
        rounds++;
    }
    out[lane] = rounds;
    out[32 + lane] = seen;
}

// Each lane that takes the branch gets its rank among these lanes, and the value of the next such lane.
// launch: grid 1, block 64, out 128
extern "C" __global__ void rank_in_a_branch(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x, lane = thread % 32;
    bool taken = thread * 2654435761u >> 30 == 1 || lane % 9 == 0;
    unsigned mask = __ballot_sync(FULL, taken);
    if (taken) {
        unsigned below = mask & ((1u << lane) - 1);
        unsigned above = mask & ~below & ~(1u << lane);
        unsigned next = above ? __ffs(above) - 1 : __ffs(mask) - 1;
        out[thread] = __popc(below) + 1;
        out[64 + thread] = __shfl_sync(mask, thread * 7, next);
    }
}

// Shuffles up and down in segments: lanes past the end keep their value.
// launch: grid 1, block 32, out 128
extern "C" __global__ void shuffles_in_segments(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    out[lane] = __shfl_up_sync(FULL, lane + 1, 3, 8);
    out[32 + lane] = __shfl_down_sync(FULL, lane + 1, 5, 16);
    out[64 + lane] = __shfl_xor_sync(FULL, lane + 1, 6, 4);
    unsigned long long wide = (unsigned long long)lane << 33 | (31 - lane);
    wide = __shfl_sync(FULL, wide, lane * 3, 32);
    out[96 + lane] = (unsigned)(wide >> 32) * 100 + (unsigned)wide;
}

// A vote of all lanes in each case of a switch.
// launch: grid 1, block 32, out 32
extern "C" __global__ void vote_in_each_case(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x, result;
    switch (lane * 5 % 7) {
    case 0: result = __ballot_sync(FULL, lane > 20) + 1; break;
    case 1: result = __ballot_sync(FULL, lane + scratch[0] > 3) * 3; break;
    case 2: result = __ballot_sync(FULL, false) ^ lane; break;
    case 3: scratch[lane] = lane; result = __ballot_sync(FULL, scratch[lane] % 2) - 5; break;
    case 4: result = ~__ballot_sync(FULL, true); break;
    case 5: for (result = 0; result < lane; result++) scratch[lane] += 2;
            result += __ballot_sync(FULL, scratch[lane] % 8 == 2); break;
    default: result = __ballot_sync(FULL, lane % 4 == 0) / 2;
    }
    out[lane] = result;
}

// Odd lanes meet the even lanes twice in each of three rounds, even lanes once in each of six.
// launch: grid 1, block 32, out 32
extern "C" __global__ void syncwarp_in_different_loops(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned values[2][32];
    unsigned lane = threadIdx.x, sum = lane;
    values[0][lane] = lane;
    __syncwarp();
    if (lane % 2) {
        for (unsigned round = 0; round < 3; round++) {
            values[1][lane] = sum += values[0][lane ^ 1] * 3;
            __syncwarp();
            values[0][lane] = sum += values[1][lane ^ 3] * 5;
            __syncwarp();
        }
    } else {
        for (unsigned round = 0; round < 6; round++) {
            values[1 - round % 2][lane] = sum = sum * 7 + values[round % 2][lane ^ 1];
            __syncwarp();
        }
    }
    out[lane] = sum;
}

// Keys are processed one after another: the lanes with the first remaining lane's key sum their values, and leave.
// launch: grid 1, block 64, out 64
extern "C" __global__ void peel_keys(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x, lane = thread % 32;
    unsigned key = thread * 7 % 9, left = FULL, round = 0;
    while (true) {
        unsigned first = __shfl_sync(left, key, __ffs(left) - 1);
        unsigned same = __ballot_sync(left, key == first);
        if (key == first) {
            out[thread] = __reduce_add_sync(same, lane) + 1000 * round;
            break;
        }
        left &= ~same;
        round++;
    }
}
