// Fetches of all kinds of textures at random coordinates. A line is a case: its setup, the seed of its texels and
// coordinates, and the fetched values in hexadecimal. The test generates the same texels and coordinates from the seed.
//
// arch: sm_90
// nvcc -arch=sm_90 -o fetch fetch.cu && ./fetch 1 > all.txt && ./fetch 23 > h200.txt   (each case, and each 23rd)
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// Some fetches use only one kind of coordinates.
#pragma nv_diag_suppress 177

const int COUNT = 64;

__device__ uint4 bits(float4 v) {
    return make_uint4(__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w));
}
__device__ uint4 bits(int4 v) { return make_uint4(v.x, v.y, v.z, v.w); }
__device__ uint4 bits(uint4 v) { return v; }

// T is the type of the value, p the coordinates, l the layer or an integer coordinate.
#define FETCH(name, type, value)                                                                        \
    extern "C" __global__ void name(cudaTextureObject_t t, const float4* c, const int2* n, uint4* out) { \
        typedef type T;                                                                                 \
        int i = threadIdx.x;                                                                            \
        float4 p = c[i];                                                                                \
        int2 l = n[i];                                                                                 \
        out[i] = bits(value);                                                                           \
    }
#define KIND(kind, value)                    \
    FETCH(kind##_float, float4, value)       \
    FETCH(kind##_signed, int4, value)        \
    FETCH(kind##_unsigned, uint4, value)
KIND(one, tex1D<T>(t, p.x))
KIND(two, tex2D<T>(t, p.x, p.y))
KIND(three, tex3D<T>(t, p.x, p.y, p.z))
KIND(ones, tex1DLayered<T>(t, p.x, l.x))
KIND(twos, tex2DLayered<T>(t, p.x, p.y, l.x))
KIND(cube, texCubemap<T>(t, p.x, p.y, p.z))
KIND(cubes, texCubemapLayered<T>(t, p.x, p.y, p.z, l.x))
KIND(linear, tex1Dfetch<T>(t, l.x))
KIND(gather, tex2Dgather<T>(t, p.x, p.y, 0))
FETCH(clamp, unsigned, make_uint4(surf2Dread<unsigned>(t, 4 * l.x, l.y, cudaBoundaryModeClamp), 0, 0, 0))
FETCH(zero, unsigned, make_uint4(surf2Dread<unsigned>(t, 4 * l.x, l.y, cudaBoundaryModeZero), 0, 0, 0))

#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t e = call;                                                                \
        if (e != cudaSuccess) {                                                              \
            fprintf(stderr, "%s: line %d: %s\n", what, __LINE__, cudaGetErrorString(e));     \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static uint64_t state;
static uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return uint32_t(state >> 32);
}
// Returns a number from 0 to 1, exactly.
static double share() { return (next() >> 8) / 16777216.0; }

struct Format { const char* name; cudaChannelFormatKind kind; int bits, count, normalized; };
static const Format FORMATS[] = {
    {"float", cudaChannelFormatKindFloat, 32, 1, 0},       {"float", cudaChannelFormatKindFloat, 32, 4, 0},
    {"float", cudaChannelFormatKindFloat, 16, 2, 0},       {"unsigned", cudaChannelFormatKindUnsigned, 8, 4, 1},
    {"signed", cudaChannelFormatKindSigned, 8, 1, 1},      {"unsigned", cudaChannelFormatKindUnsigned, 16, 2, 1},
    {"signed", cudaChannelFormatKindSigned, 16, 4, 1},     {"unsigned", cudaChannelFormatKindUnsigned, 8, 4, 0},
    {"signed", cudaChannelFormatKindSigned, 16, 2, 0},     {"signed", cudaChannelFormatKindSigned, 8, 1, 0},
    {"unsigned", cudaChannelFormatKindUnsigned, 32, 1, 0},
};
struct Kind { const char* name; int w, h, d, layers; unsigned flags; };
static const Kind KINDS[] = {
    {"one", 11, 1, 1, 0, 0},
    {"two", 11, 6, 1, 0, 0},
    {"three", 7, 6, 5, 0, 0},
    {"ones", 11, 1, 1, 3, cudaArrayLayered},
    {"twos", 11, 6, 1, 3, cudaArrayLayered},
    {"cube", 8, 8, 1, 0, cudaArrayCubemap},
    {"cubes", 8, 8, 1, 2, cudaArrayCubemap | cudaArrayLayered},
    {"linear", 50, 1, 1, 0, 0},
    {"gather", 11, 6, 1, 0, cudaArrayTextureGather},
    {"clamp", 11, 6, 1, 0, cudaArraySurfaceLoadStore},
    {"zero", 11, 6, 1, 0, cudaArraySurfaceLoadStore},
};
static const char* MODES[] = {"wrap", "clamp", "mirror", "border"};
static void* kernel_of(const char* kind, const char* type);

static void one(const Kind& k, const Format& f, int mode, int filter, int normalized, uint64_t seed) {
    char what[200];
    snprintf(what, sizeof what, "%s %d %d %d %d %s %d %d %d %s %s %d", k.name, k.w, k.h, k.d, k.layers, f.name, f.bits,
             f.count, f.normalized, MODES[mode], filter ? "linear" : "point", normalized);
    state = seed;
    int faces = strncmp(k.name, "cube", 4) == 0 ? 6 : 1, slices = k.d * (k.layers ? k.layers : 1) * faces;
    size_t channels = size_t(k.w) * k.h * slices * f.count, texel = f.bits / 8 * f.count;
    std::vector<uint8_t> data(channels * f.bits / 8);
    for (size_t i = 0; i < channels; i++) {
        uint32_t r = next();
        if (f.kind == cudaChannelFormatKindFloat && f.bits == 32) {
            float value = float((int32_t(r >> 8) - 8388608) / 8388608.0);
            memcpy(&r, &value, 4);
        } else if (f.kind == cudaChannelFormatKindFloat) {
            r &= 0xbbff;
        }
        memcpy(&data[i * f.bits / 8], &r, f.bits / 8);
    }
    std::vector<float> at(COUNT * 4);
    std::vector<int> n(COUNT * 2);
    int sides[4] = {k.w, k.h, k.d, 1};
    for (int i = 0; i < COUNT; i++) {
        for (int side = 0; side < 4; side++) {
            double x = share() * 2.5 - 0.75;
            if (faces == 6) {
                x = x * 1.5 - 0.75;
            } else if (!normalized) {
                x *= sides[side];
            }
            // Some coordinates are multiples of 1/512 of a texel, where the guide's rounding matters.
            if (i % 4 == 3 && !normalized) x = double(int64_t(x * 512)) / 512;
            at[i * 4 + side] = float(x);
        }
        for (int side = 0; side < 2; side++) n[i * 2 + side] = int(next() % 70) - 10;
        if (k.layers) n[i * 2] = int(uint32_t(n[i * 2] + 10) % (k.layers + 2)) - 1;
    }
    cudaChannelFormatDesc channel = cudaCreateChannelDesc(f.bits, f.count > 1 ? f.bits : 0, f.count > 2 ? f.bits : 0,
                                                          f.count > 2 ? f.bits : 0, f.kind);
    cudaResourceDesc resource = {};
    cudaTextureDesc texture = {};
    cudaArray_t array = nullptr;
    void* linear = nullptr;
    if (strcmp(k.name, "linear") == 0) {
        CHECK(cudaMalloc(&linear, data.size()));
        CHECK(cudaMemcpy(linear, data.data(), data.size(), cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = linear;
        resource.res.linear.desc = channel;
        resource.res.linear.sizeInBytes = data.size();
    } else {
        bool is_flat = k.h == 1;
        int depth = k.d > 1 ? k.d : (k.layers || faces > 1) ? slices : 0;
        CHECK(cudaMalloc3DArray(&array, &channel, make_cudaExtent(k.w, is_flat ? 0 : k.h, depth), k.flags));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(data.data(), k.w * texel, k.w, k.h);
        copy.dstArray = array;
        copy.extent = make_cudaExtent(k.w, k.h, slices);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
    }
    for (int side = 0; side < 3; side++) texture.addressMode[side] = cudaTextureAddressMode(mode);
    texture.filterMode = filter ? cudaFilterModeLinear : cudaFilterModePoint;
    texture.readMode = f.normalized ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    texture.normalizedCoords = normalized;
    for (int i = 0; i < 4; i++) texture.borderColor[i] = 0.25f * (i + 1);
    unsigned long long object = 0;
    bool is_surface = k.flags == cudaArraySurfaceLoadStore;
    if (is_surface) CHECK(cudaCreateSurfaceObject(&object, &resource));
    else CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    void *points, *numbers, *out;
    std::vector<uint32_t> found(COUNT * 4);
    CHECK(cudaMalloc(&points, COUNT * 16));
    CHECK(cudaMalloc(&numbers, COUNT * 8));
    CHECK(cudaMalloc(&out, COUNT * 16));
    CHECK(cudaMemcpy(points, at.data(), COUNT * 16, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(numbers, n.data(), COUNT * 8, cudaMemcpyHostToDevice));
    bool is_float = f.normalized || f.kind == cudaChannelFormatKindFloat;
    void* args[] = {&object, &points, &numbers, &out};
    CHECK(cudaLaunchKernel(kernel_of(k.name, is_float ? "float" : f.name), 1, COUNT, args, 0, 0));
    CHECK(cudaMemcpy(found.data(), out, COUNT * 16, cudaMemcpyDeviceToHost));
    printf("%s %llu", what, (unsigned long long)seed);
    for (int i = 0; i < COUNT * 4; i++) printf("%c%x", i % 4 ? ',' : ' ', found[i]);
    printf("\n");
    if (is_surface) cudaDestroySurfaceObject(object);
    else cudaDestroyTextureObject(object);
    cudaFree(points), cudaFree(numbers), cudaFree(out), cudaFree(linear), cudaFreeArray(array);
}

static void* kernel_of(const char* kind, const char* type) {
    struct Row { const char *kind, *type; void* kernel; };
#define ROWS(kind)                                                                               \
    {#kind, "float", (void*)kind##_float}, {#kind, "signed", (void*)kind##_signed},              \
        {#kind, "unsigned", (void*)kind##_unsigned}
#define SURFACE(kind) {#kind, "unsigned", (void*)kind}
    static const Row rows[] = {ROWS(one),   ROWS(two),    ROWS(three),  ROWS(ones),     ROWS(twos),   ROWS(cube),
                               ROWS(cubes), ROWS(linear), ROWS(gather), SURFACE(clamp), SURFACE(zero)};
    for (const Row& row : rows)
        if (strcmp(row.kind, kind) == 0 && strcmp(row.type, type) == 0) return row.kernel;
    return nullptr;
}

int main(int argc, char** argv) {
    int each = argc > 1 ? atoi(argv[1]) : 1, number = 0;
    for (const Kind& k : KINDS)
        for (const Format& f : FORMATS)
            for (int mode = 0; mode < 4; mode++)
                for (int filter = 0; filter < 2; filter++)
                    for (int normalized = 0; normalized < 2; normalized++) {
                        bool is_float = f.normalized || f.kind == cudaChannelFormatKindFloat;
                        bool is_surface = k.flags == cudaArraySurfaceLoadStore, is_cube = !strncmp(k.name, "cube", 4);
                        bool is_plain = mode == 1 && !filter && !normalized;
                        if (filter && !is_float) continue;
                        if (mode % 2 == 0 && !normalized) continue;  // wrap and mirror
                        if (is_cube && (mode != 1 || !normalized)) continue;
                        if (!strcmp(k.name, "linear") && !is_plain) continue;
                        if (is_surface && (!is_plain || is_float || f.bits * f.count != 32 || *f.name != 'u')) continue;
                        if (!strcmp(k.name, "gather") && filter) continue;
                        if (number++ % each == 0) one(k, f, mode, filter, normalized, 1000 + number);
                    }
}
