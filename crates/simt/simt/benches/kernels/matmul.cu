// A matrix product, one element per thread, for comparing interpreters.
// nvcc -ptx -arch=sm_75 matmul.cu
extern "C" __global__ void matmul(const float *a, const float *b, float *c, unsigned int n) {
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (unsigned int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
