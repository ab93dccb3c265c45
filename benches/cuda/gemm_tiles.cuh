// Tiles of the product and of its factors for warps: the code of kernels-gpu/src/gemm that its rungs with mma.sync
// share. For compute capability 8.0 and newer.
#pragma once

#include "tensor_core.cuh"

using Bf16 = unsigned short;

extern __shared__ __align__(16) unsigned char shared_memory[];

__device__ __forceinline__ unsigned ceiling(unsigned a, unsigned b) { return a / b + (a % b != 0); }

// The first row and the first column of a tile.
struct Corner {
    unsigned row;
    unsigned column;
};

// Returns the corner of tile number `index`. Tiles are numbered in bands of BAND rows of tiles, down the columns of a
// band.
template <unsigned ROWS, unsigned COLUMNS, unsigned BAND>
__device__ __forceinline__ Corner corner(unsigned index, unsigned m, unsigned n) {
    const unsigned tile_rows = ceiling(m, ROWS), tile_columns = max(ceiling(n, COLUMNS), 1u);
    const unsigned in_band = BAND * tile_columns, first = index / in_band * BAND;
    const unsigned rows = max(min(tile_rows - first, BAND), 1u), rest = index % in_band;
    return {(first + rest % rows) * ROWS, rest / rows * COLUMNS};
}

namespace mma_sync {

// operand.rs: tiles of the factors in global memory, DEPTH elements along k, in chunks of 16 bytes.
constexpr unsigned DEPTH = 32, CHUNK = 8, THREADS = 256;

template <bool ALONG_K>
struct Chunks {
    const Bf16* matrix;
    const Bf16* first;
    unsigned pitch;
    int rows;
    int columns;
    unsigned alignment;

    // The chunks of a matrix of `height` × `width` elements that belong to this position in the tile that starts at
    // `line`.
    __device__ __forceinline__ Chunks(const Bf16* matrix, unsigned height, unsigned width, unsigned line, unsigned row,
                                      unsigned column)
        : matrix(matrix), pitch(width) {
        (ALONG_K ? row : column) += line;
        const unsigned bits = static_cast<unsigned>(reinterpret_cast<unsigned long long>(matrix)) | width * 2;
        first = matrix + (row * width + column);
        rows = static_cast<int>(height) - static_cast<int>(row);
        columns = static_cast<int>(width) - static_cast<int>(column);
        alignment = bits % 16 == 0 ? 16 : 4 - bits % 4;
    }

    __device__ __forceinline__ void advance() {
        if (ALONG_K) {
            first += DEPTH;
            columns -= static_cast<int>(DEPTH);
        } else {
            first += DEPTH * pitch;
            rows -= static_cast<int>(DEPTH);
        }
    }

    // Returns the chunk that is `row_offset` rows below the first chunk. Sets `left` to the number of columns from that
    // chunk on.
    __device__ __forceinline__ const Bf16* place(unsigned row_offset, int& left) const {
        left = rows > static_cast<int>(row_offset) ? columns : 0;
        return first + row_offset * pitch;
    }

    __device__ __forceinline__ uint4 get(unsigned row_offset) const {
        int left;
        const Bf16* from = place(row_offset, left);
        if (alignment < 16) {
            return elements(from, left);
        }
        return left > 0 ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
    }

    __device__ __forceinline__ uint4 elements(const Bf16* from, int left) const {
        // Reads another element in place of one that does not exist, so that the eight loads need no branch.
        from = left > 0 ? from : matrix;
        const int last = left > 0 ? left - 1 : 0;
        const auto element = [&](int i) -> unsigned { return from[min(i, last)] & (left > i ? 0xffffu : 0u); };
        const auto pair = [&](int i) { return element(2 * i) | element(2 * i + 1) << 16; };
        return make_uint4(pair(0), pair(1), pair(2), pair(3));
    }

