// The instructions of tensor cores, one function each, as in kernels-gpu/src/tensor_core/*.rs and copy_async.rs: those
// files cite the sections of the PTX ISA and document the requirements on callers.
#pragma once

// An address in shared memory for these instructions: the offset in the shared window.
using Shared = unsigned;

__device__ __forceinline__ Shared shared_of(const void* pointer) {
    return static_cast<Shared>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ Shared aligned_to(Shared place, unsigned bytes) {
    return (place + bytes - 1) & ~(bytes - 1);
}

// Starts a copy of 4 or 16 bytes to shared memory, or writes zeros if the bytes do not exist.
__device__ __forceinline__ void copy_one(Shared to, const void* from, bool exists) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(exists ? 4 : 0) : "memory");
}
__device__ __forceinline__ void copy_four(Shared to, const void* from, bool exist) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(exist ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <unsigned PENDING>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Packs two sums as bfloat16 into one word.
__device__ __forceinline__ unsigned pair_of(float first, float second) {
    unsigned bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
    return bits;
}

// Rounds a sum to bfloat16.
__device__ __forceinline__ unsigned short rounded(float sum) {
    const unsigned bits = __float_as_uint(sum), half = 0x7fff + (bits >> 16 & 1);
    return static_cast<unsigned short>(sum != sum ? 0x7fff : (bits + half) >> 16);
}

// Fragment: 16 lines of a factor, 16 elements deep, in the registers of a warp. WarpSums: a warp's sums of 16 rows and
// 16 columns.
struct Fragment {
    unsigned registers[4];
};
struct WarpSums {
    float sums[2][4];
};

// Returns the half of the lines, or the half along k, of one of the four matrices of a fragment.
template <bool OF_B>
__device__ __forceinline__ unsigned line_half(unsigned matrix) {
    return OF_B ? matrix / 2 : matrix % 2;
}
template <bool OF_B>
__device__ __forceinline__ unsigned k_half(unsigned matrix) {
    return OF_B ? matrix % 2 : matrix / 2;
}

template <bool ALONG_K>
__device__ __forceinline__ Fragment load_fragment(Shared row) {
    Fragment f;
    unsigned(&r)[4] = f.registers;
    if (ALONG_K) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
    }
    return f;
}

__device__ __forceinline__ void multiply_add(WarpSums& to, const Fragment& a_fragment, const Fragment& b_fragment) {
    const unsigned(&a)[4] = a_fragment.registers;
    const unsigned(&b)[4] = b_fragment.registers;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
        float(&s)[4] = to.sums[half];
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * half]), "r"(b[2 * half + 1]));
    }
}

// Instructions of Hopper.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Boxes of 64 rows of 128 bytes, whose chunks of 16 bytes are swizzled.
constexpr unsigned ROW_BYTES = 128, BOX_ROWS = 64, BOX_BYTES = BOX_ROWS * ROW_BYTES, BOX_ALIGN = 8 * ROW_BYTES;
// The number of products of 16 along k in a row.
constexpr unsigned STEPS = ROW_BYTES / 32;

__device__ __forceinline__ unsigned place_in_box(unsigned row, unsigned chunk) {
    return row * ROW_BYTES + ((chunk ^ (row % 8)) << 4);
}

// mbarriers.
__device__ __forceinline__ void init(Shared barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(Shared barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_expecting(Shared barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(Shared barrier, unsigned parity) {
    unsigned is_over;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(is_over) : "r"(barrier), "r"(parity) : "memory");
    } while (is_over == 0);
}
__device__ __forceinline__ void fence_for_bulk_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// Makes initialized mbarriers visible to bulk copies.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Starts a copy of contiguous bytes to shared memory. The mbarrier counts the bytes that arrive.
__device__ __forceinline__ void load_row(const void* from, unsigned bytes, Shared to, Shared barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier) : "memory");
}
__device__ __forceinline__ void sync_some(unsigned index, unsigned threads) {
    asm volatile("barrier.sync %0, %1;" ::"r"(index), "r"(threads) : "memory");
}

