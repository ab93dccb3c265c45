// The rungs of `attention` for Hopper (kernels-gpu/src/attention/*.rs) in CUDA C++, for their default problem:
// bfloat16, heads of 128 elements, no causal mask. Comments name the Rust files, which document the algorithms.

#include "tensor_core.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

using Bf16 = unsigned short;

namespace {

// hopper.rs

constexpr unsigned D = 128, STAGES = 2, WARP_GROUP = 128, CONSUMERS = 2, ROWS = CONSUMERS * BOX_ROWS;
// log2(e) / sqrt(128).
constexpr float EXPONENT_SCALE = 0.12751743f;

__device__ __forceinline__ unsigned ceiling(unsigned a, unsigned b) { return a / b + (a % b != 0); }

// Starts a copy of the box at this column, row and matrix.
__device__ __forceinline__ void load_3d(const TensorMap& map, unsigned column, unsigned row, unsigned matrix, Shared to,
                                        Shared barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(&map), "r"(column), "r"(row), "r"(matrix), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void arrive_at(unsigned index, unsigned threads) {
    asm volatile("barrier.arrive %0, %1;" ::"r"(index), "r"(threads) : "memory");
}

#define SUMS_88(s) SUMS_64(s), SUMS_8(s, 64), SUMS_8(s, 72), SUMS_8(s, 80)
#define NUMBERS_88                                                                                                \
    NUMBERS_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
    "%83, %84, %85, %86, %87"

// Starts the product of 64 queries with the keys of a tile.
__device__ __forceinline__ void multiply_keys(float (&scores)[64], Descriptor q, Descriptor k, bool is_added) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 NUMBERS_64 "}, %64, %65, p, 1, 1, 0, 0; }"
                 : SUMS_64(scores) : "l"(q), "l"(k), "r"(static_cast<unsigned>(is_added)) : "memory");
}
__device__ __forceinline__ void multiply_keys(float (&scores)[88], Descriptor q, Descriptor k, bool is_added) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %90, 0; wgmma.mma_async.sync.aligned.m64n176k16.f32.bf16.bf16 {"
                 NUMBERS_88 "}, %88, %89, p, 1, 1, 0, 0; }"
                 : SUMS_88(scores) : "l"(q), "l"(k), "r"(static_cast<unsigned>(is_added)) : "memory");
}
// Adds the product of a fragment of weights with 16 values to the sums.
__device__ __forceinline__ void multiply_values(float (&sums)[64], const unsigned (&w)[4], Descriptor v) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NUMBERS_64
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : SUMS_64(sums) : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "l"(v) : "memory");
}
// Waits for all groups of products except the last PENDING. The sums of the finished groups may then be read.
template <unsigned PENDING>
__device__ __forceinline__ void finish_but(float (&sums)[64]) {
    asm volatile("wgmma.wait_group.sync.aligned %64;" : SUMS_64(sums) : "n"(PENDING) : "memory");
}
template <unsigned PENDING>
__device__ __forceinline__ void finish_but(float (&sums)[88]) {
    asm volatile("wgmma.wait_group.sync.aligned %88;" : SUMS_88(sums) : "n"(PENDING) : "memory");
}

// The index of a tile since the start of the kernel.
template <unsigned N>
struct Place {
    unsigned tile = 0;

    __device__ __forceinline__ unsigned stage() const { return tile % N; }
    __device__ __forceinline__ unsigned parity() const { return tile / N % 2; }
};

// Tiles of HEIGHT rows in shared memory, with the mbarriers of each tile.
template <unsigned HEIGHT>
struct Stages {
    static constexpr unsigned BYTES = HEIGHT * D * 2;
    Shared first, fulls, empties;

    __device__ __forceinline__ Shared tile(unsigned stage) const { return first + stage * BYTES; }
    __device__ __forceinline__ Shared full(unsigned stage) const { return fulls + stage * 8; }
    __device__ __forceinline__ Shared empty(unsigned stage) const { return empties + stage * 8; }

