// Calls that are not inlined: function pointers, recursion, virtual functions, and a table of functions.
#include "check.cuh"

typedef int (*Operation)(int, int);

__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int least(int a, int b) { return a < b ? a : b; }
__device__ Operation table[3] = {plus, times, least};
__device__ Operation chosen = least;

__global__ void by_table(const int* data, int n, int* out) {
    Operation operation = table[threadIdx.x % 3]; // lanes of one warp call different functions
    int result = data[0];
    for (int i = 1; i < n; i++) result = operation(result, data[i]);
    out[threadIdx.x] = result;
}

__global__ void by_argument(Operation operation, int* out) { out[threadIdx.x] = operation(threadIdx.x + 5, 8); }

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void recursive(unsigned* out) {
    out[threadIdx.x] = fibonacci(threadIdx.x) * 100 + ackermann(2, threadIdx.x % 4);
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
};
struct Box : Shape {
    float width, height;
    __device__ Box(float w, float h) : width(w), height(h) {}
    __device__ float area() const override { return width * height; }
    __device__ int corners() const override { return 4; }
};
struct Disc : Shape {
    float radius;
    __device__ explicit Disc(float r) : radius(r) {}
    __device__ float area() const override { return 3 * radius * radius; }
};

__global__ void make(Shape** shapes) {
    int i = threadIdx.x;
    if (i % 2) shapes[i] = new Disc(i);
    else shapes[i] = new Box(i, i + 1);
}

__global__ void measure(Shape** shapes, float* out) {
    const Shape* shape = shapes[threadIdx.x];
    out[threadIdx.x] = shape->area() * 10 + shape->corners();
}

int main() {
    int data[] = {9, 4, 7, 3}, *in, *out, values[16];
    CHECK(cudaMalloc(&in, sizeof(data)));
    CHECK(cudaMalloc(&out, sizeof(values)));
    CHECK(cudaMemcpy(in, data, sizeof(data), cudaMemcpyHostToDevice));
    by_table<<<1, 6>>>(in, 4, out);
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("table: %d %d %d %d\n", values[0], values[1], values[2], values[3]);
    Operation operation;
    CHECK(cudaMemcpyFromSymbol(&operation, chosen, sizeof(operation)));
    by_argument<<<1, 6>>>(operation, out);
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("argument: %d %d\n", values[0], values[5]);
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
    recursive<<<1, 16>>>((unsigned*)out);
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("recursive: %d %d %d\n", values[0], values[7], values[15]);
    Shape** shapes;
    float areas[6];
    CHECK(cudaMalloc(&shapes, sizeof(areas) * 2));
    make<<<1, 6>>>(shapes);
    measure<<<1, 6>>>(shapes, (float*)out);
    CHECK(cudaMemcpy(areas, out, sizeof(areas), cudaMemcpyDeviceToHost));
    for (float area : areas) std::printf("%.0f ", area);
    std::printf("\n");
    for (void* each : {(void*)in, (void*)out, (void*)shapes}) CHECK(cudaFree(each));
    return 0;
}
