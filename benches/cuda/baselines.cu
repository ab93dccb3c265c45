// The baselines of the ladders from NVIDIA's libraries: CUB, cuBLAS and a memory copy, with a C interface.
//
// The ladders' top rungs are compared with these functions. Each function enqueues only the calls that a user of the
// library would make, on the handle's stream. The size of temporary storage is queried once and remembered, so later
// calls of the same kind consist only of the library's work.
//
// The file exports the function `ladder_baselines`, which returns a table of functions. The functions in the table that
// return a number return 0 on success, or a nonzero code that `message` describes. The calling thread must have made
// the device's primary context current. Only one thread at a time may use a handle. The buffers are in device memory.
//
// nvcc -shared -Xcompiler -fPIC -O3 -std=c++17 -arch=native baselines.cu -lcublas -lcublasLt -o libladder_baselines.so

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>

namespace {

struct Handle {
    cudaStream_t stream = nullptr;
    // Created by the first call that needs it, because creation takes memory and time.
    cublasHandle_t cublas = nullptr;
    void* storage = nullptr;
    size_t storage_bytes = 0;
    // The last call for which CUB reported the size of its temporary storage, and this size.
    int sized_key = -1;
    uint64_t sized_n = 0;
    size_t sized_bytes = 0;
    // The last product for which cublasLt was queried, and its fastest algorithm.
    cublasLtHandle_t lt = nullptr;
    uint64_t lt_key[4] = {};
    cublasLtMatmulAlgo_t lt_algorithm = {};
    char message[256] = "no call has failed";
};

// The keys of calls: the first key of each function with several forms.
constexpr int HISTOGRAM = 1000, SCAN = 2000, SORT = 3000;
constexpr int BINS = 256;
constexpr int REFUSED = -1;

int refuse(Handle* handle, const char* format, ...) {
    va_list values;
    va_start(values, format);
    std::vsnprintf(handle->message, sizeof handle->message, format, values);
    va_end(values);
    return REFUSED;
}

int check(Handle* handle, const char* what, cudaError_t error) {
    if (error == cudaSuccess) {
        return 0;
    }
    // Clears the error of an earlier call, so that it is not attributed to the next call.
    (void)cudaGetLastError();
    refuse(handle, "%s failed: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
    return error;
}

int check(Handle* handle, const char* what, cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) {
        return 0;
    }
    refuse(handle, "%s failed: %s", what, cublasGetStatusName(status));
    return status;
}

// Runs a function of the interface and catches exceptions.
template <typename Body>
int guarded(Handle* handle, const char* what, Body body) noexcept {
    if (handle == nullptr) {
        return REFUSED;
    }
    try {
        return body();
    } catch (...) {
        return refuse(handle, "%s failed: it threw an exception", what);
    }
}

// Makes the temporary storage at least `bytes` large. The storage never shrinks.
int reserve(Handle* handle, size_t bytes) {
    if (bytes <= handle->storage_bytes) {
        return 0;
    }
    if (handle->storage != nullptr) {
        // Pending work may still use the storage.
        if (int code = check(handle, "waiting for the stream", cudaStreamSynchronize(handle->stream))) {
            return code;
        }
        void* old = handle->storage;
        handle->storage = nullptr;
        handle->storage_bytes = 0;
        if (int code = check(handle, "freeing temporary storage", cudaFree(old))) {
            return code;
        }
    }
    if (int code = check(handle, "allocating temporary storage", cudaMalloc(&handle->storage, bytes))) {
        handle->storage = nullptr;
        return code;
    }
    handle->storage_bytes = bytes;
    return 0;
}

// Runs a function of CUB, which reports the size of its storage if the storage is null.
template <typename Function>
int run_cub(Handle* handle, const char* what, int key, uint64_t n, Function function) {
    if (handle->sized_key != key || handle->sized_n != n) {
        size_t bytes = 0;
        if (int code = check(handle, what, function(nullptr, bytes))) {
            return code;
        }
        handle->sized_key = key;
        handle->sized_n = n;
        handle->sized_bytes = bytes;
    }
    if (int code = reserve(handle, handle->sized_bytes)) {
        return code;
    }
    size_t bytes = handle->sized_bytes;
    return check(handle, what, function(handle->storage, bytes));
}

template <typename T, typename N>
int reduce(Handle* handle, int op, int key, const T* input, T* output, N n) {
    const cudaStream_t stream = handle->stream;
    switch (op) {
    case 0:
        return run_cub(handle, "cub::DeviceReduce::Sum", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Sum(storage, bytes, input, output, n, stream);
        });
    case 1:
        return run_cub(handle, "cub::DeviceReduce::Reduce", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Reduce(storage, bytes, input, output, n, cuda::std::multiplies<>{}, T{1},
                                             stream);
        });
    case 2:
        return run_cub(handle, "cub::DeviceReduce::Min", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Min(storage, bytes, input, output, n, stream);
        });
    case 3:
        return run_cub(handle, "cub::DeviceReduce::Max", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceReduce::Max(storage, bytes, input, output, n, stream);
        });
    default:
        return refuse(handle, "there is no operation %d: sum is 0, product 1, min 2, max 3", op);
    }
}

