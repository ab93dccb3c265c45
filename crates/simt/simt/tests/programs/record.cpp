// Runs the kernels of the .cu files on a GPU, and writes their results in the format that simt's test expects.
// usage: record RESULTS.txt KERNELS.cu KERNELS.cubin …   (record.sh does all of it)
// It prints each kernel's name before the kernel runs, and stops at the first kernel that fails or is not done after 5
// seconds. It skips the kernels in the variable LEAVE_OUT, each with a space before and after its name.

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

static const size_t SCRATCH_WORDS = 1 << 20;
// Results with more words than this are recorded as a hash.
static const size_t WHOLE = 64;

static void stop(const std::string &what, const std::string &why) {
    fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
    // A kernel may still be running, so there is no cleanup.
    _Exit(1);
}

static void check(CUresult result, const std::string &what) {
    if (result == CUDA_SUCCESS) return;
    const char *why = nullptr;
    cuGetErrorString(result, &why);
    stop(what, why ? why : "an unknown error");
}

// A kernel's launch, as described by the comment above the kernel: `grid 4, block 8x4, shared 512, out 192`. Some
// kernels have a third argument, which is a map of a tensor in the second argument. For the map, the comment gives the
// type, the tensor's sizes and a tile's sizes. Optional are the row bytes of a swizzle, steps, and NaN outside the tensor.
// For im2col, the corners of the box, the channels and the pixels replace the tile. Examples:
// `map u32 64x32, tile 16x8, swizzle 64, steps 1x2, nan 1`,
// `map f16 8x16x16x2, lower -1x-1, upper -1x-1, channels 8, pixels 32`.
struct Launch {
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared = 0, out = 0;
    std::string type;
    unsigned sizes[5], tile[5], steps[5] = {1, 1, 1, 1, 1}, swizzle = 0, nan = 0, channels = 0, pixels = 0;
    int rank = 0, lower[3] = {}, upper[3] = {};

    explicit Launch(const std::string &text) {
        sides(text, "grid ", grid);
        sides(text, "block ", block);
        sides(text, "shared ", &shared, 1);
        sides(text, "out ", &out, 1);
        size_t at = text.find(", map ");
        if (at == std::string::npos) return;
        type = text.substr(at + 6, text.find(' ', at + 6) - at - 6);
        rank = sides(text, "map " + type + " ", sizes, 5);
        sides(text, "tile ", tile, 5);
        sides(text, "swizzle ", &swizzle, 1);
        sides(text, "steps ", steps, 5);
        sides(text, "nan ", &nan, 1);
        sides(text, "channels ", &channels, 1);
        sides(text, "pixels ", &pixels, 1);
        sides(text, "lower ", lower);
        sides(text, "upper ", upper);
    }

    // Reads the numbers after a word, and returns how many there are.
    template <class Number> static int sides(const std::string &text, const std::string &fact, Number *to, int most = 3) {
        size_t at = text.find(", " + fact);
        if (at == std::string::npos) at = text.find(": " + fact);
        if (at == std::string::npos) return 0;
        const char *number = text.c_str() + at + 2 + fact.size();
        for (int side = 0; side < most; side++) {
            char *end;
            to[side] = (Number)strtol(number, &end, 10);
            if (*end != 'x') return side + 1;
            number = end + 1;
        }
        return most;
    }

