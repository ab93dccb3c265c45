// The prefix sum: the CUDA ports of kernels-gpu/src/scan/*.rs.
//
// Each kernel is a line-by-line translation of its Rust rung for inclusive sums of 32-bit integers, with the same entry
// name and parameters, so that only the compiler differs. The files of the rungs document the algorithms.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 scan.cu; scan_pipelined needs -arch=compute_90a

#include "cooperation.cuh"
#include "tensor_core.cuh"

namespace {

// vector.rs

constexpr unsigned VECTORS = 4, ITEMS = VECTORS * 4;

template <unsigned BLOCK>
struct Tile {
    int4 rows[VECTORS];

    __device__ __forceinline__ static unsigned first(unsigned tile) {
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return tile * (BLOCK * VECTORS) + warp * (32 * VECTORS) + lane;
    }

    __device__ __forceinline__ static Tile load(const int* input, unsigned tile, unsigned n) {
        const unsigned first = Tile::first(tile);
        Tile elements;
        if ((tile + 1) * (BLOCK * ITEMS) <= n) {
            const int4* vectors = reinterpret_cast<const int4*>(input) + first;
#pragma unroll
            for (unsigned row = 0; row < VECTORS; ++row) {
                elements.rows[row] = vectors[row * 32];
            }
            return elements;
        }
        const auto element = [=](unsigned row, unsigned k) {
            const unsigned i = (first + row * 32) * 4 + k;
            return i < n ? input[i] : 0;
        };
#pragma unroll
        for (unsigned row = 0; row < VECTORS; ++row) {
            elements.rows[row] = make_int4(element(row, 0), element(row, 1), element(row, 2), element(row, 3));
        }
        return elements;
    }

    __device__ __forceinline__ static Tile load_shared(const int* tile) {
        const int4* vectors = reinterpret_cast<const int4*>(tile) + first(0);
        Tile elements;
#pragma unroll
        for (unsigned row = 0; row < VECTORS; ++row) {
            elements.rows[row] = vectors[row * 32];
        }
        return elements;
    }

    // Scans the elements of this warp in place, and returns their sum to all lanes.
    __device__ __forceinline__ int scan() {
        int carry = 0;
#pragma unroll
        for (int4& row : rows) {
            const int a = row.x, b = row.y + a, c = row.z + b, d = row.w + c;
            const int sum = scan_warp(d);
            const int before = carry + (sum - d);
            carry += __shfl_sync(FULL_MASK, sum, 31);
            row = make_int4(a + before, b + before, c + before, d + before);
        }
        return carry;
    }

    __device__ __forceinline__ int sum() const {
        int sum = 0;
#pragma unroll
        for (const int4& row : rows) {
            sum += row.x + row.y + row.z + row.w;
        }
        return sum_warp(sum);
    }

    __device__ __forceinline__ void store(int* output, unsigned tile, unsigned n, int before) const {
        const unsigned first = Tile::first(tile);
        const bool is_whole = (tile + 1) * (BLOCK * ITEMS) <= n;
#pragma unroll
        for (unsigned row = 0; row < VECTORS; ++row) {
            const unsigned vector = first + row * 32;
            const int4 row_sums = rows[row];
            const int4 sums = make_int4(row_sums.x + before, row_sums.y + before, row_sums.z + before, row_sums.w + before);
            if (is_whole) {
                reinterpret_cast<int4*>(output)[vector] = sums;
                continue;
            }
            const int elements[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
            for (unsigned k = 0; k < 4; ++k) {
                const unsigned i = vector * 4 + k;
                if (i < n) {
                    output[i] = elements[k];
                }
            }
        }
    }
};

// three_phases.rs: scans a tile, adds `before` to its elements, and returns the sum of its elements to all threads.
template <unsigned BLOCK>
__device__ __forceinline__ int scan_tile(int* warp_sums, const int* input, int* output, unsigned tile, unsigned n,
                                         int before) {
    Tile<BLOCK> elements = Tile<BLOCK>::load(input, tile, n);
    const int warp_sum = elements.scan();
    const int warps = sum_of_warps_before<BLOCK>(warp_sums, warp_sum);
    elements.store(output, tile, n, before + warps);
    const int sum = warp_sums[BLOCK / 32 - 1];
    __syncthreads();
    return sum;
}

// status.rs

constexpr unsigned HEAD = 2;

enum State : unsigned { EMPTY, SUM, PREFIX };

struct StateAndSum {
    State state;
    int sum;
};

struct Status {
    Word* words;
    unsigned epoch;