// Calls a function with n in the type in which CUB's kernels count. Like users of CUB, chooses a 32-bit type if n fits.
template <typename Function>
int with_count(uint64_t n, Function function) {
    if (n <= std::numeric_limits<uint32_t>::max()) {
        return function(static_cast<uint32_t>(n));
    }
    return function(n);
}

template <typename T>
int reduce(Handle* handle, int op, int type, const void* input, void* output, uint64_t n) {
    const T* from = static_cast<const T*>(input);
    T* to = static_cast<T*>(output);
    return with_count(n, [=](auto n) { return reduce(handle, op, 10 * type + op, from, to, n); });
}

// Computes the prefix sums of `n` elements, inclusive or exclusive. Integers wrap.
template <typename T>
int scan(Handle* handle, int type, bool is_exclusive, const void* input, void* output, uint64_t n) {
    const T* from = static_cast<const T*>(input);
    T* to = static_cast<T*>(output);
    const cudaStream_t stream = handle->stream;
    const int key = SCAN + 10 * type + is_exclusive;
    return with_count(n, [=](auto n) {
        if (is_exclusive) {
            return run_cub(handle, "cub::DeviceScan::ExclusiveSum", key, n, [=](void* storage, size_t& bytes) {
                return cub::DeviceScan::ExclusiveSum(storage, bytes, from, to, n, stream);
            });
        }
        return run_cub(handle, "cub::DeviceScan::InclusiveSum", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceScan::InclusiveSum(storage, bytes, from, to, n, stream);
        });
    });
}

// Sorts `n` keys, or pairs of a key and a 32-bit value. The buffers are the keys, the values, the sorted keys and the
// sorted values.
template <typename Key>
int sort(Handle* handle, int type, bool has_values, void* const* buffers, uint64_t n) {
    const Key* keys = static_cast<const Key*>(buffers[0]);
    const uint32_t* values = static_cast<const uint32_t*>(buffers[1]);
    Key* sorted_keys = static_cast<Key*>(buffers[2]);
    uint32_t* sorted_values = static_cast<uint32_t*>(buffers[3]);
    const cudaStream_t stream = handle->stream;
    const int key = SORT + 10 * type + has_values, bits = 8 * sizeof(Key);
    return with_count(n, [=](auto n) {
        if (has_values) {
            return run_cub(handle, "cub::DeviceRadixSort::SortPairs", key, n, [=](void* storage, size_t& bytes) {
                return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, sorted_keys, values, sorted_values, n, 0,
                                                       bits, stream);
            });
        }
        return run_cub(handle, "cub::DeviceRadixSort::SortKeys", key, n, [=](void* storage, size_t& bytes) {
            return cub::DeviceRadixSort::SortKeys(storage, bytes, keys, sorted_keys, n, 0, bits, stream);
        });
    });
}

