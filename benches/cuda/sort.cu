// The sort of n unsigned keys: the CUDA ports of kernels-gpu/src/sort/*.rs.
//
// Each kernel is a line-by-line translation of its Rust rung for 32-bit keys without values, with the same entry name
// and parameters, so that only the compiler differs. The files of the rungs document the algorithms.
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

// Merges the runs of a section in shared memory into runs of `size` keys.
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

// Returns how many of the first `diagonal` keys of the merged runs come from the first run.
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

// Merges the runs at positions 0 to `middle` and `middle` to `end` in shared memory. This thread merges ITEMS keys of
// the result, from position `diagonal` on.
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
__device__ __forceinline__ void sort(const Key* keys, Key* sorted_keys, Key* other_keys, unsigned* counts,
                                     unsigned* counter, unsigned n) {
    __shared__ Key tile_keys[BLOCK * ITEMS];
    constexpr unsigned tile = BLOCK * ITEMS;
    const unsigned tid = threadIdx.x, tiles = ceiling(n, tile);
    Key *to_keys = sorted_keys, *from_keys = other_keys;
    if (tiles > 1 && (32 - __clz(tiles - 1)) % 2 == 1) {
        // The passes alternate between the buffers. An odd number of passes starts in the other buffer.
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
        for (unsigned index = blockIdx.x * BLOCK + tid; index < tiles; index += gridDim.x * BLOCK) {
            const unsigned first = (index & ~(2 * width - 1)) * tile;
            const unsigned middle = min(first + width * tile, n), end = min(first + 2 * width * tile, n);
            counts[index] = merge_path(from_keys + first, middle - first, from_keys + middle, end - middle,
                                       index * tile - first);
        }
        barrier.wait();
        for (unsigned index = blockIdx.x; index < tiles; index += gridDim.x) {
            const unsigned start = index * tile, first = (index & ~(2 * width - 1)) * tile;
            const unsigned middle = min(first + width * tile, n), end = min(first + 2 * width * tile, n);
            const unsigned count = min(end - start, tile), before = counts[index];
            const unsigned part = (start + count == end ? middle - first : counts[index + 1]) - before;
            copy<BLOCK>(from_keys + (first + before), tile_keys, part);
            copy<BLOCK>(from_keys + (middle + (start - first - before)), tile_keys + part, count - part);
            merge(tile_keys, part, count, tid * ITEMS);
            __syncthreads();
            copy<BLOCK>(tile_keys, to_keys + start, count);
            __syncthreads();
        }
    }
    barrier.finish();
}

}  // namespace merge_path

namespace radix {

// counts.rs

constexpr unsigned DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS;

__device__ __forceinline__ unsigned digit(Key key, unsigned shift) { return key >> shift & (DIGITS - 1); }

__device__ __forceinline__ unsigned place(unsigned items, unsigned k) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return (warp * items + k) * 32 + lane;
}

struct Scanned {
    unsigned before;
    unsigned total;
};

// Returns the sum of the values of the threads before this thread, and the sum of all values.
template <unsigned BLOCK>
__device__ __forceinline__ Scanned scan_block(int* warp_sums, unsigned value) {
    const int sum = scan_warp(static_cast<int>(value));
    const int before = sum_of_warps_before<BLOCK>(warp_sums, sum);
    const int total = warp_sums[BLOCK / 32 - 1];
    __syncthreads();
    return {static_cast<unsigned>(before + sum) - value, static_cast<unsigned>(total)};
}

