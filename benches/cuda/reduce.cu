// The sum of n 32-bit integers: the CUDA ports of kernels-gpu/src/reduce/*.rs, from reduce_neighbored to reduce_shfl.
//
// Each kernel is a line-by-line translation of its Rust rung: it has the same guards, barriers, unrolling, index types,
// entry name and parameters. One launch therefore fits both kernels, and only the compiler differs. The files of the
// rungs document the algorithms; the comments here document differences between C++ and Rust.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 reduce.cu

namespace {

constexpr unsigned WARP_SIZE = 32;
constexpr unsigned FULL_MASK = 0xffffffff;

// This thread's block and its part of the input: `data_blocks` elements for each of its threads.
struct Part {
    unsigned tid;
    unsigned block;
    unsigned index;
    unsigned start;

    __device__ Part(unsigned block, unsigned data_blocks)
        : tid(threadIdx.x), block(block), index(blockIdx.x), start(blockIdx.x * (block * data_blocks)) {}

    __device__ unsigned first() const { return start + tid; }

    // Returns the number of sums in the block after each thread has added up its elements.
    __device__ unsigned len(unsigned n) const { return min(n - start, block); }
};

// Returns the sum of this thread's N elements, `block` apart, from `first` on. CHECKED is for the last block, which has
// fewer elements. All loads precede the additions. Each address is the sum of one base and a distance. If the block
// size is constant, the distance becomes the immediate offset of a load.
template <unsigned N, bool CHECKED>
__device__ __forceinline__ int combined(const int* input, unsigned first, unsigned block, unsigned n) {
    const int* from = input + first;
    int elements[N];
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        const size_t distance = k * size_t(block);
        elements[k] = CHECKED && first + unsigned(distance) >= n ? 0 : from[distance];
    }
    int sum = 0;
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        sum += elements[k];
    }
    return sum;
}

template <unsigned N>
__device__ __forceinline__ bool all_exist(unsigned first, unsigned block, unsigned n) {
    return first + (N - 1) * block < n;
}

template <unsigned N>
__device__ __forceinline__ void sum_into_first(int* input, unsigned first, unsigned block, unsigned n) {
    if (all_exist<N>(first, block, n)) {
        input[first] = combined<N, false>(input, first, block, n);
    } else if (first < n) {
        input[first] = combined<N, true>(input, first, block, n);
    }
}

// The last six steps. The accesses are volatile, so each step reads from memory what the previous step wrote. The warp
// synchronizes between the reads and the write of a step.
template <bool CHECKED>
__device__ __forceinline__ void last_warp_steps(volatile int* data, unsigned tid, unsigned len) {
#pragma unroll
    for (unsigned stride = 32; stride > 0; stride /= 2) {
        const bool exists = !CHECKED || tid + stride < len;
        volatile int* word = data + tid;
        int result = 0;
        if (exists) {
            result = word[0] + word[stride];
        }
        __syncwarp(FULL_MASK);
        if (exists) {
            word[0] = result;
        }
        __syncwarp(FULL_MASK);
    }
}

__device__ __forceinline__ void last_warp(int* data, unsigned tid, unsigned len) {
    if (tid < WARP_SIZE) {
        if (len >= 2 * WARP_SIZE) {
            last_warp_steps<false>(data, tid, len);
        } else {
            last_warp_steps<true>(data, tid, len);
        }
    }
}

// Halves the number of sums until at most 2 * limit sums or one sum is left.
__device__ __forceinline__ void sum_interleaved(int* data, unsigned tid, unsigned block, unsigned len,
                                                unsigned limit) {
    for (unsigned stride = block / 2; stride > limit; stride /= 2) {
        if (tid < stride && tid + stride < len) {
            data[tid] += data[tid + stride];
        }
        __syncthreads();
    }
}

template <unsigned N>
__device__ __forceinline__ void unrolling(int* input, int* output, unsigned n) {
    const Part part(blockDim.x, N);
    int* data = input + part.start;
    sum_into_first<N>(input, part.first(), part.block, n);
    __syncthreads();
    sum_interleaved(data, part.tid, part.block, part.len(n), 0);
    if (part.tid == 0) {
        output[part.index] = n > 0 ? *data : 0;
    }
}