// Returns the cuBLAS handle, created on first use.
int cublas(Handle* handle) {
    if (handle->cublas != nullptr) {
        return 0;
    }
    cublasHandle_t made = nullptr;
    if (int code = check(handle, "cublasCreate", cublasCreate(&made))) {
        return code;
    }
    int code = check(handle, "cublasSetStream", cublasSetStream(made, handle->stream));
    if (code == 0) {
        // Single precision throughout: no TF32, unless NVIDIA_TF32_OVERRIDE in the environment requests it, and no
        // partial sums rounded to 16 bits before the addition.
        const int mode = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        code = check(handle, "cublasSetMathMode", cublasSetMathMode(made, static_cast<cublasMath_t>(mode)));
    }
    if (code != 0) {
        cublasDestroy(made);
        return code;
    }
    handle->cublas = made;
    return 0;
}

bool fits(uint32_t side) { return side <= static_cast<uint32_t>(std::numeric_limits<int>::max()); }

// A leading dimension is at least 1.
int pitch(uint32_t side) { return side == 0 ? 1 : static_cast<int>(side); }

// Copies `bytes` bytes on the device.
int copy(Handle* handle, void* to, const void* from, uint64_t bytes) {
    return check(handle, "cudaMemcpyAsync",
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, handle->stream));
}

// Reduces `n` elements to one element at `output`. op: 0 sum, 1 product, 2 min, 3 max. type: 0 i32, 1 u32, 2 i64, 3
// f32, 4 f64. Integers wrap.
int reduce_type(Handle* handle, int op, int type, const void* input, void* output, uint64_t n) {
    switch (type) {
    case 0:
        return reduce<int32_t>(handle, op, type, input, output, n);
    case 1:
        return reduce<uint32_t>(handle, op, type, input, output, n);
    case 2:
        return reduce<int64_t>(handle, op, type, input, output, n);
    case 3:
        return reduce<float>(handle, op, type, input, output, n);
    case 4:
        return reduce<double>(handle, op, type, input, output, n);
    default:
        return refuse(handle, "there is no type %d: i32 is 0, u32 1, i64 2, f32 3, f64 4", type);
    }
}

// Scans elements of the types of reduce_type, except f64.
int scan_type(Handle* handle, int type, bool is_exclusive, const void* input, void* output, uint64_t n) {
    switch (type) {
    // Wrapping sums have the same bits for signed and unsigned integers.
    case 0:
    case 1:
        return scan<int32_t>(handle, type, is_exclusive, input, output, n);
    case 2:
        return scan<int64_t>(handle, type, is_exclusive, input, output, n);
    case 3:
        return scan<float>(handle, type, is_exclusive, input, output, n);
    default:
        return refuse(handle, "there is no type %d: i32 is 0, u32 1, i64 2, f32 3", type);
    }
}

// type: 0 u32, 1 i32, 2 u64. Floats are not supported: CUB sorts -0 and 0 as equal keys, but the ladder sorts -0 before
// 0.
int sort_type(Handle* handle, int type, bool has_values, void* const* buffers, uint64_t n) {
    switch (type) {
    case 0:
        return sort<uint32_t>(handle, type, has_values, buffers, n);
    case 1:
        return sort<int32_t>(handle, type, has_values, buffers, n);
    case 2:
        return sort<uint64_t>(handle, type, has_values, buffers, n);
    default:
        return refuse(handle, "there is no type %d: u32 is 0, i32 1, u64 2", type);
    }
}

// Transposes `input`, a row-major matrix of rows x cols elements, into `output`, cols x rows.
int transpose(Handle* handle, const float* input, float* output, uint32_t rows, uint32_t cols) {
    if (rows == 0 || cols == 0) {
        return 0;
    }
    if (!fits(rows) || !fits(cols)) {
        return refuse(handle, "%u x %u is too large for cuBLAS: a side is at most 2^31 - 1", rows, cols);
    }
    if (int code = cublas(handle)) {
        return code;
    }
    // cuBLAS uses column-major matrices, so to cuBLAS the input is cols x rows and the output rows x cols. The second
    // matrix has the factor 0 and is not read.
    const float one = 1.0f, zero = 0.0f;
    return check(handle, "cublasSgeam",
                 cublasSgeam(handle->cublas, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(rows),
                             static_cast<int>(cols), &one, input, pitch(cols), &zero, output, pitch(rows), output,
                             pitch(rows)));
}