// Replaces each count of a table with the sum of the preceding counts.
template <unsigned BLOCK>
__device__ __forceinline__ void scan_counts(GridBarrier& barrier, int* warp_sums, unsigned* counts, unsigned length,
                                            unsigned* sums) {
    const unsigned tid = threadIdx.x, block = blockIdx.x;
    const unsigned part = ceiling(length, gridDim.x);
    const unsigned start = min(block * part, length), end = min(start + part, length);
    barrier.wait();

    unsigned sum = 0;
    for (unsigned i = start + tid; i < end; i += BLOCK) {
        sum += counts[i];
    }
    const Scanned of_part = scan_block<BLOCK>(warp_sums, sum);
    if (tid == 0) {
        sums[block] = of_part.total;
    }
    barrier.wait();

    unsigned before = 0;
    for (unsigned i = tid; i < block; i += BLOCK) {
        before += sums[i];
    }
    before = scan_block<BLOCK>(warp_sums, before).total;
    for (unsigned first = start; first < end; first += BLOCK) {
        const unsigned i = first + tid;
        const Scanned scanned = scan_block<BLOCK>(warp_sums, i < end ? counts[i] : 0);
        if (i < end) {
            counts[i] = before + scanned.before;
        }
        before += scanned.total;
    }
    barrier.wait();
}

// Computes the rank of each key of this thread among the keys of the tile with the same digit. Returns the number of
// keys of the tile whose digit is this thread's index.
template <unsigned BLOCK, unsigned ITEMS>
__device__ __forceinline__ unsigned rank_in_tile(unsigned* histograms, const unsigned (&digits)[ITEMS],
                                                 unsigned (&ranks)[ITEMS]) {
    const unsigned tid = threadIdx.x, lane = threadIdx.x % 32;
    unsigned* const histogram = histograms + tid / 32 * DIGITS;
#pragma unroll
    for (unsigned digit = lane; digit < DIGITS; digit += 32) {
        histogram[digit] = 0;
    }
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        const unsigned peers = __match_any_sync(FULL_MASK, digits[k]);
        const unsigned peers_before = peers & ((1u << lane) - 1);
        unsigned* const count = histogram + digits[k];
        __syncwarp(FULL_MASK);
        const unsigned before = *count;
        __syncwarp(FULL_MASK);
        if (peers_before == 0) {
            *count = before + __popc(peers);
        }
        ranks[k] = before + __popc(peers_before);
    }
    __syncthreads();
    unsigned total = 0;
    if (tid < DIGITS) {
#pragma unroll
        for (unsigned warp = 0; warp < BLOCK / 32; ++warp) {
            unsigned* const count = histograms + (warp * DIGITS + tid);
            const unsigned warp_count = *count;
            *count = total;
            total += warp_count;
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        ranks[k] += histogram[digits[k]];
    }
    return total;
}

// digits.rs: counts the digits of a tile and writes the counts to its column of the table.
template <unsigned BLOCK, unsigned ITEMS>
__device__ __forceinline__ void count_digits(unsigned* histogram, const Key* keys, unsigned n, unsigned index,
                                             unsigned shift, unsigned* counts) {
    const unsigned tid = threadIdx.x, start = index * BLOCK * ITEMS, tiles = ceiling(n, BLOCK * ITEMS);
    if (tid < DIGITS) {
        histogram[tid] = 0;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        const unsigned i = start + place(ITEMS, k);
        if (i < n) {
            atomicAdd(&histogram[digit(keys[i], shift)], 1);
        }
    }
    __syncthreads();
    if (tid < DIGITS) {
        counts[tid * tiles + index] = histogram[tid];
    }
    __syncthreads();
}

// The arrays of the passes: each pass reads `from` and writes `to`.
struct Arrays {
    Key* from;
    Key* to;
    Key* next;

    __device__ __forceinline__ Arrays(const Key* keys, Key* sorted_keys, Key* other_keys)
        : from(const_cast<Key*>(keys)), to(other_keys), next(sorted_keys) {}

    __device__ __forceinline__ void advance() {
        from = to;
        to = next;
        next = from;
    }
};

