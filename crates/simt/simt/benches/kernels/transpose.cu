// A transpose through shared memory, for comparing interpreters.
// nvcc -ptx -arch=sm_75 transpose.cu
extern "C" __global__ void transpose(const float *in, float *out, unsigned int n) {
    __shared__ float tile[32][33];
    unsigned int x = blockIdx.x * 32 + threadIdx.x;
    unsigned int y = blockIdx.y * 32 + threadIdx.y;
    for (unsigned int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (unsigned int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