    // Starts the copies of N chunks, `apart` rows apart. The chunks go to addresses from `to` on, `bytes` bytes apart.
    template <unsigned N>
    __device__ __forceinline__ void copy(unsigned apart, unsigned char* to, unsigned bytes) const {
        const Shared shared = shared_of(to);
        int left;
        if (alignment == 16) {
#pragma unroll
            for (unsigned i = 0; i < N; ++i) {
                const Bf16* from = place(i * apart, left);
                copy_four(shared + i * bytes, from, left > 0);
            }
            return;
        }
#pragma unroll 1
        for (unsigned i = 0; i < N; ++i) {
            const Bf16* from = place(i * apart, left);
            if (alignment == 4) {
#pragma unroll
                for (unsigned pair = 0; pair < CHUNK / 2; ++pair) {
                    copy_one(shared + i * bytes + 4 * pair, from + 2 * pair, left > static_cast<int>(2 * pair));
                }
            } else {
                *reinterpret_cast<uint4*>(to + i * bytes) = elements(from, left);
            }
        }
    }
};

// warp_tile.rs: the part of a block's tile for one of 2 × 4 warps, 64 rows and 16 * ALONG columns.
constexpr unsigned SIDE = 16, DOWN = 4, ROWS = 2 * DOWN * SIDE;
constexpr unsigned columns_of(unsigned tiles) { return 4 * tiles * SIDE; }

template <unsigned ALONG>
struct WarpTile {
    unsigned row;
    unsigned column;
    WarpSums sums[DOWN][ALONG];

    __device__ __forceinline__ WarpTile() : sums{} {
        const unsigned warp = threadIdx.x / 32;
        row = warp % 2 * (DOWN * SIDE);
        column = warp / 2 * (ALONG * SIDE);
    }

    __device__ __forceinline__ void multiply_add(const Fragment (&a)[DOWN], const Fragment (&b)[ALONG]) {
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i) {
#pragma unroll
            for (unsigned j = 0; j < ALONG; ++j) {
                ::multiply_add(sums[i][j], a[i], b[j]);
            }
        }
    }

    __device__ __forceinline__ void write(Corner corner, Bf16* c, unsigned m, unsigned n) const {
        const unsigned lane = threadIdx.x % 32;
        const unsigned top = corner.row + row + lane / 4, left_column = corner.column + column + lane % 4 * 2;
        const bool has_pairs = n % 2 == 0 && reinterpret_cast<unsigned long long>(c) % 4 == 0;
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i) {
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned row = top + i * SIDE + 8 * half;
                if (row >= m) {
                    continue;
                }
                Bf16* const to = c + (row * n + left_column);
#pragma unroll
                for (unsigned j = 0; j < 2 * ALONG; ++j) {
                    const float* pair = &sums[i][j / 2].sums[j % 2][half * 2];
                    const int left = static_cast<int>(n) - static_cast<int>(left_column + 8 * j);
                    write_pair(to + 8 * j, pair_of(pair[0], pair[1]), left, has_pairs);
                }
            }
        }
    }

    static __device__ __forceinline__ void write_pair(Bf16* to, unsigned pair, int left, bool has_pairs) {
        if (has_pairs) {
            if (left > 0) {
                *reinterpret_cast<unsigned*>(to) = pair;
            }
        } else {
            if (left > 0) {
                to[0] = static_cast<Bf16>(pair);
            }
            if (left > 1) {
                to[1] = static_cast<Bf16>(pair >> 16);
            }
        }
    }
};

// A tile of 128 lines in shared memory, as pairs of neighbors along k, in padded rows.
template <bool ALONG_K>
struct PaddedTile {
    static constexpr unsigned PITCH = ALONG_K ? DEPTH / 2 + 4 : ROWS + 8;
    static constexpr unsigned WORDS = PITCH * (ALONG_K ? ROWS : DEPTH / 2);
    static constexpr unsigned ACROSS = (ALONG_K ? DEPTH : ROWS) / CHUNK;

    unsigned* words;

    static __device__ __forceinline__ unsigned row() {
        const unsigned row = threadIdx.x / ACROSS;
        return ALONG_K ? row / 8 * 8 + row % 2 * 4 + row / 2 % 4 : row * 2;
    }
    static __device__ __forceinline__ unsigned column() { return threadIdx.x % ACROSS * CHUNK; }

    // The number of rows between a thread's first and second chunk of a tile.
    static constexpr unsigned APART = ALONG_K ? ROWS / 2 : 1;

