// Arithmetic: bit-exact results, functions within their error bounds, half precision, and integers.
#include "check.cuh"
#include <cmath>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void exact(const float* x, int n, unsigned* out) {
    int i = threadIdx.x;
    float a = x[i], b = x[(i + 1) % n];
    double wide = (double)a / b + sqrt((double)fabsf(b));
    unsigned hash = __float_as_uint(a / b);
    hash = hash * 31 + __float_as_uint(sqrtf(fabsf(a)));
    hash = hash * 31 + __float_as_uint(fmaf(a, b, 1.5f));
    hash = hash * 31 + __float_as_uint(__fadd_rz(a, b)) + __float2int_rn(b);
    hash = hash * 31 + __double2hiint(wide) + __double2loint(wide);
    hash = hash * 31 + __half_as_ushort(__float2half_rn(a)) + __bfloat16_as_ushort(__float2bfloat16_rn(b));
    hash = hash * 31 + __half_as_ushort(__hfma(__float2half(a), __float2half(b), __float2half(2)));
    out[i] = hash;
}

__global__ void functions(const float* x, int n, double* out) {
    int i = threadIdx.x;
    float a = x[i];
    out[i] = sinf(a);
    out[n + i] = expf(a);
    out[2 * n + i] = logf(fabsf(a));
    out[3 * n + i] = powf(fabsf(a), 1.5f);
    out[4 * n + i] = sin((double)a);
    out[5 * n + i] = exp((double)a);
    out[6 * n + i] = atan2((double)a, 2.0);
    out[7 * n + i] = erf((double)a);
}

__global__ void whole(unsigned long long* out) {
    unsigned a = 0x89abcdef, b = 0x1234567;
    int c = -17;
    out[0] = __umulhi(a, b) + ((unsigned long long)__mulhi(c, c) << 32);
    out[1] = __brev(a) + ((unsigned long long)__byte_perm(a, b, 0x5140) << 32);
    out[2] = __clz(b) + 100 * __popc(a) + 10000 * __ffs(a) + 1000000ull * __dp4a(a, b, 7u);
    out[3] = (unsigned)(c / 5) + ((unsigned long long)(unsigned)(c % 5) << 32);
    out[4] = __umul64hi(0x123456789abcdefull, 0xfedcba9876543210ull);
    out[5] = 0xfedcba9876543210ull / (a + 1ull) * 3 + 0xfedcba9876543210ull % b;
    out[6] = __funnelshift_l(a, b, 12) + ((unsigned long long)__sad(c, 40, 3u) << 32);
}

int main() {
    const int n = 64;
    float x[n], *in;
    unsigned hashes[n], total = 0;
    double *out, got[8 * n], worst[8] = {}; // the largest errors, in units of the last place
    unsigned long long integers[7];
    for (int i = 0; i < n; i++) x[i] = (i * 37 % 101 - 50) * 0.173f + 0.01f;
    CHECK(cudaMalloc(&in, sizeof(x)));
    CHECK(cudaMalloc(&out, sizeof(got)));
    CHECK(cudaMemcpy(in, x, sizeof(x), cudaMemcpyHostToDevice));
    exact<<<1, n>>>(in, n, (unsigned*)out);
    CHECK(cudaMemcpy(hashes, out, sizeof(hashes), cudaMemcpyDeviceToHost));
    for (unsigned hash : hashes) total = total * 17 + hash;
    std::printf("exact: %08x %08x\n", hashes[0], total);
    functions<<<1, n>>>(in, n, out);
    CHECK(cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        double a = x[i], positive = std::fabs(a);
        double right[8] = {std::sin(a), std::exp(a), std::log(positive), std::pow(positive, 1.5),
                           std::sin(a), std::exp(a), std::atan2(a, 2.0), std::erf(a)};
        for (int f = 0; f < 8; f++) {
            int digits = f < 4 ? 24 : 53;
            double unit = std::ldexp(1.0, std::ilogb(right[f]) - digits + 1);
            worst[f] = std::fmax(worst[f], std::fabs(got[f * n + i] - right[f]) / unit);
        }
    }
    const char* names[] = {"sinf", "expf", "logf", "powf", "sin", "exp", "atan2", "erf"};
    const double bounds[] = {2, 2, 2, 4, 2, 2, 2, 2.5};
    for (int f = 0; f < 8; f++)
        std::printf("%s: %s\n", names[f], worst[f] <= bounds[f] ? "within its bound" : "TOO FAR");
    whole<<<1, 1>>>((unsigned long long*)out);
    CHECK(cudaMemcpy(integers, out, sizeof(integers), cudaMemcpyDeviceToHost));
    for (unsigned long long value : integers) std::printf("%016llx\n", value);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return 0;
}
