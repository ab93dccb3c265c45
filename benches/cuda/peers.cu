// NVIDIA's own libraries for what the ladders compute: CUB, cuBLAS and a copy of memory, behind a C interface.
//
// What the ladders' top rungs are measured against. Each function enqueues on the handle's stream what a user
// of the library would call, and nothing else: a size of temporary storage is asked for once and remembered,
// so that calls after the first of their kind consist of the library's own work alone.
//
// All functions but ladder_peers_message and ladder_peers_versions return 0, or a code that is not 0 and whose
// words ladder_peers_message has. The calling thread has the device's primary context current, and a handle is
// used by one thread at a time. Pointers are to device memory.
//
// nvcc -shared -Xcompiler -fPIC -O3 -std=c++17 -arch=native peers.cu -lcublas -o libladder_peers.so

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <new>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>

struct Peers {
    cudaStream_t stream = nullptr;
    // Made by the first call that needs it: it takes memory and time.
    cublasHandle_t cublas = nullptr;
    void* storage = nullptr;
    size_t storage_bytes = 0;
    // The call that CUB was last asked for its temporary storage for, and the answer.
    int asked_for = -1;
    uint64_t asked_n = 0;
    size_t answer = 0;
    char message[256] = "no call has failed";
};

namespace {

constexpr int HISTOGRAM = 1000;
constexpr int BINS = 256;
constexpr int REFUSED = -1;

int refuse(Peers* peers, const char* format, ...) {
    va_list values;
    va_start(values, format);
    std::vsnprintf(peers->message, sizeof peers->message, format, values);
    va_end(values);
    return REFUSED;
}

int check(Peers* peers, const char* what, cudaError_t error) {
    if (error == cudaSuccess) {
        return 0;
    }
    // What one call left behind is not to be taken for the next one's.
    (void)cudaGetLastError();
    refuse(peers, "%s failed: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
    return error;
}

int check(Peers* peers, const char* what, cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) {
        return 0;
    }
    refuse(peers, "%s failed: %s", what, cublasGetStatusName(status));
    return status;
}

// Runs a function of the interface: an exception ends here.
template <typename Body>
int guarded(Peers* peers, const char* what, Body body) noexcept {
    if (peers == nullptr) {
        return REFUSED;
    }
    try {
        return body();
    } catch (...) {
        return refuse(peers, "%s failed: it threw an exception", what);
    }
}

// Makes the temporary storage at least so large. It only grows.
int reserve(Peers* peers, size_t bytes) {
    if (bytes <= peers->storage_bytes) {
        return 0;
    }
    if (peers->storage != nullptr) {
        // Work that is under way may still use it.
        if (int code = check(peers, "waiting for the stream", cudaStreamSynchronize(peers->stream))) {
            return code;
        }
        void* old = peers->storage;
        peers->storage = nullptr;
        peers->storage_bytes = 0;
        if (int code = check(peers, "freeing temporary storage", cudaFree(old))) {
            return code;
        }
    }
    if (int code = check(peers, "allocating temporary storage", cudaMalloc(&peers->storage, bytes))) {
        peers->storage = nullptr;
        return code;
    }
    peers->storage_bytes = bytes;
    return 0;
}

// Runs a function of CUB, which asks for the size of its storage when it is given none.
template <typename Function>
int run_cub(Peers* peers, const char* what, int key, uint64_t n, Function function) {
    if (peers->asked_for != key || peers->asked_n != n) {
        size_t bytes = 0;
        if (int code = check(peers, what, function(nullptr, bytes))) {
            return code;
        }
        peers->asked_for = key;
        peers->asked_n = n;
        peers->answer = bytes;
    }
    if (int code = reserve(peers, peers->answer)) {
        return code;
    }
    size_t bytes = peers->answer;
    return check(peers, what, function(peers->storage, bytes));
}

template <typename T, typename N>
int reduce(Peers* peers, int op, int key, const T* input, T* output, N n) {
    const cudaStream_t stream = peers->stream;
    switch (op) {
    case 0:
        return run_cub(peers, "cub::DeviceReduce::Sum", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Sum(storage, bytes, input, output, n, stream);
        });
    case 1:
        return run_cub(peers, "cub::DeviceReduce::Reduce", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Reduce(storage, bytes, input, output, n, cuda::std::multiplies<>{}, T{1},
                                             stream);
        });
    case 2:
        return run_cub(peers, "cub::DeviceReduce::Min", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Min(storage, bytes, input, output, n, stream);
        });
    case 3:
        return run_cub(peers, "cub::DeviceReduce::Max", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Max(storage, bytes, input, output, n, stream);
        });
    default:
        return refuse(peers, "there is no operation %d: sum is 0, product 1, min 2, max 3", op);
    }
}

