// A warp computes a tile of 16 by 8: each lane loads its elements of the fragments.
extern "C" __global__ void mma_gemm(const float *a, const float *b, float *c, unsigned n) {
    unsigned group = threadIdx.x / 4, member = threadIdx.x % 4;
    unsigned row = blockIdx.y * 16 + group, column = blockIdx.x * 8;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (unsigned k = member; k < n; k += 8) {
        const float *left = a + row * n + k, *right = b + k * n + column + group;
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(__float_as_uint(left[0])), "r"(__float_as_uint(left[8 * n])), "r"(__float_as_uint(left[4])),
              "r"(__float_as_uint(left[8 * n + 4])), "r"(__float_as_uint(right[0])), "r"(__float_as_uint(right[4 * n])));
    }
    float *to = c + row * n + column + 2 * member;
    to[0] = sum[0];
    to[1] = sum[1];
    to[8 * n] = sum[2];
    to[8 * n + 1] = sum[3];
}
