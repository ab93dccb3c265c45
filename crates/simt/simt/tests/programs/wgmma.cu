// Products of warp groups.
// arch: compute_90a

#include "gemm.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    wgmma_cluster(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map);

// d += A B, 64 x 32 x 16 halves
__device__ inline void multiply(float *d, unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " SUMS16 ", %16, %17, 1, 1, 1, 0, 0;"
                 : REGISTERS16("+f", d) : "l"(a), "l"(b) : "memory");
}

// Both operands are in shared memory, with rows of WIDTH bytes.
template <unsigned WIDTH> __device__ void product_of_shared(unsigned *out) {
    constexpr unsigned DEPTH = 64;
    TILE unsigned char a[64 * DEPTH * 2], b[32 * DEPTH * 2];
    __shared__ int product[64 * 32];
    for (unsigned at = threadIdx.x; at < 64 * DEPTH; at += 128) {
        unsigned row = at / DEPTH, k = at % DEPTH;
        *(__half *)(a + panel_place<WIDTH>(64, row, k * 2)) = __int2half_rn(a_at(row, k));
        if (row < 32) *(__half *)(b + panel_place<WIDTH>(32, row, k * 2)) = __int2half_rn(b_at(k, row));
    }
    fence_async();
    __syncthreads();
    float d[16] = {};
    group_begin();
    for (unsigned k = 0; k < DEPTH; k += 16)
        multiply(d, descriptor<WIDTH>(a, 64, k * 2), descriptor<WIDTH>(b, 32, k * 2));
    group_end();
    group_sums(product, d);
    __syncthreads();
    check<64, 32, DEPTH>(out, product);
}

// launch: grid 1, block 128, out 2176
extern "C" __global__ void wgmma_swizzle_none(unsigned *out, unsigned *scratch) { product_of_shared<16>(out); }

// launch: grid 1, block 128, out 2176
extern "C" __global__ void wgmma_swizzle_32(unsigned *out, unsigned *scratch) { product_of_shared<32>(out); }

// launch: grid 1, block 128, out 2176
extern "C" __global__ void wgmma_swizzle_64(unsigned *out, unsigned *scratch) { product_of_shared<64>(out); }

// launch: grid 1, block 128, out 2176
extern "C" __global__ void wgmma_swizzle_128(unsigned *out, unsigned *scratch) { product_of_shared<128>(out); }

// A is in registers; B is row-major, so the product transposes it. The first product initializes the sums.
// launch: grid 1, block 128, out 2176
extern "C" __global__ void wgmma_registers(unsigned *out, unsigned *scratch) {
    TILE unsigned char b[32 * 32 * 2];
    __shared__ int product[64 * 32];
    for (unsigned at = threadIdx.x; at < 1024; at += 128)
        *(__half *)(b + panel_place<64>(32, at / 32, at % 32 * 2)) = __int2half_rn(b_at(at / 32, at % 32));
    fence_async();
    __syncthreads();
    unsigned a[2][4];
    for (unsigned i = 0; i < 8; i++) {
        unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8, k = i / 2 * 8 + threadIdx.x % 4 * 2;
        __half2 pair = __halves2half2(__int2half_rn(a_at(row, k)), __int2half_rn(a_at(row, k + 1)));
        a[i / 4][i % 4] = *(unsigned *)&pair;
    }
    float d[16];
    for (unsigned i = 0; i < 16; i++) d[i] = 1000;
    group_begin();
    for (unsigned step = 0; step < 2; step++)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %21, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " SUMS16
                     ", {%16, %17, %18, %19}, %20, p, 1, -1, 1; }"
                     : REGISTERS16("+f", d)
                     : "r"(a[step][0]), "r"(a[step][1]), "r"(a[step][2]), "r"(a[step][3]),
                       "l"(descriptor<64>(b + step * 1024, 32, 0)), "r"(step) : "memory");
    group_end();
    for (unsigned i = 0; i < 16; i++) d[i] = -d[i];
    group_sums(product, d);
    __syncthreads();
    check<64, 32, 32>(out, product);
}

