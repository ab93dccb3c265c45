// Ordinary kernels for the comparison with native loops. Compiled with `nvcc -ptx -arch=compute_80 kernels.cu`.
#include <cuda_fp16.h>

extern "C" {

__global__ void saxpy(const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.5f * x[i] + y[i];
}

__global__ void mandelbrot(const float *unused, float *out, unsigned n) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    float cx = 3.0f * column / n - 2.0f, cy = 2.0f * row / n - 1.0f, x = 0.0f, y = 0.0f;
    int steps = 0;
    for (; steps < 128 && x * x + y * y < 4.0f; steps++) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
    }
    out[row * n + column] = steps;
}

__global__ void matmul(const float *in, float *out, unsigned n) {
    const float *a = in, *b = in + n * n;
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    float sum = 0.0f;
    for (unsigned k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    out[row * n + column] = sum;
}

__global__ void matmul_tiled(const float *in, float *out, unsigned n) {
    __shared__ float left[16][16], right[16][16];
    const float *a = in, *b = in + n * n;
    unsigned x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0.0f;
    for (unsigned tile = 0; tile < n; tile += 16) {
        left[y][x] = a[row * n + tile + x];
        right[y][x] = b[(tile + y) * n + column];
        __syncthreads();
        for (unsigned k = 0; k < 16; k++) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    out[row * n + column] = sum;
}

__global__ void transpose(const float *in, float *out, unsigned n) {
    __shared__ float tile[32][33];
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (unsigned j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (unsigned j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void histogram(const float *in, float *out, unsigned n) {
    __shared__ unsigned counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    unsigned all = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += all) atomicAdd(&counts[__float_as_uint(in[i]) >> 15 & 255], 1);
    __syncthreads();
    atomicAdd((unsigned *)out + threadIdx.x, counts[threadIdx.x]);
}

__global__ void reduction(const float *in, float *out, unsigned n) {
    __shared__ float parts[256];
    unsigned all = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += all) sum += in[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, parts[0]);
}

__global__ void nbody(const float *in, float *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[3 * i], y = in[3 * i + 1], z = in[3 * i + 2], ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (unsigned j = 0; j < n; j++) {
        float dx = in[3 * j] - x, dy = in[3 * j + 1] - y, dz = in[3 * j + 2] - z;
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), weight = inverse * inverse * inverse;
        ax += dx * weight;
        ay += dy * weight;
        az += dz * weight;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
}

__global__ void xorshift(const float *in, float *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned state = i * 2654435761u + 1;
    for (int round = 0; round < 64; round++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
    }
    ((unsigned *)out)[i] = state;
}

__global__ void stencil(const float *in, float *out, unsigned n) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x + 1 >= n || y + 1 >= n) return;
    unsigned at = y * n + x;
    out[at] = 0.2f * (in[at] + in[at - 1] + in[at + 1] + in[at - n] + in[at + n]);
}

// One warp per row.
__global__ void softmax(const float *in, float *out, unsigned n) {
    unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    const float *from = in + row * n;
    float most = -INFINITY, sum = 0.0f;
    for (unsigned i = lane; i < n; i += 32) most = fmaxf(most, from[i]);
    for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
    for (unsigned i = lane; i < n; i += 32) sum += __expf(from[i] - most);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    for (unsigned i = lane; i < n; i += 32) out[row * n + i] = __expf(from[i] - most) / sum;
}

// One warp per row.
__global__ void rmsnorm(const float *in, float *out, unsigned n) {
    unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    const float *from = in + row * n;
    float sum = 0.0f;
    for (unsigned i = lane; i < n; i += 32) sum += from[i] * from[i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    float factor = rsqrtf(sum / n + 1e-5f);
    for (unsigned i = lane; i < n; i += 32) out[row * n + i] = from[i] * factor;
}

// Queries, keys and values of 32 elements each, one thread per query, with the softmax computed in one pass.
__global__ void attention(const float *in, float *out, unsigned n) {
    __shared__ float keys[64][32], values[64][32];
    unsigned query = blockIdx.x * 64 + threadIdx.x;
    float q[32], sums[32], most = -INFINITY, weights = 0.0f;
    for (int d = 0; d < 32; d++) {
        q[d] = in[query * 32 + d];
        sums[d] = 0.0f;
    }
    for (unsigned tile = 0; tile < n; tile += 64) {
        __syncthreads();
        for (int d = 0; d < 32; d++) {
            keys[threadIdx.x][d] = in[(n + tile + threadIdx.x) * 32 + d];
            values[threadIdx.x][d] = in[(2 * n + tile + threadIdx.x) * 32 + d];
        }
        __syncthreads();
        for (int k = 0; k < 64; k++) {
            float score = 0.0f;
            for (int d = 0; d < 32; d++) score += q[d] * keys[k][d];
            float more = fmaxf(most, score), scale = __expf(most - more), weight = __expf(score - more);
            most = more;
            weights = weights * scale + weight;
            for (int d = 0; d < 32; d++) sums[d] = sums[d] * scale + weight * values[k][d];
        }
    }
    for (int d = 0; d < 32; d++) out[query * 32 + d] = sums[d] / weights;
}

// A matrix product on tensor cores: one warp per tile of 16 by 8.
__global__ void tensor_matmul(const float *in, float *out, unsigned n) {
    const float *a = in, *b = in + n * n;
    unsigned group = threadIdx.x / 4, member = threadIdx.x % 4, row = blockIdx.y * 16 + group, column = blockIdx.x * 8;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (unsigned k = 0; k < n; k += 16) {
        unsigned left[4], right[2];
        for (int part = 0; part < 4; part++) {
            const float *from = a + (row + part % 2 * 8) * n + k + part / 2 * 8 + 2 * member;
            __half2 pair = __floats2half2_rn(from[0], from[1]);
            left[part] = *(unsigned *)&pair;
        }
        for (int part = 0; part < 2; part++) {
            const float *from = b + (k + part * 8 + 2 * member) * n + column + group;
            __half2 pair = __floats2half2_rn(from[0], from[n]);
            right[part] = *(unsigned *)&pair;
        }
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    }
    float *to = out + row * n + column + 2 * member;
    to[0] = sum[0];
    to[1] = sum[1];
    to[8 * n] = sum[2];
    to[8 * n + 1] = sum[3];
}
}
