// Ordinary kernels in CUDA C++, each with one launch.
//
// A comment `launch:` has the options of `simt run` and `ladder why`. A comment `problem:` is above a kernel with one known
// problem. The comment has the name of the bound or of the optimization that the verdict must name.

#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void

__device__ inline unsigned global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A pseudorandom number below 2^20.
__device__ inline unsigned scattered(unsigned i) { return (i * 2654435761u) >> 12; }

// ---- Streams

// launch: --grid 4096 --block 256 --arg u32:1048576 f32:2 f32[1048576]=rand:1 f32[1048576]=rand:2
KERNEL saxpy(unsigned n, float a, const float *x, float *y) {
    unsigned i = global_id();
    if (i < n) y[i] = a * x[i] + y[i];
}

// launch: --grid 1024 --block 256 --arg u32:262144 f32:2 f32[1048576]=rand:1 f32[1048576]=rand:2
KERNEL saxpy_float4(unsigned n, float a, const float4 *x, float4 *y) {
    unsigned i = global_id();
    if (i >= n) return;
    float4 from = x[i], to = y[i];
    y[i] = make_float4(a * from.x + to.x, a * from.y + to.y, a * from.z + to.z, a * from.w + to.w);
}

// launch: --grid 2048 --block 256 --arg u32:524288 f64[524288]=rand:1 f64[524288]=rand:2 f64[524288]
KERNEL triad_double(unsigned n, const double *a, const double *b, double *c) {
    unsigned i = global_id();
    if (i < n) c[i] = a[i] + 3.0 * b[i];
}

// launch: --grid 2048 --block 256 --arg u32:524288 f16[1048576]=rand:1 f16[1048576]=rand:2
KERNEL half2_axpy(unsigned n, const __half2 *x, __half2 *y) {
    unsigned i = global_id();
    if (i < n) y[i] = __hfma2(__float2half2_rn(0.5f), x[i], y[i]);
}

// launch: --grid 528 --block 256 --arg u32:1048576 f32[1048576]=rand:1 f32[1048576]=rand:2 f32[1]
KERNEL dot_grid_stride(unsigned n, const float *a, const float *b, float *sum) {
    float partial = 0;
    for (unsigned i = global_id(); i < n; i += gridDim.x * blockDim.x) partial += a[i] * b[i];
    for (int step = 16; step > 0; step /= 2) partial += __shfl_xor_sync(~0u, partial, step);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, partial);
}

// launch: --grid 2048 --block 256 --arg u32:524288 u8[1572864]=rand:1 u8[524288]
KERNEL rgb_to_gray(unsigned n, const unsigned char *rgb, unsigned char *gray) {
    unsigned i = global_id();
    if (i >= n) return;
    gray[i] = (77 * rgb[3 * i] + 151 * rgb[3 * i + 1] + 28 * rgb[3 * i + 2]) >> 8;
}

// launch: --grid 4096 --block 256 --arg u32:700000 f32[1048576]=rand:1
KERNEL early_return(unsigned n, float *x) {
    unsigned i = global_id();
    if (i >= n) return;
    if (x[i] < 0.25f) return;
    x[i] = sqrtf(x[i]);
}

// ---- Stencils

// launch: --grid 2048 --block 256 --arg u32:524288 f32[524288]=rand:1 f32[524288]
KERNEL stencil_1d(unsigned n, const float *from, float *to) {
    unsigned i = global_id();
    if (i < 3 || i + 3 >= n) return;
    float sum = 0;
    for (int k = -3; k <= 3; k++) sum += from[(int)i + k];
    to[i] = sum / 7;
}

// launch: --grid 32x128 --block 32x8 --arg u32:1024 f32[1048576]=rand:1 f32[1048576]
KERNEL stencil_2d(unsigned side, const float *from, float *to) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x + 1 >= side || y + 1 >= side) return;
    unsigned i = y * side + x;
    to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - side] + from[i + side]);
}

