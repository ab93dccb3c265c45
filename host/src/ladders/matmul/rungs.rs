//! The rungs, in the order in which they are climbed.

use kernels_gpu::matmul::{pipeline, pipelined, register_tile};
use kernels_gpu::tile::padding;

use super::{COLUMN_MAJOR, IN_TURNS, SLICED, SQUARES};
use engine::launch::Geometry;
use engine::registry::{Entries, Rung, Shared};

/// The rung without shared memory: what the others differ from.
const NAIVE: Rung = Rung {
    name: "matmul_naive",
    source: "kernels-gpu/src/matmul/naive.rs",
    lesson: "a thread an element: coalesced, and two loads from memory for each multiplication",
    geometry: Geometry::Tiles { across: 1 },
    default_block: [32, 32, 1],
    ..Rung::USUAL
};

/// A tile of the pipelined rung.
const TILE: (usize, usize) = pipeline::tile(pipelined::WARPS, pipelined::EACH);

/// Two tiles, with so much padding behind the rows of the second.
fn tiles(side: u32, pad: u32) -> u32 {
    side * (2 * side + pad) * 4
}

const TILED: Rung = Rung {
    name: "matmul_tiled",
    source: "kernels-gpu/src/matmul/tiled.rs",
    lesson: "tiles in shared memory: an element is read once a block instead of once a thread",
    entries: Entries::PerBlock(SQUARES),
    shared: Shared::Static(|[side, _, _]| tiles(side, 0)),
    ..NAIVE
};

const fn coarsened(name: &'static str, across: u32, lesson: &'static str) -> Rung {
    Rung {
        name,
        source: "kernels-gpu/src/matmul/coarsened.rs",
        lesson,
        geometry: Geometry::Tiles { across },
        ..TILED
    }
}

pub(super) const RUNGS: &[Rung] = &[
    NAIVE,
    Rung {
        name: "matmul_uncoalesced",
        lesson: "the second matrix column after column, read as it lies: 32 sectors for 32 elements",
        form: COLUMN_MAJOR,
        ..NAIVE
    },
    TILED,
    Rung {
        name: "matmul_corner_turning",
        lesson: "column after column, but x and y change roles while a tile is loaded: coalesced",
        form: COLUMN_MAJOR,
        shared: Shared::Static(|[side, _, _]| {
            tiles(side, padding(side as usize, side as usize) as u32)
        }),
        ..TILED
    },
    coarsened(
        "matmul_coarsened1",
        1,
        "the tiled kernel with a loop around its second tile: what the loop alone costs",
    ),
    coarsened(
        "matmul_coarsened2",
        2,
        "two tiles of the product a block: the first matrix's tile is loaded half as often",
    ),
    coarsened(
        "matmul_coarsened4",
        4,
        "four tiles a block: a quarter of the loads of the first matrix, and of the blocks",
    ),
    coarsened(
        "matmul_coarsened8",
        8,
        "eight tiles a block: where too few blocks are left, parts of the device are idle",
    ),
    Rung {
        name: "matmul_register_tile",
        source: "kernels-gpu/src/matmul/register_tile.rs",
        lesson: "8 x 8 elements a thread, in registers: 16 reads of shared memory for 64 multiplications",
        entries: Entries::PerBlock(&[[16, 16, 1]]),
        geometry: Geometry::LargeTiles {
            rows: register_tile::SIDE as u32,
            columns: register_tile::SIDE as u32,
        },
        default_block: [16, 16, 1],
        shared: Shared::Static(|_| register_tile::SHARED_BYTES as u32),
        ..NAIVE
    },
    Rung {
        name: "matmul_pipelined",
        source: "kernels-gpu/src/matmul/pipelined.rs",
        lesson: "8 x 16 a thread, fed by three stages of asynchronous copies, every read paced: the top",
        entries: Entries::PerBlock(&[[256, 1, 1]]),
        geometry: Geometry::NumberedTiles {
            rows: TILE.0 as u32,
            columns: TILE.1 as u32,
            slices: 1,
        },
        default_block: [256, 1, 1],
        shared: Shared::Dynamic(|_| {
            pipeline::shared_bytes(pipelined::WARPS, pipelined::EACH) as u32
        }),
        ..NAIVE
    },
    Rung {
        name: "matmul_sliced",
        source: "kernels-gpu/src/matmul/pipelined.rs",
        lesson: "smaller tiles, and the depth in slices that add up in turn: the top where tiles are few",
        entries: Entries::PerBlock(&[[128, 1, 1]]),
        geometry: Geometry::NumberedTiles {
            rows: SLICED.0 as u32,
            columns: SLICED.1 as u32,
            slices: 8,
        },
        default_block: [128, 1, 1],
        shared: Shared::Dynamic(|_| {
            pipeline::shared_bytes(pipelined::SLICED_WARPS, pipelined::SLICED_EACH) as u32
        }),
        form: IN_TURNS,
        ..NAIVE
    },
];
