//! The rungs, in the order in which they are climbed.

use kernels_gpu::reduce::grid_stride::{BLOCKS as MOST_BLOCKS, EACH};
use kernels_gpu::reduce::operation::EACH as WIDE_EACH;

use super::BLOCKS;
use super::reduction::form;
use engine::launch::Geometry;
use engine::registry::{Entries, Rung, Seed, Shared};

/// A word for each thread.
const WORDS: fn([u32; 3]) -> u32 = |block| block[0] * 4;
/// A word for each warp.
const WORD_A_WARP: fn([u32; 3]) -> u32 = |block| block[0].div_ceil(32) * 4;

/// A rung in global memory, of one data block: what the others differ from.
const GLOBAL: Rung = Rung {
    default_block: [512, 1, 1],
    in_place: true,
    ..Rung::USUAL
};

/// A rung that sums in shared memory or in registers and leaves its input as it is.
const ON_CHIP: Rung = Rung {
    entries: Entries::PerBlock(BLOCKS),
    default_block: [128, 1, 1],
    shared: Shared::Static(WORDS),
    in_place: false,
    ..GLOBAL
};

/// Every operation and type but the usual one is compiled for one block.
const ONE_BLOCK: Entries = Entries::PerBlock(&[[128, 1, 1]]);

/// The entries of a rung that computes every operation of every type: those of the usual one, and each
/// other's.
macro_rules! every_operation {
    ($usual:expr, $others:expr) => {
        Entries::PerVariant(&[
            ("", $usual),
            ("sum_u32", $others),
            ("sum_i64", $others),
            ("sum_f32", $others),
            ("sum_f64", $others),
            ("product_i32", $others),
            ("product_u32", $others),
            ("product_i64", $others),
            ("product_f32", $others),
            ("product_f64", $others),
            ("min_i32", $others),
            ("min_u32", $others),
            ("min_i64", $others),
            ("min_f32", $others),
            ("min_f64", $others),
            ("max_i32", $others),
            ("max_u32", $others),
            ("max_i64", $others),
            ("max_f32", $others),
            ("max_f64", $others),
        ])
    };
}

/// Where the others are compiled for one block.
const EVERY_OPERATION: Entries = every_operation!(Entries::PerBlock(BLOCKS), ONE_BLOCK);

/// The blocks of the rungs with wide loads: for inputs that would leave SMs without a block, and for others.
const WIDE_BLOCKS: [[u32; 3]; 2] = [[512, 1, 1], [1024, 1, 1]];
/// The first size that has parts enough for the larger ones.
const MANY: u64 = 1 << 22;

/// A rung with wide loads and no loop.
const WIDE: Rung = Rung {
    source: "kernels-gpu/src/reduce/vector.rs",
    entries: every_operation!(Entries::PerBlock(BLOCKS), Entries::PerBlock(&WIDE_BLOCKS)),
    geometry: data_blocks(WIDE_EACH as u32),
    default_block: WIDE_BLOCKS[1],
    choose: Some(|shape| WIDE_BLOCKS[usize::from(shape[0] >= MANY)]),
    shared: Shared::Static(WORD_A_WARP),
    ..ON_CHIP
};

const fn data_blocks(data_blocks: u32) -> Geometry {
    Geometry::Line { data_blocks }
}

const fn faster(factor: f64, over: &'static str) -> Option<Seed> {
    Some(Seed { factor, over })
}

