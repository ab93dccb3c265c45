// Matrix products of warps: wmma, mma with ldmatrix and cp.async, and sparse products.
// arch: compute_90

#include <mma.h>

#include "gemm.cuh"

// Four warps each compute a quarter of 32 x 32 sums of halves.
// launch: grid 1, block 128, out 1152
extern "C" __global__ void wmma_halves(unsigned *out, unsigned *scratch) {
    using namespace nvcuda::wmma;
    // Rows are padded by 8 halves, so that they begin in different banks.
    __shared__ alignas(32) __half a[32 * 56], b[48 * 40];
    __shared__ alignas(32) float sums[32 * 32];
    __shared__ int product[32 * 32];
    for (unsigned at = threadIdx.x; at < 32 * 48; at += 128) {
        a[at / 48 * 56 + at % 48] = __int2half_rn(a_at(at / 48, at % 48));
        b[at / 32 * 40 + at % 32] = __int2half_rn(b_at(at / 32, at % 32));
    }
    __syncthreads();
    unsigned row = threadIdx.x / 64 * 16, column = threadIdx.x / 32 % 2 * 16;
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (unsigned k = 0; k < 48; k += 16) {
        load_matrix_sync(left, a + row * 56 + k, 56);
        load_matrix_sync(right, b + k * 40 + column, 40);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(sums + row * 32 + column, sum, 32, mem_row_major);
    __syncthreads();
    for (unsigned at = threadIdx.x; at < 1024; at += 128) product[at] = (int)sums[at];
    __syncthreads();
    check<32, 32, 48>(out, product);
}

// Bytes, with a wide and a tall product; B is column-major.
// launch: grid 1, block 64, out 1088
extern "C" __global__ void wmma_bytes(unsigned *out, unsigned *scratch) {
    using namespace nvcuda::wmma;
    __shared__ alignas(32) signed char a[32 * 32], b[32 * 32];
    __shared__ alignas(32) int product[32 * 32];
    for (unsigned at = threadIdx.x; at < 1024; at += 64) {
        a[at] = a_at(at / 32, at % 32);
        b[at] = b_at(at % 32, at / 32);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        // The left half of the columns, 32 rows high.
        for (unsigned column = 0; column < 16; column += 8) {
            fragment<matrix_a, 32, 8, 16, signed char, row_major> left;
            fragment<matrix_b, 32, 8, 16, signed char, col_major> right;
            fragment<accumulator, 32, 8, 16, int> sum;
            fill_fragment(sum, 0);
            for (unsigned k = 0; k < 32; k += 16) {
                load_matrix_sync(left, a + k, 32);
                load_matrix_sync(right, b + column * 32 + k, 32);
                mma_sync(sum, left, right, sum);
            }
            store_matrix_sync(product + column, sum, 32, mem_row_major);
        }
    } else {
        // The right half, with products 32 columns wide, whose left columns are dropped.
        __shared__ alignas(32) int wide[8 * 32];
        for (unsigned row = 0; row < 32; row += 8) {
            fragment<matrix_a, 8, 32, 16, signed char, row_major> left;
            fragment<matrix_b, 8, 32, 16, signed char, col_major> right;
            fragment<accumulator, 8, 32, 16, int> sum;
            fill_fragment(sum, 0);
            for (unsigned k = 0; k < 32; k += 16) {
                load_matrix_sync(left, a + row * 32 + k, 32);
                load_matrix_sync(right, b + k, 32);
                mma_sync(sum, left, right, sum);
            }
            store_matrix_sync(wide, sum, 8, mem_col_major);
            __syncwarp();
            for (unsigned at = threadIdx.x - 32; at < 128; at += 32)
                product[(row + at / 16) * 32 + 16 + at % 16] = wide[(16 + at % 16) * 8 + at / 16];
            __syncwarp();
        }
    }
    __syncthreads();
    check<32, 32, 32>(out, product);
}

__device__ inline void load_rows(unsigned *to, const __half *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(shared(row)) : "memory");
}
__device__ inline void load_columns(unsigned *to, const __half *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(shared(row)) : "memory");
}
__device__ inline void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared(to)), "l"(from) : "memory");
}