// A tensor map encoded by the driver: CUtensorMap of cuda.h.
struct alignas(64) TensorMap {
    unsigned long long opaque[16];

    __device__ __forceinline__ void prefetch() const {
        asm volatile("prefetch.tensormap [%0];" ::"l"(this) : "memory");
    }
    __device__ __forceinline__ void load(unsigned column, unsigned row, Shared to, Shared barrier) const {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(this), "r"(column), "r"(row), "r"(barrier)
                     : "memory");
    }
    __device__ __forceinline__ void store(unsigned column, unsigned row, Shared from) const {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(this),
                     "r"(column), "r"(row), "r"(from) : "memory");
    }
};

__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <unsigned PENDING>
__device__ __forceinline__ void wait_for_stores() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ void store_fragment(Shared to, const unsigned (&f)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(f[0]), "r"(f[1]),
                 "r"(f[2]), "r"(f[3]) : "memory");
}

template <unsigned REGISTERS>
__device__ __forceinline__ void keep_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS) : "memory");
}
template <unsigned REGISTERS>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS) : "memory");
}

// Describes a tile of boxes to the tensor cores: its rows run along k or across k.
using Descriptor = unsigned long long;

template <bool ALONG_K>
__device__ __forceinline__ Descriptor tile_at(Shared place) {
    const Descriptor leading = ALONG_K ? 16 : BOX_BYTES, swizzle_128 = 1ull << 62;
    const Descriptor address = (place & 0x3ffff) >> 4;
    return address | leading >> 4 << 16 | static_cast<Descriptor>(BOX_ALIGN >> 4) << 32 | swizzle_128;
}
// Returns the descriptor for a product of 16 along k.
template <bool ALONG_K>
__device__ __forceinline__ Descriptor step_of(Descriptor tile, unsigned step) {
    return tile + step * ((ALONG_K ? 32 : 16 * ROW_BYTES) >> 4);
}

__device__ __forceinline__ void fence_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <unsigned PENDING>
__device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Registers of sums as operands, and the numbers of the operands.
#define SUMS_8(s, i)                                                                                         \
    "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3]), "+f"(s[i + 4]), "+f"(s[i + 5]), "+f"(s[i + 6]), \
        "+f"(s[i + 7])
#define SUMS_32(s, i) SUMS_8(s, i), SUMS_8(s, i + 8), SUMS_8(s, i + 16), SUMS_8(s, i + 24)
#define SUMS_64(s) SUMS_32(s, 0), SUMS_32(s, 32)
#define SUMS_128(s) SUMS_64(s), SUMS_32(s, 64), SUMS_32(s, 96)
#define NUMBERS_64                                                                                           \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "   \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "   \
    "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
    "%62, %63"
#define NUMBERS_128                                                                                          \
    NUMBERS_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
    "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
    "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, " \
    "%119, %120, %121, %122, %123, %124, %125, %126, %127"

// Starts the product of 64 rows of a with 128 or 256 columns of a row-major b, and adds the product to the sums or
// replaces the sums with it.
__device__ __forceinline__ void multiply(float (&sums)[64], Descriptor a, Descriptor b, bool is_added) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 NUMBERS_64 "}, %64, %65, p, 1, 1, 0, 1; }"
                 : SUMS_64(sums) : "l"(a), "l"(b), "r"(static_cast<unsigned>(is_added)) : "memory");
}
__device__ __forceinline__ void multiply(float (&sums)[128], Descriptor a, Descriptor b, bool is_added) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 NUMBERS_128 "}, %128, %129, p, 1, 1, 0, 1; }"
                 : SUMS_128(sums) : "l"(a), "l"(b), "r"(static_cast<unsigned>(is_added)) : "memory");
}

// Waits for all products, after which the sums may be read.
__device__ __forceinline__ void finish(float (&sums)[64]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" : SUMS_64(sums)::"memory");
}
__device__ __forceinline__ void finish(float (&sums)[128]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" : SUMS_128(sums)::"memory");
}

#endif