    __device__ __forceinline__ void fill(unsigned stage, const TensorMap& map, unsigned row, unsigned head) const {
        arrive_expecting(full(stage), BYTES);
#pragma unroll
        for (unsigned i = 0; i < D / 64; ++i) {
            load_3d(map, i * 64, row, head, tile(stage) + i * HEIGHT * ROW_BYTES, full(stage));
        }
    }
    template <unsigned N>
    __device__ __forceinline__ void fill_next(Place<N>& at, const TensorMap& map, unsigned row, unsigned head) const {
        wait(empty(at.stage()), at.parity() ^ 1);
        fill(at.stage(), map, row, head);
        ++at.tile;
    }
    template <unsigned N>
    __device__ __forceinline__ void leave(Place<N>& at) const {
        if (threadIdx.x % 32 == 0) {
            arrive(empty(at.stage()));
        }
        ++at.tile;
    }
};

struct Places {
    Place<1> query;
    Place<STAGES> key, value;
};

extern __shared__ unsigned char shared_bytes[];

// The queries, the stages of the keys and of the values, and the mbarriers.
template <unsigned KEYS>
struct Memory {
    static constexpr unsigned BARRIERS = ROWS * D * 2 + 2 * STAGES * KEYS * D * 2;
    Shared start;

    __device__ __forceinline__ Memory() : start(aligned_to(shared_of(shared_bytes), BOX_ALIGN)) {}
    __device__ __forceinline__ Shared barrier(unsigned index) const { return start + BARRIERS + index * 8; }
    __device__ __forceinline__ Stages<ROWS> queries() const { return {start, barrier(0), barrier(1)}; }
    __device__ __forceinline__ Stages<KEYS> keys() const {
        return {start + ROWS * D * 2, barrier(2), barrier(2 + STAGES)};
    }
    __device__ __forceinline__ Stages<KEYS> values() const {
        return {start + ROWS * D * 2 + STAGES * KEYS * D * 2, barrier(2 + 2 * STAGES), barrier(2 + 3 * STAGES)};
    }
    __device__ __forceinline__ void init() const {
#pragma unroll
        for (unsigned index = 0; index < 2 * (1 + 2 * STAGES); ++index) {
            const bool is_empty = index == 1 || (index >= 2 && (index - 2) / STAGES % 2 == 1);
            ::init(barrier(index), is_empty ? ROWS / 16 : 1);
        }
        fence_mbarrier_init();
    }
};

// ROWS queries of a head, and the tiles of keys that these queries see.
template <unsigned KEYS>
struct Work {
    unsigned head, kv_head, row, tiles, keys;

    __device__ __forceinline__ Work(unsigned index, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys)
        : keys(keys) {
        // At least one row, so that the division is defined.
        const unsigned rows = max(ceiling(queries, ROWS), 1);
        head = index / rows;
        kv_head = head / (heads / kv_heads);
        row = index % rows * ROWS;
        tiles = row < queries ? ceiling(keys, KEYS) : 0;
    }

    template <unsigned N>
    __device__ __forceinline__ void mask(float (&scores)[N], unsigned tile) const {
        const unsigned first_key = tile * KEYS;
        if (first_key + KEYS <= keys) {
            return;
        }
#pragma unroll
        for (unsigned i = 0; i < N; ++i) {
            if (first_key + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2 >= keys) {
                scores[i] = -INFINITY;
            }
        }
    }

    __device__ __forceinline__ void produce(const Memory<KEYS>& memory, const TensorMap& q_map, const TensorMap& k_map,
                                            const TensorMap& v_map, Places& at) const {
        if (tiles == 0) {
            return;
        }
        memory.queries().fill_next(at.query, q_map, row, head);
        for (unsigned tile = tiles; tile-- > 0;) {
            memory.keys().fill_next(at.key, k_map, tile * KEYS, kv_head);
            memory.values().fill_next(at.value, v_map, tile * KEYS, kv_head);
        }
    }
};

template <unsigned KEYS>
__device__ __forceinline__ void start_scores(float (&scores)[KEYS / 2], Shared queries, Shared keys) {
    fence_products();
#pragma unroll
    for (unsigned i = 0; i < D / 64; ++i) {
        const Descriptor q = tile_at<true>(queries + i * ROWS * ROW_BYTES), k = tile_at<true>(keys + i * KEYS * ROW_BYTES);
#pragma unroll
        for (unsigned step = 0; step < STEPS; ++step) {
            multiply_keys(scores, step_of<true>(q, step), step_of<true>(k, step), i + step > 0);
        }
    }
    commit_products();
}