pub(super) const RUNGS: &[Rung] = &[
    Rung {
        name: "reduce_neighbored",
        source: "kernels-gpu/src/reduce/neighbored.rs",
        lesson: "the baseline: every other thread adds its neighbour, so each warp diverges in every round",
        ..GLOBAL
    },
    Rung {
        name: "reduce_neighbored_less",
        source: "kernels-gpu/src/reduce/neighbored.rs",
        lesson: "the same pairs by threads in a row: whole warps work or rest, until the last rounds",
        seed: faster(1.7, "reduce_neighbored"),
        ..GLOBAL
    },
    Rung {
        name: "reduce_interleaved",
        source: "kernels-gpu/src/reduce/interleaved.rs",
        lesson: "pairs half a block apart: neighbouring threads read neighbouring words, loads coalesce",
        seed: faster(1.87, "reduce_neighbored"),
        ..GLOBAL
    },
    Rung {
        name: "reduce_unrolling2",
        source: "kernels-gpu/src/reduce/unrolling.rs",
        lesson: "a block takes two data blocks: half the blocks, and two loads in flight for each thread",
        geometry: data_blocks(2),
        seed: faster(3.3, "reduce_neighbored"),
        ..GLOBAL
    },
    Rung {
        name: "reduce_unrolling4",
        source: "kernels-gpu/src/reduce/unrolling.rs",
        lesson: "four data blocks: more independent loads hide more of the memory's latency",
        geometry: data_blocks(4),
        ..GLOBAL
    },
    Rung {
        name: "reduce_unrolling8",
        source: "kernels-gpu/src/reduce/unrolling.rs",
        lesson: "eight data blocks: the rounds in the block hardly count any more",
        geometry: data_blocks(8),
        ..GLOBAL
    },
    Rung {
        name: "reduce_unroll_warps8",
        source: "kernels-gpu/src/reduce/unroll_warps.rs",
        lesson: "the last six rounds are one warp's: written out, without barriers for the whole block",
        geometry: data_blocks(8),
        seed: faster(5.3, "reduce_neighbored"),
        ..GLOBAL
    },
    Rung {
        name: "reduce_complete_unroll_warps8",
        source: "kernels-gpu/src/reduce/complete_unroll.rs",
        lesson: "no loop at all: every round written out, with the block's size tested as it runs",
        geometry: data_blocks(8),
        ..GLOBAL
    },
    Rung {
        name: "reduce_complete_unroll",
        source: "kernels-gpu/src/reduce/complete_unroll.rs",
        lesson: "the block's size is a const generic: the tests for it are gone before the kernel runs",
        entries: Entries::PerBlock(BLOCKS),
        geometry: data_blocks(8),
        ..GLOBAL
    },
    Rung {
        name: "reduce_gmem",
        source: "kernels-gpu/src/reduce/gmem.rs",
        lesson: "all rounds in global memory: what the shared-memory rungs are measured against",
        entries: Entries::PerBlock(BLOCKS),
        ..GLOBAL
    },
    Rung {
        name: "reduce_gmem_unroll4",
        source: "kernels-gpu/src/reduce/gmem.rs",
        lesson: "the same with four data blocks to a block",
        entries: Entries::PerBlock(BLOCKS),
        geometry: data_blocks(4),
        ..GLOBAL
    },
    Rung {
        name: "reduce_smem",
        source: "kernels-gpu/src/reduce/smem.rs",
        lesson: "the block's words go to shared memory once, and the rounds touch global memory no more",
        entries: EVERY_OPERATION,
        ..ON_CHIP
    },
    Rung {
        name: "reduce_smem_dyn",
        source: "kernels-gpu/src/reduce/smem.rs",
        lesson: "shared memory sized by the launch: costs nothing against a size known to the compiler",
        shared: Shared::Dynamic(WORDS),
        ..ON_CHIP
    },
    Rung {
        name: "reduce_smem_unroll4",
        source: "kernels-gpu/src/reduce/smem.rs",
        lesson: "four words summed in registers on the way to shared memory: a quarter of the rounds",
        geometry: data_blocks(4),
        ..ON_CHIP
    },
    Rung {
        name: "reduce_smem_unroll4_dyn",
        source: "kernels-gpu/src/reduce/smem.rs",
        lesson: "the same with shared memory sized by the launch",
        geometry: data_blocks(4),
        shared: Shared::Dynamic(WORDS),
        ..ON_CHIP
    },
    Rung {
        name: "reduce_shfl",
        source: "kernels-gpu/src/reduce/shfl.rs",
        lesson: "warps sum in registers by shuffles; shared memory carries one word a warp",
        entries: EVERY_OPERATION,
        shared: Shared::Static(WORD_A_WARP),
        seed: faster(1.4, "reduce_smem"),
        ..ON_CHIP
    },
    Rung {
        name: "reduce_grid_stride",
        source: "kernels-gpu/src/reduce/grid_stride.rs",
        lesson: "a grid as large as the device: a thread strides over the input, and a block combines once",
        entries: EVERY_OPERATION,
        geometry: Geometry::Stride {
            each: EACH as u32,
            blocks: MOST_BLOCKS,
        },
        shared: Shared::Static(WORD_A_WARP),
        ..ON_CHIP
    },
    Rung {
        name: "reduce_vector",
        lesson: "16-byte loads, two in flight for each thread, and no loop: memory is the limit",
        ..WIDE
    },
    Rung {
        name: "reduce_one_launch",
        source: "kernels-gpu/src/reduce/whole.rs",
        lesson: "the whole result: each block publishes its own in one word, and the last block adds them up",
        whole: true,
        form: form::PASSED_ON,
        ..WIDE
    },
    Rung {
        name: "reduce_atomic",
        source: "kernels-gpu/src/reduce/whole.rs",
        lesson: "the whole sum: one atomic addition a block, which nobody waits for",
        entries: Entries::PerVariant(&[
            ("", Entries::PerBlock(BLOCKS)),
            ("sum_u32", Entries::PerBlock(&WIDE_BLOCKS)),
            ("sum_i64", Entries::PerBlock(&WIDE_BLOCKS)),
            ("sum_f32", Entries::PerBlock(&WIDE_BLOCKS)),
            ("sum_f64", Entries::PerBlock(&WIDE_BLOCKS)),
        ]),
        whole: true,
        form: form::ADDED,
        ..WIDE
    },
];