    __device__ __forceinline__ void write(uint4 first, uint4 second) const {
        if (ALONG_K) {
            unsigned* const to = words + (row() * PITCH + column() / 2);
            *reinterpret_cast<uint4*>(to) = first;
            *reinterpret_cast<uint4*>(to + ROWS / 2 * PITCH) = second;
        } else {
            const auto pairs = [](unsigned a, unsigned b, unsigned c, unsigned d) {
                return make_uint4((a & 0xffff) | c << 16, a >> 16 | (c & 0xffff0000), (b & 0xffff) | d << 16,
                                  b >> 16 | (d & 0xffff0000));
            };
            unsigned* const to = words + (row() / 2 * PITCH + column());
            const unsigned turn = column() / 8 / 4 % 2;
            const uint4 near = pairs(first.x, first.y, second.x, second.y);
            const uint4 far = pairs(first.z, first.w, second.z, second.w);
            *reinterpret_cast<uint4*>(to + turn * 4) = turn == 0 ? near : far;
            *reinterpret_cast<uint4*>(to + (4 - turn * 4)) = turn == 0 ? far : near;
        }
    }

    // Loads 16 * N lines from `line` on, in step `step` of 16 along k.
    template <bool OF_B, unsigned N>
    __device__ __forceinline__ void fragments(unsigned line, unsigned step, Fragment (&to)[N]) const {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned i = 0; i < N; ++i) {
#pragma unroll
            for (unsigned matrix = 0; matrix < 4; ++matrix) {
                const unsigned l = line + i * SIDE + line_half<OF_B>(matrix) * 8 + lane / 4;
                const unsigned pair = step * SIDE / 2 + k_half<OF_B>(matrix) * 4 + lane % 4;
                to[i].registers[matrix] = words[ALONG_K ? l * PITCH + pair : pair * PITCH + l];
            }
        }
    }
};

// A tile of LINES lines in shared memory, in the layout of global memory except for the swizzle.
template <bool ALONG_K, unsigned LINES>
struct SwizzledTile {
    static constexpr unsigned BYTES = LINES * DEPTH * 2;
    static constexpr unsigned ACROSS = (ALONG_K ? DEPTH : LINES) / CHUNK;
    static constexpr unsigned APART = THREADS / ACROSS;
    static constexpr unsigned BYTES_APART = THREADS * 16;
    static constexpr unsigned SWIZZLED = ACROSS < 8 ? ACROSS : 8;
    static_assert(APART % 8 == 0, "all of a thread's chunks have the same swizzle");

    // The tile's offset in bytes in `memory`, which is dynamic shared memory if the rung uses dynamic shared memory.
    unsigned at;
    unsigned char* memory = shared_memory;

    static __device__ __forceinline__ unsigned offset(unsigned row, unsigned chunk) {
        const unsigned course = row * SWIZZLED / 8;
        return (row * ACROSS + (chunk ^ (course % SWIZZLED))) * 16;
    }
    static __device__ __forceinline__ unsigned row() { return threadIdx.x / ACROSS; }
    static __device__ __forceinline__ unsigned column() { return threadIdx.x % ACROSS * CHUNK; }

    __device__ __forceinline__ unsigned char* first_chunk() const {
        return memory + (at + offset(row(), column() / CHUNK));
    }
    __device__ __forceinline__ void write(uint4 first, uint4 second) const {
        *reinterpret_cast<uint4*>(first_chunk()) = first;
        *reinterpret_cast<uint4*>(first_chunk() + BYTES_APART) = second;
    }

    template <bool OF_B, unsigned N>
    __device__ __forceinline__ void fragments(unsigned line, unsigned step, Fragment (&to)[N]) const {
        const unsigned lane = threadIdx.x % 32, matrix = lane / 8;
        const unsigned row_half = ALONG_K ? line_half<OF_B>(matrix) : k_half<OF_B>(matrix);
        const unsigned eight = ALONG_K ? k_half<OF_B>(matrix) : line_half<OF_B>(matrix);
        const unsigned first = offset(row_half * 8 + lane % 8, eight);
        const Shared tile = shared_of(memory) + at;
#pragma unroll
        for (unsigned i = 0; i < N; ++i) {
            const unsigned l = line + i * SIDE;
            const unsigned inner = ALONG_K ? step * SIDE : l, outer = ALONG_K ? l : step * SIDE;
            to[i] = load_fragment<ALONG_K>(tile + (first ^ (inner / CHUNK * 16)) + outer * ACROSS * 16);
        }
    }
};

}  // namespace mma_sync
