//! Attention: one pass with rescaled sums, causal tiles, weights in registers.

use super::tensor::{pairs, product};
use crate::exercise::Case;
use crate::values::{floats, integers};

/// Returns the rows of `output`, each of 32 floats, for the rows of scores. `v` has 32 floats per key.
fn attend(scores: &[f32], v: &[f32], keys: usize) -> Vec<f32> {
    let row = |scores: &[f32]| {
        let max = scores.iter().copied().fold(f32::MIN, f32::max);
        let weights: Vec<f64> = scores.iter().map(|score| f64::from(score - max).exp2()).collect();
        let sum: f64 = weights.iter().sum();
        let column = |column: usize| {
            let products = weights.iter().zip(v.chunks(32)).map(|(weight, v)| weight * f64::from(v[column]));
            (products.sum::<f64>() / sum) as f32
        };
        (0..32).map(column).collect::<Vec<_>>()
    };
    scores.chunks(keys).flat_map(row).collect()
}

exercises! {
    rescaled_sums: [2, 1, 33, 40], "load requests in total": LOADS <= 240.0 => |keys| {
        let scores: Vec<f32> = floats(3 * keys, 1).into_iter().map(|score| 16.0 * score).collect();
        let v = floats(32 * keys, 2);
        let output = attend(&scores, &v, keys);
        let case = Case::line(3, 32).input("scores", scores).input("v", v).output("output", output);
        case.value(keys as u32).tolerance(1e-5)
    };
    causal_tiles: [64, 200, 1, 160], "load requests in total": LOADS <= 15.0 => |queries| {
        let values = integers(160, 3);
        let seen = |query: usize| (query + 1 + 160).saturating_sub(queries).min(160);
        let output: Vec<i32> = (0..queries).map(|query| values[..seen(query)].iter().sum()).collect();
        let case = Case::covering(queries, 32).input("values", values).output("output", output);
        case.value(queries as u32).value(160_u32)
    };
    weights_as_fragment: [1], "wavefronts of shared loads in total": SHARED_WAVEFRONTS <= 0.0 => |_| {
        let (q, k, v) = (pairs(128, 1), pairs(128, 2), pairs(64, 3));
        let scores = [product(&q, &k[..64], 8), product(&q, &k[64..], 8)];
        // The scores are integers up to 256, so they are exact in bfloat16.
        let words = |row: usize| {
            let scores = [&scores[0][8 * row..8 * row + 8], &scores[1][8 * row..8 * row + 8]].concat();
            scores.chunks(2).map(|pair| pair[0].to_bits() >> 16 | pair[1].to_bits()).collect::<Vec<_>>()
        };
        let output = product(&(0..16).flat_map(words).collect::<Vec<_>>(), &v, 8);
        Case::line(1, 32).input("q", q).input("k", k).input("v", v).output("output", output)
    };
}
