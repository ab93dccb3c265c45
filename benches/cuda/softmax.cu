// The softmax of rows: the CUDA ports of kernels-gpu/src/softmax/*.rs, except the rungs with clusters or bulk copies.
//
// Each kernel is a line-by-line translation of its Rust rung for the softmax of bfloat16, with the same entry name and
// parameters, so that only the compiler differs. The files of the rungs document the algorithms.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_80 softmax.cu

#include <cuda_bf16.h>

namespace {

using Bf16 = __nv_bfloat16;

constexpr unsigned FULL_MASK = 0xffffffff;
constexpr float INFINITE = __builtin_huge_valf();

// row.rs

constexpr unsigned WIDTH = 8;

struct MaxSum {
    float max = -INFINITE, sum = 0;
};

__device__ __forceinline__ float exponential(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
    return power;
}

__device__ __forceinline__ float shift_of(float max) { return max == -INFINITE ? 0 : max; }

struct Max {
    static constexpr float IDENTITY = -INFINITE;
    __device__ __forceinline__ static float combine(float a, float b) { return fmaxf(a, b); }
};
struct Sum {
    static constexpr float IDENTITY = 0;
    __device__ __forceinline__ static float combine(float a, float b) { return a + b; }
};

template <class Operation>
__device__ __forceinline__ float combine_warp(float value) {
#pragma unroll
    for (unsigned lane_mask = 16; lane_mask > 0; lane_mask /= 2) {
        value = Operation::combine(value, __shfl_xor_sync(FULL_MASK, value, lane_mask));
    }
    return value;
}

__device__ __forceinline__ MaxSum of(float value) { return {value, 1.0f}; }

__device__ __forceinline__ MaxSum both(MaxSum a, MaxSum b) {
    const float max = fmaxf(a.max, b.max), shift = shift_of(max);
    return {max, a.sum * exponential(a.max - shift) + b.sum * exponential(b.max - shift)};
}

__device__ __forceinline__ MaxSum of_warp(MaxSum part) {
    const float max = combine_warp<Max>(part.max);
    return {max, combine_warp<Sum>(part.sum * exponential(part.max - shift_of(max)))};
}

__device__ __forceinline__ float output_of(MaxSum row, float value) {
    return exponential(value - shift_of(row.max)) * (1.0f / row.sum);
}

// Replaces values with their weights. A vector of WIDTH values that does not exist stays unchanged.
template <unsigned VALUES, unsigned VECTOR, class Exists>
__device__ __forceinline__ MaxSum weigh(float (&values)[VALUES], Exists exists) {
    float maxima[2] = {-INFINITE, -INFINITE}, sums[2] = {0, 0};
#pragma unroll
    for (unsigned i = 0; i < VALUES; ++i) {
        maxima[i % 2] = fmaxf(maxima[i % 2], values[i]);
    }
    const float max = fmaxf(maxima[0], maxima[1]);
#pragma unroll
    for (unsigned k = 0; k < VALUES / VECTOR; ++k) {
        if (exists(k)) {
#pragma unroll
            for (unsigned i = k * VECTOR; i < (k + 1) * VECTOR; ++i) {
                values[i] = exponential(values[i] - shift_of(max));
                sums[i % 2] += values[i];
            }
        }
    }
    return {max, sums[0] + sums[1]};
}

template <unsigned BLOCK>
__device__ __forceinline__ MaxSum of_block(float2* parts, MaxSum part) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    part = of_warp(part);
    if (lane == 0) {
        parts[warp] = make_float2(part.max, part.sum);
    }
    __syncthreads();
    MaxSum of_lane;
    if (lane < BLOCK / 32) {
        of_lane = {parts[lane].x, parts[lane].y};
    }
    return of_warp(of_lane);
}

// Returns the elements of a vector of 16 bytes, two per word.
__device__ __forceinline__ float value_of(const uint4& vector, unsigned k) {
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
    const unsigned word = words[k / 2];
    return __uint_as_float(k % 2 == 0 ? word << 16 : word & 0xffff0000);
}

__device__ __forceinline__ bool is_aligned(const Bf16* row, unsigned n) {
    return reinterpret_cast<size_t>(row) % 16 == 0 && n % WIDTH == 0;
}

// The values of a thread in a row of n elements, in vectors that are `stride` vectors apart.
template <unsigned VECTORS>
struct Span {
    float values[VECTORS * WIDTH];
    unsigned n, first, stride;

    __device__ __forceinline__ unsigned index(unsigned k) const { return (first + k * stride) * WIDTH; }