// 64 x 64 x 128 halves: copies of tiles in three stages, four warps of 32 x 32 sums each.
// launch: grid 1, block 128, out 4224
extern "C" __global__ void mma_stages(unsigned *out, unsigned *scratch) {
    constexpr unsigned DEPTH = 128, STEP = 16, STAGES = 3;
    __shared__ alignas(16) __half a[STAGES][64][STEP + 8], b[STAGES][STEP][64 + 8];
    __half *left = (__half *)scratch, *right = left + 64 * DEPTH;
    int *product = (int *)(right + 64 * DEPTH);
    for (unsigned at = threadIdx.x; at < 64 * DEPTH; at += 128) {
        left[at] = __int2half_rn(a_at(at / DEPTH, at % DEPTH));
        right[at] = __int2half_rn(b_at(at / 64, at % 64));
    }
    __threadfence();
    __syncthreads();
    auto begin = [&](unsigned step) {
        if (step < DEPTH / STEP) {
            unsigned row = threadIdx.x / 2, half = threadIdx.x % 2 * 8;
            copy16(&a[step % STAGES][row][half], left + row * DEPTH + step * STEP + half);
            unsigned k = threadIdx.x / 8, column = threadIdx.x % 8 * 8;
            copy16(&b[step % STAGES][k][column], right + (step * STEP + k) * 64 + column);
        }
        asm volatile("cp.async.commit_group;" : : : "memory");
    };
    unsigned lane = threadIdx.x % 32, row = threadIdx.x / 64 * 32, column = threadIdx.x / 32 % 2 * 32;
    float sums[2][4][4] = {};
    for (unsigned step = 0; step < STAGES - 1; step++) begin(step);
    for (unsigned step = 0; step < DEPTH / STEP; step++) {
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        __syncthreads();
        begin(step + STAGES - 1);
        unsigned at = step % STAGES, of_a[2][4], of_b[2][4];
        for (unsigned i = 0; i < 2; i++) {
            load_rows(of_a[i], &a[at][row + i * 16 + lane % 16][lane / 16 * 8]);
            load_columns(of_b[i], &b[at][lane % 16][column + i * 16 + lane / 16 * 8]);
        }
        for (unsigned i = 0; i < 2; i++)
            for (unsigned j = 0; j < 4; j++) {
                float *d = sums[i][j];
                unsigned *fragment = of_b[j / 2] + j % 2 * 2;
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                             "{%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                             : "r"(of_a[i][0]), "r"(of_a[i][1]), "r"(of_a[i][2]), "r"(of_a[i][3]), "r"(fragment[0]),
                               "r"(fragment[1]));
            }
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < 4; j++)
            for (unsigned at = 0; at < 4; at++)
                product[(row + i * 16 + lane / 4 + at / 2 * 8) * 64 + column + j * 8 + lane % 4 * 2 + at % 2] =
                    (int)sums[i][j][at];
    __threadfence();
    __syncthreads();
    check<64, 64, DEPTH>(out, product);
}

