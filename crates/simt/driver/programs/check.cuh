// Macros that the programs share: calls that must succeed, calls whose result is printed, and conditions.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

inline void check(cudaError_t error, const char* call, int line) {
    if (error == cudaSuccess) return;
    std::printf("line %d: %s is %s\n", line, call, cudaGetErrorName(error));
    std::exit(1);
}

// Ends the program unless the call succeeds.
#define CHECK(call) check((call), #call, __LINE__)
// Prints the call and the name of its result.
#define SHOW(call) std::printf("%s: %s\n", #call, cudaGetErrorName(call))
// Prints whether a condition holds.
#define HOLDS(condition) std::printf("%s: %s\n", #condition, (condition) ? "yes" : "NO")
