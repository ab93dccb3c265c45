// Driver functions looked up through the runtime, so a program links only the runtime.
#pragma once
#include "check.cuh"
#include <cuda.h>

template <typename F>
F driver(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
    if (result == cudaDriverEntryPointSuccess && function != nullptr) return (F)function;
    std::printf("the driver has no %s: %d\n", name, result);
    std::exit(1);
}

inline const char* name_of(CUresult code) {
    const char* text = "no name";
    driver<decltype(&cuGetErrorName)>("cuGetErrorName")(code, &text);
    return text;
}

// Prints the function and the name of its result.
#define SHOW_DRIVER(function, ...)                                                                                     \
    std::printf("%s: %s\n", #function, name_of(driver<decltype(&function)>(#function)(__VA_ARGS__)))