template <unsigned BLOCK>
__device__ __forceinline__ void split(const Key* keys, Key* sorted_keys, Key* other_keys, unsigned* counts,
                                      unsigned* sums, unsigned* counter, unsigned bits, unsigned n) {
    __shared__ int warp_sums[BLOCK / 32];
    constexpr unsigned ITEMS = 8, tile = BLOCK * ITEMS;
    const unsigned tid = threadIdx.x, lanes_before = (1u << threadIdx.x % 32) - 1;
    const unsigned first = blockIdx.x, blocks = gridDim.x, tiles = ceiling(n, tile);
    Arrays arrays(keys, sorted_keys, other_keys);
    GridBarrier barrier{counter};

    for (unsigned bit = 0; bit < bits; ++bit, arrays.advance()) {
        const Key* const from = arrays.from;
        const auto is_zero = [=](unsigned i) { return i < n && (from[i] >> bit & 1) == 0; };
        for (unsigned index = first; index < tiles; index += blocks) {
            const unsigned count = min(n - index * tile, tile);
            unsigned zeros = 0;
#pragma unroll
            for (unsigned k = 0; k < ITEMS; ++k) {
                zeros += __syncthreads_count(is_zero(index * tile + place(ITEMS, k)));
            }
            if (tid == 0) {
                counts[index] = zeros;
                counts[tiles + index] = count - zeros;
            }
        }
        scan_counts<BLOCK>(barrier, warp_sums, counts, 2 * tiles, sums);
        for (unsigned index = first; index < tiles; index += blocks) {
            unsigned ballots[ITEMS], zeros_of_warp = 0;
#pragma unroll
            for (unsigned k = 0; k < ITEMS; ++k) {
                ballots[k] = __ballot_sync(FULL_MASK, is_zero(index * tile + place(ITEMS, k)));
                zeros_of_warp += __popc(ballots[k]);
            }
            unsigned zeros = sum_of_warps_before<BLOCK>(warp_sums, zeros_of_warp);
#pragma unroll
            for (unsigned k = 0; k < ITEMS; ++k) {
                const unsigned ballot = ballots[k], position = place(ITEMS, k);
                const unsigned rank = zeros + __popc(ballot & lanes_before);
                const bool is_first = (ballot >> (tid % 32) & 1) == 1;
                if (index * tile + position < n) {
                    const unsigned start = counts[(is_first ? 0 : tiles) + index];
                    arrays.to[start + (is_first ? rank : position - rank)] = from[index * tile + position];
                }
                zeros += __popc(ballot);
            }
            __syncthreads();
        }
        barrier.wait();
    }
    barrier.finish();
}

template <unsigned BLOCK>
__device__ __forceinline__ void digits(const Key* keys, Key* sorted_keys, Key* other_keys, unsigned* counts,
                                       unsigned* sums, unsigned* counter, unsigned bits, unsigned n) {
    __shared__ int warp_sums[BLOCK / 32];
    __shared__ unsigned histograms[BLOCK / 32 * DIGITS];
    constexpr unsigned ITEMS = 8, tile = BLOCK * ITEMS;
    const unsigned first = blockIdx.x, blocks = gridDim.x, tiles = ceiling(n, tile);
    Arrays arrays(keys, sorted_keys, other_keys);
    GridBarrier barrier{counter};

    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS, arrays.advance()) {
        for (unsigned index = first; index < tiles; index += blocks) {
            count_digits<BLOCK, ITEMS>(histograms, arrays.from, n, index, shift, counts);
        }
        scan_counts<BLOCK>(barrier, warp_sums, counts, DIGITS * tiles, sums);
        for (unsigned index = first; index < tiles; index += blocks) {
            unsigned digits[ITEMS], ranks[ITEMS];
#pragma unroll
            for (unsigned k = 0; k < ITEMS; ++k) {
                const unsigned i = index * tile + place(ITEMS, k);
                digits[k] = digit(i < n ? arrays.from[i] : ~0u, shift);
            }
            rank_in_tile<BLOCK>(histograms, digits, ranks);
#pragma unroll
            for (unsigned k = 0; k < ITEMS; ++k) {
                const unsigned i = index * tile + place(ITEMS, k);
                if (i < n) {
                    arrays.to[counts[digits[k] * tiles + index] + ranks[k]] = arrays.from[i];
                }
            }
            __syncthreads();
        }
        barrier.wait();
    }
    barrier.finish();
}