// Bytes whose sums go back through stmatrix as halves, transposed.
// launch: grid 1, block 32, out 160
extern "C" __global__ void mma_bytes_stored(unsigned *out, unsigned *scratch) {
    __shared__ alignas(16) __half sums[8][16];
    __shared__ int product[128];
    unsigned group = threadIdx.x / 4, member = threadIdx.x % 4;
    auto four = [](auto at, unsigned line, unsigned k) {
        unsigned word = 0;
        for (unsigned i = 0; i < 4; i++) word |= (at(line, k + i) & 255u) << 8 * i;
        return word;
    };
    auto left = [](unsigned row, unsigned k) { return a_at(row, k); };
    auto right = [](unsigned column, unsigned k) { return b_at(k, column); };
    unsigned a[4], b[2];
    for (unsigned i = 0; i < 4; i++) a[i] = four(left, group + i % 2 * 8, member * 4 + i / 2 * 16);
    for (unsigned i = 0; i < 2; i++) b[i] = four(right, group, member * 4 + i * 16);
    int d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    unsigned pairs[2];
    for (unsigned i = 0; i < 2; i++) {
        __half2 pair = __halves2half2(__int2half_rn(d[2 * i]), __int2half_rn(d[2 * i + 1]));
        pairs[i] = *(unsigned *)&pair;
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                 : : "r"(shared(&sums[threadIdx.x % 8][threadIdx.x / 8 % 2 * 8])), "r"(pairs[0]), "r"(pairs[1]) : "memory");
    __syncwarp();
    for (unsigned at = threadIdx.x; at < 128; at += 32) product[at] = __half2int_rn(sums[at % 8][at / 8]);
    __syncwarp();
    check<16, 8, 32>(out, product);
}

// A row of A stores two of every four elements.
// launch: grid 1, block 32, out 160
extern "C" __global__ void mma_sparse(unsigned *out, unsigned *scratch) {
    unsigned group = threadIdx.x / 4, member = threadIdx.x % 4;
    // The position of each of the two stored elements among the four.
    auto place = [](unsigned row, unsigned chunk, unsigned which) {
        unsigned first = (row + chunk) % 3;
        return which ? first + 1 + (row * chunk) % (3 - first) : first;
    };
    auto there = [&](unsigned row, unsigned at) {
        return __int2half_rn(a_at(row, at / 2 * 4 + place(row, at / 2, at % 2)));
    };
    unsigned a[4], b[4], metadata = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned row = group + i % 2 * 8, at = member * 2 + i / 2 * 8, k = member * 2 + i * 8;
        __half2 pair = __halves2half2(there(row, at), there(row, at + 1));
        a[i] = *(unsigned *)&pair;
        pair = __halves2half2(__int2half_rn(b_at(k, group)), __int2half_rn(b_at(k + 1, group)));
        b[i] = *(unsigned *)&pair;
    }
    // The first two lanes of each group of four have the positions of four chunks of both rows.
    for (unsigned i = 0; i < 8; i++) {
        unsigned row = group + i / 4 * 8, chunk = member % 2 * 4 + i % 4;
        metadata |= (place(row, chunk, 0) | place(row, chunk, 1) << 2) << 4 * i;
    }
    float d[4] = {};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata));
    unsigned wrong = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned row = group + i / 2 * 8, column = member * 2 + i % 2;
        int sum = 0;
        for (unsigned at = 0; at < 16; at++) {
            unsigned k = at / 2 * 4 + place(row, at / 2, at % 2);
            sum += a_at(row, k) * b_at(k, column);
        }
        out[row * 8 + column] = (int)d[i];
        wrong += sum != (int)d[i];
    }
    out[128 + threadIdx.x] = wrong;
}

// 64-bit numbers, and a matrix transposed in registers.
// launch: grid 1, block 32, out 160
extern "C" __global__ void mma_doubles(unsigned *out, unsigned *scratch) {
    unsigned group = threadIdx.x / 4, member = threadIdx.x % 4;
    double d[2] = {};
    for (unsigned k = 0; k < 12; k += 4)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d[0]), "+d"(d[1])
                     : "d"((double)a_at(group, k + member) / 3), "d"((double)b_at(k + member, group) / 7));
    for (unsigned i = 0; i < 2; i++) {
        out[(group * 8 + member * 2 + i) * 2] = (unsigned)__double_as_longlong(d[i]);
        out[(group * 8 + member * 2 + i) * 2 + 1] = (unsigned)(__double_as_longlong(d[i]) >> 32);
    }
    unsigned turned;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(threadIdx.x * 0x30001u + 7));
    out[128 + threadIdx.x] = turned;
}