// launch: --grid 64x64 --block 16x16 --arg u32:1024 f32[1048576]=rand:1 f32[1048576]
KERNEL stencil_2d_tile(unsigned side, const float *from, float *to) {
    __shared__ float tile[18][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    int first_x = blockIdx.x * 16 - 1, first_y = blockIdx.y * 16 - 1;
    for (int k = threadIdx.y * 16 + threadIdx.x; k < 18 * 18; k += 256) {
        int tx = first_x + k % 18, ty = first_y + k / 18;
        bool inside = tx >= 0 && ty >= 0 && tx < (int)side && ty < (int)side;
        tile[k / 18][k % 18] = inside ? from[ty * side + tx] : 0;
    }
    __syncthreads();
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    to[y * side + x] = 0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}

// launch: --grid 16x16x8 --block 8x8x4 --arg f32[524288]=rand:1 f32[524288]
KERNEL heat_3d(const float *from, float *to) {
    unsigned x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    unsigned i = (z * 128 + y) * 128 + x;
    float here = from[i], sum = -6 * here;
    sum += x > 0 ? from[i - 1] : here;
    sum += x < 127 ? from[i + 1] : here;
    sum += y > 0 ? from[i - 128] : here;
    sum += y < 127 ? from[i + 128] : here;
    sum += z > 0 ? from[i - 16384] : here;
    sum += z < 31 ? from[i + 16384] : here;
    to[i] = here + 0.1f * sum;
}

// launch: --grid 32x128 --block 32x8 --arg u8[1048576]=rand:1 u8[1048576]
KERNEL game_of_life(const unsigned char *from, unsigned char *to) {
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) alive += from[((y + dy) & 1023) * 1024 + ((x + dx) & 1023)] >> 7;
    to[y * 1024 + x] = alive == 3 || (alive == 2 && from[y * 1024 + x] >> 7) ? 255 : 0;
}

// Each thread of a block loads 63 of the 64 words that its neighbor loads.
// problem: tiling
// launch: --grid 1024 --block 256 --arg f32[262208]=rand:1 f32[262144]
KERNEL wide_filter(const float *from, float *to) {
    unsigned i = global_id();
    float sum = 0;
    for (int k = 0; k < 64; k++) sum += from[i + k];
    to[i] = sum;
}

// ---- Uncoalesced accesses

// problem: coalescing
// launch: --grid 1056 --block 256 --arg f32[4325376]=rand:1 f32[270336]
KERNEL strided_load(const float *from, float *to) {
    unsigned i = global_id();
    to[i] = from[16 * i];
}

// problem: coalescing
// launch: --grid 32x32 --block 32x8 --arg f32[1048576]=rand:1 f32[1048576]
KERNEL transpose_store(const float *from, float *to) {
    unsigned x = blockIdx.x * 32 + threadIdx.x;
    for (unsigned y = blockIdx.y * 32 + threadIdx.y; y < blockIdx.y * 32 + 32; y += 8) to[x * 1024 + y] = from[y * 1024 + x];
}

struct Particle {
    float x, y, z, mass, vx, vy, vz, charge;
};

// problem: coalescing
// launch: --grid 2048 --block 256 --arg f32[4194304]=rand:1 f32[524288]
KERNEL array_of_structs(const Particle *from, float *mass) {
    unsigned i = global_id();
    mass[i] = from[i].mass * 2;
}

// launch: --grid 2048 --block 256 --arg f32[524288]=rand:1 f32[524288]
KERNEL struct_of_arrays(const float *from, float *mass) {
    unsigned i = global_id();
    mass[i] = from[i] * 2;
}

// Each thread sums neighbors, so the lanes of a warp are 128 bytes apart.
// problem: coalescing
// launch: --grid 1024 --block 128 --arg f32[4194304]=rand:1 f32[131072]
KERNEL chunk_per_thread(const float *from, float *to) {
    unsigned i = global_id();
    float sum = 0;
    for (unsigned k = 0; k < 32; k++) sum += from[i * 32 + k];
    to[i] = sum;
}

