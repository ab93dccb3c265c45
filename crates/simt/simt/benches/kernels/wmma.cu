#include <mma.h>

using namespace nvcuda::wmma;

// A warp computes a tile of 16 by 16 with the fragments of C++ (`wmma`).
extern "C" __global__ void wmma_gemm(const float *a, const float *b, float *c, unsigned n) {
    unsigned row = blockIdx.y * 16, column = blockIdx.x * 16;
    fragment<accumulator, 16, 16, 8, float> sum;
    fill_fragment(sum, 0.0f);
    for (unsigned k = 0; k < n; k += 8) {
        fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> left;
        fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> right;
        load_matrix_sync(left, a + row * n + k, n);
        load_matrix_sync(right, b + k * n + column, n);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(c + row * n + column, sum, n, mem_row_major);
}
