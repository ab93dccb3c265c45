// Sorting n unsigned keys: the CUDA ports of kernels-gpu/src/sort/*.rs.
//
// Each kernel is its Rust rung for 32-bit keys without values line by line, under the same entry name and with the same
// parameters, so that only the compiler differs. The files of the rungs document the algorithms.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 sort.cu

#include "cooperation.cuh"

namespace {

// A key without a value: the rungs have pointers to values, which these kernels do not use.
using Key = unsigned;
using Values = const void;

// bitonic_block.rs: copies `count` keys. Neighboring threads have neighboring keys.
template <unsigned BLOCK>
__device__ __forceinline__ void copy(const Key* keys, Key* to, unsigned count) {
    for (unsigned i = threadIdx.x; i < count; i += BLOCK) {
        to[i] = keys[i];
    }
}

namespace bitonic {

constexpr unsigned ITEMS = 4;

// Puts the two keys of a pair in order.
__device__ __forceinline__ void exchange(Key* keys, unsigned count, unsigned pair, unsigned size, bool is_reversed) {
    const unsigned offset = pair & (size / 2 - 1);
    const unsigned run = 2 * (pair - offset);
    const size_t low = run + offset;
    const size_t high = run + (is_reversed ? size - 1 - offset : size / 2 + offset);
    if (high < count) {
        const Key first = keys[low], second = keys[high];
        if (first > second) {
            keys[low] = second;
            keys[high] = first;
        }
    }
}

// Merges the runs of a section in shared memory to runs of `size` keys.
template <unsigned BLOCK>
__device__ __forceinline__ void merge(Key* keys, unsigned count, unsigned size, bool is_reversed) {
    while (size > 1) {
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < ITEMS / 2; ++k) {
            exchange(keys, count, threadIdx.x + k * BLOCK, size, is_reversed);
        }
        size /= 2;
        is_reversed = false;
    }
}

template <unsigned BLOCK>
__device__ __forceinline__ void sort_section(Key* keys, unsigned count) {
    for (unsigned size = 2; size / 2 < count; size *= 2) {
        merge<BLOCK>(keys, count, size, true);
    }
}

template <unsigned BLOCK>
__device__ __forceinline__ void sort_block(const Key* keys, Key* sorted_keys, unsigned n) {
    __shared__ Key tile_keys[BLOCK * ITEMS];
    const unsigned start = blockIdx.x * BLOCK * ITEMS;
    const unsigned count = min(n > start ? n - start : 0, BLOCK * ITEMS);
    copy<BLOCK>(keys + start, tile_keys, count);
    sort_section<BLOCK>(tile_keys, count);
    __syncthreads();
    copy<BLOCK>(tile_keys, sorted_keys + start, count);
}

template <unsigned BLOCK>
__device__ __forceinline__ void sort(const Key* keys, Key* sorted_keys, unsigned* counter, unsigned n) {
    __shared__ Key tile_keys[BLOCK * ITEMS];
    constexpr unsigned section = BLOCK * ITEMS;
    const unsigned blocks = gridDim.x;
    GridBarrier barrier{counter};

    for (unsigned size = section;; size *= 2) {
        for (unsigned reach = size; reach > section; reach /= 2) {
            const unsigned pairs = ceiling(n, reach) * (reach / 2);
            for (unsigned pair = blockIdx.x * BLOCK + threadIdx.x; pair < pairs; pair += blocks * BLOCK) {
                exchange(sorted_keys, n, pair, reach, reach == size);
            }
            barrier.wait();
        }
        for (unsigned start = blockIdx.x * section; start < n; start += blocks * section) {
            const unsigned count = min(n - start, section);
            Key* to_keys = sorted_keys + start;
            if (size == section) {
                copy<BLOCK>(keys + start, tile_keys, count);
                sort_section<BLOCK>(tile_keys, count);
            } else {
                copy<BLOCK>(to_keys, tile_keys, count);
                merge<BLOCK>(tile_keys, count, section, false);
            }
            __syncthreads();
            copy<BLOCK>(tile_keys, to_keys, count);
            __syncthreads();
        }
        if (size >= n) {
            break;
        }
        barrier.wait();
    }
    barrier.finish();
}

}  // namespace bitonic