// coalesced.rs: moves the keys of a tile to their positions.
template <unsigned BLOCK, unsigned ITEMS>
__device__ __forceinline__ void scatter(int* warp_sums, unsigned* buffer, unsigned* starts, unsigned* distances,
                                        const Key* from, Key* to, const unsigned* counts, unsigned index,
                                        unsigned shift, unsigned n) {
    const unsigned tid = threadIdx.x, start = index * BLOCK * ITEMS, tiles = ceiling(n, BLOCK * ITEMS);
    const unsigned count = min(n - start, BLOCK * ITEMS);
    Key keys[ITEMS];
    unsigned digits[ITEMS], ranks[ITEMS];
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        const unsigned i = start + place(ITEMS, k);
        keys[k] = i < n ? from[i] : ~0u;
        digits[k] = digit(keys[k], shift);
    }
    const unsigned total = rank_in_tile<BLOCK>(buffer, digits, ranks);
    const unsigned first = scan_block<BLOCK>(warp_sums, total).before;
    if (tid < DIGITS) {
        starts[tid] = first;
        distances[tid] = counts[tid * tiles + index] - first;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        buffer[starts[digits[k]] + ranks[k]] = keys[k];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < ITEMS; ++k) {
        const unsigned place = tid + k * BLOCK;
        if (place < count) {
            const Key key = buffer[place];
            to[distances[digit(key, shift)] + place] = key;
        }
    }
    __syncthreads();
}

template <unsigned BLOCK>
__device__ __forceinline__ void coalesced(const Key* keys, Key* sorted_keys, Key* other_keys, unsigned* counts,
                                          unsigned* sums, unsigned* counter, unsigned bits, unsigned n) {
    constexpr unsigned ITEMS = 7, tile = BLOCK * ITEMS, histograms = BLOCK / 32 * DIGITS;
    __shared__ int warp_sums[BLOCK / 32];
    __shared__ unsigned buffer[tile > histograms ? tile : histograms], starts[DIGITS], distances[DIGITS];
    const unsigned first = blockIdx.x, blocks = gridDim.x, tiles = ceiling(n, tile);
    Arrays arrays(keys, sorted_keys, other_keys);
    GridBarrier barrier{counter};

    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS, arrays.advance()) {
        for (unsigned index = first; index < tiles; index += blocks) {
            count_digits<BLOCK, ITEMS>(buffer, arrays.from, n, index, shift, counts);
        }
        scan_counts<BLOCK>(barrier, warp_sums, counts, DIGITS * tiles, sums);
        for (unsigned index = first; index < tiles; index += blocks) {
            scatter<BLOCK, ITEMS>(warp_sums, buffer, starts, distances, arrays.from, arrays.to, counts, index, shift,
                                  n);
        }
        barrier.wait();
    }
    barrier.finish();
}

}  // namespace radix

namespace sweep {

// sweep.rs

using radix::DIGIT_BITS;
using radix::DIGITS;
using Count = unsigned short;

constexpr unsigned PASSES = 32 / DIGIT_BITS, TOTALS = 64 / DIGIT_BITS * DIGITS;
constexpr unsigned PREFIX = 1u << 30, COUNT = PREFIX - 1;

// Returns a value that the compiler cannot analyze.
__device__ __forceinline__ unsigned opaque(unsigned value) {
    asm volatile("" : "+r"(value));
    return value;
}

__device__ __forceinline__ unsigned digit(Key key, unsigned pass) { return radix::digit(key, pass * DIGIT_BITS); }

struct Buffers {
    const Key* from;
    Key* to;

