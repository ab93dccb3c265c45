// Video instructions, with selectors of register parts.
// arch: compute_75

#include "common.cuh"

#define VIDEO(instruction, d, a, b, c) asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c))

__device__ inline unsigned scrambled(unsigned seed) {
    seed = seed * 747796405u + 2891336453u;
    seed = ((seed >> ((seed >> 28) + 4)) ^ seed) * 277803737u;
    return (seed >> 22) ^ seed;
}

// Two and four numbers in each register.
// launch: grid 2, block 64, out 1536
extern "C" __global__ void several_in_registers(unsigned *out, unsigned *scratch) {
    unsigned thread = global_id(), a = scrambled(thread), b = scrambled(thread + 500), c = scrambled(thread + 900);
    unsigned *at = out + thread * 12;
    VIDEO("vadd2.s32.u32.s32.sat", at[0], a, b, c);
    VIDEO("vsub2.u32.u32.u32.add", at[1], a, b, c);
    VIDEO("vavrg2.s32.s32.s32", at[2], a, b, c);
    VIDEO("vabsdiff4.u32.u32.u32.add", at[3], a, b, c);
    VIDEO("vmin4.s32.s32.s32", at[4], a, b, c);
    VIDEO("vmax2.u32.u32.s32", at[5], a, b, c);
    VIDEO("vavrg4.u32.u32.u32.add", at[6], a, b, c);
    VIDEO("vset2.s32.u32.ne.add", at[7], a, b, c);
    VIDEO("vset4.s32.s32.lt", at[8], a, b, c);
    asm("vadd4.u32.u32.u32.sat %0.b310, %1.b7610, %2.b0123, %3;" : "=r"(at[9]) : "r"(a), "r"(b), "r"(c));
    asm("vsub2.s32.s32.s32.sat %0.h1, %1.h32, %2.h01, %3;" : "=r"(at[10]) : "r"(a), "r"(b), "r"(c));
    asm("vabsdiff2.s32.s32.s32.add %0.h0, %1, %2, %3;" : "=r"(at[11]) : "r"(a), "r"(b), "r"(c));
}
