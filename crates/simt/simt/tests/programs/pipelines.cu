// The barriers and pipelines of libcu++, and the copies of cooperative groups.
// arch: compute_90

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "common.cuh"

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

// Fills the block's numbers before they are copied, and returns their address.
__device__ inline unsigned *numbers(unsigned *scratch, unsigned count) {
    unsigned *source = scratch + blockIdx.x * 8192;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) source[i] = i * 2654435761u >> 12;
    __threadfence();
    asm volatile("fence.proxy.async;" : : : "memory");
    __syncthreads();
    return source;
}

// Arrivals separate from waits, and threads that leave.
// launch: grid 2, block 96, out 192
extern "C" __global__ void barrier_tokens(unsigned *out, unsigned *scratch) {
    __shared__ Barrier barrier;
    __shared__ unsigned values[96];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    unsigned value = global_id();
    for (unsigned round = 0; round < 6; round++) {
        values[threadIdx.x] = value;
        Barrier::arrival_token token = barrier.arrive();
        unsigned next = value * 5 + round;
        barrier.wait(cuda::std::move(token));
        value = values[(threadIdx.x + 11) % 96] * 3 + next;
        if (threadIdx.x % 6 == round && round > 2) {
            barrier.arrive_and_drop();
            break;
        }
        barrier.arrive_and_wait();
    }
    out[global_id()] = value;
}

// A completion function, which runs after all threads have arrived.
struct Adds {
    unsigned *sum, *phases;
    __device__ void operator()() const { *phases = *phases * 3 + *sum; }
};

// launch: grid 1, block 64, out 64
extern "C" __global__ void barrier_with_a_function(unsigned *out, unsigned *scratch) {
    using Counted = cuda::barrier<cuda::thread_scope_block, Adds>;
    __shared__ Counted barrier;
    __shared__ unsigned sum, phases;
    if (threadIdx.x == 0) {
        sum = phases = 0;
        init(&barrier, 64, Adds{&sum, &phases});
    }
    __syncthreads();
    unsigned seen = 0;
    for (unsigned round = 0; round < 4; round++) {
        atomicAdd(&sum, threadIdx.x + round);
        barrier.arrive_and_wait();
        seen = seen * 7 + phases;
        barrier.arrive_and_wait();
    }
    out[threadIdx.x] = seen;
}

// A libcu++ barrier that expects bytes.
// launch: grid 2, block 64, out 256
extern "C" __global__ void barrier_of_bytes(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned tile[128];
    __shared__ Barrier barrier;
    unsigned *source = numbers(scratch, 128);
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    __syncthreads();
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(tile, source, cuda::aligned_size_t<16>(512), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, 512);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(cuda::std::move(token));
    for (unsigned i = threadIdx.x; i < 128; i += 64) out[blockIdx.x * 128 + i] = tile[127 - i];
}

// A group's copy, which arrives at a barrier when it completes.
// launch: grid 2, block 64, out 128
extern "C" __global__ void barrier_memcpy(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned tile[2][256];
    __shared__ Barrier barrier[2];
    unsigned *source = numbers(scratch, 2048);
    auto block = cg::this_thread_block();
    if (block.thread_rank() < 2) init(&barrier[block.thread_rank()], block.size());
    block.sync();
    cuda::memcpy_async(block, tile[0], source, sizeof tile[0], barrier[0]);
    unsigned sum = 0;
    for (unsigned item = 0; item < 8; item++) {
        unsigned next = item + 1;
        if (next < 8) cuda::memcpy_async(block, tile[next % 2], source + next * 256, sizeof tile[0], barrier[next % 2]);
        barrier[item % 2].arrive_and_wait();
        for (unsigned i = 0; i < 4; i++) sum = sum * 3 + tile[item % 2][(threadIdx.x * 5 + i * 64) % 256];
        block.sync();
    }
    out[global_id()] = sum;
}

// A separate pipeline for each thread.
// launch: grid 2, block 64, out 128
extern "C" __global__ void pipeline_of_threads(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) uint4 stage[3][64];
    unsigned *source = numbers(scratch, 64 * 4 * 10);
    auto pipeline = cuda::make_pipeline();
    unsigned sum = 0;
    for (unsigned item = 0, begun = 0; item < 10; item++) {
        for (; begun < 10 && begun < item + 3; begun++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&stage[begun % 3][threadIdx.x], (uint4 *)source + begun * 64 + threadIdx.x,
                               cuda::aligned_size_t<16>(16), pipeline);
            pipeline.producer_commit();
        }
        cuda::pipeline_consumer_wait_prior<2>(pipeline);
        if (item >= 8) cuda::pipeline_consumer_wait_prior<0>(pipeline);
        uint4 got = stage[item % 3][threadIdx.x];
        sum = sum * 3 + (got.x ^ got.y) + (got.z ^ got.w);
        pipeline.consumer_release();
    }
    out[global_id()] = sum;
}

// All threads of a block produce and consume.
// launch: grid 2, block 128, out 256
extern "C" __global__ void pipeline_of_a_block(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned stage[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    unsigned *source = numbers(scratch, 128 * 9);
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    unsigned sum = 0;
    for (unsigned item = 0, begun = 0; item < 9; item++) {
        for (; begun < 9 && begun < item + 2; begun++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stage[begun % 2], source + begun * 128, cuda::aligned_size_t<16>(512), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum = sum * 5 + stage[item % 2][(threadIdx.x * 3 + item) % 128];
        pipeline.consumer_release();
    }
    out[global_id()] = sum;
}

// One warp produces, the others consume.
// launch: grid 2, block 128, out 256
extern "C" __global__ void pipeline_with_roles(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned stage[4][96];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 4> state;
    unsigned *source = numbers(scratch, 96 * 12);
    auto block = cg::this_thread_block();
    bool produces = threadIdx.x < 32;
    auto role = produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipeline = cuda::make_pipeline(block, &state, role);
    unsigned sum = 0;
    for (unsigned item = 0; item < 12; item++) {
        if (produces) {
            pipeline.producer_acquire();
            for (unsigned i = threadIdx.x; i < 96; i += 32)
                cuda::memcpy_async(&stage[item % 4][i], source + item * 96 + i, cuda::aligned_size_t<4>(4), pipeline);
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            sum = sum * 3 + stage[item % 4][(threadIdx.x * 7) % 96];
            pipeline.consumer_release();
        }
    }
    out[global_id()] = sum;
}

// Copies of cooperative groups, in two stages.
// launch: grid 2, block 64, out 128
extern "C" __global__ void group_memcpy(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) unsigned stage[2][100];
    unsigned *source = numbers(scratch, 100 * 7);
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, stage[0], source, 400);
    unsigned sum = 0;
    for (unsigned item = 0; item < 7; item++) {
        if (item + 1 < 7) {
            cg::memcpy_async(block, stage[(item + 1) % 2], source + (item + 1) * 100, 400);
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum = sum * 3 + stage[item % 2][(threadIdx.x + item * 9) % 100];
        block.sync();
    }
    out[global_id()] = sum;
}
