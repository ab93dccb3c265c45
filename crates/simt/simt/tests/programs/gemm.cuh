// What products of matrices share: small whole numbers, whose products and sums are exact in any order, and a check.
#pragma once

#include <cuda_fp16.h>

#include "tensors.cuh"

__device__ inline int a_at(unsigned row, unsigned k) { return (int)((row * 31 + k * 17 + row * k) % 13) - 6; }
__device__ inline int b_at(unsigned k, unsigned column) { return (int)((k * 29 + column * 7 + k * column) % 11) - 5; }

// Writes a product of `rows` x `columns` behind `depth` of threads' mistakes: out has the product, then for each thread of
// the block how many of the elements that it looks at are wrong.
template <unsigned ROWS, unsigned COLUMNS, unsigned DEPTH>
__device__ void check(unsigned *out, const int *product, unsigned first_row = 0, unsigned first_column = 0) {
    unsigned wrong = 0;
    for (unsigned at = threadIdx.x; at < ROWS * COLUMNS; at += blockDim.x) {
        int sum = 0;
        for (unsigned k = 0; k < DEPTH; k++)
            sum += a_at(first_row + at / COLUMNS, k) * b_at(k, first_column + at % COLUMNS);
        wrong += sum != product[at];
        out[at] = product[at];
    }
    out[ROWS * COLUMNS + threadIdx.x] = wrong;
}

// The place, in bytes, of a byte of a row in shared memory as tensor cores read it: panels of rows of WIDTH bytes, whose 16
// bytes are exchanged unless that is the width.
template <unsigned WIDTH> __device__ inline unsigned panel_place(unsigned rows, unsigned row, unsigned byte) {
    unsigned at = byte / WIDTH * rows * WIDTH + row * WIDTH + byte % WIDTH;
    return at ^ ((at >> 7) % (WIDTH / 16)) << 4;
}

// The descriptor of such a matrix, from byte `byte` of its rows on.
template <unsigned WIDTH> __device__ inline unsigned long long descriptor(const void *matrix, unsigned rows, unsigned byte) {
    unsigned long long at = shared(matrix) + byte / WIDTH * rows * WIDTH + byte % WIDTH;
    unsigned long long mode = WIDTH == 128 ? 1 : WIDTH == 64 ? 2 : WIDTH == 32 ? 3 : 0;
    return (at & 0x3ffff) >> 4 | (unsigned long long)(rows * WIDTH >> 4) << 16 | (unsigned long long)(WIDTH * 8 >> 4) << 32 |
           mode << 62;
}

__device__ inline void group_begin() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
__device__ inline void group_end() {
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" : : : "memory");
}

#define SUMS16                                                                                                          \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define REGISTERS16(kind, d)                                                                                            \
    kind(d[0]), kind(d[1]), kind(d[2]), kind(d[3]), kind(d[4]), kind(d[5]), kind(d[6]), kind(d[7]), kind(d[8]),         \
        kind(d[9]), kind(d[10]), kind(d[11]), kind(d[12]), kind(d[13]), kind(d[14]), kind(d[15])

// 64 x 32 sums of a warp group: its registers' places in the product.
template <class T> __device__ inline void group_sums(int *product, const T *d) {
    for (unsigned i = 0; i < 16; i++) {
        unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
        product[row * 32 + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = (int)d[i];
    }
}
