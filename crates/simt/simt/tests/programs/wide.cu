// 64-bit and 128-bit integers, and carry chains.
// arch: compute_75
//
// Each kernel runs over all pairs of some numbers near the limits.

#include "common.cuh"

typedef unsigned __int128 u128;
typedef __int128 i128;

__constant__ unsigned edges32[8] = {0, 1, 2, 0x7fffffff, 0x80000000u, 0xfffffffe, FULL, 0x12345678};
__constant__ unsigned long long edges64[12] = {
    1, 2, 3, 10, 0x7fffffff, 0xffffffff, 0x100000000, 0x123456789abcdef0,
    0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe, 0xffffffffffffffff};
// Halves, the lower half first. No number is zero, so each can be a divisor.
__constant__ unsigned long long edges128[16][2] = {
    {1, 0}, {2, 0}, {10, 0}, {0xffffffff, 0}, {0x100000000, 0}, {0xffffffffffffffff, 0}, {0, 1}, {1, 1},
    {0xfedcba9876543210, 0x0123456789abcdef}, {0xffffffffffffffff, 0x7fffffff}, {0, 0x100000000},
    {0xffffffffffffffff, 0x7fffffffffffffff}, {0, 0x8000000000000000}, {1, 0x8000000000000000},
    {0xfffffffffffffffe, 0xffffffffffffffff}, {0xffffffffffffffff, 0xffffffffffffffff}};

__device__ u128 edge(unsigned number) { return (u128)edges128[number][1] << 64 | edges128[number][0]; }

__device__ void put(unsigned *out, unsigned which, u128 value) {
    for (unsigned word = 0; word < 4; word++) out[which * 4 + word] = (unsigned)(value >> 32 * word);
}

// Sums, differences and negation.
// launch: grid 4, block 64, out 3072
extern "C" __global__ void u128_add_subtract(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    u128 a = edge(thread / 16), b = edge(thread % 16);
    put(out, thread * 3, a + b);
    put(out, thread * 3 + 1, a - b);
    put(out, thread * 3 + 2, -a + (b + 1) - (a ^ b));
}

// launch: grid 4, block 64, out 2048
extern "C" __global__ void u128_multiply(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    u128 a = edge(thread / 16), b = edge(thread % 16);
    put(out, thread * 2, a * b);
    put(out, thread * 2 + 1, (u128)(i128)((i128)(long long)a * (long long)b));
}

// launch: grid 4, block 64, out 1024
extern "C" __global__ void u128_divide(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    put(out, thread, edge(thread / 16) / edge(thread % 16));
}

// launch: grid 4, block 64, out 1024
extern "C" __global__ void u128_remainder(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    put(out, thread, edge(thread / 16) % edge(thread % 16));
}

// Signed division. The smallest number divided by -1 overflows, so no number is divided by -1.
// launch: grid 4, block 64, out 2048
extern "C" __global__ void i128_divide_remainder(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    i128 a = (i128)edge(thread / 16), b = (i128)edge(thread % 16);
    if (b == -1) b = -3;
    put(out, thread * 2, (u128)(a / b));
    put(out, thread * 2 + 1, (u128)(a % b));
}

// Shifts by all possible distances.
// launch: grid 4, block 64, out 3072
extern "C" __global__ void u128_shifts(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    u128 a = edge(8 + thread / 32) + thread;
    unsigned bits = thread % 32 * 33 % 128;
    put(out, thread * 3, a << bits);
    put(out, thread * 3 + 1, a >> bits);
    put(out, thread * 3 + 2, (u128)((i128)a >> bits));
}

// launch: grid 4, block 64, out 256
extern "C" __global__ void i128_compare(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    u128 a = edge(thread / 16), b = edge(thread % 16);
    i128 c = (i128)a, d = (i128)b;
    out[thread] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a > b) << 3 | (c < d) << 4 | (c <= d) << 5
        | (c > d) << 6 | (c >= d) << 7 | (c < 0) << 8;
}

// Powers modulo a 64-bit number, through 128-bit products.
// launch: grid 3, block 48, out 288
extern "C" __global__ void power_modulo(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    unsigned long long base = edges64[thread / 12], modulus = edges64[thread % 12], result = 1 % modulus;
    for (unsigned exponent = 1000 + thread; exponent; exponent /= 2) {
        if (exponent % 2) result = (u128)result * base % modulus;
        base = (u128)base * base % modulus;
    }
    out[thread * 2] = (unsigned)result;
    out[thread * 2 + 1] = (unsigned)(result >> 32);
}

// launch: grid 3, block 48, out 1152
extern "C" __global__ void divide_64(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    unsigned long long a = edges64[thread / 12], b = edges64[thread % 12];
    long long c = (long long)a, d = b == ~0ull ? -7 : (long long)b;
    put(out, thread * 2, (u128)(a / b) << 64 | a % b);
    put(out, thread * 2 + 1, (u128)(unsigned long long)(c / d) << 64 | (unsigned long long)(c % d));
}

// launch: grid 3, block 48, out 576
extern "C" __global__ void multiply_high_64(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id();
    unsigned long long a = edges64[thread / 12], b = edges64[thread % 12];
    unsigned long long high = __umul64hi(a, b), signed_high = __mul64hi((long long)a, (long long)b);
    put(out, thread, (u128)high << 64 | signed_high);
}