    __device__ __forceinline__ explicit Status(Word* words)
        : words(words), epoch(static_cast<unsigned>(load_relaxed(words + 1) >> 32)) {}

    __device__ __forceinline__ unsigned take_ticket() const {
        return atomicAdd(reinterpret_cast<unsigned*>(words), 1);
    }

    __device__ __forceinline__ void finish() const {
        const unsigned finished = static_cast<unsigned>(atomicAdd(words + 1, Word{1}));
        if (finished == gridDim.x - 1) {
            store_relaxed(reinterpret_cast<unsigned*>(words), 0);
            store_relaxed(words + 1, Word{epoch + 1} << 32);
        }
    }

    __device__ __forceinline__ void publish(unsigned tile, State state, int sum) const {
        const unsigned high = epoch << 2 | state;
        store_relaxed(words + (HEAD + size_t{tile}), Word{high} << 32 | static_cast<unsigned>(sum));
    }

    __device__ __forceinline__ StateAndSum read(unsigned tile) const {
        const Word word = load_relaxed(words + (HEAD + size_t{tile}));
        const unsigned state = static_cast<unsigned>(word >> 32) - (epoch << 2);
        return {state == SUM ? SUM : state == PREFIX ? PREFIX : EMPTY, static_cast<int>(word)};
    }

    __device__ __forceinline__ int look_back(unsigned tile, int sum) const {
        int before = 0;
        if (tile > 0) {
            publish(tile, SUM, sum);
        }
        unsigned other = tile;
        while (other > 0) {
            const StateAndSum found = read(other - 1);
            if (found.state == EMPTY) {
                continue;
            }
            other = found.state == SUM ? other - 1 : 0;
            before += found.sum;
        }
        publish(tile, PREFIX, before + sum);
        return before;
    }