// problem: coalescing
// launch: --grid 2048 --block 256 --arg f32[1048576]=rand:1 f32[524288]
KERNEL gather_random(const float *from, float *to) {
    unsigned i = global_id();
    to[i] = from[scattered(i)];
}

// problem: coalescing
// launch: --grid 2048 --block 256 --arg f32[524288]=rand:1 f32[1048576]
KERNEL scatter_random(const float *from, float *to) {
    unsigned i = global_id();
    to[scattered(i)] = from[i];
}

// One thread per row of a matrix of 4096 × 64.
// problem: coalescing
// launch: --grid 1056 --block 256 --arg f32[17301504]=rand:1 f32[64]=rand:2 f32[270336]
KERNEL row_per_thread(const float *matrix, const float *vector, float *to) {
    unsigned row = global_id();
    float sum = 0;
    for (unsigned k = 0; k < 64; k += 4) sum += matrix[row * 64 + k] * vector[k];
    to[row] = sum;
}

// ---- Shared memory

// launch: --grid 32x32 --block 32x8 --arg f32[1048576]=rand:1 f32[1048576]
KERNEL transpose_padded(const float *from, float *to) {
    __shared__ float tile[32][33];
    unsigned x = threadIdx.x, column = blockIdx.x * 32, row = blockIdx.y * 32;
    for (unsigned y = threadIdx.y; y < 32; y += 8) tile[y][x] = from[(row + y) * 1024 + column + x];
    __syncthreads();
    for (unsigned y = threadIdx.y; y < 32; y += 8) to[(column + y) * 1024 + row + x] = tile[x][y];
}

// All lanes of a warp read one bank.
// problem: bank conflicts
// launch: --grid 528 --block 256 --arg f32[135168]=rand:1 f32[135168]
KERNEL bank_column(const float *from, float *to) {
    __shared__ float tile[32][32];
    unsigned i = global_id(), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned k = 0; k < 4; k++) tile[4 * warp + k][lane] = from[i] + k;
    __syncthreads();
    float sum = 0;
    for (unsigned k = 0; k < 32; k++) sum += tile[lane][(k + warp) % 32];
    to[i] = sum;
}

// The lanes of a warp read 8 banks.
// problem: bank conflicts
// launch: --grid 528 --block 256 --arg f32[135168]=rand:1 f32[135168]
KERNEL bank_stride_4(const float *from, float *to) {
    __shared__ float words[1024];
    unsigned i = global_id();
    for (unsigned k = threadIdx.x; k < 1024; k += 256) words[k] = from[i] * k;
    __syncthreads();
    float sum = 0;
    for (unsigned k = 0; k < 64; k++) sum += words[(4 * threadIdx.x + k) % 1024];
    to[i] = sum;
}

// A column of a tile with 16 doubles per row: 16 lanes access each pair of banks.
// problem: bank conflicts
// launch: --grid 528 --block 256 --arg f64[135168]=rand:1 f64[135168]
KERNEL bank_doubles(const double *from, double *to) {
    __shared__ double tile[256 * 16];
    unsigned i = global_id();
    for (unsigned k = 0; k < 16; k++) tile[threadIdx.x * 16 + k] = from[i] + k;
    __syncthreads();
    double sum = 0;
    for (unsigned k = 0; k < 16; k++) sum += tile[(threadIdx.x ^ 1) * 16 + k];
    to[i] = sum;
}

// launch: --grid 2048 --block 256 --arg f32[524288]=rand:1 f32[2048]
KERNEL reduce_tree(const float *from, float *to) {
    __shared__ float sums[256];
    sums[threadIdx.x] = from[global_id()];
    for (unsigned half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) to[blockIdx.x] = sums[0];
}

// launch: --grid 1024 --block 256 --arg u32[262144]=rand:1 u32[262144]
KERNEL scan_block(const unsigned *from, unsigned *to) {
    __shared__ unsigned sums[2][256];
    unsigned i = threadIdx.x, now = 0;
    sums[0][i] = from[global_id()];
    for (unsigned step = 1; step < 256; step *= 2) {
        __syncthreads();
        sums[1 - now][i] = sums[now][i] + (i >= step ? sums[now][i - step] : 0);
        now = 1 - now;
    }
    to[global_id()] = sums[now][i];
}