// A carry from one instruction to the next, in mixed pairs: `FIRST` sets the carry, `SECOND` reads it. For a `FIRST`
// that also reads a carry, `BEFORE` sets it. The operands are a, b and c.
#define CHAIN(BITS, CONSTRAINT, BEFORE, FIRST, SECOND)                                                           \
    asm volatile("{ .reg .u" BITS " x; " BEFORE FIRST SECOND " }"                                                \
                 : "=&" CONSTRAINT(first), "=&" CONSTRAINT(second) : CONSTRAINT(a), CONSTRAINT(b), CONSTRAINT(c)); \
    hash = (hash ^ (unsigned)first) * 16777619u;                                                                 \
    hash = (hash ^ (unsigned)((unsigned long long)first >> 32)) * 16777619u;                                     \
    hash = (hash ^ (unsigned)second) * 16777619u;                                                                \
    hash = (hash ^ (unsigned)((unsigned long long)second >> 32)) * 16777619u;

#define SECONDS(B, C, BEFORE, FIRST)                                  \
    CHAIN(B, C, BEFORE, FIRST, "addc.u" B " %1, %3, %4;")             \
    CHAIN(B, C, BEFORE, FIRST, "subc.u" B " %1, %3, %4;")             \
    CHAIN(B, C, BEFORE, FIRST, "madc.lo.u" B " %1, %2, %4, %3;")      \
    CHAIN(B, C, BEFORE, FIRST, "madc.hi.u" B " %1, %2, %4, %3;")

#define FIRSTS(B, C)                                                                  \
    SECONDS(B, C, "", "add.cc.u" B " %0, %2, %3;")                                    \
    SECONDS(B, C, "", "sub.cc.u" B " %0, %2, %3;")                                    \
    SECONDS(B, C, "", "mad.lo.cc.u" B " %0, %2, %3, %4;")                             \
    SECONDS(B, C, "", "mad.hi.cc.u" B " %0, %2, %3, %4;")                             \
    SECONDS(B, C, "add.cc.u" B " x, %2, %4; ", "addc.cc.u" B " %0, %2, %3;")          \
    SECONDS(B, C, "add.cc.u" B " x, %2, %4; ", "subc.cc.u" B " %0, %2, %3;")          \
    SECONDS(B, C, "sub.cc.u" B " x, %2, %4; ", "addc.cc.u" B " %0, %2, %3;")          \
    SECONDS(B, C, "sub.cc.u" B " x, %2, %4; ", "subc.cc.u" B " %0, %2, %3;")          \
    SECONDS(B, C, "add.cc.u" B " x, %2, %4; ", "madc.lo.cc.u" B " %0, %2, %3, %4;")   \
    SECONDS(B, C, "sub.cc.u" B " x, %2, %4; ", "madc.hi.cc.u" B " %0, %2, %3, %4;")

// Every pair of a producer and a consumer of a carry, with 32 bits: a hash of the results of 40 pairs.
// launch: grid 8, block 64, out 512
extern "C" __global__ void carries_32(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id(), hash = 2166136261u;
    unsigned a = edges32[thread / 64], b = edges32[thread / 8 % 8], c = edges32[thread % 8], first, second;
    FIRSTS("32", "r")
    out[thread] = hash;
}

// The same with 64 bits.
// launch: grid 8, block 64, out 512
extern "C" __global__ void carries_64(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id(), hash = 2166136261u;
    unsigned long long a = edges64[thread / 64 + 4], b = edges64[thread / 8 % 8], c = edges64[thread % 8 + 4];
    unsigned long long first, second;
    FIRSTS("64", "l")
    out[thread] = hash;
}

// A row of a multiword product: a carry chain over the lower halves, and one over the upper halves.
#define ROW(PART)                                                                                         \
    "mad." PART ".cc.u32 %0, %9, %17, %0; madc." PART ".cc.u32 %1, %10, %17, %1;"                         \
    "madc." PART ".cc.u32 %2, %11, %17, %2; madc." PART ".cc.u32 %3, %12, %17, %3;"                       \
    "madc." PART ".cc.u32 %4, %13, %17, %4; madc." PART ".cc.u32 %5, %14, %17, %5;"                       \
    "madc." PART ".cc.u32 %6, %15, %17, %6; madc." PART ".cc.u32 %7, %16, %17, %7; addc.u32 %8, %8, 0;"
#define ADD_ROW(PART, TO)                                                                                 \
    asm volatile(ROW(PART)                                                                                \
                 : "+&r"((TO)[0]), "+&r"((TO)[1]), "+&r"((TO)[2]), "+&r"((TO)[3]), "+&r"((TO)[4]),        \
                   "+&r"((TO)[5]), "+&r"((TO)[6]), "+&r"((TO)[7]), "+&r"((TO)[8])                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), \
                   "r"(factor))

// The product of two numbers of eight words.
// launch: grid 1, block 32, out 512
extern "C" __global__ void multiply_256_bits(unsigned *out, unsigned *scratch) {
    unsigned thread = threadIdx.x;
    unsigned a[8], product[17] = {0};
#pragma unroll
    for (unsigned word = 0; word < 8; word++) a[word] = edges32[(word + thread / 4) % 8] + thread;
#pragma unroll
    for (unsigned row = 0; row < 8; row++) {
        unsigned factor = edges32[(row * thread + 3) % 8];
        ADD_ROW("lo", product + row);
        ADD_ROW("hi", product + row + 1);
    }
#pragma unroll
    for (unsigned word = 0; word < 16; word++) out[thread * 16 + word] = product[word];
}