// n in the type that CUB's kernels then count in: 32 bits where they are enough, as its users have it.
template <typename T>
int reduce(Peers* peers, int op, int type, const void* input, void* output, uint64_t n) {
    const T* from = static_cast<const T*>(input);
    T* to = static_cast<T*>(output);
    const int key = 10 * type + op;
    if (n <= std::numeric_limits<uint32_t>::max()) {
        return reduce(peers, op, key, from, to, static_cast<uint32_t>(n));
    }
    return reduce(peers, op, key, from, to, n);
}

// The cuBLAS handle, made on first use.
int cublas(Peers* peers) {
    if (peers->cublas != nullptr) {
        return 0;
    }
    cublasHandle_t handle = nullptr;
    if (int code = check(peers, "cublasCreate", cublasCreate(&handle))) {
        return code;
    }
    int code = check(peers, "cublasSetStream", cublasSetStream(handle, peers->stream));
    if (code == 0) {
        // Single precision throughout: no TF32, unless NVIDIA_TF32_OVERRIDE in the environment asks for it.
        code = check(peers, "cublasSetMathMode", cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
    }
    if (code != 0) {
        cublasDestroy(handle);
        return code;
    }
    peers->cublas = handle;
    return 0;
}

bool fits(uint32_t side) { return side <= static_cast<uint32_t>(std::numeric_limits<int>::max()); }

// A leading dimension is at least 1.
int pitch(uint32_t side) { return side == 0 ? 1 : static_cast<int>(side); }

}  // namespace

extern "C" {

// Opens a handle whose work goes to `stream`, a cudaStream_t or CUstream; null is the default one.
// Without memory for it `*out` is null.
int ladder_peers_open(void* stream, Peers** out) {
    if (out == nullptr) {
        return REFUSED;
    }
    *out = new (std::nothrow) Peers;
    if (*out == nullptr) {
        return REFUSED;
    }
    (*out)->stream = static_cast<cudaStream_t>(stream);
    return 0;
}

// Waits for what was enqueued and gives everything back. Null is ignored.
void ladder_peers_close(Peers* peers) {
    if (peers == nullptr) {
        return;
    }
    // There is nobody left to tell of a failure.
    (void)cudaStreamSynchronize(peers->stream);
    if (peers->cublas != nullptr) {
        (void)cublasDestroy(peers->cublas);
    }
    (void)cudaFree(peers->storage);
    (void)cudaGetLastError();
    delete peers;
}

// Why the last call that failed did. Never null; valid until the next call.
const char* ladder_peers_message(const Peers* peers) {
    return peers == nullptr ? "there is no handle" : peers->message;
}

// "CUB 3.0.1, cuBLAS 13.0.0, CUDA runtime 13.0"
const char* ladder_peers_versions(void) {
    static char text[128];
    int major = 0, minor = 0, patch = 0, runtime = 0;
    (void)cublasGetProperty(MAJOR_VERSION, &major);
    (void)cublasGetProperty(MINOR_VERSION, &minor);
    (void)cublasGetProperty(PATCH_LEVEL, &patch);
    (void)cudaRuntimeGetVersion(&runtime);
    std::snprintf(text, sizeof text, "CUB %d.%d.%d, cuBLAS %d.%d.%d, CUDA runtime %d.%d", CUB_MAJOR_VERSION,
                  CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, major, minor, patch, runtime / 1000, runtime % 1000 / 10);
    return text;
}

// Copies `bytes` bytes on the device.
int ladder_copy(Peers* peers, void* to, const void* from, uint64_t bytes) {
    return guarded(peers, "cudaMemcpyAsync", [=] {
        return check(peers, "cudaMemcpyAsync",
                     cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, peers->stream));
    });
}

