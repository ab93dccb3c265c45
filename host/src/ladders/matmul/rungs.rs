//! The rungs, in the order in which they are climbed.

use kernels_gpu::tile::padding;

use super::{BLOCKS, COLUMN_MAJOR};
use crate::launch::Geometry;
use crate::registry::{Entries, Rung, Shared};

/// The rung without shared memory: what the others differ from.
const NAIVE: Rung = Rung {
    name: "matmul_naive",
    source: "kernels-gpu/src/matmul/naive.rs",
    lesson: "a thread an element: coalesced, and two loads from memory for each multiplication",
    geometry: Geometry::Tiles { across: 1 },
    default_block: [32, 32, 1],
    ..Rung::USUAL
};

/// Two tiles, with so much padding behind the rows of the second.
fn tiles(side: u32, pad: u32) -> u32 {
    side * (2 * side + pad) * 4
}

const TILED: Rung = Rung {
    name: "matmul_tiled",
    source: "kernels-gpu/src/matmul/tiled.rs",
    lesson: "tiles in shared memory: an element is read once a block instead of once a thread",
    entries: Entries::PerBlock(BLOCKS),
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
];
