// Surface objects: writes and reads in two and three dimensions, boundary modes, and a texture over the same array.
#include "check.cuh"

__global__ void paint(cudaSurfaceObject_t surface, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) surf2Dwrite(make_int2(x, y * 100), surface, x * (int)sizeof(int2), y);
}

__global__ void turn(cudaSurfaceObject_t surface, cudaSurfaceObject_t to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int2 value = surf2Dread<int2>(surface, x * (int)sizeof(int2), y);
    surf2Dwrite(make_int2(value.y, value.x), to, (width - 1 - x) * (int)sizeof(int2), height - 1 - y);
}

__global__ void outside(cudaSurfaceObject_t surface, int* out) {
    surf2Dwrite(make_int2(-1, -1), surface, 1000 * (int)sizeof(int2), 0, cudaBoundaryModeZero);
    int2 zero = surf2Dread<int2>(surface, -8, 0, cudaBoundaryModeZero);
    int2 clamped = surf2Dread<int2>(surface, 1000 * (int)sizeof(int2), 5, cudaBoundaryModeClamp);
    out[0] = zero.x + zero.y;
    out[1] = clamped.x + clamped.y;
}

__global__ void through_texture(cudaTextureObject_t texture, int* out) {
    int2 value = tex2D<int2>(texture, threadIdx.x + 0.5f, 2.5f);
    out[threadIdx.x] = value.x + value.y;
}

__global__ void cube(cudaSurfaceObject_t surface) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    surf3Dwrite<short>(x + 10 * y + 100 * z, surface, x * (int)sizeof(short), y, z);
}

__global__ void place(cudaSurfaceObject_t surface, int* out) {
    *out = surf3Dread<short>(surface, 3 * (int)sizeof(short), 2, 1);
}

int main() {
    const int width = 20, height = 6;
    int values[width], *out;
    CHECK(cudaMalloc(&out, sizeof(values)));
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int2>();
    cudaArray_t arrays[2], box;
    cudaSurfaceObject_t surfaces[2], space;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMallocArray(&arrays[i], &format, width, height, cudaArraySurfaceLoadStore));
        resource.res.array.array = arrays[i];
        CHECK(cudaCreateSurfaceObject(&surfaces[i], &resource));
    }
    dim3 block(16, 4), grid(2, 2);
    paint<<<grid, block>>>(surfaces[0], width, height);
    turn<<<grid, block>>>(surfaces[0], surfaces[1], width, height);
    int2 row[width];
    CHECK(cudaMemcpy2DFromArray(row, sizeof(row), arrays[1], 0, 1, sizeof(row), 1, cudaMemcpyDeviceToHost));
    std::printf("turned: (%d, %d) (%d, %d)\n", row[0].x, row[0].y, row[19].x, row[19].y);
    outside<<<1, 1>>>(surfaces[0], out);
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("outside: %d %d\n", values[0], values[1]);
    cudaTextureObject_t texture;
    cudaTextureDesc description = {};
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    through_texture<<<1, width>>>(texture, out);
    CHECK(cudaMemcpy(values, out, sizeof(values), cudaMemcpyDeviceToHost));
    std::printf("texture: %d %d %d\n", values[0], values[7], values[19]);

    cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
    CHECK(cudaMalloc3DArray(&box, &shorts, make_cudaExtent(8, 4, 2), cudaArraySurfaceLoadStore));
    resource.res.array.array = box;
    CHECK(cudaCreateSurfaceObject(&space, &resource));
    cube<<<1, dim3(8, 4, 2)>>>(space);
    place<<<1, 1>>>(space, out);
    CHECK(cudaMemcpy(values, out, sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("3D: %d\n", values[0]);
    CHECK(cudaDestroyTextureObject(texture));
    for (cudaSurfaceObject_t surface : {surfaces[0], surfaces[1], space}) CHECK(cudaDestroySurfaceObject(surface));
    for (cudaArray_t array : {arrays[0], arrays[1], box}) CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
    return 0;
}