    __device__ __forceinline__ Buffers(unsigned pass, const Key* input, Key* output, Key* other)
        : from(pass == 0 ? input : pass % 2 == 1 ? other : output), to(pass % 2 == 1 ? output : other) {}
};

template <unsigned BLOCK, unsigned ITEMS>
__device__ __forceinline__ unsigned place(unsigned tile, unsigned item) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return (tile * BLOCK + warp * 32) * ITEMS + item * 32 + lane;
}

template <unsigned BLOCK, unsigned ITEMS>
__device__ __forceinline__ void load_keys(Key (&items)[ITEMS], const Key* keys, unsigned tile, unsigned n) {
    if ((tile + 1) * BLOCK * ITEMS <= n) {
        const Key* const first = keys + place<BLOCK, ITEMS>(tile, 0);
#pragma unroll
        for (unsigned item = 0; item < ITEMS; ++item) {
            items[item] = first[item * 32];
        }
        return;
    }
#pragma unroll
    for (unsigned item = 0; item < ITEMS; ++item) {
        const unsigned i = place<BLOCK, ITEMS>(tile, item);
        items[item] = i < n ? keys[i] : ~0u;
    }
}

template <unsigned BLOCK, unsigned ITEMS>
__device__ __forceinline__ void count_digits(unsigned* counts, const Key* keys, unsigned* totals, unsigned n) {
    constexpr unsigned all_digits = PASSES * DIGITS;
    for (unsigned word = threadIdx.x; word < all_digits; word += BLOCK) {
        counts[word] = 0;
    }
    __syncthreads();
    for (unsigned tile = blockIdx.x; tile < ceiling(n, BLOCK * ITEMS); tile += gridDim.x) {
        Key items[ITEMS];
        load_keys<BLOCK>(items, keys, tile, n);
#pragma unroll
        for (unsigned item = 0; item < ITEMS; ++item) {
#pragma unroll
            for (unsigned pass = 0; pass < PASSES; ++pass) {
                if (place<BLOCK, ITEMS>(tile, item) < n) {
                    atomicAdd(&counts[pass * DIGITS + digit(items[item], pass)], 1);
                }
            }
        }
    }
    __syncthreads();
    for (unsigned word = threadIdx.x; word < all_digits; word += BLOCK) {
        atomicAdd(&totals[word], counts[word]);
    }
}

// Returns the lanes with the same digit as this lane, with a vote for each bit.
__device__ __forceinline__ unsigned lanes_with(unsigned digit) {
    unsigned lanes = FULL_MASK;
#pragma unroll
    for (unsigned bit = 0; bit < DIGIT_BITS; ++bit) {
        unsigned set;
        asm volatile("{ .reg .pred is_set; .reg .b32 bit; and.b32 bit, %1, %2; setp.ne.u32 is_set, bit, 0; "
                     "vote.sync.ballot.b32 %0, is_set, -1; @!is_set not.b32 %0, %0; }"
                     : "=r"(set) : "r"(digit), "r"(1u << bit));
        lanes &= set;
    }
    return lanes;
}

__device__ __forceinline__ unsigned rank(Count* counts, unsigned digit) {
    const unsigned lanes = lanes_with(digit), lanes_before = (1u << threadIdx.x % 32) - 1;
    const unsigned earlier = __popc(lanes & lanes_before);
    const unsigned counted = counts[digit];
    __syncwarp(FULL_MASK);
    if (earlier == 0) {
        counts[digit] = static_cast<Count>(counted + __popc(lanes));
    }
    __syncwarp(FULL_MASK);
    return counted + earlier;
}

__device__ __forceinline__ void clear(Count* counts) {
    __syncwarp(FULL_MASK);
#pragma unroll
    for (unsigned row = 0; row < DIGITS / 32; ++row) {
        counts[row * 32 + threadIdx.x % 32] = 0;
    }
    __syncwarp(FULL_MASK);
}

