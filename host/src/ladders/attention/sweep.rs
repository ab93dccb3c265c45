//! The problems of the ladder's sweep.

use engine::options::Options;
use engine::registry::Effort;

use super::data::DATA;
use super::{HEAD_SIZES, TYPES};

/// Numbers of queries and keys around the tile sizes of the rungs: 16, 32, 64, 128, 176 and 192 rows.
const EDGES: &[[u64; 2]] = &[
    [1, 1],
    [1, 2],
    [2, 1],
    [3, 5],
    [7, 16],
    [8, 17],
    [15, 15],
    [16, 16],
    [17, 9],
    [31, 33],
    [32, 31],
    [33, 32],
    [47, 63],
    [63, 64],
    [64, 63],
    [64, 64],
    [65, 65],
    [1, 65],
    [65, 1],
    [80, 96],
    [97, 81],
    [96, 127],
    [127, 128],
    [128, 64],
    [128, 129],
    [129, 127],
    [1, 129],
    [130, 176],
    [33, 175],
    [65, 177],
    [177, 33],
    [176, 176],
    [17, 191],
    [64, 192],
    [193, 65],
    [1, 200],
    [200, 1],
    [190, 200],
    [16, 257],
    [0, 5],
    [5, 0],
    [0, 0],
];

/// Larger numbers of queries and keys, for a GPU.
const LARGER: &[[u64; 2]] = &[
    [255, 257],
    [256, 256],
    [257, 511],
    [333, 352],
    [353, 351],
    [384, 383],
    [512, 512],
    [513, 255],
    [100, 1000],
    [1000, 100],
    [1023, 1025],
    [1024, 1024],
    [1031, 2053],
    [1, 4096],
    [2048, 128],
    [1537, 1409],
];

/// The batch size, the number of heads, and the number of heads of K and V.
const HEADS: &[[u64; 3]] = &[[1, 1, 1], [1, 2, 1], [2, 1, 1], [1, 4, 2], [2, 3, 3], [3, 2, 1], [1, 6, 2]];

/// Problems that fill a device or have long sequences. Only a sample of their rows is compared.
const LARGE: &[([u64; 2], [u64; 3])] = &[
    ([4096, 4096], [1, 16, 16]),
    ([8192, 8192], [1, 8, 2]),
    ([4100, 8001], [2, 4, 1]),
    ([1, 50_000], [4, 8, 8]),
    ([9000, 300], [1, 5, 5]),
    ([130, 130], [7, 40, 8]),
    ([2000, 2000], [3, 12, 12]),
    ([16_384, 16_384], [1, 2, 1]),
];

pub(super) fn sweep(effort: Effort) -> Vec<Options> {
    let mut all = Vec::new();
    let mut add = |[queries, keys]: [u64; 2], [batch, heads, kv_heads]: [u64; 3], variant: usize, data: usize| {
        let lengths = Options::default().with("queries", queries).with("keys", keys);
        let heads = lengths.with("batch", batch).with("heads", heads).with("kv-heads", kv_heads);
        let causal = if variant % 2 == 1 { "yes" } else { "no" };
        let (d, word) = (HEAD_SIZES[variant / 2 % 2], TYPES[variant / 4 % 2]);
        all.push(heads.with("causal", causal).with("d", d).with("type", word).with("data", DATA[data % DATA.len()]));
    };
    let few: &[[u64; 2]] = &[[33, 17], [20, 65], [70, 33], [5, 130], [1, 1], [40, 0], [129, 70], [64, 64], [2, 2]];
    for (turn, &lengths) in effort.pick(EDGES, EDGES, few).iter().enumerate() {
        // `cargo lab mutate` mutates kernels of the default and the causal variant. A quick sweep therefore includes
        // one of these two variants for each pair of lengths.
        let variants = effort.pick((0..8).collect(), vec![turn % 2, 2 + turn % 6], vec![turn % 8]);
        for variant in variants {
            add(lengths, HEADS[(turn + variant) % HEADS.len()], variant, (turn + variant) / 2);
        }
    }
    // Many heads with few rows, where the row after the end of a head belongs to the next head.
    for variant in 0..4 {
        add([4, 4], [4, 4, 4], variant, 0);
    }
    for (turn, &lengths) in effort.pick(LARGER, &[], &[]).iter().enumerate() {
        for variant in [0, 1, 2 + turn % 6] {
            add(lengths, HEADS[(turn + variant) % HEADS.len()], variant, turn + variant);
        }
    }
    for (turn, &(lengths, heads)) in effort.pick(LARGE, &[], &[]).iter().enumerate() {
        for variant in [turn % 8, (turn + 5) % 8] {
            add(lengths, heads, variant, 0);
        }
    }
    all
}