namespace merge_path {

constexpr unsigned ITEMS = 5;

// Returns how many of the first `diagonal` keys of the merged runs are from the first run.
__device__ __forceinline__ unsigned merge_path(const Key* first, unsigned first_count, const Key* second,
                                               unsigned second_count, unsigned diagonal) {
    unsigned low = diagonal > second_count ? diagonal - second_count : 0, high = min(diagonal, first_count);
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        if (first[middle] <= second[diagonal - 1 - middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Merges the runs of places 0 to `middle` and `middle` to `end` in shared memory. This thread merges the ITEMS keys of the
// result from place `diagonal` on.
__device__ __forceinline__ void merge(Key* keys, unsigned middle, unsigned end, unsigned diagonal) {
    __syncthreads();
    Key merged[ITEMS];
    if (diagonal < end) {
        unsigned first = merge_path(keys, middle, keys + middle, end - middle, diagonal);
        unsigned second = middle + diagonal - first, place = 0;
#pragma unroll
        for (Key& key : merged) {
            const bool is_first = first < middle && (second == end || keys[first] <= keys[second]);
            const bool is_second = !is_first && second < end;
            place = is_first ? first : is_second ? second : place;
            first += is_first;
            second += is_second;
            key = keys[place];
        }
    }
    __syncthreads();
    if (diagonal < end) {
#pragma unroll
        for (unsigned k = 0; k < ITEMS; ++k) {
            if (diagonal + k < end) {
                keys[diagonal + k] = merged[k];
            }
        }
    }
}

// Sorts a tile in shared memory.
__device__ __forceinline__ void sort_tile(Key* keys, unsigned count) {
    const unsigned tid = threadIdx.x;
    __syncthreads();
#pragma unroll
    for (unsigned round = 0; round < ITEMS; ++round) {
#pragma unroll
        for (unsigned k = round % 2; k < ITEMS - 1; k += 2) {
            const unsigned place = tid * ITEMS + k;
            if (place + 1 < count && keys[place] > keys[place + 1]) {
                const Key key = keys[place];
                keys[place] = keys[place + 1];
                keys[place + 1] = key;
            }
        }
    }
    for (unsigned width = 1; width * ITEMS < count; width *= 2) {
        const unsigned first = min((tid & ~(2 * width - 1)) * ITEMS, count);
        const unsigned middle = min(width * ITEMS, count - first), end = min(2 * width * ITEMS, count - first);
        merge(keys + first, middle, end, tid * ITEMS - first);
    }
    __syncthreads();
}

__device__ __forceinline__ void swap(Key*& one, Key*& other) {
    Key* const first = one;
    one = other;
    other = first;
}

template <unsigned BLOCK>
__device__ __forceinline__ void sort(const Key* keys, Key* sorted_keys, Key* other_keys, unsigned* counter,
                                     unsigned n) {
    __shared__ Key tile_keys[BLOCK * ITEMS];
    __shared__ unsigned splits[2];
    constexpr unsigned tile = BLOCK * ITEMS;
    const unsigned tid = threadIdx.x, tiles = ceiling(n, tile);
    Key *to_keys = sorted_keys, *from_keys = other_keys;
    if (tiles > 1 && (32 - __clz(tiles - 1)) % 2 == 1) {
        // An odd number of merges ends in the buffer in which it did not start.
        swap(to_keys, from_keys);
    }
    GridBarrier barrier{counter};

    for (unsigned index = blockIdx.x; index < tiles; index += gridDim.x) {
        const unsigned start = index * tile, count = min(n - start, tile);
        copy<BLOCK>(keys + start, tile_keys, count);
        sort_tile(tile_keys, count);
        copy<BLOCK>(tile_keys, to_keys + start, count);
        __syncthreads();
    }
    for (unsigned width = 1; width < tiles; width *= 2) {
        barrier.wait();
        swap(to_keys, from_keys);
        for (unsigned index = blockIdx.x; index < tiles; index += gridDim.x) {
            const unsigned start = index * tile, first = (index & ~(2 * width - 1)) * tile;
            const unsigned middle = min(first + width * tile, n), end = min(first + 2 * width * tile, n);
            const unsigned count = min(n - start, tile);
            if (tid < 2) {
                splits[tid] = merge_path(from_keys + first, middle - first, from_keys + middle, end - middle,
                                         start - first + tid * count);
            }
            __syncthreads();
            const unsigned split = splits[0], part = splits[1] - split;
            copy<BLOCK>(from_keys + (first + split), tile_keys, part);
            copy<BLOCK>(from_keys + (middle + (start - first - split)), tile_keys + part, count - part);
            merge(tile_keys, part, count, tid * ITEMS);
            __syncthreads();
            copy<BLOCK>(tile_keys, to_keys + start, count);
            __syncthreads();
        }
    }
    barrier.finish();
}

}  // namespace merge_path

}  // namespace

#define FOR_EACH_BLOCK(ENTRY) ENTRY(256) ENTRY(512)

#define BITONIC_BLOCK(BLOCK)                                                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        sort_bitonic_block_##BLOCK(const Key* keys, Values*, Key* sorted_keys, Values*, unsigned n) {             \
        bitonic::sort_block<BLOCK>(keys, sorted_keys, n);                                                         \
    }
FOR_EACH_BLOCK(BITONIC_BLOCK)

#define BITONIC(BLOCK)                                                                                            \
    extern "C" __global__ void __launch_bounds__(BLOCK, 2) sort_bitonic_##BLOCK(                                     \
        const Key* keys, Values*, Key* sorted_keys, Values*, unsigned* barrier, unsigned n) {                     \
        bitonic::sort<BLOCK>(keys, sorted_keys, barrier, n);                                                      \
    }
FOR_EACH_BLOCK(BITONIC)

#define MERGE(BLOCK)                                                                                              \
    extern "C" __global__ void __launch_bounds__(BLOCK, 2)                                                        \
        sort_merge_##BLOCK(const Key* keys, Values*, Key* sorted_keys, Values*, Key* other_keys, Values*,         \
                           unsigned* barrier, unsigned n) {                                                       \
        merge_path::sort<BLOCK>(keys, sorted_keys, other_keys, barrier, n);                                       \
    }
FOR_EACH_BLOCK(MERGE)