    CUtensorMap map(CUdeviceptr tensor, const std::string &name) const {
        struct Type {
            const char *name;
            CUtensorMapDataType type;
            unsigned bytes;
        };
        const Type types[] = {{"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},     {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},
                              {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},  {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4}};
        const Type *element = nullptr;
        for (const Type &one : types)
            if (type == one.name) element = &one;
        if (!element) stop(name, "unknown tensor element type: " + type);
        cuuint64_t global[5], strides[5];
        for (int side = 0; side < rank; side++) {
            global[side] = sizes[side];
            strides[side] = (side ? strides[side - 1] : element->bytes) * sizes[side];
        }
        const CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                               CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
        const CUtensorMapFloatOOBfill outside =
            nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
        const CUtensorMapSwizzle mixes = swizzles[swizzle == 128 ? 3 : swizzle / 32];
        CUtensorMap made;
        if (pixels)
            check(cuTensorMapEncodeIm2col(&made, element->type, rank, (void *)tensor, global, strides, lower, upper, channels,
                                          pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, mixes,
                                          CU_TENSOR_MAP_L2_PROMOTION_NONE, outside),
                  name);
        else
            check(cuTensorMapEncodeTiled(&made, element->type, rank, (void *)tensor, global, strides, tile, steps,
                                         CU_TENSOR_MAP_INTERLEAVE_NONE, mixes, CU_TENSOR_MAP_L2_PROMOTION_NONE, outside),
                  name);
        return made;
    }
};

static std::vector<uint32_t> run(const std::string &cubin, const std::string &name, const Launch &launch) {
    // Load the module again, so that its variables have their initial values.
    CUmodule module;
    CUfunction function;
    check(cuModuleLoad(&module, cubin.c_str()), cubin);
    check(cuModuleGetFunction(&function, module, name.c_str()), name);
    CUdeviceptr out, scratch;
    check(cuMemAlloc(&out, launch.out * 4), name);
    check(cuMemAlloc(&scratch, SCRATCH_WORDS * 4), name);
    check(cuMemsetD32(out, 0, launch.out), name);
    check(cuMemsetD32(scratch, 0, SCRATCH_WORDS), name);
    check(cuCtxSynchronize(), name);
    CUtensorMap map{};
    if (launch.rank) map = launch.map(scratch, name);
    // Only the kernels with a third parameter use the map.
    void *arguments[] = {&out, &scratch, &map};
    const unsigned *grid = launch.grid, *block = launch.block;
    // A cooperative launch makes all blocks resident at the same time, which some kernels need.
    check(cuLaunchCooperativeKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], launch.shared,
                                    nullptr, arguments),
          name);
    auto start = std::chrono::steady_clock::now();
    CUresult state;
    while ((state = cuStreamQuery(nullptr)) == CUDA_ERROR_NOT_READY) {
        if (std::chrono::steady_clock::now() - start > std::chrono::seconds(5)) stop(name, "not done after 5 s");
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    check(state, name);
    std::vector<uint32_t> result(launch.out);
    check(cuMemcpyDtoH(result.data(), out, launch.out * 4), name);
    check(cuMemFree(out), name);
    check(cuMemFree(scratch), name);
    check(cuModuleUnload(module), name);
    return result;
}

static void write(FILE *to, const std::string &name, const std::vector<uint32_t> &result) {
    fprintf(to, "%s %zu:", name.c_str(), result.size());
    if (result.size() > WHOLE) {
        // FNV-1a over the bytes.
        uint64_t hash = 0xcbf29ce484222325;
        for (uint32_t word : result)
            for (int byte = 0; byte < 4; byte++) hash = (hash ^ (word >> 8 * byte & 255)) * 0x100000001b3;
        fprintf(to, " %016llx of", (unsigned long long)hash);
    }
    size_t shown = result.size() > WHOLE ? 8 : result.size();
    for (size_t at = 0; at < shown; at++) fprintf(to, " %x", result[at]);
    fprintf(to, "\n");
}

int main(int count, char **arguments) {
    if (count < 4 || count % 2 != 0) stop(arguments[0], "usage: record RESULTS.txt KERNELS.cu KERNELS.cubin ...");
    CUdevice device;
    CUcontext context;
    char name[256];
    int driver;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "the first GPU");
    check(cuDeviceGetName(name, sizeof name, device), "the first GPU");
    check(cuDriverGetVersion(&driver), "the driver");
    check(cuDevicePrimaryCtxRetain(&context, device), "a context");
    check(cuCtxSetCurrent(context), "a context");
    check(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 16384), "16 KiB of stack per thread");
    FILE *results = fopen(arguments[1], "w");
    if (!results) stop(arguments[1], "cannot be written");
    fprintf(results, "# %s, driver for CUDA %d.%d, compiled with CUDA %d.%d\n", name, driver / 1000,
            driver % 1000 / 10, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    const char *leave_out = getenv("LEAVE_OUT");
    const std::string left_out = leave_out ? leave_out : "";
    const std::string before = "// launch: ", signature = "extern \"C\" __global__ void ";
    for (int at = 2; at < count; at += 2) {
        std::ifstream source(arguments[at]);
        if (!source) stop(arguments[at], "cannot be read");
        std::string line, next;
        while (std::getline(source, line)) {
            if (line.rfind(before, 0) != 0) continue;
            std::getline(source, next);
            if (next.rfind(signature, 0) != 0) stop(arguments[at], "no kernel after " + line);
            std::string kernel = next.substr(signature.size(), next.find('(') - signature.size());
            if (left_out.find(" " + kernel + " ") != std::string::npos) continue;
            printf("%s\n", kernel.c_str());
            fflush(stdout);
            write(results, kernel, run(arguments[at + 1], kernel, Launch(line)));
        }
    }
    if (fclose(results) != 0) stop(arguments[1], "cannot be written");
    return 0;
}
