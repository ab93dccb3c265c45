// Shared by the matrix products: small integers, whose products and sums are exact in any order, and a check.
#pragma once

#include <cuda_fp16.h>

#include "tensors.cuh"

__device__ inline int a_at(unsigned row, unsigned k) { return (int)((row * 31 + k * 17 + row * k) % 13) - 6; }
__device__ inline int b_at(unsigned k, unsigned column) { return (int)((k * 29 + column * 7 + k * column) % 11) - 5; }

// Writes a product of `rows` x `columns` with the inner dimension `depth`, followed by one word per thread of the
// block: the number of wrong elements that the thread finds.
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

// The byte offset of a byte of a row in shared memory, in the layout that tensor cores read: panels of rows of WIDTH
// bytes. The 16-byte chunks of a row are swizzled, unless the width is 16.
template <unsigned WIDTH> __device__ inline unsigned panel_place(unsigned rows, unsigned row, unsigned byte) {
    unsigned at = byte / WIDTH * rows * WIDTH + row * WIDTH + byte % WIDTH;
    return at ^ ((at >> 7) % (WIDTH / 16)) << 4;
}

// The descriptor of such a matrix, starting at byte `byte` of its rows.
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

// The 64 x 32 sums of a warp group, stored to the product from each thread's registers.
template <class T> __device__ inline void group_sums(int *product, const T *d) {
    for (unsigned i = 0; i < 16; i++) {
        unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
        product[row * 32 + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = (int)d[i];
    }
}
