// Texture objects over linear and pitched memory: whole texels, normalized reads, vectors, and out-of-bounds reads.
#include "check.cuh"

__global__ void line(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x * 3);
}

__global__ void vectors(cudaTextureObject_t texture, float* out) {
    int4 four = tex1Dfetch<int4>(texture, threadIdx.x);
    out[threadIdx.x] = four.x + 10 * four.y + 100 * four.z + 1000 * four.w;
}

__global__ void plane(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x % 4 + 0.5f, threadIdx.x / 4 + 0.5f);
}

static void show(const char* name, const float* device, int n) {
    float values[8];
    CHECK(cudaMemcpy(values, device, n * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%s:", name);
    for (int i = 0; i < n; i++) std::printf(" %.4f", values[i]);
    std::printf("\n");
}

int main() {
    float floats[16], *memory, *out;
    for (int i = 0; i < 16; i++) floats[i] = i * 0.5f;
    CHECK(cudaMalloc(&out, 8 * sizeof(float)));
    CHECK(cudaMalloc(&memory, sizeof(floats)));
    CHECK(cudaMemcpy(memory, floats, sizeof(floats), cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};
    cudaTextureObject_t object;
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {memory, cudaCreateChannelDesc<float>(), sizeof(floats)};
    CHECK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    line<<<1, 7>>>(object, out); // the last read is out of bounds
    show("floats", out, 7);
    CHECK(cudaDestroyTextureObject(object));

    int whole[16];
    for (int i = 0; i < 16; i++) whole[i] = i % 10;
    CHECK(cudaMemcpy(memory, whole, sizeof(whole), cudaMemcpyHostToDevice));
    resource.res.linear = {memory, cudaCreateChannelDesc<int4>(), sizeof(whole)};
    CHECK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    vectors<<<1, 4>>>(object, out);
    show("vectors", out, 4);
    CHECK(cudaDestroyTextureObject(object));

    unsigned char bytes[2][4] = {{0, 51, 102, 255}, {255, 204, 153, 0}}, *pitched;
    size_t pitch;
    CHECK(cudaMallocPitch(&pitched, &pitch, 4, 2));
    CHECK(cudaMemcpy2D(pitched, pitch, bytes, 4, 4, 2, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {pitched, cudaCreateChannelDesc<unsigned char>(), 4, 2, pitch};
    description.readMode = cudaReadModeNormalizedFloat;
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    CHECK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    plane<<<1, 8>>>(object, out);
    show("bytes", out, 8);
    cudaTextureDesc got;
    CHECK(cudaGetTextureObjectTextureDesc(&got, object));
    HOLDS(got.readMode == cudaReadModeNormalizedFloat);
    CHECK(cudaDestroyTextureObject(object));
    for (void* each : {(void*)out, (void*)memory, (void*)pitched}) CHECK(cudaFree(each));
    return 0;
}