template <unsigned KEYS>
__device__ __forceinline__ void start_sums(float (&sums)[D / 2], const unsigned (&weights)[KEYS / 16][4], Shared values) {
    const Descriptor address = (values & 0x3ffff) >> 4, leading = KEYS * ROW_BYTES >> 4;
    const Descriptor v = address | leading << 16 | static_cast<Descriptor>(BOX_ALIGN >> 4) << 32 | 1ull << 62;
    fence_products();
#pragma unroll
    for (unsigned step = 0; step < KEYS / 16; ++step) {
        multiply_values(sums, weights[step], step_of<false>(v, step));
    }
    commit_products();
}

template <unsigned N>
__device__ __forceinline__ void round_weights(const float (&from)[N], unsigned (&to)[N / 8][4]) {
#pragma unroll
    for (unsigned i = 0; i < N / 2; ++i) {
        to[i / 4][i % 4] = pair_of(from[2 * i], from[2 * i + 1]);
    }
}

struct Turn {
    unsigned consumer, next;

    __device__ __forceinline__ explicit Turn(unsigned consumer)
        : consumer(consumer), next(consumer + 1 == CONSUMERS ? 0 : consumer + 1) {
        if (next == 0) {
            pass();
        }
    }
    __device__ __forceinline__ void wait() const { sync_some(1 + consumer, 2 * WARP_GROUP); }
    __device__ __forceinline__ void pass() const { arrive_at(1 + next, 2 * WARP_GROUP); }
    __device__ __forceinline__ void end() const {
        if (consumer == 0) {
            wait();
        }
    }
};

// mma.rs

__device__ __forceinline__ float exp2_fast(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

struct Softmax {
    float max[2] = {-3.40282347e38f, -3.40282347e38f}, sum[2] = {0, 0}, factors[2];

    template <unsigned N>
    __device__ __forceinline__ void weigh(float (&scores)[N]) {
        float most[2] = {max[0], max[1]};
#pragma unroll
        for (unsigned i = 0; i < N; i += 4) {
            most[0] = fmaxf(most[0], fmaxf(scores[i], scores[i + 1]));
            most[1] = fmaxf(most[1], fmaxf(scores[i + 2], scores[i + 3]));
        }
        float offsets[2], added[2] = {0, 0};
#pragma unroll
        for (unsigned row = 0; row < 2; ++row) {
            most[row] = fmaxf(most[row], __shfl_xor_sync(0xffffffff, most[row], 1));
            most[row] = fmaxf(most[row], __shfl_xor_sync(0xffffffff, most[row], 2));
            offsets[row] = -most[row] * EXPONENT_SCALE;
            factors[row] = exp2_fast((max[row] - most[row]) * EXPONENT_SCALE);
            max[row] = most[row];
        }
#pragma unroll
        for (unsigned i = 0; i < N; i += 4) {
#pragma unroll
            for (unsigned j = 0; j < 4; ++j) {
                scores[i + j] = exp2_fast(fmaf(scores[i + j], EXPONENT_SCALE, offsets[j / 2]));
            }
            added[0] += scores[i] + scores[i + 1];
            added[1] += scores[i + 2] + scores[i + 3];
        }
#pragma unroll
        for (unsigned row = 0; row < 2; ++row) {
            sum[row] = fmaf(sum[row], factors[row], added[row]);
        }
    }

    __device__ __forceinline__ void scale(float (&sums)[D / 2]) const {
#pragma unroll
        for (unsigned i = 0; i < D / 2; ++i) {
            sums[i] *= factors[i / 2 % 2];
        }
    }

    // Divides the sums of each row by the sum of the row's weights.
    __device__ __forceinline__ void divide(float (&sums)[D / 2]) {
#pragma unroll
        for (unsigned row = 0; row < 2; ++row) {
            sum[row] += __shfl_xor_sync(0xffffffff, sum[row], 1);
            sum[row] += __shfl_xor_sync(0xffffffff, sum[row], 2);
            factors[row] = sum[row] > 0 ? 1 / sum[row] : 0;
        }
        scale(sums);
    }
};

// gemm/hopper.rs: stores up to 64 rows of a warp group; the head has `queries` rows.
__device__ __forceinline__ void store(const float (&sums)[D / 2], unsigned row, Bf16* output, unsigned queries) {
    const unsigned t = threadIdx.x % WARP_GROUP;
    row += t / 32 * 16 + t % 32 / 4;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
        if (row + 8 * half < queries) {
            unsigned* const to = reinterpret_cast<unsigned*>(output + size_t{row + 8 * half} * D) + t % 4;
#pragma unroll
            for (unsigned i = 0; i < D / 8; ++i) {
                to[4 * i] = pair_of(sums[4 * i + 2 * half], sums[4 * i + 2 * half + 1]);
            }
        }
    }
}

