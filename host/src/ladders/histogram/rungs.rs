//! The rungs, in the order in which they are climbed.

use kernels_gpu::histogram::lanes::{BLOCKS as MOST_BLOCKS, COPIES, EACH};
use kernels_gpu::histogram::{BINS, COARSE};

use super::BLOCKS;
use engine::launch::Geometry;
use engine::registry::{Entries, Rung, Shared};

/// The rung in global memory: what the others differ from.
const GLOBAL: Rung = Rung {
    name: "histogram_global",
    source: "kernels-gpu/src/histogram/global.rs",
    lesson: "an atomic of global memory for each byte: all threads of the grid queue for 256 words",
    ..Rung::USUAL
};

/// A rung with a copy of the counters for each block.
const PRIVATE: Rung = Rung {
    source: "kernels-gpu/src/histogram/private.rs",
    entries: Entries::PerBlock(BLOCKS),
    shared: Shared::Static(|_| BINS as u32 * 4),
    ..GLOBAL
};

/// A rung with several bytes a thread.
const COARSENED: Rung = Rung {
    geometry: Geometry::Line {
        data_blocks: COARSE as u32,
    },
    ..PRIVATE
};

pub(super) const RUNGS: &[Rung] = &[
    GLOBAL,
    Rung {
        name: "histogram_private",
        lesson: "a copy of the counters in each block's shared memory: threads meet near and seldom",
        ..PRIVATE
    },
    Rung {
        name: "histogram_private_coarsened_contiguous",
        lesson: "16 bytes a thread: a sixteenth of the copies to write out, but strided reads",
        ..COARSENED
    },
    Rung {
        name: "histogram_private_coarsened",
        lesson: "the same 16 bytes, interleaved: a warp reads one sector in each step",
        ..COARSENED
    },
    Rung {
        name: "histogram_aggregated",
        source: "kernels-gpu/src/histogram/aggregated.rs",
        lesson: "runs of equal bytes are counted in a register: one atomic a run, for skewed data",
        ..COARSENED
    },
    Rung {
        name: "histogram_lanes",
        source: "kernels-gpu/src/histogram/lanes.rs",
        lesson: "a copy for each lane, in its own bank, and 16-byte loads: as fast for any bytes, at memory's speed",
        geometry: Geometry::Stride {
            each: EACH as u32,
            blocks: MOST_BLOCKS,
        },
        default_block: [1024, 1, 1],
        shared: Shared::Static(|_| (BINS * COPIES) as u32 * 4),
        ..PRIVATE
    },
];
