// Sixteen bytes as one value: loads, stores and atomics; and 8-bit numbers.
// arch: compute_90

#include "common.cuh"

typedef unsigned long long Word;
struct alignas(16) Pair { Word low, high; };

__device__ inline Pair compare_and_swap(Pair *at, Pair old, Pair value) {
    Pair found;
    asm volatile(
        "{ .reg .b128 old, value, found; mov.b128 old, {%3, %4}; mov.b128 value, {%5, %6};\n"
        "  atom.acq_rel.gpu.cas.b128 found, [%2], old, value; mov.b128 {%0, %1}, found; }"
        : "=l"(found.low), "=l"(found.high)
        : "l"(at), "l"(old.low), "l"(old.high), "l"(value.low), "l"(value.high)
        : "memory");
    return found;
}

__device__ inline Pair exchange(Pair *at, Pair value) {
    Pair found;
    asm volatile("{ .reg .b128 value, found; mov.b128 value, {%3, %4};\n"
                 "  atom.exch.b128 found, [%2], value; mov.b128 {%0, %1}, found; }"
                 : "=l"(found.low), "=l"(found.high)
                 : "l"(at), "l"(value.low), "l"(value.high)
                 : "memory");
    return found;
}

// Threads add to both halves of a pair; the halves must always be equal except for a factor.
// launch: grid 4, block 64, out 8
extern "C" __global__ void pairs_added_to(unsigned *out, unsigned *scratch) {
    Pair *pair = (Pair *)scratch;
    Pair old = {0, 0}, found;
    for (;; old = found) {
        found = compare_and_swap(pair, old, {old.low + 1, old.high + 3});
        if (found.low == old.low && found.high == old.high) break;
    }
    if (old.high != 3 * old.low) atomicAdd(&scratch[100], 1);
    __threadfence();
    if (atomicAdd(&scratch[101], 1) == gridDim.x * blockDim.x - 1) {
        Pair last;
        asm volatile("{ .reg .b128 last; ld.acquire.gpu.global.b128 last, [%2]; mov.b128 {%0, %1}, last; }"
                     : "=l"(last.low), "=l"(last.high)
                     : "l"(pair)
                     : "memory");
        out[0] = last.low;
        out[1] = last.high;
        out[2] = scratch[100];
    }
}

// Threads of a block pass values to each other in shared memory; each value is taken once.
// launch: grid 2, block 96, out 8
extern "C" __global__ void pairs_exchanged(unsigned *out, unsigned *scratch) {
    __shared__ Pair slots[4];
    if (threadIdx.x < 4) slots[threadIdx.x] = {0, ~0ull};
    __syncthreads();
    Word value = threadIdx.x * 0x100000001ull + 5;
    Pair taken = exchange(&slots[threadIdx.x % 4], {value, ~value});
    atomicAdd(&scratch[blockIdx.x], taken.low == ~taken.high);
    __syncthreads();
    if (threadIdx.x < 4) taken.low += slots[threadIdx.x].low;
    atomicAdd((Word *)(scratch + 8) + blockIdx.x, taken.low);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockIdx.x * 4] = scratch[blockIdx.x];
        out[blockIdx.x * 4 + 1] = scratch[8 + 2 * blockIdx.x];
        out[blockIdx.x * 4 + 2] = scratch[9 + 2 * blockIdx.x];
    }
}

// Copies of sixteen bytes, from global to shared and local memory and back.
// launch: grid 1, block 64, out 256
extern "C" __global__ void pairs_copied(unsigned *out, unsigned *scratch) {
    __shared__ Pair tile[64];
    Pair local[2];
    scratch[threadIdx.x * 4 + 1] = threadIdx.x * 3;
    scratch[threadIdx.x * 4 + 2] = ~threadIdx.x;
    asm volatile("{ .reg .b128 v, w; ld.global.b128 v, [%0]; st.shared.b128 [%1], v; ld.volatile.shared.b128 w, [%1];\n"
                 "  mov.b128 v, w; st.b128 [%2], v; }"
                 :
                 : "l"(scratch + threadIdx.x * 4), "r"((unsigned)__cvta_generic_to_shared(&tile[threadIdx.x])),
                   "l"(&local[threadIdx.x % 2])
                 : "memory");
    __syncthreads();
    Pair other = tile[63 - threadIdx.x], mine = local[threadIdx.x % 2];
    unsigned *at = out + threadIdx.x * 4;
    at[0] = other.low;
    at[1] = other.low >> 32;
    at[2] = mine.high;
    at[3] = mine.low >> 32;
}

// Products of halves, converted to 8-bit numbers.
// launch: grid 1, block 128, out 512
extern "C" __global__ void eight_bits(unsigned *out, unsigned *scratch) {
    unsigned short narrow[4];
    unsigned wide[2];
    float a = (threadIdx.x - 60.0f) * 0.37f, b = 1.0f / (threadIdx.x + 0.5f);
    a = threadIdx.x % 9 == 0 ? a * 1e4f : a;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(narrow[0]) : "f"(a), "f"(b));
    asm("cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;" : "=h"(narrow[1]) : "f"(a), "f"(b));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(wide[0]) : "h"(narrow[0]));
    asm("cvt.rn.relu.f16x2.e5m2x2 %0, %1;" : "=r"(wide[1]) : "h"((unsigned short)(narrow[1] ^ threadIdx.x << 9)));
    asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(narrow[2]) : "r"(wide[0] * 3));
    asm("cvt.rn.satfinite.relu.e4m3x2.f16x2 %0, %1;" : "=h"(narrow[3]) : "r"(wide[0] * 7));
    unsigned *at = out + threadIdx.x * 4;
    at[0] = narrow[0] | narrow[1] << 16;
    at[1] = wide[0];
    at[2] = wide[1];
    at[3] = narrow[2] | narrow[3] << 16;
}