// overlapped.rs: the output of a warp group's 64 queries.
template <unsigned KEYS>
__device__ __forceinline__ void attend(float (&sums)[D / 2], const Memory<KEYS>& memory, const Work<KEYS>& work,
                                       unsigned consumer, const Turn& turn, Places& at) {
    if (work.tiles == 0) {
        return;
    }
    const auto of_keys = memory.keys(), of_values = memory.values();
    const Shared queries = memory.queries().tile(0) + consumer * BOX_BYTES;
    Softmax softmax;
    float scores[KEYS / 2];
    unsigned weights[KEYS / 16][4];
    wait(memory.queries().full(0), at.query.parity());
    wait(of_keys.full(at.key.stage()), at.key.parity());
    turn.wait();
    start_scores<KEYS>(scores, queries, of_keys.tile(at.key.stage()));
    turn.pass();
    finish_but<0>(scores);
    of_keys.leave(at.key);
    work.mask(scores, work.tiles - 1);
    softmax.weigh(scores);
    round_weights(scores, weights);
    for (unsigned tile = work.tiles - 1; tile-- > 0;) {
        wait(of_keys.full(at.key.stage()), at.key.parity());
        turn.wait();
        start_scores<KEYS>(scores, queries, of_keys.tile(at.key.stage()));
        wait(of_values.full(at.value.stage()), at.value.parity());
        start_sums<KEYS>(sums, weights, of_values.tile(at.value.stage()));
        turn.pass();
        finish_but<1>(scores);
        of_keys.leave(at.key);
        softmax.weigh(scores);
        finish_but<0>(sums);
        of_values.leave(at.value);
        softmax.scale(sums);
        round_weights(scores, weights);
    }
    memory.queries().leave(at.query);
    wait(of_values.full(at.value.stage()), at.value.parity());
    turn.wait();
    start_sums<KEYS>(sums, weights, of_values.tile(at.value.stage()));
    turn.pass();
    finish_but<0>(sums);
    of_values.leave(at.value);
    softmax.divide(sums);
}

}  // namespace

#define MAPS                                                                                                     \
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map, const __grid_constant__ TensorMap v_map

extern "C" __global__ void __launch_bounds__(256)
    attention_wgmma_256(MAPS, Bf16* output, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys) {
    constexpr unsigned KEYS = 128;
    const Memory<KEYS> memory;
    const Work<KEYS> work(blockIdx.x, heads, kv_heads, queries, keys);
    const auto fill = [&](unsigned stage, unsigned tile) {
        memory.keys().fill(stage, k_map, tile * KEYS, work.kv_head);
        memory.values().fill(stage, v_map, tile * KEYS, work.kv_head);
    };
    if (threadIdx.x == 0) {
        q_map.prefetch();
        k_map.prefetch();
        v_map.prefetch();
        memory.init();
        if (work.tiles > 0) {
            memory.queries().fill(0, q_map, work.row, work.head);
            fill(0, 0);
        }
    }
    __syncthreads();
    const unsigned consumer = threadIdx.x / WARP_GROUP;
    const Shared of_consumer = memory.queries().tile(0) + consumer * BOX_BYTES;
    Softmax softmax;
    float sums[D / 2] = {};
    for (unsigned tile = 0; tile < work.tiles; ++tile) {
        if (threadIdx.x == 0 && tile + 1 < work.tiles) {
            fill((tile + 1) % STAGES, tile + 1);
        }
        const Place<STAGES> at{tile};
        float scores[KEYS / 2];
        unsigned weights[KEYS / 16][4];
        wait(memory.queries().full(0), 0);
        wait(memory.keys().full(at.stage()), at.parity());
        start_scores<KEYS>(scores, of_consumer, memory.keys().tile(at.stage()));
        finish_but<0>(scores);
        work.mask(scores, tile);
        softmax.weigh(scores);
        softmax.scale(sums);
        round_weights(scores, weights);
        wait(memory.values().full(at.stage()), at.parity());
        start_sums<KEYS>(sums, weights, memory.values().tile(at.stage()));
        finish_but<0>(sums);
        __syncthreads();
    }
    softmax.divide(sums);
    store(sums, work.row + consumer * BOX_ROWS, output + size_t{work.head} * (queries * D), queries);
}