// launch: --grid 264 --block 256 --arg u32[67584]=rand:1 u32[67584]
KERNEL bitonic_sort(const unsigned *from, unsigned *to) {
    __shared__ unsigned words[256];
    unsigned i = threadIdx.x;
    words[i] = from[global_id()];
    for (unsigned size = 2; size <= 256; size *= 2) {
        for (unsigned step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            unsigned other = i ^ step;
            if (other > i) {
                unsigned a = words[i], b = words[other];
                if (((i & size) == 0) == (a > b)) words[i] = b, words[other] = a;
            }
        }
    }
    __syncthreads();
    to[global_id()] = words[i];
}

// launch: --grid 16 --block 256 --arg f32[16384]=rand:1 f32[16384]
KERNEL nbody(const float4 *bodies, float4 *forces) {
    __shared__ float4 tile[128];
    unsigned i = global_id();
    float4 body = bodies[i], force = make_float4(0, 0, 0, 0);
    for (unsigned first = 0; first < 256; first += 128) {
        if (threadIdx.x < 128) tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (unsigned k = 0; k < 128; k++) {
            float4 other = tile[k];
            float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float strength = other.w * inverse * inverse * inverse;
            force.x += strength * dx, force.y += strength * dy, force.z += strength * dz;
        }
        __syncthreads();
    }
    forces[i] = force;
}

// Each round of 1024 threads ends at a barrier.
// problem: barriers
// launch: --grid 132 --block 1024 --arg f32[135168]=rand:1 f32[135168]
KERNEL barrier_rounds(const float *from, float *to) {
    __shared__ float words[1024];
    words[threadIdx.x] = from[global_id()];
    float sum = 0;
    for (unsigned k = 0; k < 64; k++) {
        __syncthreads();
        if (threadIdx.x == k) words[0] += 1;
        __syncthreads();
        sum += words[0];
    }
    to[global_id()] = sum;
}

// ---- Divergence

// problem: divergence
// launch: --grid 1056 --block 256 --arg f32[270336]=rand:1 f32[270336]
KERNEL divergent_parity(const float *from, float *to) {
    unsigned i = global_id();
    float value = from[i];
    if (threadIdx.x % 2 == 0) {
        for (int k = 0; k < 100; k++) value = value * 0.99f + 0.1f;
    } else {
        for (int k = 0; k < 100; k++) value = sqrtf(value + k);
    }
    to[i] = value;
}

// problem: divergence
// launch: --grid 1056 --block 256 --arg u32[270336]=rand:1 u32[270336]
KERNEL divergent_switch(const unsigned *from, unsigned *to) {
    unsigned i = global_id(), value = from[i];
    for (int k = 0; k < 8; k++) {
        switch (value % 8) {
        case 0: value = value / 3 + 7; break;
        case 1: value = value * 5 + (value >> 3); break;
        case 2: value ^= value << 7; break;
        case 3: value = __popc(value) * 77 + k; break;
        case 4: value = __brev(value) >> 5; break;
        case 5: value = value / 7 * 3 + 1; break;
        case 6: value += value % 11; break;
        default: value = ~value >> 2;
        }
    }
    to[i] = value;
}

// problem: divergence
// launch: --grid 1056 --block 256 --arg f32[270336]=rand:1 f32[270336]
KERNEL imbalanced_loop(const float *from, float *to) {
    unsigned i = global_id();
    float value = from[i];
    unsigned rounds = scattered(i) % 128;
    for (unsigned k = 0; k < rounds; k++) value = value * 1.01f - 0.5f * k;
    to[i] = value;
}