// Executes a step for each halving down to 64, then the steps of the last warp. `data` is in global or shared memory.
template <unsigned BLOCK>
__device__ __forceinline__ void combine_unrolled(int* data, unsigned tid, unsigned len) {
#pragma unroll
    for (unsigned stride = 512; stride >= 64; stride /= 2) {
        if (BLOCK >= 2 * stride) {
            if (tid < stride && tid + stride < len) {
                data[tid] += data[tid + stride];
            }
            __syncthreads();
        }
    }
    last_warp(data, tid, len);
}

// Works in place in global memory, completely unrolled.
template <unsigned BLOCK, unsigned N>
__device__ __forceinline__ void in_place(int* input, int* output, unsigned n) {
    const Part part(BLOCK, N);
    const unsigned len = part.len(n);
    int* data = input + part.start;
    if (N > 1) {
        sum_into_first<N>(input, part.first(), part.block, n);
        __syncthreads();
    }
    combine_unrolled<BLOCK>(data, part.tid, len);
    if (part.tid == 0) {
        output[part.index] = len > 0 ? *data : 0;
    }
}

// Works in shared memory. A thread without an element writes 0 to the tile, so the tile is always full.
template <unsigned BLOCK, unsigned N>
__device__ __forceinline__ void smem(int* tile, const int* input, int* output, unsigned n) {
    const Part part(BLOCK, N);
    const unsigned first = part.first();
    tile[part.tid] = all_exist<N>(first, part.block, n) ? combined<N, false>(input, first, part.block, n)
                                                        : combined<N, true>(input, first, part.block, n);
    __syncthreads();
    combine_unrolled<BLOCK>(tile, part.tid, BLOCK);
    if (part.tid == 0) {
        output[part.index] = *tile;
    }
}

__device__ __forceinline__ int combine_warp(int value) {
    int result = value;
#pragma unroll
    for (unsigned lane_mask = WARP_SIZE / 2; lane_mask > 0; lane_mask /= 2) {
        result += __shfl_xor_sync(FULL_MASK, result, lane_mask, WARP_SIZE);
    }
    return result;
}

// Returns the sum of a block's values to the first warp of the block.
template <unsigned BLOCK>
__device__ __forceinline__ int combine_block(int* warp_results, int value) {
    constexpr unsigned warps = BLOCK / WARP_SIZE;
    const unsigned warp = threadIdx.x / WARP_SIZE;
    const unsigned lane = threadIdx.x % WARP_SIZE;
    const int result = combine_warp(value);
    if (lane == 0) {
        warp_results[warp] = result;
    }
    __syncthreads();
    if (warp == 0) {
        return combine_warp(lane < warps ? warp_results[lane] : 0);
    }
    return result;
}

template <unsigned BLOCK>
__device__ __forceinline__ void shfl(int* warp_results, const int* input, int* output, unsigned n) {
    const Part part(BLOCK, 1);
    const int sum = combined<1, true>(input, part.first(), part.block, n);
    const int result = combine_block<BLOCK>(warp_results, sum);
    if (part.tid == 0) {
        output[part.index] = result;
    }
}

}  // namespace

// Rungs for a block of any size.

extern "C" __global__ void reduce_neighbored(int* input, int* output, unsigned n) {
    const Part part(blockDim.x, 1);
    const unsigned tid = part.tid, len = part.len(n);
    int* data = input + part.start;
    for (unsigned stride = 1; stride < part.block; stride *= 2) {
        // The Rust rung has `tid % (2 * stride)`. LLVM recognizes that strides are powers of two and emits this mask.
        // nvcc 13.0 divides instead, which takes 17 instructions and made this port 1.7 times slower than the rung.
        if ((tid & (2 * stride - 1)) == 0 && tid + stride < len) {
            data[tid] += data[tid + stride];
        }
        __syncthreads();
    }
    if (tid == 0) {
        output[part.index] = len > 0 ? *data : 0;
    }
}

extern "C" __global__ void reduce_neighbored_less(int* input, int* output, unsigned n) {
    const Part part(blockDim.x, 1);
    const unsigned tid = part.tid, len = part.len(n);
    int* data = input + part.start;
    for (unsigned stride = 1; stride < part.block; stride *= 2) {
        const unsigned first = 2 * stride * tid;
        if (first + stride < len) {
            data[first] += data[first + stride];
        }
        __syncthreads();
    }
    if (tid == 0) {
        output[part.index] = len > 0 ? *data : 0;
    }
}

extern "C" __global__ void reduce_interleaved(int* input, int* output, unsigned n) {
    const Part part(blockDim.x, 1);
    int* data = input + part.start;
    sum_interleaved(data, part.tid, part.block, part.len(n), 0);
    if (part.tid == 0) {
        output[part.index] = n > 0 ? *data : 0;
    }
}