    __device__ __forceinline__ int look_back_warp(unsigned tile, int sum) const {
        const unsigned lane = threadIdx.x % 32;
        if (tile > 0 && lane == 0) {
            publish(tile, SUM, sum);
        }
        int before = 0;
        unsigned other = tile;
        while (other > 0) {
            const StateAndSum found = lane < other ? read(other - 1 - lane) : StateAndSum{PREFIX, 0};
            const unsigned empty = __ballot_sync(FULL_MASK, found.state == EMPTY);
            const unsigned prefix = __ballot_sync(FULL_MASK, found.state == PREFIX);
            const unsigned needed = prefix ^ (prefix - 1);
            if ((empty & needed) != 0) {
                continue;
            }
            before += sum_warp((needed >> lane & 1) == 1 ? found.sum : 0);
            other = prefix == 0 ? other - 32 : 0;
        }
        if (lane == 0) {
            publish(tile, PREFIX, before + sum);
        }
        return before;
    }
};

__device__ __forceinline__ unsigned next_tile(const Status& status, unsigned* ticket) {
    if (threadIdx.x == 0) {
        *ticket = status.take_ticket();
    }
    __syncthreads();
    return *ticket;
}

template <unsigned BLOCK>
__device__ __forceinline__ void shared(int* sums, const int* input, int* output, unsigned n) {
    const unsigned tid = threadIdx.x, i = blockIdx.x * BLOCK + tid;
    int sum = i < n ? input[i] : 0;
    unsigned from = 0;
#pragma unroll
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        sums[from + tid] = sum;
        __syncthreads();
        if (tid >= stride) {
            sum += sums[from + tid - stride];
        }
        from = BLOCK - from;
    }
    if (i < n) {
        output[i] = sum;
    }
}

// work_efficient.rs and padded.rs: `at` returns the index of the word for an element of the section.
template <unsigned BLOCK, typename At>
__device__ __forceinline__ void tree(At at, const int* input, int* output, unsigned n) {
    const unsigned tid = threadIdx.x, start = blockIdx.x * BLOCK * 2;
#pragma unroll
    for (unsigned place = tid; place < 2 * BLOCK; place += BLOCK) {
        const unsigned i = start + place;
        at(place) = i < n ? input[i] : 0;
    }
#pragma unroll
    for (unsigned stride = 1; stride <= BLOCK; stride *= 2) {
        __syncthreads();
        const unsigned node = (tid + 1) * 2 * stride - 1;
        if (node < 2 * BLOCK) {
            at(node) += at(node - stride);
        }
    }
#pragma unroll
    for (unsigned stride = BLOCK / 2; stride > 0; stride /= 2) {
        __syncthreads();
        const unsigned node = (tid + 1) * 2 * stride - 1;
        if (node + stride < 2 * BLOCK) {
            at(node + stride) += at(node);
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned place = tid; place < 2 * BLOCK; place += BLOCK) {
        const unsigned i = start + place;
        if (i < n) {
            output[i] = at(place);
        }
    }
}

template <unsigned BLOCK>
__device__ __forceinline__ void shuffle(int* warp_sums, const int* input, int* output, unsigned n) {
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    const int sum = scan_warp(i < n ? input[i] : 0);
    const int before = sum_of_warps_before<BLOCK>(warp_sums, sum);
    if (i < n) {
        output[i] = sum + before;
    }
}

template <unsigned BLOCK>
__device__ __forceinline__ void coarsened(int* warp_sums, const int* input, int* output, unsigned n) {
    constexpr unsigned COARSE = 8;
    const unsigned first = (blockIdx.x * BLOCK + threadIdx.x) * COARSE;
    int sum = 0, sums[COARSE];
#pragma unroll
    for (unsigned k = 0; k < COARSE; ++k) {
        const unsigned i = first + k;
        sum += i < n ? input[i] : 0;
        sums[k] = sum;
    }
    const int warp_sum = scan_warp(sum);
    const int before = sum_of_warps_before<BLOCK>(warp_sums, warp_sum) + (warp_sum - sum);
#pragma unroll
    for (unsigned k = 0; k < COARSE; ++k) {
        const unsigned i = first + k;
        if (i < n) {
            output[i] = sums[k] + before;
        }
    }
}

template <unsigned BLOCK>
__device__ __forceinline__ void vector(int* warp_sums, const int* input, int* output, unsigned n) {
    Tile<BLOCK> sums = Tile<BLOCK>::load(input, blockIdx.x, n);
    const int warp_sum = sums.scan();
    const int before = sum_of_warps_before<BLOCK>(warp_sums, warp_sum);
    sums.store(output, blockIdx.x, n, before);
}

// The second phase of the next two rungs: the first block scans the sums of the tiles.
template <unsigned BLOCK>
__device__ __forceinline__ void scan_sums(int* warp_sums, int* sums, unsigned tiles) {
    if (blockIdx.x == 0) {
        int sum = 0;
        for (unsigned part = 0; part * BLOCK * ITEMS < tiles; ++part) {
            sum += scan_tile<BLOCK>(warp_sums, sums, sums, part, tiles, sum);
        }
    }
}

template <unsigned BLOCK>
__device__ __forceinline__ void three_phases(int* warp_sums, const int* input, int* output, int* sums,
                                             unsigned* counter, unsigned n) {
    const unsigned first = blockIdx.x, blocks = gridDim.x, tiles = ceiling(n, BLOCK * ITEMS);
    GridBarrier barrier{counter};
    for (unsigned tile = first; tile < tiles; tile += blocks) {
        const int sum = scan_tile<BLOCK>(warp_sums, input, output, tile, n, 0);
        if (threadIdx.x == 0) {
            sums[tile] = sum;
        }
    }
    barrier.wait();
    scan_sums<BLOCK>(warp_sums, sums, tiles);
    barrier.wait();
    for (unsigned tile = first; tile < tiles; tile += blocks) {
        if (tile > 0) {
            const int before = sums[tile - 1];
            Tile<BLOCK>::load(output, tile, n).store(output, tile, n, before);
        }
    }
    barrier.finish();
}

template <unsigned BLOCK>
__device__ __forceinline__ void reduce_first(int* warp_sums, const int* input, int* output, int* sums,
                                             unsigned* counter, unsigned n) {
    const unsigned first = blockIdx.x, blocks = gridDim.x, tiles = ceiling(n, BLOCK * ITEMS);
    GridBarrier barrier{counter};
    for (unsigned tile = first; tile < tiles; tile += blocks) {
        const int sum = Tile<BLOCK>::load(input, tile, n).sum();
        const int before = sum_of_warps_before<BLOCK>(warp_sums, sum);
        if (threadIdx.x == BLOCK - 1) {
            sums[tile] = before + sum;
        }
        __syncthreads();
    }
    barrier.wait();
    scan_sums<BLOCK>(warp_sums, sums, tiles);
    barrier.wait();
    for (unsigned tile = first; tile < tiles; tile += blocks) {
        scan_tile<BLOCK>(warp_sums, input, output, tile, n, tile > 0 ? sums[tile - 1] : 0);
    }
    barrier.finish();
}

// chained.rs, look_back.rs and look_back_warp.rs: `look_back` writes the sum of all tiles before the tile to `prefix`.
template <unsigned BLOCK, typename LookBack>
__device__ __forceinline__ void single_pass(int* warp_sums, const int* input, int* output, Word* words, unsigned n,
                                            LookBack look_back) {
    __shared__ unsigned ticket;
    __shared__ int prefix;
    const Status status(words);
    const unsigned tile = next_tile(status, &ticket);
    Tile<BLOCK> sums = Tile<BLOCK>::load(input, tile, n);
    const int warp_sum = sums.scan();
    const int before = sum_of_warps_before<BLOCK>(warp_sums, warp_sum);
    look_back(status, tile, before, warp_sum, &prefix);
    __syncthreads();
    sums.store(output, tile, n, before + prefix);
    if (threadIdx.x == 0) {
        status.finish();
    }
}

template <unsigned BLOCK>
__device__ __forceinline__ void chained(int* warp_sums, const int* input, int* output, Word* words, unsigned n) {
    single_pass<BLOCK>(warp_sums, input, output, words, n,
                       [](const Status& status, unsigned tile, int before, int warp_sum, int* prefix) {
        if (threadIdx.x == BLOCK - 1) {
            StateAndSum found = {PREFIX, 0};
            if (tile > 0) {
                do {
                    found = status.read(tile - 1);
                } while (found.state != PREFIX);
            }
            status.publish(tile, PREFIX, found.sum + before + warp_sum);
            *prefix = found.sum;
        }
    });
}

template <unsigned BLOCK>
__device__ __forceinline__ void look_back(int* warp_sums, const int* input, int* output, Word* words, unsigned n) {
    single_pass<BLOCK>(warp_sums, input, output, words, n,
                       [=](const Status& status, unsigned tile, int, int, int* prefix) {
        if (threadIdx.x == 0) {
            *prefix = status.look_back(tile, warp_sums[BLOCK / 32 - 1]);
        }
    });
}

template <unsigned BLOCK>
__device__ __forceinline__ void look_back_warp(int* warp_sums, const int* input, int* output, Word* words,
                                               unsigned n) {
    single_pass<BLOCK>(warp_sums, input, output, words, n,
                       [=](const Status& status, unsigned tile, int, int, int* prefix) {
        if (threadIdx.x < 32) {
            const int before = status.look_back_warp(tile, warp_sums[BLOCK / 32 - 1]);
            if (threadIdx.x == 0) {
                *prefix = before;
            }
        }
    });
}

}  // namespace

// Rungs for a block of any size.

extern "C" __global__ void scan_global(const int* input, int* output, unsigned n) {
    const unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    int sum = 0;
    if (i < n) {
        sum = input[i];
        output[i] = sum;
    }
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        const int before = tid >= stride && i < n ? output[i - stride] : 0;
        __syncthreads();
        sum += before;
        if (i < n) {
            output[i] = sum;
        }
    }
}