// c (m x n) = a (m x k) times b (k x n), all row-major, in single precision without TF32.
int matmul(Handle* handle, const float* a, const float* b, float* c, uint32_t m, uint32_t n, uint32_t k) {
    if (m == 0 || n == 0) {
        return 0;
    }
    if (!fits(m) || !fits(n) || !fits(k)) {
        return refuse(handle, "%u x %u x %u is too large for cuBLAS: a side is at most 2^31 - 1", m, n, k);
    }
    if (int code = cublas(handle)) {
        return code;
    }
    // cuBLAS uses column-major matrices, so to cuBLAS these are the transposes. The transpose of the product is the
    // product of the transposes in reverse order.
    const float one = 1.0f, zero = 0.0f;
    return check(handle, "cublasSgemm",
                 cublasSgemm(handle->cublas, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(n), static_cast<int>(m),
                             static_cast<int>(k), &one, b, pitch(n), a, pitch(k), &zero, c, pitch(n)));
}

// A product of 16-bit elements or TF32, as in the ladder gemm.
struct Gemm {
    uint32_t m, n, k;
    // The type of the factors and the type of the product, and whether b is column-major.
    cudaDataType_t factor, product;
    bool columns;
    cublasComputeType_t compute;

    // The format is 0 for bf16, 1 for f16, 2 for TF32. Add 4 for a product in 32-bit floats, and 8 for a column-major
    // b.
    static Gemm of(const uint64_t* numbers) {
        const uint64_t format = numbers[3];
        const cudaDataType_t types[] = {CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F};
        Gemm gemm = {static_cast<uint32_t>(numbers[0]), static_cast<uint32_t>(numbers[1]),
                     static_cast<uint32_t>(numbers[2])};
        gemm.factor = types[format % 4];
        gemm.product = format & 4 ? CUDA_R_32F : gemm.factor;
        gemm.columns = format & 8;
        gemm.compute = gemm.factor == CUDA_R_32F ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
        return gemm;
    }

    // cuBLAS uses column-major matrices, so to cuBLAS all matrices are transposed.
    cublasOperation_t b_operation() const { return columns ? CUBLAS_OP_T : CUBLAS_OP_N; }
    int b_pitch() const { return pitch(columns ? k : n); }
    bool fits_cublas() const { return fits(m) && fits(n) && fits(k); }
};

int gemm(Handle* handle, const Gemm& p, const void* a, const void* b, void* c) {
    if (!p.fits_cublas()) {
        return refuse(handle, "%u x %u x %u is too large for cuBLAS: a side is at most 2^31 - 1", p.m, p.n, p.k);
    }
    if (int code = cublas(handle)) {
        return code;
    }
    const float one = 1.0f, zero = 0.0f;
    return check(handle, "cublasGemmEx",
                 cublasGemmEx(handle->cublas, p.b_operation(), CUBLAS_OP_N, static_cast<int>(p.n),
                              static_cast<int>(p.m), static_cast<int>(p.k), &one, b, p.factor, p.b_pitch(), a, p.factor,
                              pitch(p.k), &zero, c, p.product, pitch(p.n), p.compute, CUBLAS_GEMM_DEFAULT));
}

// The descriptions of a product for cublasLt.
struct Described {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;

    ~Described() {
        if (preference != nullptr) cublasLtMatmulPreferenceDestroy(preference);
        for (cublasLtMatrixLayout_t layout : {a, b, c}) {
            if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
        }
        if (product != nullptr) cublasLtMatmulDescDestroy(product);
    }

    int make(Handle* handle, const Gemm& p) {
        const cublasOperation_t operation = p.b_operation();
        const char* what = "describing a product to cublasLt";
        const cublasStatus_t all[] = {
            cublasLtMatmulDescCreate(&product, p.compute, CUDA_R_32F),
            cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &operation, sizeof operation),
            cublasLtMatrixLayoutCreate(&b, p.factor, p.columns ? p.k : p.n, p.columns ? p.n : p.k, p.b_pitch()),
            cublasLtMatrixLayoutCreate(&a, p.factor, p.k, p.m, pitch(p.k)),
            cublasLtMatrixLayoutCreate(&c, p.product, p.n, p.m, pitch(p.n)),
            cublasLtMatmulPreferenceCreate(&preference),
        };
        for (const cublasStatus_t status : all) {
            if (int code = check(handle, what, status)) return code;
        }
        return 0;
    }
};