__device__ __forceinline__ unsigned counts_before(unsigned* warp_sums, unsigned count) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned sum = scan_warp(static_cast<int>(count));
    if (lane == 31) {
        warp_sums[warp] = sum;
    }
    __syncthreads();
    unsigned before = sum - count;
#pragma unroll
    for (unsigned other = 0; other < DIGITS / 32; ++other) {
        before += other < warp ? warp_sums[other] : 0;
    }
    return before;
}

struct Words {
    unsigned* status;
    unsigned pass;

    __device__ __forceinline__ Words(unsigned* status, unsigned pass)
        : status(status), pass(pass % 2 == 0 ? 1u << 31 : 0) {}

    __device__ __forceinline__ void publish(unsigned tile, unsigned digit, unsigned count, bool is_prefix) const {
        store_relaxed(status + (tile * DIGITS + digit), pass | count | (is_prefix ? PREFIX : 0));
    }

    template <unsigned AT_ONCE>
    __device__ __forceinline__ unsigned look_back(unsigned tile, unsigned digit) const {
        unsigned before = 0, end = tile;
        while (end > 0) {
            unsigned words[AT_ONCE];
#pragma unroll
            for (unsigned k = 0; k < AT_ONCE; ++k) {
                const unsigned other = end > 1 + k ? end - (1 + k) : 0;
                words[k] = load_relaxed(status + (other * DIGITS + digit));
            }
            bool is_next = true;
#pragma unroll
            for (const unsigned word : words) {
                is_next &= (word ^ pass) >> 31 == 0;
                if (is_next) {
                    before += word & COUNT;
                    is_next = (word & PREFIX) == 0;
                    end = is_next ? end - 1 : 0;
                }
            }
        }
        return before;
    }
};

struct OfDigit {
    unsigned count;
    unsigned smaller;
};

// Publishes the counts of a tile. Replaces each warp's count of a digit with the position of the warp's first key with
// this digit.
template <unsigned BLOCK>
__device__ __forceinline__ OfDigit place_digits(Count* counts, unsigned* warp_sums, const Words& words, unsigned tile) {
    const unsigned digit = threadIdx.x;
    __syncthreads();
    unsigned count = 0;
    if (digit < DIGITS) {
#pragma unroll
        for (unsigned warp = 0; warp < BLOCK / 32; ++warp) {
            count += counts[warp * DIGITS + digit];
        }
        words.publish(tile, digit, count, tile == 0);
    }
    const unsigned smaller = counts_before(warp_sums, count);
    if (digit < DIGITS) {
        Count start = static_cast<Count>(smaller);
#pragma unroll
        for (unsigned warp = 0; warp < BLOCK / 32; ++warp) {
            Count& count_of_warp = counts[warp * DIGITS + digit];
            const Count of_warp = count_of_warp;
            count_of_warp = start;
            start += of_warp;
        }
    }
    __syncthreads();
    return {count, smaller};
}

extern __shared__ Key tile_keys[];