// Rungs with a constant block size: an entry for each size, which must not be launched with a larger block.

#define FOR_EACH_BLOCK(ENTRY) ENTRY(64) ENTRY(128) ENTRY(256) ENTRY(512) ENTRY(1024)

#define SHARED(BLOCK)                                                                                             \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        scan_shared_##BLOCK(const int* input, int* output, unsigned n) {                                          \
        __shared__ int sums[2 * BLOCK];                                                                           \
        shared<BLOCK>(sums, input, output, n);                                                                    \
    }
FOR_EACH_BLOCK(SHARED)

#define WORK_EFFICIENT(BLOCK)                                                                                     \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        scan_work_efficient_##BLOCK(const int* input, int* output, unsigned n) {                                  \
        __shared__ int sums[2 * BLOCK];                                                                           \
        tree<BLOCK>([&](unsigned place) -> int& { return sums[place]; }, input, output, n);                       \
    }
FOR_EACH_BLOCK(WORK_EFFICIENT)

#define PADDED(BLOCK)                                                                                             \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        scan_padded_##BLOCK(const int* input, int* output, unsigned n) {                                          \
        __shared__ int sums[2 * BLOCK + 2 * BLOCK / 32];                                                          \
        tree<BLOCK>([&](unsigned place) -> int& { return sums[place + place / 32]; }, input, output, n);          \
    }