    __device__ __forceinline__ Span(const Bf16* row, unsigned n, unsigned first, unsigned stride)
        : n(n), first(first), stride(stride) {
        constexpr unsigned OUTSIDE = 0xff80, BOTH = OUTSIDE << 16 | OUTSIDE;
        uint4 vectors[VECTORS];
        if (is_aligned(row, n)) {
#pragma unroll
            for (unsigned k = 0; k < VECTORS; ++k) {
                vectors[k] = index(k) < n ? *reinterpret_cast<const uint4*>(row + index(k))
                                          : make_uint4(BOTH, BOTH, BOTH, BOTH);
            }
        } else {
#pragma unroll
            for (unsigned k = 0; k < VECTORS; ++k) {
                const auto element = [=](unsigned i) { return i < n ? __bfloat16_as_ushort(row[i]) : OUTSIDE; };
                const auto word = [=](unsigned i) { return element(i) | element(i + 1) << 16; };
                const unsigned i = index(k);
                vectors[k] = make_uint4(word(i), word(i + 2), word(i + 4), word(i + 6));
            }
        }
#pragma unroll
        for (unsigned i = 0; i < VECTORS * WIDTH; ++i) {
            values[i] = value_of(vectors[i / WIDTH], i % WIDTH);
        }
    }

    __device__ __forceinline__ MaxSum weigh_all() {
        return weigh<VECTORS * WIDTH, WIDTH>(values, [&](unsigned k) { return index(k) < n; });
    }

    __device__ __forceinline__ void store(Bf16* row, float factor) const {
        const bool whole = is_aligned(row, n);
#pragma unroll
        for (unsigned k = 0; k < VECTORS; ++k) {
            const auto word = [&](unsigned e) {
                const float* pair = values + k * WIDTH + e;
                const __nv_bfloat162 rounded = __floats2bfloat162_rn(pair[0] * factor, pair[1] * factor);
                return unsigned{__bfloat16_as_ushort(rounded.x)} | unsigned{__bfloat16_as_ushort(rounded.y)} << 16;
            };
            const uint4 rounded = make_uint4(word(0), word(2), word(4), word(6));
            if (whole) {
                if (index(k) < n) {
                    *reinterpret_cast<uint4*>(row + index(k)) = rounded;
                }
                continue;
            }
            const unsigned words[4] = {rounded.x, rounded.y, rounded.z, rounded.w};
#pragma unroll
            for (unsigned e = 0; e < WIDTH; ++e) {
                if (index(k) + e < n) {
                    row[index(k) + e] = __ushort_as_bfloat16(static_cast<unsigned short>(words[e / 2] >> e % 2 * 16));
                }
            }
        }
    }
};

// block.rs
template <unsigned BLOCK>
struct Tree {
    float values[BLOCK];

    template <class Operation>
    __device__ __forceinline__ float combine(float value) {
        const unsigned tid = threadIdx.x;
        __syncthreads();
        values[tid] = value;
#pragma unroll
        for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
            __syncthreads();
            if (tid < half) {
                values[tid] = Operation::combine(values[tid], values[tid + half]);
            }
        }
        __syncthreads();
        return values[0];
    }
};

// shuffle.rs
template <unsigned BLOCK>
struct Warps {
    float values[BLOCK / 32];

    template <class Operation>
    __device__ __forceinline__ float combine(float value) {
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        value = combine_warp<Operation>(value);
        if (lane == 0) {
            values[warp] = value;
        }
        __syncthreads();
        return combine_warp<Operation>(lane < BLOCK / 32 ? values[lane] : Operation::IDENTITY);
    }
};

// The three passes of block.rs and shuffle.rs.
template <unsigned BLOCK, class Values>
__device__ __forceinline__ void three_passes(Values& maxima, Values& sums, const Bf16* input, Bf16* output, unsigned m,
                                             unsigned n) {
    if (blockIdx.x >= m) {
        return;
    }
    const size_t first = size_t{blockIdx.x} * n;
    const auto value = [=](unsigned k) { return __bfloat162float(input[first + k]); };
    float max = -INFINITE;
    for (unsigned k = threadIdx.x; k < n; k += BLOCK) {
        max = fmaxf(max, value(k));
    }
    const float shift = shift_of(maxima.template combine<Max>(max));
    float sum = 0;
    for (unsigned k = threadIdx.x; k < n; k += BLOCK) {
        sum += exponential(value(k) - shift);
    }
    const float factor = 1.0f / sums.template combine<Sum>(sum);
    for (unsigned k = threadIdx.x; k < n; k += BLOCK) {
        output[first + k] = __float2bfloat16_rn(exponential(value(k) - shift) * factor);
    }
}

