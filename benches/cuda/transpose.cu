// The transpose of a matrix of floats: the CUDA ports of kernels-gpu/src/transpose/*.rs.
//
// Each kernel is a line-by-line translation of its Rust rung, with the same entry name and parameters, so that only the
// compiler differs. The files of the rungs document the algorithms.
//
// nvcc -ptx -O3 -std=c++17 -arch=compute_75 transpose.cu

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

struct Position {
    unsigned row;
    unsigned column;
};

// A thread's position in its block, and its tile's position in the matrix, for blocks of X by Y threads that cover
// ACROSS * X columns.
template <unsigned X, unsigned Y, unsigned ACROSS>
struct Place {
    Position origin;
    Position thread;

    __device__ Place()
        : origin{(blockIdx.y + blockIdx.z * gridDim.y) * Y, blockIdx.x * (ACROSS * X)},
          thread{threadIdx.y, threadIdx.x} {}

    // Returns the thread's row and column in the transposed tile: neighboring threads have neighboring elements of the
    // output.
    __device__ Position turned() const {
        const unsigned index = thread.row * X + thread.column;
        return {index / Y, index % Y};
    }
};

// Returns the row and the column of this thread's element, for a block of any shape.
__device__ __forceinline__ Position element() {
    const unsigned tile_row = blockIdx.y + blockIdx.z * gridDim.y;
    return {tile_row * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x};
}

template <unsigned X, unsigned Y>
__device__ __forceinline__ void strided_reads(const float* input, float* output, unsigned rows, unsigned cols) {
    const Place<X, Y, 1> place;
    const Position to = place.turned();
    const unsigned row = place.origin.row + to.column, column = place.origin.column + to.row;
    if (row < rows && column < cols) {
        output[column * rows + row] = input[row * cols + column];
    }
}

// Transposes through a tile in shared memory, whose rows have X words and PAD unused words.
template <unsigned X, unsigned Y, unsigned PAD>
__device__ __forceinline__ void smem(float (&tile)[Y][X + PAD], const float* input, float* output, unsigned rows,
                                     unsigned cols) {
    const Place<X, Y, 1> place;
    {
        const unsigned tile_row = place.thread.row, tile_column = place.thread.column;
        const unsigned row = place.origin.row + tile_row, column = place.origin.column + tile_column;
        if (row < rows && column < cols) {
            tile[tile_row][tile_column] = input[row * cols + column];
        }
    }

    __syncthreads();

    {
        const Position turned = place.turned();
        const unsigned turned_row = turned.row, turned_column = turned.column;
        const unsigned row = place.origin.row + turned_column, column = place.origin.column + turned_row;
        if (row < rows && column < cols) {
            output[column * rows + row] = tile[turned_column][turned_row];
        }
    }
}

// Transposes two neighboring tiles through one tile, whose rows have 2 * X words and PAD unused words: each thread
// moves two elements, X columns apart.
template <unsigned X, unsigned Y, unsigned PAD>
__device__ __forceinline__ void unroll(float* tile, const float* input, float* output, unsigned rows,
                                       unsigned cols) {
    constexpr unsigned pitch = 2 * X + PAD;
    const Place<X, Y, 2> place;
    {
        // Both loads precede both stores, so that they are in flight together.
        const unsigned tile_row = place.thread.row, tile_column = place.thread.column;
        const unsigned row = place.origin.row + tile_row, column = place.origin.column + tile_column;
        float first = 0.0f, second = 0.0f;
        const float* from = input + (row * cols + column);
        if (row < rows && column < cols) {
            first = from[0];
        }
        if (row < rows && column + X < cols) {
            second = from[X];
        }
        float* to = tile + (tile_row * pitch + tile_column);
        to[0] = first;
        to[X] = second;
    }

    __syncthreads();

    {
        const Position turned = place.turned();
        const unsigned turned_row = turned.row, turned_column = turned.column;
        const unsigned row = place.origin.row + turned_column, column = place.origin.column + turned_row;
        const float* from = tile + (turned_column * pitch + turned_row);
        float* to = output + (column * rows + row);
        if (row < rows && column < cols) {
            to[0] = from[0];
        }
        if (row < rows && column + X < cols) {
            to[X * rows] = from[X];
        }
    }
}

}  // namespace

extern "C" __global__ void copy_gmem(const float* input, float* output, unsigned rows, unsigned cols) {
    const Position at = element();
    if (at.row < rows && at.column < cols) {
        const unsigned index = at.row * cols + at.column;
        output[index] = input[index];
    }
}

extern "C" __global__ void transpose_naive(const float* input, float* output, unsigned rows, unsigned cols) {
    const Position at = element();
    if (at.row < rows && at.column < cols) {
        output[at.column * rows + at.row] = input[at.row * cols + at.column];
    }
}

// Rungs with a constant block shape: an entry for each shape, which must not be launched with a larger block.

#define FOR_EACH_BLOCK(ENTRY) ENTRY(32, 16) ENTRY(32, 32) ENTRY(16, 16)

#define NAIVE_STRIDED_READS(X, Y)                                                               \
    extern "C" __global__ void __launch_bounds__(X * Y) transpose_naive_strided_reads_##X##x##Y( \
        const float* input, float* output, unsigned rows, unsigned cols) {                      \
        strided_reads<X, Y>(input, output, rows, cols);                                         \
    }
FOR_EACH_BLOCK(NAIVE_STRIDED_READS)

#define SMEM(X, Y)                                                                              \
    extern "C" __global__ void __launch_bounds__(X * Y)                                         \
        transpose_smem_##X##x##Y(const float* input, float* output, unsigned rows, unsigned cols) { \
        __shared__ float tile[Y][X];                                                            \
        smem<X, Y, 0>(tile, input, output, rows, cols);                                         \
    }
FOR_EACH_BLOCK(SMEM)

#define SMEM_PAD(X, Y)                                                                          \
    extern "C" __global__ void __launch_bounds__(X * Y)                                         \
        transpose_smem_pad_##X##x##Y(const float* input, float* output, unsigned rows, unsigned cols) { \
        __shared__ float tile[Y][X + padding(X, Y)];                                            \
        smem<X, Y, padding(X, Y)>(tile, input, output, rows, cols);                             \
    }
FOR_EACH_BLOCK(SMEM_PAD)

#define SMEM_UNROLL_PAD(X, Y)                                                                   \
    extern "C" __global__ void __launch_bounds__(X * Y) transpose_smem_unroll_pad_##X##x##Y(    \
        const float* input, float* output, unsigned rows, unsigned cols) {                      \
        __shared__ float tile[Y * (2 * X + padding(2 * X, Y))];                                 \
        unroll<X, Y, padding(2 * X, Y)>(tile, input, output, rows, cols);                       \
    }
FOR_EACH_BLOCK(SMEM_UNROLL_PAD)

#define SMEM_UNROLL_PAD_DYN(X, Y)                                                               \
    extern "C" __global__ void __launch_bounds__(X * Y) transpose_smem_unroll_pad_dyn_##X##x##Y( \
        const float* input, float* output, unsigned rows, unsigned cols) {                      \
        extern __shared__ float dynamic_tile[];                                                 \
        unroll<X, Y, padding(2 * X, Y)>(dynamic_tile, input, output, rows, cols);               \
    }
FOR_EACH_BLOCK(SMEM_UNROLL_PAD_DYN)