FOR_EACH_BLOCK(PADDED)

// An entry with a word of shared memory for each warp. BOUNDS are the entry's launch bounds.
#define WITH_WARP_SUMS(RUNG, BLOCK, BOUNDS, PARAMETERS, ...)                                                      \
    extern "C" __global__ void __launch_bounds__ BOUNDS scan_##RUNG##_##BLOCK PARAMETERS {                        \
        __shared__ int warp_sums[BLOCK / 32];                                                                     \
        RUNG<BLOCK>(warp_sums, __VA_ARGS__);                                                                      \
    }

#define SECTIONS(RUNG, BLOCK) \
    WITH_WARP_SUMS(RUNG, BLOCK, (BLOCK), (const int* input, int* output, unsigned n), input, output, n)
#define SHUFFLE(BLOCK) SECTIONS(shuffle, BLOCK)
FOR_EACH_BLOCK(SHUFFLE)
#define COARSENED(BLOCK) SECTIONS(coarsened, BLOCK)
FOR_EACH_BLOCK(COARSENED)
#define VECTOR(BLOCK) SECTIONS(vector, BLOCK)
FOR_EACH_BLOCK(VECTOR)

#define PHASES(RUNG, BLOCK)                                                                                       \
    WITH_WARP_SUMS(RUNG, BLOCK, (BLOCK, 1),                                                                       \
                   (const int* input, int* output, int* sums, unsigned* barrier, unsigned n), input, output, sums, \
                   barrier, n)
#define THREE_PHASES(BLOCK) PHASES(three_phases, BLOCK)
FOR_EACH_BLOCK(THREE_PHASES)
#define REDUCE_FIRST(BLOCK) PHASES(reduce_first, BLOCK)
FOR_EACH_BLOCK(REDUCE_FIRST)

#define SINGLE_PASS(RUNG, BLOCK)                                                                                  \
    WITH_WARP_SUMS(RUNG, BLOCK, (BLOCK), (const int* input, int* output, Word* status, unsigned n), input, output, \
                   status, n)
#define CHAINED(BLOCK) SINGLE_PASS(chained, BLOCK)
FOR_EACH_BLOCK(CHAINED)
#define LOOK_BACK(BLOCK) SINGLE_PASS(look_back, BLOCK)
FOR_EACH_BLOCK(LOOK_BACK)
SINGLE_PASS(look_back_warp, 512)

// pipelined.rs

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

namespace {

constexpr unsigned STAGES = 3, WORDS = 8, MBARRIER_BYTES = 8;

extern __shared__ __align__(16) int stages[];

// Returns, to all lanes, the sum of the wave's tiles that precede `tile`, and the sum of all tiles of the wave.
__device__ __forceinline__ int2 read_wave(const Status& status, unsigned tile, unsigned start, unsigned tiles) {
    const unsigned end = min(tiles, start + gridDim.x);
    const auto other = [=](unsigned k) { return start + k * 32 + threadIdx.x % 32; };
    const auto read = [=](unsigned k) { return other(k) < end ? status.read(other(k)) : StateAndSum{SUM, 0}; };
    StateAndSum words[WORDS];
#pragma unroll
    for (unsigned k = 0; k < WORDS; ++k) {
        words[k] = read(k);
    }
    int before = 0, all = 0;
#pragma unroll
    for (unsigned k = 0; k < WORDS; ++k) {
        StateAndSum word = words[k];
        while (word.state == EMPTY) {
            word = read(k);
        }
        all += word.sum;
        before += other(k) < tile ? word.sum : 0;
    }
    return make_int2(sum_warp(before), sum_warp(all));
}

template <unsigned BLOCK>
struct Ring {
    const int* input;
    unsigned n;
    Shared barriers;

