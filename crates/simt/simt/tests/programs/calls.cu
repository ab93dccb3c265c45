// Functions, recursion, and branches with many targets.
// arch: compute_75

#include "common.cuh"

__device__ __noinline__ unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Each lane recurses to a depth that depends on its lane number.
// launch: grid 1, block 48, out 48
extern "C" __global__ void recursion_fibonacci(unsigned *out, unsigned *scratch) {
    out[threadIdx.x] = fibonacci(threadIdx.x % 10);
}

__device__ __noinline__ unsigned odd(unsigned n, unsigned seed);
__device__ __noinline__ unsigned even(unsigned n, unsigned seed) {
    return n == 0 ? seed : odd(n - 1, seed * 3 + 1) ^ n;
}
__device__ __noinline__ unsigned odd(unsigned n, unsigned seed) {
    return n == 0 ? seed + 7 : even(n - 1, seed * 5 + 2) + n;
}

// Two functions call each other, to different depths in different lanes.
// launch: grid 1, block 64, out 64
extern "C" __global__ void recursion_of_two_functions(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    out[thread] = thread % 2 ? odd(thread, thread) : even(63 - thread, thread);
}

// The number of ways to place `size` queens on a board, row by row.
__device__ __noinline__ unsigned queens(unsigned size, unsigned row, unsigned *columns) {
    if (row == size) return 1;
    unsigned ways = 0;
    for (unsigned column = 0; column < size; column++) {
        bool free = true;
        for (unsigned above = 0; above < row; above++) {
            int distance = (int)columns[above] - (int)column;
            if (distance == 0 || abs(distance) == row - above) free = false;
        }
        if (!free) continue;
        columns[row] = column;
        ways += queens(size, row + 1, columns);
    }
    return ways;
}

// Recursion with an array in local memory, which lanes use at different depths.
// launch: grid 1, block 32, out 32
extern "C" __global__ void recursion_with_an_array(unsigned *out, unsigned *scratch) {
    unsigned columns[8];
    // Each lane has its first queen in a different column.
    columns[0] = threadIdx.x % 5;
    out[threadIdx.x] = queens(5, 1, columns) + 100 * queens(threadIdx.x % 5, 0, columns);
}

// Each call has a separate array, and passes on the array's address.
__device__ __noinline__ unsigned mirror(unsigned depth, const unsigned *above) {
    unsigned values[4];
    for (unsigned at = 0; at < 4; at++) values[at] = above[3 - at] * 3 + depth;
    unsigned below = depth == 0 ? values[1] : mirror(depth - 1, values);
    return below ^ values[depth % 4];
}

// Callees read the arrays of their callers.
// launch: grid 1, block 32, out 32
extern "C" __global__ void arrays_of_callers(unsigned *out, unsigned *scratch) {
    unsigned first[4] = {threadIdx.x, threadIdx.x * 2, 5, 6};
    out[threadIdx.x] = mirror(threadIdx.x % 13, first);
}

__device__ __noinline__ unsigned triple(unsigned value) { return value * 3 + 1; }
__device__ __noinline__ unsigned halves(unsigned value) {
    unsigned count = 0;
    while (value > 1) {
        value = value % 2 ? triple(value) : value / 2;
        count++;
    }
    return count;
}
__device__ __noinline__ unsigned square(unsigned value) { return value % 2 ? halves(value) : value * value; }

// Lanes call different functions, which call each other, in a loop that the lanes leave one by one.
// launch: grid 1, block 64, out 64
extern "C" __global__ void divergent_calls(unsigned *out, unsigned *scratch) {
    unsigned value = threadIdx.x, sum = 0;
    for (unsigned round = 0; round <= threadIdx.x % 5; round++) {
        switch ((value + round) % 4) {
        case 0: value = triple(value); break;
        case 1: value = halves(value % 50); break;
        case 2: value = square(value % 30) + triple(value); break;
        }
        sum = sum * 7 + value;
    }
    out[threadIdx.x] = sum;
}

__device__ __noinline__ int first_multiple(const unsigned *values, unsigned of) {
    for (int at = 0; at < 32; at++)
        if (values[at] % of == 0) return at;
    return -1;
}
__device__ __noinline__ int search(const unsigned *values, unsigned seed) {
    if (seed % 7 == 0) return -100;
    int first = first_multiple(values, 11 + seed);
    if (first < 0) {
        if (seed % 2) return -200;
        first = first_multiple(values, 3);
        if (first < 0) return -300;
    }
    for (int at = first; at >= 0; at--) {
        if (values[at] % 2 == 0) return at;
        if (at == 3 && seed > 20) return -400 - (int)seed;
    }
    return first * 1000;
}

// Functions with returns in loops and branches, which lanes take at different times.
// launch: grid 1, block 64, out 64
extern "C" __global__ void early_returns(unsigned *out, unsigned *scratch) {
    __shared__ unsigned values[32];
    if (threadIdx.x < 32) values[threadIdx.x] = threadIdx.x * threadIdx.x * 7 + 1;
    __syncthreads();
    int result = search(values, threadIdx.x);
    if (result < 0) {
        out[threadIdx.x] = result;
        return;
    }
    out[threadIdx.x] = result + 5;
}

__device__ __noinline__ unsigned swap_pairs(unsigned value, unsigned factor) {
    return __shfl_xor_sync(FULL, value * factor, 1) + __popc(__ballot_sync(FULL, value % 3 == 0));
}