// Computes the product with the fastest of the algorithms that cublasLt's heuristics propose. The first call of a kind
// measures the algorithms.
int gemm_lt(Handle* handle, const uint64_t* numbers, const void* a, const void* b, void* c) {
    constexpr size_t WORKSPACE = size_t{64} << 20;
    constexpr int PROPOSALS = 16;
    const Gemm p = Gemm::of(numbers);
    if (handle->lt == nullptr) {
        if (int code = check(handle, "cublasLtCreate", cublasLtCreate(&handle->lt))) return code;
    }
    if (int code = reserve(handle, WORKSPACE)) return code;
    Described described;
    if (int code = described.make(handle, p)) return code;
    const float one = 1.0f, zero = 0.0f;
    const auto run = [&](const cublasLtMatmulAlgo_t& algorithm) {
        return cublasLtMatmul(handle->lt, described.product, &one, b, described.b, a, described.a, &zero, c,
                              described.c, c, described.c, &algorithm, handle->storage, WORKSPACE, handle->stream);
    };
    if (std::memcmp(handle->lt_key, numbers, sizeof handle->lt_key) != 0) {
        cublasLtMatmulHeuristicResult_t proposals[PROPOSALS];
        int found = 0;
        const size_t bytes = WORKSPACE;
        // Partial sums are added as 32-bit floats, and not rounded to the product's type before the addition.
        const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
        const cublasStatus_t statuses[] = {
            cublasLtMatmulPreferenceSetAttribute(described.preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                 &reductions, sizeof reductions),
            cublasLtMatmulPreferenceSetAttribute(described.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                 sizeof bytes),
            cublasLtMatmulAlgoGetHeuristic(handle->lt, described.product, described.b, described.a, described.c,
                                           described.c, described.preference, PROPOSALS, proposals, &found),
        };
        for (const cublasStatus_t status : statuses) {
            if (int code = check(handle, "querying cublasLt for algorithms", status)) return code;
        }
        cudaEvent_t start, stop;
        if (int code = check(handle, "cudaEventCreate", cudaEventCreate(&start))) return code;
        if (int code = check(handle, "cudaEventCreate", cudaEventCreate(&stop))) return code;
        float best = std::numeric_limits<float>::infinity();
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < found; i++) {
                float time = 0;
                if (run(proposals[i].algo) != CUBLAS_STATUS_SUCCESS) continue;
                cudaEventRecord(start, handle->stream);
                for (int repeat = 0; repeat < 4; repeat++) run(proposals[i].algo);
                cudaEventRecord(stop, handle->stream);
                cudaEventSynchronize(stop);
                if (cudaEventElapsedTime(&time, start, stop) == cudaSuccess && time < best) {
                    best = time;
                    handle->lt_algorithm = proposals[i].algo;
                }
            }
        }
        cudaEventDestroy(start);
        cudaEventDestroy(stop);
        if (best == std::numeric_limits<float>::infinity()) {
            return refuse(handle, "cublasLt has no algorithm for %u x %u x %u", p.m, p.n, p.k);
        }
        std::memcpy(handle->lt_key, numbers, sizeof handle->lt_key);
    }
    return check(handle, "cublasLtMatmul", run(handle->lt_algorithm));
}

// Counts the values of `n` bytes in 256 bins, which it overwrites.
int histogram(Handle* handle, const uint8_t* input, uint32_t* bins, uint64_t n) {
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return refuse(handle, "%llu bytes are too many", static_cast<unsigned long long>(n));
    }
    const int64_t samples = static_cast<int64_t>(n);
    const cudaStream_t stream = handle->stream;
    return run_cub(handle, "cub::DeviceHistogram::HistogramEven", HISTOGRAM, n, [=](void* storage, size_t& bytes) {
        return cub::DeviceHistogram::HistogramEven(storage, bytes, input, bins, BINS + 1, 0, BINS, samples,
                                                   stream);
    });
}

