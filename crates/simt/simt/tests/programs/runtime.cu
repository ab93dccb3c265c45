// CUDA's device runtime: functions by address, memory, strings, and the stack.
// arch: compute_75

#include <cassert>
#include <cstdio>
#include "common.cuh"

struct Shape {
    unsigned side;
    __device__ Shape(unsigned side) : side(side) {}
    __device__ virtual unsigned area() const { return side; }
    __device__ virtual unsigned grow(unsigned by) { return side += by; }
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    __device__ Square(unsigned side) : Shape(side) {}
    __device__ unsigned area() const override { return side * side; }
};
struct Box : Square {
    unsigned depth;
    __device__ Box(unsigned side, unsigned depth) : Square(side), depth(depth) {}
    __device__ unsigned area() const override { return 2 * Square::area() + 4 * side * depth; }
    __device__ unsigned grow(unsigned by) override { return Shape::grow(by) * (depth += by); }
};

__device__ __noinline__ Shape *make(unsigned thread) {
    switch (thread % 3) {
    case 0: return new Shape(thread);
    case 1: return new Square(thread);
    default: return new Box(thread, thread / 3);
    }
}

// Objects of three classes, which lanes of a warp create, call and destroy.
// launch: grid 2, block 64, out 128
extern "C" __global__ void virtual_calls(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    Shape *shape = make(thread);
    unsigned sum = 0;
    for (unsigned round = 0; round <= thread % 4; round++) sum = sum * 31 + shape->grow(round) + shape->area();
    out[thread] = sum;
    delete shape;
}

typedef unsigned (*Step)(unsigned, unsigned);
__device__ __noinline__ unsigned plus(unsigned a, unsigned b) { return a + b; }
__device__ __noinline__ unsigned times(unsigned a, unsigned b) { return a * b + 1; }
__device__ __noinline__ unsigned mixed(unsigned a, unsigned b) { return (a ^ b) * 2654435761u; }
__device__ __noinline__ unsigned deep(unsigned a, unsigned b) { return b == 0 ? a : deep(times(a, 3), b / 2) + b; }
__constant__ Step constant_steps[4] = {plus, times, mixed, deep};
__device__ Step global_steps[2][2] = {{deep, plus}, {times, mixed}};

// Tables of functions, in constant and in global memory.
// launch: grid 1, block 96, out 96
extern "C" __global__ void function_tables(unsigned *out, unsigned *scratch) {
    unsigned value = threadIdx.x;
    for (unsigned round = 0; round < 6; round++) {
        value = constant_steps[(value + round) % 4](value, threadIdx.x);
        value += global_steps[value % 2][round % 2](round, value % 40);
    }
    out[threadIdx.x] = value;
}

__device__ __noinline__ unsigned choose(unsigned which, unsigned a, unsigned b) {
    Step step = which % 3 == 0 ? plus : which % 3 == 1 ? times : mixed;
    if (which % 5 == 4) return step(b, a);
    return step(a, choose(which + 7, b, a + 1) % 100);
}

// Addresses that are chosen at run time, called at different depths; the lanes shuffle afterwards.
// launch: grid 1, block 64, out 64
extern "C" __global__ void functions_at_different_depths(unsigned *out, unsigned *scratch) {
    unsigned value = threadIdx.x % 4 == 3 ? 5 : choose(threadIdx.x, threadIdx.x, 3);
    out[threadIdx.x] = value ^ __shfl_xor_sync(FULL, value, 1);
}

__device__ Step stored[64];
__device__ __noinline__ void store(unsigned thread) { stored[thread] = thread % 2 ? times : deep; }

