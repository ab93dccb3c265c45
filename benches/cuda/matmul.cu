// The product of two matrices of floats: the CUDA ports of kernels-gpu/src/matmul/*.rs.
//
// Each kernel is a line-by-line translation of its Rust rung, with the same entry name and parameters, so that only the
// compiler differs. The files of the rungs document the algorithms.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 matmul.cu

namespace {

constexpr unsigned WARP_SIZE = 32;

// Returns the number of unused words after each row of a tile with which accesses to a column have no bank conflicts.
// kernels-gpu/src/tile.rs derives this number.
__host__ __device__ constexpr unsigned padding(unsigned width, unsigned height) {
    const unsigned side = WARP_SIZE / height;
    unsigned pad = 0;
    while ((width + pad) % (2 * side) != side) {
        ++pad;
    }
    return pad;
}

// A thread's position in its block, and the first row and column of the block's tile of c.
struct Place {
    unsigned tile_row;
    unsigned tile_column;
    unsigned top;
    unsigned left;

    __device__ Place(unsigned rows, unsigned columns)
        : tile_row(threadIdx.y), tile_column(threadIdx.x), top((blockIdx.y + blockIdx.z * gridDim.y) * rows),
          left(blockIdx.x * columns) {}
};

// A row-major matrix in global memory.
struct Matrix {
    const float* data;
    unsigned rows;
    unsigned columns;

    // Returns an element, or 0 outside the matrix.
    __device__ __forceinline__ float get(unsigned row, unsigned column) const {
        return row < rows && column < columns ? data[row * columns + column] : 0.0f;
    }
};

// Computes one element per thread. The thread reads every `stride`-th element of b from `first` on. COLUMN_MAJOR
// determines `first` and `stride`.
template <bool COLUMN_MAJOR>
__device__ __forceinline__ void dot(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k) {
    const Place place(blockDim.y, blockDim.x);
    const unsigned row = place.top + place.tile_row, column = place.left + place.tile_column;
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

// Adds the products of a row of one tile and a column of another to a sum. Rust uses two loops in place of this one, so
// that LLVM unrolls them.
template <unsigned T, unsigned PAD>
__device__ __forceinline__ float row_times_column(const float (&a)[T][T], const float (&b)[T][T + PAD], unsigned row,
                                                  unsigned column, float sum) {
#pragma unroll
    for (unsigned i = 0; i < T; ++i) {
        sum = fmaf(a[row][i], b[i][column], sum);
    }
    return sum;
}

// Computes a tile of c for each block, from pairs of tiles of a and b. `load_b` writes an element of b to its tile,
// given the tile's first row.
template <unsigned T, unsigned PAD, typename LoadB>
__device__ __forceinline__ void tiled(float (&tile_a)[T][T], float (&tile_b)[T][T + PAD], const float* a_data,
                                      float* c, unsigned m, unsigned n, unsigned k, LoadB load_b) {
    const Matrix a{a_data, m, k};
    const Place place(T, T);
    const unsigned row = place.top + place.tile_row, column = place.left + place.tile_column;
    float sum = 0.0f;
    for (unsigned first = 0; first < k; first += T) {
        tile_a[place.tile_row][place.tile_column] = a.get(row, first + place.tile_column);
        load_b(place, first);
        __syncthreads();
        sum = row_times_column<T, PAD>(tile_a, tile_b, place.tile_row, place.tile_column, sum);
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}

// A block computes COARSE neighboring tiles of c: a tile of a is loaded once for all of them.
template <unsigned T, unsigned COARSE>
__device__ __forceinline__ void coarsened(float (&tile_a)[T][T], float (&tile_b)[T][T], const float* a_data,
                                          const float* b, float* c, unsigned m, unsigned n, unsigned k) {
    static_assert(2 * T * T * sizeof(float) <= 48 << 10 && T * T <= 1024,
                  "two tiles fit into shared memory, and a tile's threads fit into a block");
    const Matrix a{a_data, m, k};
    const Place place(T, T * COARSE);
    const unsigned row = place.top + place.tile_row;
    // One address per row is enough, because the tiles and the matrix's edge are at constant distances from this
    // address.
    const unsigned left = place.left + place.tile_column;
    const unsigned columns = left < n ? n - left : 0;
    float sums[COARSE] = {};
    for (unsigned first = 0; first < k; first += T) {
        tile_a[place.tile_row][place.tile_column] = a.get(row, first + place.tile_column);
        const unsigned row_of_b = first + place.tile_row;
        const float* from = b + (row_of_b * n + left);
#pragma unroll
        for (unsigned tile = 0; tile < COARSE; ++tile) {
            float element = 0.0f;
            if (row_of_b < k && tile * T < columns) {
                element = from[tile * T];
            }
            tile_b[place.tile_row][place.tile_column] = element;
            __syncthreads();
            sums[tile] = row_times_column<T, 0>(tile_a, tile_b, place.tile_row, place.tile_column, sums[tile]);
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

// Rungs with a constant tile: an entry for each shape, which must not be launched with a larger block.

#define FOR_EACH_TILE(ENTRY) ENTRY(16) ENTRY(32)

#define TILED(T)                                                                                \
    extern "C" __global__ void __launch_bounds__(T * T) matmul_tiled_##T##x##T(                 \
        const float* a, const float* b_data, float* c, unsigned m, unsigned n, unsigned k) {    \
        __shared__ float tile_a[T][T], tile_b[T][T];                                            \
        const Matrix b{b_data, k, n};                                                           \
        tiled<T, 0>(tile_a, tile_b, a, c, m, n, k, [&](const Place& place, unsigned first) {    \
            tile_b[place.tile_row][place.tile_column] = b.get(first + place.tile_row, place.left + place.tile_column); \
        });                                                                                     \
    }
FOR_EACH_TILE(TILED)

// A column-major matrix is the transpose of a row-major matrix.
#define CORNER_TURNING(T)                                                                       \
    extern "C" __global__ void __launch_bounds__(T * T) matmul_corner_turning_##T##x##T(        \
        const float* a, const float* b_data, float* c, unsigned m, unsigned n, unsigned k) {    \
        __shared__ float tile_a[T][T], tile_b[T][T + padding(T, T)];                            \
        const Matrix turned{b_data, n, k};                                                      \
        tiled<T, padding(T, T)>(tile_a, tile_b, a, c, m, n, k, [&](const Place& place, unsigned first) { \
            tile_b[place.tile_column][place.tile_row] = turned.get(place.left + place.tile_row, first + place.tile_column); \
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