    __device__ __forceinline__ static const int* stage(unsigned wave) { return stages + wave % STAGES * BLOCK * ITEMS; }
    __device__ __forceinline__ Shared barrier(unsigned wave) const { return barriers + wave % STAGES * MBARRIER_BYTES; }
    __device__ __forceinline__ bool is_whole(unsigned tile) const { return (tile + 1) * (BLOCK * ITEMS) <= n; }

    __device__ __forceinline__ void init() const {
#pragma unroll
        for (unsigned stage = 0; stage < STAGES; ++stage) {
            ::init(barrier(stage), 1);
        }
        fence_mbarrier_init();
    }

    __device__ __forceinline__ void start(unsigned tile, unsigned wave) const {
        if (is_whole(tile)) {
            arrive_expecting(barrier(wave), BLOCK * ITEMS * 4);
            load_row(input + tile * BLOCK * ITEMS, BLOCK * ITEMS * 4, shared_of(stage(wave)), barrier(wave));
        }
    }

    __device__ __forceinline__ Tile<BLOCK> load(unsigned tile, unsigned wave) const {
        if (is_whole(tile)) {
            wait(barrier(wave), wave / STAGES % 2);
            return Tile<BLOCK>::load_shared(stage(wave));
        }
        return Tile<BLOCK>::load(input, tile, n);
    }
};

template <unsigned BLOCK>
__device__ __forceinline__ void pipelined(const int* input, int* output, Word* words, unsigned n) {
    __shared__ int warp_sum[BLOCK / 32];
    __shared__ int before[2][BLOCK / 32];
    __shared__ int prefix;
    __shared__ Word barriers[STAGES];
    const unsigned tid = threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned first = blockIdx.x, blocks = gridDim.x, tiles = ceiling(n, BLOCK * ITEMS);
    const Ring<BLOCK> ring = {input, n, shared_of(barriers)};
    const Status status(words);

    if (tid == 0) {
        ring.init();
        ring.start(first, 0);
        ring.start(first + blocks, 1);
    }
    int carry = 0;
    for (unsigned wave = 0;; ++wave) {
        __syncthreads();
        const unsigned tile = first + wave * blocks;
        if (tile < tiles) {
            if (tid == 0 && wave > 0) {
                ring.start(tile + blocks, wave + 1);
            }
            const int sum = ring.load(tile, wave).sum();
            if (lane == 0) {
                warp_sum[warp] = sum;
            }
        }
        __syncthreads();
        if (warp == 0 && tile < tiles) {
            const int warp_total = lane < BLOCK / 32 ? warp_sum[lane] : 0;
            const int sum = scan_warp(warp_total);
            if (lane < BLOCK / 32) {
                before[wave % 2][lane] = sum - warp_total;
            }
            if (lane == 31) {
                status.publish(tile, SUM, sum);
            }
        }
        if (wave > 0) {
            const unsigned last = tile - blocks;
            if (warp == 0) {
                const int2 sums = read_wave(status, last, last - first, tiles);
                if (lane == 0) {
                    prefix = carry + sums.x;
                }
                carry += sums.y;
            }
            Tile<BLOCK> elements = ring.load(last, wave - 1);
            elements.scan();
            __syncthreads();
            elements.store(output, last, n, before[(wave - 1) % 2][warp] + prefix);
        }
        if (tile >= tiles) {
            break;
        }
    }
    if (tid == 0) {
        status.finish();
    }
}

}  // namespace

#define PIPELINED(BLOCK)                                                                                          \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                           \
        scan_pipelined_##BLOCK(const int* input, int* output, Word* status, unsigned n) {                         \
        pipelined<BLOCK>(input, output, status, n);                                                               \
    }
PIPELINED(1024)

#endif
