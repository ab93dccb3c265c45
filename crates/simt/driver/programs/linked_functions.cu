// The second file of linked.cu.

__device__ int shared_counter = 1000;
extern __device__ float offset;

__device__ float curve(float x) { return 2 * x + offset; }

__global__ void other_kernel(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += curve(1) + shared_counter;
}
