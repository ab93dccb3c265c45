// Kernels from templates: several types of one kernel in one module, and functors and lambdas as arguments.
#include "check.cuh"

template <typename T, int WIDTH>
__global__ void sums(const T* in, T* out, int rows) {
    __shared__ T partial[WIDTH];
    int row = blockIdx.x;
    if (row >= rows) return;
    partial[threadIdx.x] = in[row * WIDTH + threadIdx.x];
    for (int half = WIDTH / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[row] = partial[0];
}

template <typename T, typename F>
__global__ void apply(T* data, int n, F function) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] = function(data[i]);
}

template <typename... Ts>
__global__ void fold(double* out, Ts... values) {
    *out = (0.0 + ... + values);
}

struct Affine {
    double scale, plus;
    __host__ __device__ double operator()(double x) const { return scale * x + plus; }
};

struct Clamp {
    int least, most;
    __device__ int operator()(int x) const { return x < least ? least : x > most ? most : x; }
};

template <typename T, int WIDTH>
static double run(int rows) {
    T *in, *out, host[1024], total[8];
    for (int i = 0; i < rows * WIDTH; i++) host[i] = T(i % 50) / T(2);
    CHECK(cudaMalloc(&in, sizeof(host)));
    CHECK(cudaMalloc(&out, sizeof(total)));
    CHECK(cudaMemcpy(in, host, rows * WIDTH * sizeof(T), cudaMemcpyHostToDevice));
    sums<T, WIDTH><<<rows, WIDTH>>>(in, out, rows);
    CHECK(cudaMemcpy(total, out, rows * sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    double all = 0;
    for (int i = 0; i < rows; i++) all += double(total[i]);
    return all;
}

int main() {
    std::printf("int %.2f\n", run<int, 64>(8));
    std::printf("float %.2f\n", run<float, 128>(8));
    std::printf("double %.2f\n", run<double, 256>(4));
    std::printf("unsigned short %.2f\n", run<unsigned short, 32>(8));
    double *data, values[100];
    int *whole, ints[100];
    for (int i = 0; i < 100; i++) ints[i] = i, values[i] = i;
    CHECK(cudaMalloc(&data, sizeof(values)));
    CHECK(cudaMalloc(&whole, sizeof(ints)));
    CHECK(cudaMemcpy(data, values, sizeof(values), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(whole, ints, sizeof(ints), cudaMemcpyHostToDevice));
    apply<<<1, 64>>>(data, 100, Affine{2, 0.5});
    apply<<<2, 32>>>(data, 50, Affine{1, 1000});
    apply<<<1, 32>>>(whole, 100, Clamp{20, 30});
    CHECK(cudaMemcpy(values, data, sizeof(values), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(ints, whole, sizeof(ints), cudaMemcpyDeviceToHost));
    std::printf("%.1f %.1f %.1f, %d %d %d\n", values[0], values[49], values[99], ints[0], ints[25], ints[99]);
    fold<<<1, 1>>>(data, 1, 2.5f, 3.25, (short)-4, 5000000000ll);
    CHECK(cudaMemcpy(values, data, sizeof(double), cudaMemcpyDeviceToHost));
    std::printf("%.2f\n", values[0]);
    CHECK(cudaFree(data));
    CHECK(cudaFree(whole));
    return 0;
}
