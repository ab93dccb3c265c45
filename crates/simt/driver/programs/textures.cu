// Texture objects over arrays: points, filtering, address modes, normalized coordinates, layers.
#include "check.cuh"

__global__ void at(cudaTextureObject_t texture, const float2* where, float* out) {
    out[threadIdx.x] = tex2D<float>(texture, where[threadIdx.x].x, where[threadIdx.x].y);
}

__global__ void layer(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex2DLayered<float>(texture, 1.5f, 0.5f, threadIdx.x);
}

static void show(const char* name, const float* device, int n) {
    float values[8];
    CHECK(cudaMemcpy(values, device, n * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%s:", name);
    for (int i = 0; i < n; i++) std::printf(" %.4f", values[i]);
    std::printf("\n");
}

static cudaTextureObject_t texture(cudaArray_t array, cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                                   bool normalized) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    for (cudaTextureAddressMode& each : description.addressMode) each = mode;
    description.filterMode = filter;
    description.normalizedCoords = normalized;
    cudaTextureObject_t object;
    CHECK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    return object;
}

int main() {
    float image[2][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}}, *out;
    float2 texels[] = {{0.5f, 0.5f}, {1.0f, 0.5f}, {1.5f, 1.0f}, {2.75f, 1.25f}, {-3.0f, 0.5f}, {9.0f, 1.5f}};
    float2 parts[] = {{0.125f, 0.25f}, {1.125f, 0.75f}, {-0.125f, 0.25f}, {0.625f, 1.25f}, {2.0f, 2.0f}, {0.5f, 0.5f}};
    float2* where;
    CHECK(cudaMalloc(&out, 8 * sizeof(float)));
    CHECK(cudaMalloc(&where, sizeof(texels)));
    cudaArray_t array, layers;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, 4, 2));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image, sizeof(image[0]), sizeof(image[0]), 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(where, texels, sizeof(texels), cudaMemcpyHostToDevice));
    struct {
        const char* name;
        cudaTextureAddressMode mode;
        cudaTextureFilterMode filter;
        bool normalized;
    } cases[] = {
        {"points", cudaAddressModeClamp, cudaFilterModePoint, false},
        {"filtered", cudaAddressModeClamp, cudaFilterModeLinear, false},
        {"border", cudaAddressModeBorder, cudaFilterModePoint, false},
        {"wrapped", cudaAddressModeWrap, cudaFilterModePoint, true},
        {"mirrored", cudaAddressModeMirror, cudaFilterModePoint, true},
    };
    for (auto& each : cases) {
        if (each.normalized) CHECK(cudaMemcpy(where, parts, sizeof(parts), cudaMemcpyHostToDevice));
        cudaTextureObject_t object = texture(array, each.mode, each.filter, each.normalized);
        at<<<1, 6>>>(object, where, out);
        show(each.name, out, 6);
        cudaResourceDesc got;
        CHECK(cudaGetTextureObjectResourceDesc(&got, object));
        if (got.resType != cudaResourceTypeArray || got.res.array.array != array) std::printf("another array\n");
        CHECK(cudaDestroyTextureObject(object));
    }

    float line[8] = {0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f};
    cudaMemcpy3DParms copy = {};
    copy.extent = make_cudaExtent(2, 1, 4);
    CHECK(cudaMalloc3DArray(&layers, &format, copy.extent, cudaArrayLayered));
    copy.srcPtr = make_cudaPitchedPtr(line, 2 * sizeof(float), 2, 1);
    copy.dstArray = layers;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaTextureObject_t object = texture(layers, cudaAddressModeClamp, cudaFilterModeLinear, false);
    layer<<<1, 4>>>(object, out);
    show("layers", out, 4);
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(layers));
    CHECK(cudaFree(out));
    CHECK(cudaFree(where));
    return 0;
}