// Products of bytes.
// launch: grid 1, block 128, out 2176
extern "C" __global__ void wgmma_bytes(unsigned *out, unsigned *scratch) {
    TILE signed char a[64 * 64], b[32 * 64];
    __shared__ int product[64 * 32];
    for (unsigned at = threadIdx.x; at < 64 * 64; at += 128) {
        unsigned row = at / 64, k = at % 64;
        a[panel_place<64>(64, row, k)] = a_at(row, k);
        if (row < 32) b[panel_place<64>(32, row, k)] = b_at(k, row);
    }
    fence_async();
    __syncthreads();
    int d[16] = {};
    group_begin();
    for (unsigned k = 0; k < 64; k += 32)
        asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 " SUMS16 ", %16, %17, 1;"
                     : REGISTERS16("+r", d)
                     : "l"(descriptor<64>(a, 64, k)), "l"(descriptor<64>(b, 32, k)) : "memory");
    group_end();
    group_sums(product, d);
    __syncthreads();
    check<64, 32, 64>(out, product);
}

// Writes A's 64 rows and B's 32 columns as the rows of one tensor of halves.
template <unsigned DEPTH> __device__ void fill_operands(unsigned *scratch, unsigned columns = 32) {
    for (unsigned at = threadIdx.x; at < (64 + columns) * DEPTH; at += blockDim.x) {
        unsigned row = at / DEPTH, k = at % DEPTH;
        ((__half *)scratch)[at] = __int2half_rn(row < 64 ? a_at(row, k) : b_at(k, row - 64));
    }
    __threadfence();
    asm volatile("fence.proxy.async;" : : : "memory");
    __syncthreads();
}

// A warp copies tiles of both operands with a map, and a warp group multiplies them: a ring of three stages.
// launch: grid 1, block 160, out 2208, map f16 512x96, tile 64x32, swizzle 128
extern "C" __global__ void wgmma_ring(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned char stage[3][96 * 128];
    __shared__ int product[64 * 32];
    __shared__ unsigned long long full[3], empty[3];
    fill_operands<512>(scratch);
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 3; i++) {
            init(&full[i], 1);
            init(&empty[i], 128);
        }
        fence_init();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        float d[16] = {};
        for (unsigned item = 0; item < 8; item++) {
            unsigned at = item % 3;
            wait(&full[at], item / 3 % 2);
            group_begin();
            for (unsigned k = 0; k < 64; k += 16)
                multiply(d, descriptor<128>(stage[at], 64, k * 2), descriptor<128>(stage[at] + 64 * 128, 32, k * 2));
            group_end();
            arrive(&empty[at]);
        }
        group_sums(product, d);
    } else if (threadIdx.x == 128) {
        for (unsigned item = 0; item < 8; item++) {
            unsigned at = item % 3;
            if (item >= 3) wait(&empty[at], (item / 3 - 1) % 2);
            expect(&full[at], 96 * 128);
            for (unsigned row = 0; row < 96; row += 32) load(stage[at] + row * 128, &map, &full[at], item * 64, row);
        }
    }
    __syncthreads();
    check<64, 32, 512>(out, product);
}

// Two blocks share A: each loads half of A for both blocks, and its columns of B.
// launch: grid 2, block 128, out 4352, map f16 128x128, tile 64x32, swizzle 128
extern "C" __global__ void wgmma_cluster(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned char a[64 * 128], b[32 * 128];
    __shared__ int product[64 * 32];
    __shared__ unsigned long long full;
    // Both blocks write the same numbers.
    fill_operands<128>(scratch, 64);
    begin(&full);
    float d[16] = {};
    for (unsigned item = 0; item < 2; item++) {
        if (threadIdx.x == 0) expect(&full, 96 * 128);
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : : : "memory");
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                         ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
                         : : "r"(shared(a) + blockIdx.x * 32 * 128), "l"(&map), "r"(shared(&full)), "r"(item * 64),
                           "r"(blockIdx.x * 32), "h"((unsigned short)3) : "memory");
            load(b, &map, &full, item * 64, 64 + blockIdx.x * 32);
        }
        wait(&full, item);
        group_begin();
        for (unsigned k = 0; k < 64; k += 16) multiply(d, descriptor<128>(a, 64, k * 2), descriptor<128>(b, 32, k * 2));
        group_end();
    }
    group_sums(product, d);
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : : : "memory");
    check<64, 32, 128>(out + blockIdx.x * 2176, product, 0, blockIdx.x * 32);
}