// registers.rs
constexpr unsigned ITEMS = 16;

template <unsigned BLOCK>
__device__ __forceinline__ void registers(float2* parts, const Bf16* input, Bf16* output, unsigned m, unsigned n) {
    if (blockIdx.x >= m) {
        return;
    }
    const size_t first = size_t{blockIdx.x} * n;
    float values[ITEMS];
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        const unsigned index = threadIdx.x + k * BLOCK;
        values[k] = index < n ? __bfloat162float(input[first + index]) : -INFINITE;
    }
    const MaxSum part = weigh<ITEMS, 1>(values, [&](unsigned k) { return threadIdx.x + k * BLOCK < n; });
    const float factor = output_of(of_block<BLOCK>(parts, part), part.max);
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        const unsigned index = threadIdx.x + k * BLOCK;
        if (index < n) {
            output[first + index] = __float2bfloat16_rn(values[k] * factor);
        }
    }
}

// online.rs
template <unsigned BLOCK>
__device__ __forceinline__ void online(float2* parts, const Bf16* input, Bf16* output, unsigned m, unsigned n) {
    if (blockIdx.x >= m) {
        return;
    }
    const size_t first = size_t{blockIdx.x} * n;
    const auto value = [=](unsigned k) { return __bfloat162float(input[first + k]); };
    MaxSum part;
    for (unsigned k = threadIdx.x; k < n; k += BLOCK) {
        part = both(part, of(value(k)));
    }
    const MaxSum row = of_block<BLOCK>(parts, part);
    for (unsigned k = threadIdx.x; k < n; k += BLOCK) {
        output[first + k] = __float2bfloat16_rn(output_of(row, value(k)));
    }
}

// vector.rs
template <unsigned BLOCK>
__device__ __forceinline__ void vector(float2* parts, const Bf16* input, Bf16* output, unsigned m, unsigned n) {
    if (blockIdx.x >= m) {
        return;
    }
    const size_t first = size_t{blockIdx.x} * n;
    Span<4> span(input + first, n, threadIdx.x, BLOCK);
    const MaxSum part = span.weigh_all();
    span.store(output + first, output_of(of_block<BLOCK>(parts, part), part.max));
}

}  // namespace

#define TREE(BLOCK)                                                                                               \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        softmax_block_##BLOCK(const Bf16* input, Bf16* output, unsigned m, unsigned n) {                          \
        __shared__ Tree<BLOCK> values;                                                                            \
        three_passes<BLOCK>(values, values, input, output, m, n);                                                 \
    }
TREE(128)
TREE(256)
TREE(512)

#define SHUFFLE(BLOCK)                                                                                            \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        softmax_shuffle_##BLOCK(const Bf16* input, Bf16* output, unsigned m, unsigned n) {                        \
        __shared__ Warps<BLOCK> maxima, sums;                                                                     \
        three_passes<BLOCK>(maxima, sums, input, output, m, n);                                                   \
    }
SHUFFLE(128)
SHUFFLE(256)
SHUFFLE(512)

// The softmax has no weight.
#define WITH_PARTS(RUNG, BLOCK)                                                                                   \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        softmax_##RUNG##_##BLOCK(const Bf16* input, Bf16* output, const Bf16*, unsigned m, unsigned n) {          \
        __shared__ float2 parts[BLOCK / 32];                                                                      \
        RUNG<BLOCK>(parts, input, output, m, n);                                                                  \
    }
WITH_PARTS(online, 128)
WITH_PARTS(online, 256)
WITH_PARTS(online, 512)
WITH_PARTS(registers, 64)
WITH_PARTS(registers, 256)
WITH_PARTS(registers, 1024)
WITH_PARTS(vector, 128)
WITH_PARTS(vector, 256)
WITH_PARTS(vector, 512)
WITH_PARTS(vector, 1024)

// warp_per_row.rs
extern "C" __global__ void __launch_bounds__(128)
    softmax_warp_per_row_128(const Bf16* input, Bf16* output, const Bf16*, unsigned m, unsigned n) {
    constexpr unsigned WARPS = 4;
    const unsigned row = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= m) {
        return;
    }
    const size_t first = size_t{row} * n;
    Span<4> span(input + first, n, lane, 32);
    const MaxSum part = span.weigh_all();
    span.store(output + first, output_of(of_warp(part), part.max));
}
