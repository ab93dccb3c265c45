// Variables of the module: constants and globals with initial values, addresses in them, and changes within a launch.
// arch: compute_75

#include "common.cuh"

struct Entry { unsigned char key; short weight; double factor; const unsigned *table; };

__constant__ unsigned primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__constant__ float fractions[4] = {0.5f, -1.25f, 3.0e38f, 1.0e-42f};
__constant__ signed char small[8] = {-1, 2, -3, 4, -128, 127, 0, 5};
__device__ unsigned squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
__constant__ const unsigned *constant_pointer = squares + 3;
__constant__ Entry entries[3] = {{1, -2, 0.5, squares}, {200, 300, -2.0, squares + 4}, {7, -32768, 1.0e10, squares + 2}};
__device__ unsigned long long wide[3] = {0x123456789abcdef0ull, ~0ull, 42};
__device__ unsigned counter = 5;
__device__ volatile unsigned ready = 0;
__device__ unsigned zeroes[64];

// Constants that all lanes read at the same address, and at different addresses.
// launch: grid 2, block 32, out 256
extern "C" __global__ void constants(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    out[thread] = primes[blockIdx.x] * 1000 + primes[thread % 16];
    out[64 + thread] = __float_as_uint(fractions[thread % 4]);
    out[128 + thread] = (unsigned)(int)small[thread % 8];
    out[192 + thread] = constant_pointer[thread % 5];
}

// Structs in constant memory, with addresses of global memory.
// launch: grid 1, block 32, out 128
extern "C" __global__ void constant_structs(unsigned *out, unsigned *scratch) {
    const Entry &entry = entries[threadIdx.x % 3];
    unsigned *at = &out[threadIdx.x * 4];
    at[0] = entry.key;
    at[1] = (unsigned)(int)entry.weight;
    at[2] = (unsigned)(__double_as_longlong(entry.factor) >> 32);
    at[3] = entry.table[threadIdx.x % 4];
}

// Globals with initial values, which the threads change and read back.
// launch: grid 1, block 64, out 198
extern "C" __global__ void globals_that_change(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    out[thread] = squares[thread % 8] + zeroes[thread];
    __syncthreads();
    atomicAdd(&counter, thread);
    zeroes[thread] = thread * 3;
    if (thread < 8) squares[thread] += 100;
    atomicXor(&wide[thread % 3], 1ull << thread);
    __syncthreads();
    out[64 + thread] = squares[(thread + 1) % 8] + zeroes[63 - thread];
    if (thread < 6) out[128 + thread] = (unsigned)(wide[thread / 2] >> thread % 2 * 32);
    if (thread == 6) out[134] = counter;
}

// Blocks read what other blocks have written to globals.
// launch: grid 4, block 32, out 128
extern "C" __global__ void globals_between_blocks(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x;
    if (blockIdx.x == 2) {
        zeroes[lane] = lane * lane + counter;
        __threadfence();
        __syncthreads();
        if (lane == 0) ready = 1;
        out[global_id()] = 1;
    } else {
        if (lane == 0) while (ready == 0) {}
        __syncthreads();
        __threadfence();
        out[global_id()] = ((volatile unsigned *)zeroes)[31 - lane] + blockIdx.x;
    }
}

struct Node { unsigned value; const Node *next; };
__device__ Node fifth = {50, nullptr};
__device__ Node others[2] = {{40, &fifth}, {30, &fifth}};
__constant__ Node second = {20, others};
__device__ const Node *first[3] = {&second, others + 1, &fifth};

// Lists whose links are initial values, in global and constant memory; then a thread changes the list heads.
// launch: grid 1, block 32, out 64
extern "C" __global__ void linked_globals(unsigned *out, unsigned *scratch) {
    unsigned lane = threadIdx.x, sum = lane;
    for (const Node *node = first[lane % 3]; node; node = node->next) sum = sum * 3 + node->value;
    out[lane] = sum;
    __syncthreads();
    if (lane == 9) {
        others[1].next = others;
        first[2] = others + 1;
    }
    __syncthreads();
    for (const Node *node = first[lane % 3]; node; node = node->next) sum = sum * 5 + node->value;
    out[32 + lane] = sum;
}

__constant__ const char *words[4] = {"warp", "lane", "reconvergence", ""};

__device__ unsigned hash(const char *text) {
    unsigned result = 2166136261u;
    for (; *text; text++) result = (result ^ (unsigned char)*text) * 16777619u;
    return result;
}

// Strings in constant memory and in the code.
// launch: grid 1, block 32, out 64
extern "C" __global__ void texts(unsigned *out, unsigned *scratch) {
    out[threadIdx.x] = hash(words[threadIdx.x % 4]);
    out[32 + threadIdx.x] = hash(threadIdx.x % 2 ? "occupancy" : words[threadIdx.x % 3] + 2);
}

__device__ __noinline__ unsigned count_calls() {
    static unsigned calls = 100;
    return atomicAdd(&calls, 1);
}

// A static variable of a function counts the calls of all threads.
// launch: grid 2, block 32, out 64
extern "C" __global__ void static_of_a_function(unsigned *out, unsigned *scratch) {
    out[count_calls() - 100] = 1;
}

// Shared memory: static and dynamic arrays of several types.
// launch: grid 2, block 64, shared 768, out 128
extern "C" __global__ void shared_static_and_dynamic(unsigned *out, unsigned *scratch) {
    __shared__ unsigned short shorts[64];
    __shared__ double doubles[16];
    extern __shared__ __align__(16) unsigned char dynamic[];
    unsigned long long *wides = (unsigned long long *)dynamic;
    unsigned *words = (unsigned *)(dynamic + 512);
    unsigned thread = threadIdx.x;
    shorts[thread] = (unsigned short)(thread * 3001);
    if (thread < 16) doubles[thread] = thread * 0.5;
    wides[thread] = (unsigned long long)thread << 32 | shorts[thread];
    words[63 - thread] = thread + blockIdx.x;
    __syncthreads();
    out[global_id()] = (unsigned)(wides[63 - thread] >> 29) + shorts[thread ^ 5] + words[thread]
        + (unsigned)(doubles[thread % 16] * 8);
}

// Digits in memory that count up to the end. The registers repeat their values, but memory does not.
// launch: grid 1, block 64, out 192
extern "C" __global__ void digits_in_memory(unsigned *out, unsigned *scratch) {
    __shared__ volatile unsigned char shared[64][8];
    volatile unsigned char local[8];
    unsigned thread = threadIdx.x;
    volatile unsigned *global = &scratch[thread * 8];
    for (unsigned digit = 0; digit < 8; digit++) shared[thread][digit] = local[digit] = 0;
    unsigned last[3];
    do {
        for (last[0] = 0; local[last[0]] == 3; last[0]++) local[last[0]] = 0;
        local[last[0]] = local[last[0]] + 1;
    } while (last[0] < 6 + thread / 32);
    do {
        for (last[1] = 0; shared[thread][last[1]] == 3; last[1]++) shared[thread][last[1]] = 0;
        shared[thread][last[1]] = shared[thread][last[1]] + 1;
    } while (last[1] < 6);
    do {
        for (last[2] = 0; global[last[2]] == 3; last[2]++) global[last[2]] = 0;
        global[last[2]] = global[last[2]] + 1;
    } while (last[2] < 6);
    out[thread] = last[0] * 10 + local[last[0]];
    out[64 + thread] = last[1] * 10 + shared[thread][last[1]];
    out[128 + thread] = last[2] * 10 + global[last[2]];
}