// problem: divergence
// launch: --grid 32x32 --block 16x16 --arg u32[262144]
KERNEL mandelbrot(unsigned *counts) {
    unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    // Neighboring threads get distant points, so their iteration counts differ.
    float cr = -2 + (x * 37 % 512) * (3.0f / 512), ci = -1.5f + (y * 53 % 512) * (3.0f / 512);
    float re = 0, im = 0;
    unsigned k = 0;
    while (k < 64 && re * re + im * im < 4) {
        float next = re * re - im * im + cr;
        im = 2 * re * im + ci;
        re = next;
        k++;
    }
    counts[y * 512 + x] = k;
}

// ---- Too few blocks, warps or registers

// problem: too few blocks
// launch: --grid 8 --block 256 --arg f32[262144]=rand:1 f32[2048]
KERNEL few_blocks(const float *from, float *to) {
    float sum = 0;
    for (unsigned i = global_id(); i < 262144; i += gridDim.x * blockDim.x) sum += from[i];
    to[global_id()] = sum;
}

// problem: too few blocks
// launch: --grid 1 --block 1024 --arg f32[65536]=rand:1 f32[1]
KERNEL one_block(const float *from, float *to) {
    __shared__ float sums[1024];
    float sum = 0;
    for (unsigned i = threadIdx.x; i < 65536; i += 1024) sum += from[i];
    sums[threadIdx.x] = sum;
    for (unsigned half = 512; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *to = sums[0];
}

// Each step waits for the previous one.
// problem: too few blocks
// launch: --grid 132 --block 64 --arg f32[8448]=rand:1 f32[8448]
KERNEL dependent_chain(const float *from, float *to) {
    float value = from[global_id()];
    for (int k = 0; k < 500; k++) value = fmaf(value, 0.999f, 0.001f);
    to[global_id()] = value;
}

// A block of one thread leaves 31 lanes of its warp without work.
// problem: divergence
// launch: --grid 16896 --block 1 --arg f32[16896]=rand:1 f32[16896]
KERNEL one_thread_blocks(const float *from, float *to) {
    float value = from[blockIdx.x];
    for (int k = 0; k < 20; k++) value = value / 1.5f + 1;
    to[blockIdx.x] = value;
}

// 100 sums in registers allow only a few warps per multiprocessor, and the loads of each step wait for memory.
// problem: occupancy
// launch: --grid 264 --block 256 --arg f32[67584]=rand:1 f32[67584]
KERNEL many_registers(const float *from, float *to) {
    unsigned i = global_id();
    float sums[100];
#pragma unroll
    for (int k = 0; k < 100; k++) sums[k] = k;
    unsigned at = i;
    for (int round = 0; round < 6; round++) {
        float value = from[at];
        at = (unsigned)(value * 67583.0f);
#pragma unroll
        for (int k = 0; k < 100; k++) sums[k] = sums[k] * value + sums[(k + 1) % 100];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 100; k++) sum += sums[k] * sums[k];
    to[i] = sum;
}

// 48 KiB of shared memory for 64 threads. Their scattered loads use half of the L2's throughput.
// launch: --grid 1056 --block 64 --arg f32[67584]=rand:1 f32[67584]
KERNEL shared_hog(const float *from, float *to) {
    __shared__ float table[12288];
    unsigned i = global_id();
    for (unsigned k = threadIdx.x; k < 12288; k += 1024) table[k] = from[i];
    __syncthreads();
    float value = table[(threadIdx.x ^ 1) + blockIdx.x % 2 * 1024];
    unsigned at = i;
    for (int k = 0; k < 16; k++) at = (unsigned)(from[at] * 67583.0f), value += at;
    to[i] = value;
}

// At most 32 registers per thread, for twice that number of values.
// launch: --grid 132 --block 1024 --arg f32[270336]=rand:1 f32[135168]
KERNEL __launch_bounds__(1024, 2) spilled(const float *from, float *to) {
    unsigned i = global_id();
    float values[64];
#pragma unroll
    for (int k = 0; k < 64; k++) values[k] = from[(i + 64 * k) % 270336];
    float sum = 0;
    for (int round = 0; round < 2; round++) {
#pragma unroll
        for (int k = 0; k < 64; k++) values[k] = values[k] * values[(k * 7 + 3) % 64] + round, sum += values[k];
    }
    to[i] = sum;
}

// launch: --grid 1056 --block 128 --arg u32[135168]=rand:1 u32[135168]
KERNEL local_array(const unsigned *from, unsigned *to) {
    unsigned i = global_id(), counts[16] = {};
    for (unsigned k = 0; k < 16; k++) counts[from[(i + 128 * k) % 135168] % 16]++;
    unsigned most = 0;
    for (unsigned k = 0; k < 16; k++) most = max(most, counts[k]);
    to[i] = most;
}

// ---- Atomics

// problem: privatization
// launch: --grid 2112 --block 256 --arg u32[540672]=rand:1 u32[1]
KERNEL count_all(const unsigned *from, unsigned *count) {
    if (from[global_id()] < 128) atomicAdd(count, 1);
}

// problem: privatization
// launch: --grid 1056 --block 256 --arg f32[270336]=rand:1 f32[1]
KERNEL sum_all(const float *from, float *sum) {
    atomicAdd(sum, from[global_id()]);
}

// problem: privatization
// launch: --grid 1056 --block 256 --arg u8[270336]=rand:1 u32[256]
KERNEL histogram_global(const unsigned char *from, unsigned *bins) {
    atomicAdd(&bins[from[global_id()]], 1);
}

// launch: --grid 264 --block 256 --arg u8[1081344]=rand:1 u32[256]
KERNEL histogram_shared(const unsigned char *from, unsigned *bins) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = global_id(); i < 1081344; i += gridDim.x * blockDim.x) atomicAdd(&own[from[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// problem: privatization
// launch: --grid 528 --block 256 --arg u32[135168]=rand:1 u32[528]
KERNEL shared_atomics_hot(const unsigned *from, unsigned *to) {
    __shared__ unsigned bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    unsigned value = from[global_id()];
    for (unsigned k = 0; k < 16; k++) atomicAdd(&bins[(value >> k) % 4], value);
    __syncthreads();
    if (threadIdx.x == 0) to[blockIdx.x] = bins[0] + bins[1] + bins[2] + bins[3];
}

// launch: --grid 2048 --block 256 --arg u32[524288]=rand:1 u32[524288]
KERNEL atomics_spread(const unsigned *from, unsigned *to) {
    atomicMax(&to[global_id()], from[global_id()]);
}

// launch: --grid 2048 --block 256 --arg u32[524288]=rand:1 u32[524288] u32[1]
KERNEL compact_warp(const unsigned *from, unsigned *to, unsigned *count) {
    unsigned value = from[global_id()], lane = threadIdx.x % 32;
    unsigned kept = __ballot_sync(~0u, value < 64), first = 0;
    if (lane == 0) first = atomicAdd(count, __popc(kept));
    first = __shfl_sync(~0u, first, 0);
    if (value < 64) to[first + __popc(kept & ((1u << lane) - 1))] = value;
}

// ---- Latency

// All lanes of a warp follow one path. Each step waits for the previous one.
// problem: latency
// launch: --grid 1056 --block 256 --arg u32[65536]=rand:1 u32[270336]
KERNEL pointer_chase(const unsigned *next, unsigned *to) {
    unsigned at = global_id() / 32;
    for (int k = 0; k < 32; k++) at = (next[at % 65536] * 251 + at * 7) % 65536;
    to[global_id()] = at;
}

// problem: latency
// launch: --grid 528 --block 512 --arg f64[64]=rand:1 f32[270336]
KERNEL uniform_search(const double *sorted, float *to) {
    double sum = 0;
    unsigned at = blockIdx.x % 64;
    for (int k = 0; k < 12; k++) {
        double value = sorted[at];
        at = (unsigned)(value * 63.0);
        sum += value;
    }
    to[global_id()] = (float)sum;
}

// ---- Arithmetic

__constant__ float COEFFICIENTS[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                       17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

// launch: --grid 2048 --block 256 --arg f32[524288]=rand:1 f32[524288]
KERNEL constant_broadcast(const float *from, float *to) {
    float x = from[global_id()], sum = 0;
    for (int k = 0; k < 32; k++) sum = sum * x + COEFFICIENTS[k];
    to[global_id()] = sum;
}

// launch: --grid 1056 --block 256 --arg u32[270336]=rand:1 f32[270336]
KERNEL constant_divergent(const unsigned *from, float *to) {
    unsigned at = from[global_id()];
    float sum = 0;
    for (int k = 0; k < 8; k++) sum += COEFFICIENTS[(at + k) % 32];
    to[global_id()] = sum;
}

// launch: --grid 1056 --block 256 --arg f32[270336]=rand:1 f32[270336]
KERNEL transcendental(const float *from, float *to) {
    float x = from[global_id()];
    to[global_id()] = __expf(x) * __sinf(x) + __logf(x + 1) + tanhf(x) + powf(x + 1, 1.5f);
}

// launch: --grid 1056 --block 256 --arg u32:17 u32[270336]=rand:1 u32[270336]
KERNEL integer_division(unsigned by, const unsigned *from, unsigned *to) {
    unsigned value = from[global_id()] * 16777259u, sum = 0;
    for (int k = 0; k < 8; k++) sum += value % (by + k), value /= by;
    to[global_id()] = sum;
}

// launch: --grid 2048 --block 256 --arg u64[524288]=rand:1 u32[524288]
KERNEL bits(const unsigned long long *from, unsigned *to) {
    unsigned long long value = from[global_id()] * 0x9e3779b97f4a7c15ull;
    to[global_id()] = __popcll(value) + __clzll(value) + __ffsll(value) + __brev((unsigned)value) % 7;
}

// launch: --grid 528 --block 256 --arg u32:40 u32[528]
KERNEL monte_carlo(unsigned rounds, unsigned *hits) {
    unsigned state = global_id() * 747796405u + 2891336453u, inside = 0;
    for (unsigned k = 0; k < rounds; k++) {
        state = state * 1664525u + 1013904223u;
        float x = (state >> 8) * (1.0f / 16777216);
        state = state * 1664525u + 1013904223u;
        float y = (state >> 8) * (1.0f / 16777216);
        inside += x * x + y * y < 1;
    }
    unsigned all = __reduce_add_sync(~0u, inside);
    if (threadIdx.x % 32 == 0) atomicAdd(&hits[blockIdx.x], all);
}

// launch: --grid 528 --block 256 --arg f64[135168]=rand:1 f64[135168]
KERNEL double_newton(const double *from, double *to) {
    double a = from[global_id()] + 1, x = a;
    for (int k = 0; k < 6; k++) x = 0.5 * (x + a / x);
    to[global_id()] = x;
}

// ---- Matrices

// launch: --grid 16x16 --block 16x16 --arg f32[32768]=rand:1 f32[32768]=rand:2 f32[65536]
KERNEL product_global(const float *a, const float *b, float *c) {
    unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (unsigned k = 0; k < 128; k++) sum += a[y * 128 + k] * b[k * 256 + x];
    c[y * 256 + x] = sum;
}

// Rows of 8 numbers, one thread per row.
// launch: --grid 512 --block 256 --arg u32[131073]=iota f32[1048576]=rand:1 f32[1048576]=rand:2 f32[131072]
KERNEL spmv_csr(const unsigned *rows, const float *values, const float *vector, float *to) {
    unsigned row = global_id();
    float sum = 0;
    for (unsigned k = 8 * rows[row]; k < 8 * rows[row + 1]; k++) sum += values[k] * vector[(k * 40503u) % 1048576];
    to[row] = sum;
}

// launch: --grid 512 --block 256 --arg f32[1048576]=rand:1 f32[256]=rand:2 f32[4096]
KERNEL matrix_vector_warp(const float *matrix, const float *vector, float *to) {
    unsigned row = global_id() / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (unsigned k = lane; k < 256; k += 32) sum += matrix[row * 256 + k] * vector[k];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) to[row] = sum;
}