// Functions whose addresses go through memory.
// launch: grid 1, block 64, out 64
extern "C" __global__ void functions_in_memory(unsigned *out, unsigned *scratch) {
    store(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = stored[63 - threadIdx.x](threadIdx.x, 9);
}

struct Node { Node *next; unsigned value; };

// A list for each thread, freed in the order in which it is read.
// launch: grid 3, block 64, out 192
extern "C" __global__ void lists(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    Node *first = nullptr;
    for (unsigned at = 0; at < thread % 17; at++) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->next = first;
        node->value = at * thread;
        first = node;
    }
    unsigned sum = (size_t)first % 16;
    while (first) {
        sum = sum * 3 + first->value;
        Node *next = first->next;
        free(first);
        first = next;
    }
    out[thread] = sum;
}

// Arrays that one thread allocates and other threads fill and free.
// launch: grid 4, block 64, out 256
extern "C" __global__ void memory_of_a_block(unsigned *out, unsigned *scratch) {
    __shared__ unsigned *array;
    if (threadIdx.x == 7) array = (unsigned *)malloc(blockDim.x * sizeof(unsigned));
    __syncthreads();
    array[threadIdx.x] = global_id() * 3;
    __syncthreads();
    out[global_id()] = array[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 40) free(array);
}

// Allocations of more bytes than the heap has, and of zero bytes.
// launch: grid 1, block 32, out 32
extern "C" __global__ void no_memory(unsigned *out, unsigned *scratch) {
    void *all = malloc((size_t)1 << 40);
    free(nullptr);
    out[threadIdx.x] = all == nullptr;
}

// The numbers of arguments that printf returns.
// launch: grid 2, block 32, out 64
extern "C" __global__ void printed(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    int count = 7;
    if (thread % 4 == 0) count = printf("no argument\n");
    if (thread % 4 == 1) count = printf("%u of %s: %5.2f%%\n", thread, "64", thread / 0.64);
    if (thread % 4 == 2) count = printf("%c%c %-6llx|%+06d|%*d|%.3s\n", 'a' + thread / 4, 'z', 1ull << thread, -(int)thread, 5, thread, "abcdef");
    if (thread == 63) count = printf((const char *)nullptr);
    out[thread] = count;
}

// Assertions that hold.
// launch: grid 1, block 64, out 64
extern "C" __global__ void assertions(unsigned *out, unsigned *scratch) {
    assert(threadIdx.x < blockDim.x);
    out[threadIdx.x] = threadIdx.x * 5 + scratch[threadIdx.x];
    assert(out[threadIdx.x] % 5 == 0 && "a multiple");
}

// Arrays on the stack whose length is the thread's index.
// launch: grid 1, block 64, out 64
extern "C" __global__ void arrays_on_the_stack(unsigned *out, unsigned *scratch) {
    unsigned length = threadIdx.x % 23 + 1, sum = 0;
    for (unsigned round = 0; round < 3; round++) {
        unsigned *array = (unsigned *)alloca(length * sizeof(unsigned));
        for (unsigned at = 0; at < length; at++) array[at] = at * threadIdx.x + scratch[at] + round;
        for (unsigned at = length; at-- > 0;) sum = sum * 5 + array[at];
    }
    out[threadIdx.x] = sum;
}

__device__ __noinline__ unsigned reversed(unsigned length, const unsigned *above) {
    unsigned *array = (unsigned *)alloca((length + 1) * sizeof(unsigned));
    for (unsigned at = 0; at < length; at++) array[at] = above[length - 1 - at] + length;
    array[length] = 77;
    unsigned below = length < 2 ? 1 : reversed(length - 1, array);
    for (unsigned at = 0; at <= length; at++) below = below * 7 + array[at];
    return below;
}

// Such arrays in recursive functions, with a different depth for each thread.
// launch: grid 1, block 32, out 32
extern "C" __global__ void arrays_of_recursive_calls(unsigned *out, unsigned *scratch) {
    unsigned first[16];
    for (unsigned at = 0; at < 16; at++) first[at] = at * threadIdx.x + scratch[at];
    out[threadIdx.x] = reversed(threadIdx.x % 15 + 1, first);
}
