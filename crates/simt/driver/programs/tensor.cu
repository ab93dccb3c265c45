// Tensor cores through nvcuda::wmma: half with float, bytes with integers, and doubles.
#include "check.cuh"
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void halves(const half* a, const half* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    for (int k = 0; k < 32; k += 16) {
        wmma::load_matrix_sync(left, a + k, 32);
        wmma::load_matrix_sync(right, b + k, 32);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 0.5f;
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void bytes(const signed char* a, const signed char* b, int* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_col_major);
}

__global__ void doubles(const double* a, const double* b, double* c) {
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::load_matrix_sync(left, a, 4);
    wmma::load_matrix_sync(right, b, 8);
    wmma::load_matrix_sync(sum, c, 8, wmma::mem_row_major);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}

// Multiplies a row-major M by K matrix with a K by N matrix whose element (k, n) is b[k * row + n * column].
template <typename T, typename C, int M, int N, int K>
static void run(const char* name, void (*kernel)(const T*, const T*, C*), int row, int column, bool turned, C plus,
                C scale) {
    T a[M * K], b[K * N], *on_a, *on_b;
    C c[M * N], *on_c;
    for (int i = 0; i < M * K; i++) a[i] = T(float(i * 7 % 13 - 6));
    for (int i = 0; i < K * N; i++) b[i] = T(float(i * 5 % 11 - 5));
    for (C& value : c) value = plus;
    CHECK(cudaMalloc(&on_a, sizeof(a)));
    CHECK(cudaMalloc(&on_b, sizeof(b)));
    CHECK(cudaMalloc(&on_c, sizeof(c)));
    CHECK(cudaMemcpy(on_a, a, sizeof(a), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(on_b, b, sizeof(b), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(on_c, c, sizeof(c), cudaMemcpyHostToDevice));
    kernel<<<1, 32>>>(on_a, on_b, on_c);
    CHECK(cudaMemcpy(c, on_c, sizeof(c), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            C expected = plus;
            for (int k = 0; k < K; k++) expected += C(float(a[m * K + k])) * C(float(b[k * row + n * column]));
            wrong += c[turned ? n * M + m : m * N + n] != expected * scale;
        }
    std::printf("%s: %d wrong, the first is %.1f\n", name, wrong, double(c[0]));
    for (void* each : {(void*)on_a, (void*)on_b, (void*)on_c}) CHECK(cudaFree(each));
}

int main() {
    run<half, float, 16, 16, 32>("halves", halves, 1, 32, false, 1.0f, 0.5f);
    run<signed char, int, 16, 16, 16>("bytes", bytes, 1, 16, true, 0, 1);
    run<double, double, 8, 8, 4>("doubles", doubles, 8, 1, false, 3.0, 1.0);
    return 0;
}
