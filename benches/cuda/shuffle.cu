// Demonstrations of warp shuffles: the CUDA ports of kernels-gpu/src/shuffle.rs.
//
// Each kernel is a line-by-line translation of its Rust rung, with the same entry name and parameters, so that only the
// compiler differs. The file of the rungs documents the kernels.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 shuffle.cu

namespace {

constexpr unsigned FULL_MASK = 0xffffffff;
constexpr unsigned WARP_SIZE = 32;
constexpr unsigned REGISTERS = 4;

// Returns the mask of the first `count` lanes, 1 to 32.
__device__ __forceinline__ unsigned first_lanes(unsigned count) { return FULL_MASK >> (WARP_SIZE - count); }

// Reads N neighboring values of this lane, shuffles them, and writes the received values.
template <unsigned N, typename T, typename Exchange>
__device__ __forceinline__ void demonstrate(const T* input, T* output, Exchange exchange) {
    const unsigned lane = threadIdx.x;
    const unsigned mask = first_lanes(blockDim.x);
    const size_t first = size_t(lane) * N;
    T values[N];
#pragma unroll
    for (unsigned i = 0; i < N; ++i) {
        values[i] = input[first + i];
    }
#pragma unroll
    for (unsigned i = 0; i < N; ++i) {
        values[i] = exchange(mask, lane, values[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < N; ++i) {
        output[first + i] = values[i];
    }
}

}  // namespace

// A kernel of a demonstration for one type. Its body uses the mask, the lane, the lane's value, the kernel's argument
// and the width.
#define DEMONSTRATION_OF(T, WORD, NAME, ARGUMENT, N, BODY)                                      \
    extern "C" __global__ void NAME##_##WORD(const T* input, T* output, unsigned ARGUMENT, unsigned width) { \
        demonstrate<N>(input, output, [=](unsigned mask, [[maybe_unused]] unsigned lane, T value) { return BODY; }); \
    }

#define DEMONSTRATION(NAME, ARGUMENT, N, BODY)           \
    DEMONSTRATION_OF(int, i32, NAME, ARGUMENT, N, BODY)  \
    DEMONSTRATION_OF(float, f32, NAME, ARGUMENT, N, BODY)

DEMONSTRATION(shuffle_broadcast, source, 1, __shfl_sync(mask, value, source, width))
DEMONSTRATION(shuffle_up, delta, 1, __shfl_up_sync(mask, value, delta, width))
DEMONSTRATION(shuffle_down, delta, 1, __shfl_down_sync(mask, value, delta, width))
DEMONSTRATION(shuffle_wrap, delta, 1, __shfl_sync(mask, value, lane + delta, width))
DEMONSTRATION(shuffle_wrap_back, delta, 1, __shfl_sync(mask, value, lane - delta, width))
DEMONSTRATION(shuffle_xor, lane_mask, 1, __shfl_xor_sync(mask, value, lane_mask, width))
DEMONSTRATION(shuffle_xor_array, lane_mask, REGISTERS, __shfl_xor_sync(mask, value, lane_mask, width))