// one_sweep.rs and tuned.rs: tuned.rs loads the next tile before the look-back, and reads AT_ONCE words at a time.
template <unsigned BLOCK, unsigned ITEMS, bool IS_AHEAD, unsigned AT_ONCE>
__device__ __forceinline__ void sort(const Key* keys, Key* sorted_keys, Key* other_keys, unsigned* totals,
                                     unsigned* status, unsigned* counter, unsigned n) {
    __shared__ Count counts[BLOCK / 32 * DIGITS];
    __shared__ unsigned offsets[DIGITS], warp_sums[BLOCK / 32];
    constexpr unsigned tile_size = BLOCK * ITEMS;
    const unsigned tid = threadIdx.x;
    Count* const warp_counts = counts + tid / 32 * DIGITS;
    GridBarrier barrier{counter};

    count_digits<BLOCK, ITEMS>(tile_keys, keys, totals, n);
    barrier.wait();
    for (unsigned pass = 0, passes = opaque(PASSES); pass < passes; ++pass) {
        const Buffers buffers(pass, keys, sorted_keys, other_keys);
        const Words words(status, pass);
        const unsigned start = counts_before(warp_sums, tid < DIGITS ? totals[pass * DIGITS + tid] : 0);
        unsigned tile = blockIdx.x;
        Key items[ITEMS];
        if (IS_AHEAD) {
            clear(warp_counts);
            load_keys<BLOCK>(items, buffers.from, tile, n);
        }
        while (tile * tile_size < n) {
            if (!IS_AHEAD) {
                load_keys<BLOCK>(items, buffers.from, tile, n);
                clear(warp_counts);
            }
            unsigned ranks[ITEMS];
#pragma unroll
            for (unsigned item = 0; item < ITEMS; ++item) {
                ranks[item] = rank(warp_counts, digit(items[item], pass));
            }
            const OfDigit of_tile = place_digits<BLOCK>(counts, warp_sums, words, tile);
            // Without `opaque`, the positions in `warp_counts` would stay in registers from `rank` on.
            const unsigned same_pass = opaque(pass);
#pragma unroll
            for (unsigned item = 0; item < ITEMS; ++item) {
                tile_keys[warp_counts[digit(items[item], same_pass)] + ranks[item]] = items[item];
            }
            const unsigned next = tile + gridDim.x;
            if (IS_AHEAD) {
                clear(warp_counts);
                load_keys<BLOCK>(items, buffers.from, next, n);
            }
            if (tid < DIGITS) {
                const unsigned before = words.look_back<AT_ONCE>(tile, tid);
                words.publish(tile, tid, before + of_tile.count, true);
                offsets[tid] = start + before - of_tile.smaller;
            }
            __syncthreads();
#pragma unroll
            for (unsigned item = 0; item < ITEMS; ++item) {
                const unsigned i = item * BLOCK + tid;
                if (tile * tile_size + i < n) {
                    const Key key = tile_keys[i];
                    buffers.to[offsets[digit(key, same_pass)] + i] = key;
                }
            }
            tile = next;
        }
        barrier.wait();
    }
    if (blockIdx.x == 0) {
        for (unsigned word = tid; word < TOTALS; word += BLOCK) {
            totals[word] = 0;
        }
    }
    barrier.finish();
}

}  // namespace sweep

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

extern "C" __global__ void __launch_bounds__(512, 2)
    sort_merge_512(const Key* keys, Values*, Key* sorted_keys, Values*, Key* other_keys, Values*, unsigned* counts,
                   unsigned* barrier, unsigned n) {
    merge_path::sort<512>(keys, sorted_keys, other_keys, counts, barrier, n);
}

#define RADIX(RUNG)                                                                                               \
    extern "C" __global__ void __launch_bounds__(512, 2)                                                          \
        sort_##RUNG##_512(const Key* keys, Values*, Key* sorted_keys, Values*, Key* other_keys, Values*,          \
                          unsigned* counts, unsigned* sums, unsigned* barrier, unsigned bits, unsigned n) {       \
        radix::RUNG<512>(keys, sorted_keys, other_keys, counts, sums, barrier, bits, n);                          \
    }
RADIX(split)
RADIX(digits)
RADIX(coalesced)

#define SWEEP(RUNG, RESIDENT, ITEMS, IS_AHEAD, AT_ONCE)                                                           \
    extern "C" __global__ void __launch_bounds__(512, RESIDENT)                                                   \
        sort_##RUNG##_512(const Key* keys, Values*, Key* sorted_keys, Values*, Key* other_keys, Values*,          \
                          unsigned* totals, unsigned* status, unsigned* barrier, unsigned n) {                    \
        sweep::sort<512, ITEMS, IS_AHEAD, AT_ONCE>(keys, sorted_keys, other_keys, totals, status, barrier, n);    \
    }
SWEEP(one_sweep, 2, 12, false, 1)
SWEEP(tuned, 1, 24, true, 4)
