// Shared by the kernels with asynchronous copies: mbarriers in shared memory, and their instructions.
#pragma once

#include "common.cuh"

__device__ inline unsigned shared(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }

__device__ inline void init(unsigned long long *barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared(barrier)), "r"(count) : "memory");
}
// Makes initialized mbarriers visible to the other blocks of the cluster and to copies.
__device__ inline void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); }
__device__ inline unsigned long long arrive(unsigned long long *barrier, unsigned count = 1) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state) : "r"(shared(barrier)), "r"(count) : "memory");
    return state;
}
// Arrives, and expects bytes of copies.
__device__ inline void expect(unsigned long long *barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                 : : "r"(shared(barrier)), "r"(bytes) : "memory");
}
__device__ inline bool test(unsigned long long *barrier, unsigned parity) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared(barrier)), "r"(parity) : "memory");
    return done != 0;
}
__device__ inline bool try_wait(unsigned long long *barrier, unsigned parity) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 1000; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared(barrier)), "r"(parity) : "memory");
    return done != 0;
}
__device__ inline void wait(unsigned long long *barrier, unsigned parity) {
    while (!try_wait(barrier, parity)) {
    }
}
__device__ inline void copy_in(void *to, const void *from, unsigned bytes, unsigned long long *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 : : "r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(barrier)) : "memory");
}
__device__ inline void copy_out(void *to, const void *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
template <int LEFT> __device__ inline void wait_group() {
    asm volatile("cp.async.bulk.wait_group %0;" : : "n"(LEFT) : "memory");
}
template <int LEFT> __device__ inline void wait_group_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(LEFT) : "memory");
}
// Orders the threads' writes before copies that read them.
__device__ inline void fence_async() { asm volatile("fence.proxy.async;" : : : "memory"); }