// A row of A stores two of every four elements.
// launch: grid 1, block 128, out 2176
extern "C" __global__ void wgmma_sparse(unsigned *out, unsigned *scratch) {
    TILE unsigned char a[64 * 32], b[32 * 64];
    __shared__ int product[64 * 32];
    // The position of each of the two stored elements among the four.
    auto place = [](unsigned row, unsigned chunk, unsigned which) {
        unsigned first = (row + chunk) % 3;
        return which ? first + 1 + (row * chunk) % (3 - first) : first;
    };
    for (unsigned at = threadIdx.x; at < 64 * 16; at += 128) {
        unsigned row = at / 16, k = at % 16;
        *(__half *)(a + panel_place<32>(64, row, k * 2)) = __int2half_rn(a_at(row, k / 2 * 4 + place(row, k / 2, k % 2)));
        *(__half *)(b + panel_place<64>(32, at / 32, at % 32 * 2)) = __int2half_rn(b_at(at % 32, at / 32));
    }
    fence_async();
    __syncthreads();
    unsigned metadata = 0;
    for (unsigned i = 0; i < 8; i++) {
        unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 4 * 8, chunk = threadIdx.x % 2 * 4 + i % 4;
        metadata |= (place(row, chunk, 0) | place(row, chunk, 1) << 2) << 4 * i;
    }
    float d[16] = {};
    group_begin();
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n32k32.f32.f16.f16 " SUMS16 ", %16, %17, %18, 0, 1, 1, 1, 0, 0;"
                 : REGISTERS16("+f", d)
                 : "l"(descriptor<32>(a, 64, 0)), "l"(descriptor<64>(b, 32, 0)), "r"(metadata) : "memory");
    group_end();
    group_sums(product, d);
    __syncthreads();
    unsigned wrong = 0;
    for (unsigned at = threadIdx.x; at < 2048; at += 128) {
        unsigned row = at / 32;
        int sum = 0;
        for (unsigned i = 0; i < 16; i++) {
            unsigned k = i / 2 * 4 + place(row, i / 2, i % 2);
            sum += a_at(row, k) * b_at(k, at % 32);
        }
        wrong += sum != product[at];
        out[at] = product[at];
    }
    out[2048 + threadIdx.x] = wrong;
}

// A kernel changes a map: another part of the tensor, other sizes, another tile, with a swizzle.
// launch: grid 1, block 128, out 128, map u32 32x8, tile 16x4
extern "C" __global__ void tensor_map_replaced(unsigned *out, unsigned *scratch, const __grid_constant__ TensorMap map) {
    TILE unsigned tile[128];
    TILE TensorMap changed;
    __shared__ unsigned long long full;
    TensorMap *kept = (TensorMap *)(scratch + 65536);
    fill(scratch, 8192, 1);
    begin(&full);
    if (threadIdx.x < 16) changed.words[threadIdx.x] = map.words[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
#define REPLACE(what, kind, value)                                                                                     \
    asm volatile("tensormap.replace.tile." what ", %1;" : : "r"(shared(&changed)), kind(value) : "memory")
        REPLACE("global_address.shared::cta.b1024.b64 [%0]", "l", scratch + 1024);
        REPLACE("global_dim.shared::cta.b1024.b32 [%0], 0", "r", 20);
        REPLACE("global_dim.shared::cta.b1024.b32 [%0], 1", "r", 100);
        REPLACE("global_stride.shared::cta.b1024.b64 [%0], 0", "l", 80ull);
        REPLACE("box_dim.shared::cta.b1024.b32 [%0], 0", "r", 8);
        REPLACE("box_dim.shared::cta.b1024.b32 [%0], 1", "r", 16);
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 1;" : : "r"(shared(&changed)) : "memory");
    }
    __syncwarp();
    if (threadIdx.x < 32) {
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                     "[%0], [%1], 128;" : : "l"(kept), "r"(shared(&changed)) : "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" : : "l"(kept) : "memory");
        if (threadIdx.x == 0) {
            expect(&full, 512);
            load(tile, kept, &full, 16, 90);
        }
    }
    wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}