// A function that shuffles the whole warp, called from both sides of a branch.
// launch: grid 1, block 32, out 32
extern "C" __global__ void shuffle_in_a_function(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    unsigned value = lane + 9;
    if (lane % 4 == 1 || lane % 4 == 2)
        value = swap_pairs(value + scratch[lane], 3) * 2;
    else
        value = swap_pairs(value * 5 + scratch[lane], 7) + 1;
    out[lane] = value;
}

struct Pair { unsigned long long wide; unsigned narrow[3]; unsigned char last; };

__device__ __noinline__ Pair combine(Pair a, Pair b, unsigned char more) {
    Pair result;
    result.wide = a.wide * b.narrow[0] + b.wide;
    for (unsigned at = 0; at < 3; at++) result.narrow[at] = a.narrow[2 - at] ^ b.narrow[at];
    result.last = a.last + b.last + more;
    return result;
}

// Structs as arguments and results.
// launch: grid 1, block 32, out 192
extern "C" __global__ void structs_by_value(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    Pair a = {lane * 0x123456789ull, {lane, lane + 1, lane + 2}, (unsigned char)(lane * 9)};
    Pair b = {~0ull - lane, {7, 8 * lane, 9}, 200};
    for (unsigned round = 0; round < lane % 4; round++) a = combine(a, b, round);
    b = combine(b, a, lane);
    unsigned *at = &out[lane * 6];
    at[0] = (unsigned)b.wide;
    at[1] = (unsigned)(b.wide >> 32);
    for (unsigned which = 0; which < 3; which++) at[2 + which] = b.narrow[which];
    at[5] = b.last;
}

// An interpreter with about 18 instructions. Lanes run different programs; each instruction is dispatched through a
// table.
// launch: grid 1, block 64, out 64
extern "C" __global__ void switch_of_many_targets(unsigned *out, unsigned *scratch) {
    unsigned state = threadIdx.x * 2654435761u | 1, a = threadIdx.x, b = 1;
    for (unsigned step = 0; step < 60; step++) {
        state = state * 1664525 + 1013904223;
        switch (state >> 27) {
        case 0: a += b; break;
        case 1: b ^= a << 3; break;
        case 2: a = __brev(a); break;
        case 3: b *= 5;  // falls through
        case 4: a -= 3; break;
        case 5: step += 2; break;
        case 6: if (a % 2) break; a /= 2; continue;
        case 7: { unsigned c = a; a = b; b = c; } break;
        case 9: b += __popc(a); break;
        case 10: a = a * b + 1; break;
        case 11: b = b >> 5 | b << 27; break;
        case 12: a ^= step; break;
        case 14: b = max(a, b); break;
        case 15: a = __byte_perm(a, b, 0x4361); break;
        case 17: a = a / (b % 16 + 1); break;
        case 18: b = __clz(b) + a; break;
        case 20: a += state; break;
        case 21: b -= state; break;
        case 22: a = min(a, b) + 7; break;
        case 23: b = ~b; break;
        case 24: goto out;
        default: a += 1; b += a;
        }
    }
out:
    out[threadIdx.x] = a * 31 + b;
}

// Nested loops with break, continue and a goto out of both.
// launch: grid 1, block 64, out 64
extern "C" __global__ void break_continue_goto(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x, sum = thread;
    for (unsigned i = 0; i < 12; i++) {
        if ((i + thread) % 5 == 0) continue;
        for (unsigned j = i;; j++) {
            sum = sum * 3 + j;
            if (sum % 97 == 5) goto found;
            if (sum % 11 == thread % 11) break;
            if (j > 20 + thread % 3) goto next;
            if (sum % 2) continue;
            sum += i;
        }
        sum ^= thread << i;
    next:
        if (sum % 61 == 0) break;
    }
    sum += 1000;
found:
    out[thread] = sum;
}

// A loop with two entries.
// launch: grid 1, block 64, out 64
extern "C" __global__ void loop_entered_in_the_middle(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x, sum = 0, left = 3 + thread % 9;
    if (thread % 3 == 1) goto middle;
    sum = thread;
top:
    sum = sum * 5 + left;
    if (sum % 7 == 3) left -= left > 1;
middle:
    sum ^= left << 4;
    if (--left > 0) {
        if (sum % 3 == 0) goto middle;
        goto top;
    }
    out[thread] = sum;
}

// Steps of the Collatz sequence, in loops that lanes leave after very different times.
// launch: grid 2, block 48, out 96
extern "C" __global__ void loops_of_different_lengths(unsigned *out, unsigned *scratch) {
    unsigned value = global_id() + 1, steps = 0, highest = 0;
    do {
        while (value % 2 == 0) {
            value /= 2;
            steps++;
        }
        if (value == 1) break;
        value = value * 3 + 1;
        steps++;
        highest = max(highest, value);
    } while (true);
    out[global_id()] = steps * 65536 + highest % 65536;
}

__device__ __noinline__ unsigned vote_at_depth(unsigned depth, unsigned value) {
    if (depth == 0) return __ballot_sync(FULL, value % 3 == 0);
    return vote_at_depth(depth - 1, value + 1) * 3 + depth;
}

// Lanes vote together, each in a call of a different depth.
// launch: grid 1, block 32, out 32
extern "C" __global__ void vote_at_different_depths(unsigned *out, unsigned *scratch) {
    out[threadIdx.x] = vote_at_depth(threadIdx.x % 9, threadIdx.x);
}
