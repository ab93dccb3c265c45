// The kernels of kernels.cu as native loops: `cc -O3 -march=native -fopenmp -ffast-math` vectorizes and parallelizes
// them.
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef const float *restrict input;
typedef float *restrict output;

void saxpy(input x, output y, unsigned n) {
#pragma omp parallel for simd
    for (unsigned i = 0; i < n; i++) y[i] = 1.5f * x[i] + y[i];
}

void mandelbrot(input unused, output out, unsigned n) {
#pragma omp parallel for schedule(dynamic, 4)
    for (unsigned row = 0; row < n; row++) {
        for (unsigned column = 0; column < n; column++) {
            float cx = 3.0f * column / n - 2.0f, cy = 2.0f * row / n - 1.0f, x = 0.0f, y = 0.0f;
            int steps = 0;
            for (; steps < 128 && x * x + y * y < 4.0f; steps++) {
                float next = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = next;
            }
            out[row * n + column] = steps;
        }
    }
}

void matmul(input in, output out, unsigned n) {
    const float *a = in, *b = in + n * n;
#pragma omp parallel for
    for (unsigned row = 0; row < n; row++) {
        float *to = out + row * n;
        memset(to, 0, n * sizeof *to);
        for (unsigned k = 0; k < n; k++) {
            float left = a[row * n + k];
#pragma omp simd
            for (unsigned column = 0; column < n; column++) to[column] += left * b[k * n + column];
        }
    }
}

void matmul_tiled(input in, output out, unsigned n) { matmul(in, out, n); }

void tensor_matmul(input in, output out, unsigned n) { matmul(in, out, n); }

void transpose(input in, output out, unsigned n) {
#pragma omp parallel for collapse(2)
    for (unsigned top = 0; top < n; top += 32)
        for (unsigned first = 0; first < n; first += 32)
            for (unsigned x = first; x < first + 32; x++)
                for (unsigned y = top; y < top + 32; y++) out[x * n + y] = in[y * n + x];
}

void histogram(input in, output out, unsigned n) {
    unsigned *all = (unsigned *)out;
#pragma omp parallel
    {
        unsigned counts[256] = {0};
#pragma omp for nowait
        for (unsigned i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, in + i, sizeof bits);
            counts[bits >> 15 & 255]++;
        }
#pragma omp critical
        for (int i = 0; i < 256; i++) all[i] += counts[i];
    }
}

void reduction(input in, output out, unsigned n) {
    float sum = 0.0f;
#pragma omp parallel for simd reduction(+ : sum)
    for (unsigned i = 0; i < n; i++) sum += in[i];
    out[0] += sum;
}

void nbody(input in, output out, unsigned n) {
#pragma omp parallel for
    for (unsigned i = 0; i < n; i++) {
        float x = in[3 * i], y = in[3 * i + 1], z = in[3 * i + 2], ax = 0.0f, ay = 0.0f, az = 0.0f;
        for (unsigned j = 0; j < n; j++) {
            float dx = in[3 * j] - x, dy = in[3 * j + 1] - y, dz = in[3 * j + 2] - z;
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f), weight = inverse * inverse * inverse;
            ax += dx * weight;
            ay += dy * weight;
            az += dz * weight;
        }
        out[3 * i] = ax;
        out[3 * i + 1] = ay;
        out[3 * i + 2] = az;
    }
}

void xorshift(input unused, output out, unsigned n) {
    uint32_t *to = (uint32_t *)out;
#pragma omp parallel for
    for (unsigned i = 0; i < n; i++) {
        uint32_t state = i * 2654435761u + 1;
        for (int round = 0; round < 64; round++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
        }
        to[i] = state;
    }
}

void stencil(input in, output out, unsigned n) {
#pragma omp parallel for
    for (unsigned y = 1; y < n - 1; y++)
#pragma omp simd
        for (unsigned x = 1; x < n - 1; x++) {
            unsigned at = y * n + x;
            out[at] = 0.2f * (in[at] + in[at - 1] + in[at + 1] + in[at - n] + in[at + n]);
        }
}

void softmax(input in, output out, unsigned n) {
#pragma omp parallel for
    for (unsigned row = 0; row < n; row++) {
        const float *from = in + row * n;
        float *to = out + row * n, most = from[0], sum = 0.0f;
        for (unsigned i = 0; i < n; i++) most = from[i] > most ? from[i] : most;
        for (unsigned i = 0; i < n; i++) {
            to[i] = expf(from[i] - most);
            sum += to[i];
        }
        for (unsigned i = 0; i < n; i++) to[i] /= sum;
    }
}

void rmsnorm(input in, output out, unsigned n) {
#pragma omp parallel for
    for (unsigned row = 0; row < n; row++) {
        const float *from = in + row * n;
        float *to = out + row * n, sum = 0.0f;
        for (unsigned i = 0; i < n; i++) sum += from[i] * from[i];
        float factor = 1.0f / sqrtf(sum / n + 1e-5f);
        for (unsigned i = 0; i < n; i++) to[i] = from[i] * factor;
    }
}

void attention(input in, output out, unsigned n) {
#pragma omp parallel for
    for (unsigned query = 0; query < n; query++) {
        const float *q = in + query * 32;
        float sums[32] = {0}, most = -1e30f, weights = 0.0f;
        for (unsigned k = 0; k < n; k++) {
            const float *key = in + (n + k) * 32, *value = in + (2 * n + k) * 32;
            float score = 0.0f;
            for (int d = 0; d < 32; d++) score += q[d] * key[d];
            float more = score > most ? score : most, scale = expf(most - more), weight = expf(score - more);
            most = more;
            weights = weights * scale + weight;
            for (int d = 0; d < 32; d++) sums[d] = sums[d] * scale + weight * value[d];
        }
        for (int d = 0; d < 32; d++) out[query * 32 + d] = sums[d] / weights;
    }
}
