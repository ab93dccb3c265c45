//! The problems of the ladder's sweep.

use engine::options::Options;
use engine::registry::Effort;

use super::formats::TYPES;
use super::inputs::DATA;
use crate::ladders::product::{self, with};

/// Primes, partial tiles of every size, and rows that a tensor map can and cannot describe.
const EDGES: &[[u32; 3]] = &[
    [1, 1, 1],
    [2, 3, 5],
    [33, 9, 33],
    [31, 37, 41],
    [127, 131, 137],
    [100, 60, 20],
    [65, 72, 16],
    [129, 264, 40],
    [300, 520, 264],
    [63, 1000, 8],
    [1000, 8, 504],
    [7, 2056, 24],
];

/// More shapes for the kernels that `cargo lab mutate` changes. Each shape exposed mutants that no other shape exposed.
/// They cover square tiles of each size, every number of stages, every remainder of k, and whole and partial tiles of a
/// row.
const TILES: &[[u32; 3]] = &[
    [15, 15, 15],
    [16, 16, 16],
    [17, 17, 17],
    [32, 32, 32],
    [64, 64, 64],
    [33, 2, 33],
    [96, 33, 33],
    [33, 33, 2],
    [33, 16, 33],
    [33, 32, 33],
    [33, 63, 33],
    [33, 96, 33],
    [33, 128, 33],
    [33, 257, 33],
    [33, 383, 33],
    [255, 33, 33],
    [256, 33, 33],
    [257, 33, 33],
    [65, 65, 8],
    [129, 129, 9],
    // Together with 15 and 17: rows of every length modulo 16 bytes.
    [33, 8, 34],
    [33, 8, 35],
    [33, 8, 36],
    [33, 8, 37],
    [33, 8, 38],
    [4, 33, 33],
    [33, 8, 383],
    [33, 33, 64],
    [33, 33, 96],
    [33, 33, 127],
    [33, 33, 128],
    [33, 33, 129],
    [33, 33, 191],
    [33, 33, 255],
    [33, 33, 256],
    [33, 33, 512],
    [16, 16, 512],
    // `gemm_fitted` uses other tiles for 4096 rows or more.
    [4097, 8, 72],
];

/// More tiles than a device has SMs, both narrow and wide.
const MANY_TILES: &[[u32; 3]] = &[[1, 25480, 72], [1, 34056, 8]];

/// Shapes that fill a device or have a long side. Their references take a few seconds, so only a few variants use these
/// shapes.
const LARGE: &[[u32; 3]] = &[
    [1024, 1024, 1024],
    [1000, 1100, 1304],
    [128, 256, 8192],
    [2304, 2048, 72],
    [2500, 2496, 64],
    [1111, 3001, 101],
    [4101, 1032, 72],
    [4096, 4352, 328],
];

/// The values of every side in a full sweep: less than a tile, exactly a tile and more than a tile. The sizes of some
/// rows are multiples of 16 bytes, and the sizes of others are not.
const SIDES: &[u32] = &[1, 8, 24, 33, 64, 136, 257];

pub(super) fn sweep(effort: Effort) -> Vec<Options> {
    let sides: &[u32] = effort.pick(SIDES, &[8, 65], &[]);
    let product = sides.iter().flat_map(|&m| {
        let rows = sides.iter().map(move |&n| [m, n]);
        rows.flat_map(|[m, n]| sides.iter().map(move |&k| [m, n, k]))
    });
    let small = effort.pick(EDGES, &EDGES[..9], &[]).iter().copied().chain(product).collect::<Vec<_>>();
    let variants = variants();
    let mut all = Vec::new();
    // A variant alternates between the kinds of data from one shape to the next.
    let mut add = |shape: [u32; 3], variant: usize, turn: usize| {
        all.push(with(shape).with_all(&variants[variant]).with("data", DATA[(turn + variant) % DATA.len()]));
    };
    // `cargo lab mutate` mutates only the kernels of the default variant.
    for (turn, &shape) in effort.pick(product::EDGES, product::EDGES, &[]).iter().enumerate() {
        add(shape, 0, turn);
    }
    for &shape in effort.pick(TILES, TILES, &[]) {
        for data in 0..DATA.len() {
            add(shape, 0, data);
        }
    }
    for &shape in effort.pick(MANY_TILES, MANY_TILES, &[]) {
        add(shape, 0, 0);
    }
    for (turn, &shape) in small.iter().enumerate() {
        for variant in 0..variants.len() {
            // On the simulator, only the default variant and three other variants.
            if effort == Effort::Full || variant == 0 || (variant + 10 - turn % 10) % 10 < 3 {
                add(shape, variant, turn);
            }
        }
    }
    let large = effort.pick(LARGE, &[], &[]);
    for (turn, &shape) in large.iter().enumerate() {
        for next in [0, 3, 7] {
            add(shape, (turn + next) % variants.len(), turn);
        }
    }
    // In a unit test, each variant once.
    for variant in 0..effort.pick(0, 0, variants.len()) {
        add([[9, 24, 8], [33, 8, 24]][variant % 2], variant, variant / 3);
    }
    all
}

/// The ten variants.
fn variants() -> Vec<Options> {
    let mut all = Vec::new();
    for kind in TYPES {
        for out in ["same", "f32"].iter().filter(|out| (*kind, **out) != ("tf32", "f32")) {
            for b in ["rows", "columns"] {
                all.push(Options::default().with("type", kind).with("out", out).with("b", b));
            }
        }
    }
    all
}