extern "C" __global__ void reduce_unrolling2(int* input, int* output, unsigned n) { unrolling<2>(input, output, n); }

extern "C" __global__ void reduce_unrolling4(int* input, int* output, unsigned n) { unrolling<4>(input, output, n); }

extern "C" __global__ void reduce_unrolling8(int* input, int* output, unsigned n) { unrolling<8>(input, output, n); }

extern "C" __global__ void reduce_unroll_warps8(int* input, int* output, unsigned n) {
    const Part part(blockDim.x, 8);
    const unsigned len = part.len(n);
    int* data = input + part.start;
    sum_into_first<8>(input, part.first(), part.block, n);
    __syncthreads();
    sum_interleaved(data, part.tid, part.block, len, 32);
    last_warp(data, part.tid, len);
    if (part.tid == 0) {
        output[part.index] = len > 0 ? *data : 0;
    }
}

extern "C" __global__ void reduce_complete_unroll_warps8(int* input, int* output, unsigned n) {
    const Part part(blockDim.x, 8);
    const unsigned tid = part.tid, len = part.len(n);
    int* data = input + part.start;
    sum_into_first<8>(input, part.first(), part.block, n);
    __syncthreads();
#pragma unroll
    for (unsigned stride = 512; stride >= 64; stride /= 2) {
        if (part.block >= 2 * stride && tid < stride && tid + stride < len) {
            data[tid] += data[tid + stride];
        }
        __syncthreads();
    }
    last_warp(data, tid, len);
    if (tid == 0) {
        output[part.index] = len > 0 ? *data : 0;
    }
}

// Rungs with a constant block size: an entry for each size, which must not be launched with a larger block.

#define FOR_EACH_BLOCK(ENTRY) ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)

#define COMPLETE_UNROLL(BLOCK)                                                                  \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_complete_unroll_##BLOCK(int* input, int* output, unsigned n) {                   \
        in_place<BLOCK, 8>(input, output, n);                                                   \
    }
FOR_EACH_BLOCK(COMPLETE_UNROLL)

#define GMEM(BLOCK)                                                                             \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_gmem_##BLOCK(int* input, int* output, unsigned n) {                              \
        in_place<BLOCK, 1>(input, output, n);                                                   \
    }
FOR_EACH_BLOCK(GMEM)

#define GMEM_UNROLL4(BLOCK)                                                                     \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_gmem_unroll4_##BLOCK(int* input, int* output, unsigned n) {                      \
        in_place<BLOCK, 4>(input, output, n);                                                   \
    }
FOR_EACH_BLOCK(GMEM_UNROLL4)

#define SMEM(BLOCK)                                                                             \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_smem_##BLOCK(const int* input, int* output, unsigned n) {                        \
        __shared__ int tile[BLOCK];                                                             \
        smem<BLOCK, 1>(tile, input, output, n);                                                 \
    }
FOR_EACH_BLOCK(SMEM)

#define SMEM_DYN(BLOCK)                                                                         \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_smem_dyn_##BLOCK(const int* input, int* output, unsigned n) {                    \
        extern __shared__ int dynamic_tile[];                                                   \
        smem<BLOCK, 1>(dynamic_tile, input, output, n);                                         \
    }
FOR_EACH_BLOCK(SMEM_DYN)

#define SMEM_UNROLL4(BLOCK)                                                                     \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_smem_unroll4_##BLOCK(const int* input, int* output, unsigned n) {                \
        __shared__ int tile[BLOCK];                                                             \
        smem<BLOCK, 4>(tile, input, output, n);                                                 \
    }
FOR_EACH_BLOCK(SMEM_UNROLL4)

#define SMEM_UNROLL4_DYN(BLOCK)                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_smem_unroll4_dyn_##BLOCK(const int* input, int* output, unsigned n) {            \
        extern __shared__ int dynamic_tile[];                                                   \
        smem<BLOCK, 4>(dynamic_tile, input, output, n);                                         \
    }
FOR_EACH_BLOCK(SMEM_UNROLL4_DYN)

#define SHFL(BLOCK)                                                                             \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        reduce_shfl_##BLOCK(const int* input, int* output, unsigned n) {                        \
        __shared__ int warp_sums[BLOCK / WARP_SIZE];                                            \
        shfl<BLOCK>(warp_sums, input, output, n);                                               \
    }
FOR_EACH_BLOCK(SHFL)