// Begins a kernel with a producer: CODE is the code of the consumers.
#define WITH_PRODUCER(FIRST, LAST, NEXT, ...)                                                                    \
    constexpr unsigned KEYS = 176;                                                                               \
    const Memory<KEYS> memory;                                                                                   \
    if (threadIdx.x == 0) {                                                                                      \
        q_map.prefetch();                                                                                        \
        k_map.prefetch();                                                                                        \
        v_map.prefetch();                                                                                        \
        memory.init();                                                                                           \
    }                                                                                                            \
    __syncthreads();                                                                                             \
    Places at;                                                                                                   \
    if (threadIdx.x < WARP_GROUP) {                                                                              \
        keep_registers<24>();                                                                                    \
        if (threadIdx.x == 0) {                                                                                  \
            for (unsigned index = FIRST; index < LAST; index += NEXT) {                                          \
                Work<KEYS>(index, heads, kv_heads, queries, keys).produce(memory, q_map, k_map, v_map, at);      \
            }                                                                                                    \
        }                                                                                                        \
        return;                                                                                                  \
    }                                                                                                            \
    take_registers<240>();                                                                                       \
    const unsigned consumer = threadIdx.x / WARP_GROUP - 1;                                                      \
    const Turn turn(consumer);                                                                                   \
    for (unsigned index = FIRST; index < LAST; index += NEXT) {                                                  \
        const Work<KEYS> work(index, heads, kv_heads, queries, keys);                                            \
        float sums[D / 2] = {};                                                                                  \
        __VA_ARGS__                                                                                              \
        store(sums, work.row + consumer * BOX_ROWS, output + size_t{work.head} * (queries * D), queries);        \
    }                                                                                                            \
    turn.end();

extern "C" __global__ void __launch_bounds__(384)
    attention_ping_pong_384(MAPS, Bf16* output, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys) {
    WITH_PRODUCER(blockIdx.x, blockIdx.x + 1, 1, {
        const auto of_queries = memory.queries();
        const auto of_keys = memory.keys(), of_values = memory.values();
        Softmax softmax;
        for (unsigned tile = work.tiles; tile-- > 0;) {
            float scores[KEYS / 2];
            unsigned weights[KEYS / 16][4];
            wait(of_queries.full(0), 0);
            wait(of_keys.full(at.key.stage()), at.key.parity());
            turn.wait();
            start_scores<KEYS>(scores, of_queries.tile(0) + consumer * BOX_BYTES, of_keys.tile(at.key.stage()));
            finish_but<0>(scores);
            of_keys.leave(at.key);
            turn.pass();
            work.mask(scores, tile);
            softmax.weigh(scores);
            softmax.scale(sums);
            round_weights(scores, weights);
            wait(of_values.full(at.value.stage()), at.value.parity());
            turn.wait();
            start_sums<KEYS>(sums, weights, of_values.tile(at.value.stage()));
            finish_but<0>(sums);
            of_values.leave(at.value);
            turn.pass();
        }
        softmax.divide(sums);
    })
}

extern "C" __global__ void __launch_bounds__(384)
    attention_overlapped_384(MAPS, Bf16* output, unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys) {
    WITH_PRODUCER(blockIdx.x, blockIdx.x + 1, 1, { attend(sums, memory, work, consumer, turn, at); })
}

extern "C" __global__ void __launch_bounds__(384)
    attention_persistent_384(MAPS, Bf16* output, unsigned batch, unsigned heads, unsigned kv_heads, unsigned queries,
                             unsigned keys) {
    const unsigned all = ceiling(queries, ROWS) * batch * heads;
    WITH_PRODUCER(blockIdx.x, all, gridDim.x, { attend(sums, memory, work, consumer, turn, at); })
}

#endif
