//! The rungs, in the order in which they are climbed.

use kernels_gpu::tile::padding;
use kernels_gpu::transpose::{aligned, vector};

use super::TILES;
use engine::launch::{Blocks, Geometry};
use engine::registry::{Entries, Rung, Seed, Shared};

/// A rung through registers, for any of the blocks: what the others differ from.
const PLAIN: Rung = Rung {
    source: "kernels-gpu/src/transpose/gmem.rs",
    geometry: Geometry::Tiles { across: 1 },
    default_block: [32, 16, 1],
    ..Rung::USUAL
};

/// A rung through a tile in shared memory.
const TILED: Rung = Rung {
    entries: Entries::PerBlock(TILES),
    source: "kernels-gpu/src/transpose/smem.rs",
    shared: Shared::Static(|[x, y, _]| tile(x, y, 0)),
    ..PLAIN
};

/// A rung that takes two tiles.
const UNROLLED: Rung = Rung {
    source: "kernels-gpu/src/transpose/unroll.rs",
    geometry: Geometry::Tiles { across: 2 },
    ..TILED
};

/// The block of the rungs whose tiles are larger than it.
const LARGE_BLOCK: [u32; 3] = [vector::THREADS as u32, 1, 1];

/// Elements of their tiles.
const TILE: u32 = 64 * 128;

/// A rung with a tile larger than its block.
const LARGE: Rung = Rung {
    entries: Entries::PerBlock(&[LARGE_BLOCK]),
    default_block: LARGE_BLOCK,
    ..TILED
};

/// Bytes of a tile whose rows have `pad` words of padding.
fn tile(width: u32, height: u32, pad: u32) -> u32 {
    height * (width + pad) * 4
}

/// Bytes of a tile with as much padding as frees it of conflicts.
fn padded(width: u32, height: u32) -> u32 {
    tile(
        width,
        height,
        padding(width as usize, height as usize) as u32,
    )
}

pub(super) const RUNGS: &[Rung] = &[
    Rung {
        name: "copy_gmem",
        lesson: "the upper bound: a copy, coalesced both ways; no transpose moves fewer bytes",
        is_bound: true,
        ..PLAIN
    },
    Rung {
        name: "transpose_naive",
        lesson: "the lower bound: a warp's writes lie a row apart and touch 32 sectors for 32 words",
        seed: Some(Seed {
            factor: 1.0 / 3.0,
            over: "copy_gmem",
        }),
        seed_count: "32 sectors a store",
        ..PLAIN
    },
    Rung {
        name: "transpose_naive_strided_reads",
        lesson: "strided reads instead: a cache keeps their sectors for the neighbouring column",
        entries: Entries::PerBlock(TILES),
        ..PLAIN
    },
    Rung {
        name: "transpose_smem",
        lesson: "a tile in shared memory: coalesced both ways, but its columns lie in one bank or two",
        seed_count: "waves 8 : 1",
        ..TILED
    },
    Rung {
        name: "transpose_smem_pad",
        lesson: "unused words behind each row put a column into different banks: 2 for 32x16",
        shared: Shared::Static(|[x, y, _]| padded(x, y)),
        seed_count: "waves 1 : 1",
        ..TILED
    },
    Rung {
        name: "transpose_smem_unroll_pad",
        lesson: "two tiles a block: each thread has two loads and two stores in flight",
        shared: Shared::Static(|[x, y, _]| padded(2 * x, y)),
        seed: Some(Seed {
            factor: 1.13,
            over: "transpose_smem_pad",
        }),
        ..UNROLLED
    },
    Rung {
        name: "transpose_smem_unroll_pad_dyn",
        lesson: "the same with shared memory sized by the launch",
        shared: Shared::Dynamic(|[x, y, _]| padded(2 * x, y)),
        ..UNROLLED
    },
    Rung {
        name: "transpose_aligned",
        source: "kernels-gpu/src/transpose/aligned.rs",
        lesson: "windows that begin where sectors do: whatever the shape, they are written whole",
        geometry: Geometry::Own {
            elements: TILE,
            blocks: Blocks(|shape| aligned::blocks(shape[0] as u32, shape[1] as u32)),
        },
        shared: Shared::Static(|_| aligned::WORDS as u32 * 4),
        ..LARGE
    },
    Rung {
        name: "transpose_vector",
        source: "kernels-gpu/src/transpose/vector.rs",
        lesson: "16 bytes an access on both sides: squares turned in registers, a swizzle instead of padding",
        geometry: Geometry::Own {
            elements: TILE,
            blocks: Blocks(|shape| vector::blocks(shape[0] as u32, shape[1] as u32)),
        },
        shared: Shared::Static(|_| vector::SHARED_BYTES as u32),
        ..LARGE
    },
];