// Reduces `n` elements to the one at `output`. op: 0 sum, 1 product, 2 min, 3 max. type: 0 i32, 1 u32, 2 i64,
// 3 f32, 4 f64. Integers wrap.
int ladder_reduce(Peers* peers, int op, int type, const void* input, void* output, uint64_t n) {
    return guarded(peers, "cub::DeviceReduce", [=] {
        switch (type) {
        case 0:
            return reduce<int32_t>(peers, op, type, input, output, n);
        case 1:
            return reduce<uint32_t>(peers, op, type, input, output, n);
        case 2:
            return reduce<int64_t>(peers, op, type, input, output, n);
        case 3:
            return reduce<float>(peers, op, type, input, output, n);
        case 4:
            return reduce<double>(peers, op, type, input, output, n);
        default:
            return refuse(peers, "there is no type %d: i32 is 0, u32 1, i64 2, f32 3, f64 4", type);
        }
    });
}

// Transposes `input`, rows x cols elements row after row, into `output`, cols x rows.
int ladder_transpose(Peers* peers, const float* input, float* output, uint32_t rows, uint32_t cols) {
    return guarded(peers, "cublasSgeam", [=] {
        if (rows == 0 || cols == 0) {
            return 0;
        }
        if (!fits(rows) || !fits(cols)) {
            return refuse(peers, "%u x %u is too large for cuBLAS: a side is at most 2^31 - 1", rows, cols);
        }
        if (int code = cublas(peers)) {
            return code;
        }
        // To cuBLAS, which has columns lie one after the other, the input is cols x rows and the output
        // rows x cols. The second matrix counts 0 times and is not read.
        const float one = 1.0f, zero = 0.0f;
        return check(peers, "cublasSgeam",
                     cublasSgeam(peers->cublas, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(rows),
                                 static_cast<int>(cols), &one, input, pitch(cols), &zero, output, pitch(rows), output,
                                 pitch(rows)));
    });
}

// c (m x n) = a (m x k) times b (k x n), all row after row, in single precision without TF32.
int ladder_matmul(Peers* peers, const float* a, const float* b, float* c, uint32_t m, uint32_t n, uint32_t k) {
    return guarded(peers, "cublasSgemm", [=] {
        if (m == 0 || n == 0) {
            return 0;
        }
        if (!fits(m) || !fits(n) || !fits(k)) {
            return refuse(peers, "%u x %u x %u is too large for cuBLAS: a side is at most 2^31 - 1", m, n, k);
        }
        if (int code = cublas(peers)) {
            return code;
        }
        // To cuBLAS, which has columns lie one after the other, these are the transposes, and the transpose of
        // the product is the product of the transposes the other way round.
        const float one = 1.0f, zero = 0.0f;
        return check(peers, "cublasSgemm",
                     cublasSgemm(peers->cublas, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(n), static_cast<int>(m),
                                 static_cast<int>(k), &one, b, pitch(n), a, pitch(k), &zero, c, pitch(n)));
    });
}

// Counts the values of `n` bytes in 256 bins, which it overwrites.
int ladder_histogram(Peers* peers, const uint8_t* input, uint32_t* bins, uint64_t n) {
    return guarded(peers, "cub::DeviceHistogram::HistogramEven", [=] {
        if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
            return refuse(peers, "%llu bytes are too many", static_cast<unsigned long long>(n));
        }
        const int64_t samples = static_cast<int64_t>(n);
        const cudaStream_t stream = peers->stream;
        return run_cub(peers, "cub::DeviceHistogram::HistogramEven", HISTOGRAM, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceHistogram::HistogramEven(storage, bytes, input, bins, BINS + 1, 0, BINS, samples,
                                                       stream);
        });
    });
}

}  // extern "C"
