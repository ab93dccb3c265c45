// The product of two matrices of floats: the CUDA ports of kernels-gpu/src/matmul/*.rs.
//
// Each kernel is its Rust rung line by line, under the same entry name and with the same parameters, so that
// only the compiler differs. The rungs' own files say what each of them is about.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 matmul.cu

namespace {

constexpr unsigned WARP_SIZE = 32;

// The words behind each row of a tile that free its columns of bank conflicts: kernels-gpu/src/tile.rs
// derives them.
__host__ __device__ constexpr unsigned padding(unsigned width, unsigned height) {
    const unsigned side = WARP_SIZE / height;
    unsigned pad = 0;
    while ((width + pad) % (2 * side) != side) {
        ++pad;
    }
    return pad;
}

// A thread's place in its block, and the first row and column of the block's tile of c.
struct Place {
    unsigned down;
    unsigned along;
    unsigned top;
    unsigned left;

    __device__ Place(unsigned rows, unsigned columns)
        : down(threadIdx.y), along(threadIdx.x), top((blockIdx.y + blockIdx.z * gridDim.y) * rows),
          left(blockIdx.x * columns) {}
};

// A matrix in global memory, row after row.
struct Matrix {
    const float* data;
    unsigned rows;
    unsigned columns;

    // An element, and 0 for what lies outside.
    __device__ __forceinline__ float get(unsigned row, unsigned column) const {
        return row < rows && column < columns ? data[row * columns + column] : 0.0f;
    }
};

// Each thread by itself. b is read from `first` on, every `stride` elements, which COLUMN_MAJOR decides.
template <bool COLUMN_MAJOR>
__device__ __forceinline__ void dot(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k) {
    const Place place(blockDim.y, blockDim.x);
    const unsigned row = place.top + place.down, column = place.left + place.along;
    if (row < m && column < n) {
        const unsigned first = COLUMN_MAJOR ? column * k : column;
        const unsigned stride = COLUMN_MAJOR ? 1 : n;
        float sum = 0.0f;
        for (unsigned i = 0; i < k; ++i) {
            sum = fmaf(a[row * k + i], b[first + i * stride], sum);
        }
        c[row * n + column] = sum;
    }
}

// Adds the products of a row of one tile and a column of another to a sum. Rust writes two loops in the place
// of this one to have LLVM unroll it.
template <unsigned T, unsigned PAD>
__device__ __forceinline__ float row_times_column(const float (&a)[T][T], const float (&b)[T][T + PAD], unsigned row,
                                                  unsigned column, float sum) {
#pragma unroll
    for (unsigned i = 0; i < T; ++i) {
        sum = fmaf(a[row][i], b[i][column], sum);
    }
    return sum;
}

// A tile of c for each block, from pairs of tiles of a and b. `load_b` puts an element of b into its tile,
// given the tile's first row.
template <unsigned T, unsigned PAD, typename LoadB>
__device__ __forceinline__ void tiled(float (&tile_a)[T][T], float (&tile_b)[T][T + PAD], const float* a_data,
                                      float* c, unsigned m, unsigned n, unsigned k, LoadB load_b) {
    const Matrix a{a_data, m, k};
    const Place place(T, T);
    const unsigned row = place.top + place.down, column = place.left + place.along;
    float sum = 0.0f;
    for (unsigned first = 0; first < k; first += T) {
        tile_a[place.down][place.along] = a.get(row, first + place.along);
        load_b(place, first);
        __syncthreads();
        sum = row_times_column<T, PAD>(tile_a, tile_b, place.down, place.along, sum);
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}

// A block takes COARSE tiles of c side by side: a tile of a is loaded once for all of them.
template <unsigned T, unsigned COARSE>
__device__ __forceinline__ void coarsened(float (&tile_a)[T][T], float (&tile_b)[T][T], const float* a_data,
                                          const float* b, float* c, unsigned m, unsigned n, unsigned k) {
    static_assert(2 * T * T * sizeof(float) <= 48 << 10 && T * T <= 1024,
                  "two tiles fit into shared memory, and a tile's threads into a block");
    const Matrix a{a_data, m, k};
    const Place place(T, T * COARSE);
    const unsigned row = place.top + place.down;
    // One address a row, for the tiles lie at constant distances from it, and so does the matrix's edge.
    const unsigned left = place.left + place.along;
    const unsigned columns = left < n ? n - left : 0;
    float sums[COARSE] = {};
    for (unsigned first = 0; first < k; first += T) {
        tile_a[place.down][place.along] = a.get(row, first + place.along);
        const unsigned row_of_b = first + place.down;
        const float* from = b + (row_of_b * n + left);
#pragma unroll
        for (unsigned tile = 0; tile < COARSE; ++tile) {
            float element = 0.0f;
            if (row_of_b < k && tile * T < columns) {
                element = from[tile * T];
            }
            tile_b[place.down][place.along] = element;
            __syncthreads();
            sums[tile] = row_times_column<T, 0>(tile_a, tile_b, place.down, place.along, sums[tile]);
            __syncthreads();
        }
    }
    float* to = c + (row * n + left);
#pragma unroll
    for (unsigned tile = 0; tile < COARSE; ++tile) {
        if (row < m && tile * T < columns) {
            to[tile * T] = sums[tile];
        }
    }
}

}  // namespace

extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                        unsigned k) {
    dot<false>(a, b, c, m, n, k);
}

