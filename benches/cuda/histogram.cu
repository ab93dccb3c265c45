// The histogram of bytes: the CUDA ports of kernels-gpu/src/histogram/*.rs.
//
// Each kernel is a line-by-line translation of its Rust rung, with the same entry name and parameters, so that only the
// compiler differs. The files of the rungs document the algorithms.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 histogram.cu

namespace {

constexpr unsigned BINS = 256;
// The number of bytes that each thread counts in the coarsened rungs.
constexpr unsigned COARSE = 16;

using Byte = unsigned char;

// Counts in a private copy of the block, and adds the copy to `bins` at the end.
template <unsigned BLOCK, typename Count>
__device__ __forceinline__ void privately(unsigned* copy, unsigned* bins, Count count) {
    for (unsigned bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        copy[bin] = 0;
    }
    __syncthreads();
    count();
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        const unsigned counted = copy[bin];
        // Skips byte values that do not occur.
        if (counted > 0) {
            atomicAdd(&bins[bin], counted);
        }
    }
}

// Counts N bytes per thread, which are a block's width apart.
template <unsigned BLOCK, unsigned N>
__device__ __forceinline__ void interleaved(unsigned* copy, const Byte* input, unsigned* bins, unsigned n) {
    const unsigned first = blockIdx.x * (BLOCK * N) + threadIdx.x;
    privately<BLOCK>(copy, bins, [&] {
#pragma unroll
        for (unsigned step = 0; step < N; ++step) {
            const unsigned i = first + step * BLOCK;
            if (i < n) {
                atomicAdd(&copy[input[i]], 1);
            }
        }
    });
}

// Counts COARSE neighboring bytes per thread.
template <unsigned BLOCK>
__device__ __forceinline__ void contiguous(unsigned* copy, const Byte* input, unsigned* bins, unsigned n) {
    const unsigned thread = blockIdx.x * BLOCK + threadIdx.x;
    const unsigned first = thread * COARSE;
    privately<BLOCK>(copy, bins, [&] {
#pragma unroll
        for (unsigned i = first; i < first + COARSE; ++i) {
            if (i < n) {
                atomicAdd(&copy[input[i]], 1);
            }
        }
    });
}

// Like `interleaved`, but counts a run of equal bytes in a register.
template <unsigned BLOCK>
__device__ __forceinline__ void aggregated(unsigned* copy, const Byte* input, unsigned* bins, unsigned n) {
    const unsigned first = blockIdx.x * (BLOCK * COARSE) + threadIdx.x;
    privately<BLOCK>(copy, bins, [&] {
        Byte value = 0;
        unsigned run = 0;
#pragma unroll
        for (unsigned step = 0; step < COARSE; ++step) {
            const unsigned i = first + step * BLOCK;
            if (i < n) {
                const Byte byte = input[i];
                if (byte != value && run > 0) {
                    atomicAdd(&copy[value], run);
                    run = 0;
                }
                value = byte;
                run += 1;
            }
        }
        if (run > 0) {
            atomicAdd(&copy[value], run);
        }
    });
}

}  // namespace

extern "C" __global__ void histogram_global(const Byte* input, unsigned* bins, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[input[i]], 1);
    }
}

// Rungs with a constant block size: an entry for each size, which must not be launched with a larger block.

#define FOR_EACH_BLOCK(ENTRY) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)

#define PRIVATE(BLOCK)                                                                          \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        histogram_private_##BLOCK(const Byte* input, unsigned* bins, unsigned n) {              \
        __shared__ unsigned copy[BINS];                                                         \
        interleaved<BLOCK, 1>(copy, input, bins, n);                                            \
    }
FOR_EACH_BLOCK(PRIVATE)

#define PRIVATE_COARSENED_CONTIGUOUS(BLOCK)                                                     \
    extern "C" __global__ void __launch_bounds__(BLOCK) histogram_private_coarsened_contiguous_##BLOCK( \
        const Byte* input, unsigned* bins, unsigned n) {                                        \
        __shared__ unsigned copy[BINS];                                                         \
        contiguous<BLOCK>(copy, input, bins, n);                                                \
    }
FOR_EACH_BLOCK(PRIVATE_COARSENED_CONTIGUOUS)

#define PRIVATE_COARSENED(BLOCK)                                                                \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        histogram_private_coarsened_##BLOCK(const Byte* input, unsigned* bins, unsigned n) {    \
        __shared__ unsigned copy[BINS];                                                         \
        interleaved<BLOCK, COARSE>(copy, input, bins, n);                                       \
    }
FOR_EACH_BLOCK(PRIVATE_COARSENED)

#define AGGREGATED(BLOCK)                                                                       \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                         \
        histogram_aggregated_##BLOCK(const Byte* input, unsigned* bins, unsigned n) {           \
        __shared__ unsigned copy[BINS];                                                         \
        aggregated<BLOCK>(copy, input, bins, n);                                                \
    }
FOR_EACH_BLOCK(AGGREGATED)