// "CUB 3.0.1, cuBLAS 13.0.0, CUDA runtime 13.0"
const char* versions() {
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

// Opens a handle whose work goes to `stream`, a cudaStream_t or CUstream; null is the default stream. If there is no
// memory for the handle, `*out` is null.
int open_handle(void* stream, Handle** out) {
    if (out == nullptr) {
        return REFUSED;
    }
    *out = new (std::nothrow) Handle;
    if (*out == nullptr) {
        return REFUSED;
    }
    (*out)->stream = static_cast<cudaStream_t>(stream);
    return 0;
}

// Waits for the enqueued work and frees all resources. Ignores null.
void close_handle(Handle* handle) {
    if (handle == nullptr) {
        return;
    }
    // No caller remains to whom a failure could be reported.
    (void)cudaStreamSynchronize(handle->stream);
    if (handle->cublas != nullptr) {
        (void)cublasDestroy(handle->cublas);
    }
    if (handle->lt != nullptr) {
        (void)cublasLtDestroy(handle->lt);
    }
    (void)cudaFree(handle->storage);
    (void)cudaGetLastError();
    delete handle;
}

// Returns the message of the last call that failed. Never null; valid until the next call.
const char* last_message(const Handle* handle) { return handle == nullptr ? "there is no handle" : handle->message; }

// Enqueues the baseline with this name. A function uses the first of the call's four buffers and four numbers:
//
//   copy       from, to          bytes
//   reduce     input, output     operation, type, n
//   transpose  input, output     rows, columns
//   matmul     a, b, c           m, n, k
//   gemm       a, b, c           m, n, k, format: see Gemm; cublasGemmEx
//   gemm_lt    a, b, c           as gemm; the fastest algorithm that cublasLt's heuristics propose
//   histogram  input, bins       n
//   scan       input, output     type, 1 for exclusive sums or 0 for inclusive sums, n
//   sort       keys, values,     type, 1 with values or 0 without, n
//              sorted keys, sorted values
int call(Handle* handle, const char* name, void* const* buffers, const uint64_t* numbers) {
    const auto is = [=](const char* other) { return std::strcmp(name, other) == 0; };
    const auto floats = [=](int index) { return static_cast<float*>(buffers[index]); };
    const auto number = [=](int index) { return static_cast<int>(numbers[index]); };
    return guarded(handle, name, [=] {
        if (is("copy")) {
            return copy(handle, buffers[1], buffers[0], numbers[0]);
        }
        if (is("reduce")) {
            return reduce_type(handle, number(0), number(1), buffers[0], buffers[1], numbers[2]);
        }
        if (is("transpose")) {
            return transpose(handle, floats(0), floats(1), numbers[0], numbers[1]);
        }
        if (is("matmul")) {
            return matmul(handle, floats(0), floats(1), floats(2), numbers[0], numbers[1], numbers[2]);
        }
        if (is("gemm")) {
            return gemm(handle, Gemm::of(numbers), buffers[0], buffers[1], buffers[2]);
        }
        if (is("gemm_lt")) {
            return gemm_lt(handle, numbers, buffers[0], buffers[1], buffers[2]);
        }
        if (is("histogram")) {
            return histogram(handle, static_cast<uint8_t*>(buffers[0]), static_cast<uint32_t*>(buffers[1]),
                             numbers[0]);
        }
        if (is("scan")) {
            return scan_type(handle, number(0), numbers[1] != 0, buffers[0], buffers[1], numbers[2]);
        }
        if (is("sort")) {
            return sort_type(handle, number(0), numbers[1] != 0, buffers, numbers[2]);
        }
        return refuse(handle, "there is no baseline %s", name);
    });
}

struct Table {
    const char* (*versions)();
    int (*open)(void* stream, Handle** out);
    void (*close)(Handle* handle);
    const char* (*message)(const Handle* handle);
    int (*call)(Handle* handle, const char* name, void* const* buffers, const uint64_t* numbers);
};

const Table table = {versions, open_handle, close_handle, last_message, call};

}  // namespace

// A function, because a variable of a type from an unnamed namespace is not visible from outside.
extern "C" const void* ladder_baselines() { return &table; }