extern "C" __global__ void matmul_uncoalesced(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                              unsigned k) {
    dot<true>(a, b, c, m, n, k);
}

// Rungs whose tile is a constant: an entry for each shape, which is launched with no larger block.

#define FOR_EACH_TILE(ENTRY) ENTRY(16) ENTRY(32)

#define TILED(T)                                                                                \
    extern "C" __global__ void __launch_bounds__(T * T) matmul_tiled_##T##x##T(                 \
        const float* a, const float* b_data, float* c, unsigned m, unsigned n, unsigned k) {    \
        __shared__ float tile_a[T][T], tile_b[T][T];                                            \
        const Matrix b{b_data, k, n};                                                           \
        tiled<T, 0>(tile_a, tile_b, a, c, m, n, k, [&](const Place& place, unsigned first) {    \
            tile_b[place.down][place.along] = b.get(first + place.down, place.left + place.along); \
        });                                                                                     \
    }
FOR_EACH_TILE(TILED)

// Column after column is the transpose, row after row.
#define CORNER_TURNING(T)                                                                       \
    extern "C" __global__ void __launch_bounds__(T * T) matmul_corner_turning_##T##x##T(        \
        const float* a, const float* b_data, float* c, unsigned m, unsigned n, unsigned k) {    \
        __shared__ float tile_a[T][T], tile_b[T][T + padding(T, T)];                            \
        const Matrix turned{b_data, n, k};                                                      \
        tiled<T, padding(T, T)>(tile_a, tile_b, a, c, m, n, k, [&](const Place& place, unsigned first) { \
            tile_b[place.along][place.down] = turned.get(place.left + place.down, first + place.along); \
        });                                                                                     \
    }
FOR_EACH_TILE(CORNER_TURNING)

#define COARSENED(T, COARSE)                                                                    \
    extern "C" __global__ void __launch_bounds__(T * T) matmul_coarsened##COARSE##_##T##x##T(   \
        const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k) {         \
        __shared__ float tile_a[T][T], tile_b[T][T];                                            \
        coarsened<T, COARSE>(tile_a, tile_b, a, b, c, m, n, k);                                 \
    }
#define EACH_COARSENED(T) COARSENED(T, 1) COARSENED(T, 2) COARSENED(T, 4) COARSENED(T, 8)
FOR_EACH_TILE(EACH_COARSENED)
