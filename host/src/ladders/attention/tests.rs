#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use engine::launch::{Arg, TensorMap};
use engine::options::Options;
use engine::problem::{POISON, Problem, Verdict};
use engine::registry::{DeviceProperties, Effort, Rung};
use proptest::prelude::*;

use super::data::{DATA, Format};
use super::problem::{Attention, Lengths};
use super::reference::Reference;
use super::{LADDER, TYPES};
use crate::ladders::rung_fixture::output_of;

fn options(chosen: &[(&'static str, &str)]) -> Options {
    chosen.iter().fold(Options::default(), |all, (name, value)| all.with(name, value))
}

fn attention(chosen: &[(&'static str, &str)]) -> Attention {
    Attention::new(&LADDER.complete(&options(chosen)).unwrap()).unwrap()
}

fn refusal(chosen: &[(&'static str, &str)]) -> String {
    let refused = LADDER.complete(&options(chosen)).and_then(|options| Attention::new(&options));
    refused.err().unwrap().to_string()
}

impl Attention {
    fn numbers(&self, tensor: usize) -> Vec<f32> {
        self.inputs()[tensor].iter().map(|&bits| self.format.decode(bits) as f32).collect()
    }

    /// Returns an output that a correct kernel could write: the online softmax in single precision, with tiles of
    /// `tile` keys.
    fn online(&self, tile: usize, is_backward: bool) -> Vec<u16> {
        let Lengths { heads, kv_heads, queries, keys, d, .. } = self.lengths;
        let [q, k, v] = [0, 1, 2].map(|tensor| self.numbers(tensor));
        let scale = (std::f64::consts::LOG2_E / (d as f64).sqrt()) as f32;
        let mut output = Vec::new();
        for row in 0..self.lengths.all_heads() * queries {
            let of_key = |key: usize| (row / queries / (heads / kv_heads) * keys + key) * d;
            let mut tiles: Vec<_> = (0..self.lengths.seen(row % queries)).collect();
            if is_backward {
                tiles.reverse();
            }
            let (mut max, mut sum, mut sums) = (f32::MIN, 0f32, vec![0f32; d]);
            for tile in tiles.chunks(tile) {
                let score = |key: &usize| (0..d).fold(0f32, |sum, i| q[row * d + i].mul_add(k[of_key(*key) + i], sum));
                let scores: Vec<f32> = tile.iter().map(score).collect();
                let new_max = scores.iter().fold(max, |max, score| max.max(*score));
                let factor = ((max - new_max) * scale).exp2();
                sums.iter_mut().chain([&mut sum]).for_each(|sum| *sum *= factor);
                max = new_max;
                for (score, key) in scores.iter().zip(tile) {
                    let weight = score.mul_add(scale, -max * scale).exp2();
                    sum += weight;
                    let rounded = self.format.decode(self.format.encode(weight.into())) as f32;
                    sums.iter_mut().enumerate().for_each(|(i, sum)| *sum = rounded.mul_add(v[of_key(*key) + i], *sum));
                }
            }
            let inverse = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            output.extend(sums.iter().map(|sum| self.format.encode((sum * inverse).into())));
        }
        output
    }

    /// Returns the reason why an output is wrong, or `None` if it is right.
    fn why(&self, found: &[u16]) -> Option<String> {
        let rung = LADDER.rung("attention_naive").unwrap();
        let launch = LADDER.launch(rung, self, None, DeviceProperties::default()).unwrap();
        match self.check(rung, &launch, &output_of(found)) {
            Verdict::Right => None,
            Verdict::Wrong(why) => Some(why),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_check_accepts_any_tile_size_and_key_order(
        (queries, keys) in (1usize..20, 0usize..150), variant in 0usize..8, data in 0usize..4, tile in 16usize..100,
        heads in 0usize..3, is_backward in any::<bool>(),
    ) {
        let (heads, kv_heads) = [("1", "1"), ("2", "1"), ("2", "2")][heads];
        let attention = attention(&[
            ("queries", &queries.to_string()), ("keys", &keys.to_string()), ("heads", heads), ("kv-heads", kv_heads),
            ("causal", ["no", "yes"][variant % 2]), ("d", ["128", "64"][variant / 2 % 2]), ("type", TYPES[variant / 4]),
            ("data", DATA[data]),
        ]);
        prop_assert_eq!(attention.why(&attention.online(tile, is_backward)), None, "{}", attention.labels().title);
    }

    #[test]
    fn the_keys_that_all_queries_see_are_counted(queries in 0usize..50, keys in 0usize..50, is_causal in any::<bool>()) {
        let lengths = Lengths { batch: 1, heads: 1, kv_heads: 1, queries, keys, d: 64, is_causal };
        let seen = (0..queries).map(|query| lengths.seen(query) as u64).sum::<u64>();
        prop_assert_eq!(lengths.seen_by_all(), seen);
    }
}

#[test]
fn typical_mistakes_are_detected() {
    let chosen = [("queries", "40"), ("keys", "90"), ("heads", "4"), ("kv-heads", "2"), ("batch", "2")];
    for (kind, causal) in [("bf16", "no"), ("f16", "no"), ("bf16", "yes"), ("f16", "yes")] {
        let with = |others: &[(&'static str, &str)]| {
            attention(&[&chosen[..], &[("type", kind), ("causal", causal)], others].concat())
        };
        let right = with(&[]);
        let output = right.online(64, false);
        assert_eq!(right.why(&output), None);
        let mut wrong = right.online(64, false);
        let at = (5 * 40 + 7) * 128 + 9;
        wrong[at] = right.format.encode(right.format.decode(wrong[at]) * 1.2);
        let why = right.why(&wrong).unwrap();
        assert!(why.starts_with("sequence 1, head 1, query 7, element 9 is "), "{why}");
        wrong[at] = 0x7fff;
        assert!(right.why(&wrong).is_some(), "a NaN is wrong");
        // With the other value of `causal`, every query except the last sees more keys or fewer keys.
        let other_mask = with(&[("causal", if causal == "yes" { "no" } else { "yes" })]);
        assert!(right.why(&other_mask.online(64, false)).is_some());
        // Leaves out the last key.
        let mut fewer = with(&[("keys", "89"), ("batch", "1"), ("heads", "1"), ("kv-heads", "1"), ("causal", "no")]);
        fewer.lengths.queries = 1;
        if causal == "no" {
            let mut wrong = output.clone();
            wrong[..128].copy_from_slice(&fewer.online(64, false));
            assert!(right.why(&wrong).is_some());
        }
        // One head uses the next head of K and V.
        let mut wrong = output.clone();
        wrong[40 * 128..2 * 40 * 128].copy_from_slice(&output[2 * 40 * 128..3 * 40 * 128]);
        assert!(right.why(&wrong).is_some());
    }
}

#[test]
fn an_interval_is_a_few_units_of_the_format() {
    for (kind, unit, most) in [("bf16", 2f64.powi(-8), 0.02), ("f16", 2f64.powi(-11), 0.004)] {
        let attention = attention(&[("queries", "8"), ("keys", "200"), ("heads", "1"), ("type", kind)]);
        let right = attention.numbers(2);
        let reference = attention.reference();
        let mean = right.iter().map(|v| f64::from(v.abs())).sum::<f64>() / right.len() as f64;
        for range in reference.rows.iter().flat_map(|(_, ranges)| ranges) {
            let width = range.most - range.least;
            assert!(
                width >= unit * range.least.abs().max(range.most.abs()) / 2.0 && width <= most * mean * 2.0,
                "{range}"
            );
        }
    }
}

#[test]
fn a_query_that_sees_no_key_has_zeros() {
    for chosen in
        [&[("queries", "3"), ("keys", "0"), ("heads", "1")][..], &[("queries", "5"), ("keys", "2"), ("causal", "yes")]]
    {
        let attention = attention(chosen);
        let mut output = attention.online(64, false);
        assert_eq!(attention.why(&output), None);
        output[1] = 0x0001;
        let why = attention.why(&output).unwrap();
        assert!(
            why.starts_with("sequence 0, head 0, query 0, element 1 is 9") && why.ends_with("; 0e0 is right"),
            "{why}"
        );
    }
}

#[test]
fn an_output_that_is_missing_or_poison_is_wrong() {
    let attention = attention(&[("queries", "3")]);
    assert!(attention.why(&[]).is_some());
    let why = attention.why(&vec![u16::from_ne_bytes([POISON; 2]); 4 * 3 * 128]).unwrap();
    assert!(why.contains(", the value from before the launch; "), "{why}");
}

#[test]
fn the_sample_covers_heads_and_edges_and_other_rows_stay_within_v() {
    let chosen =
        [("queries", "700"), ("keys", "300"), ("heads", "3"), ("kv-heads", "1"), ("d", "64"), ("causal", "yes")];
    let attention = attention(&chosen);
    let reference = Reference::with_limits(&attention, 0, 60 * 2 * 300 * 64);
    let rows: BTreeSet<usize> = reference.rows.iter().map(|(row, _)| *row).collect();
    assert!((45..100).contains(&rows.len()), "{}", rows.len());
    for head in 0..3 {
        assert!([0, 399, 400, 698, 699].iter().all(|query| rows.contains(&(head * 700 + query))), "{rows:?}");
    }
    let output = attention.online(64, false);
    let wrong = |reference: &Reference, change: &dyn Fn(&mut [u16])| {
        let mut output = output.clone();
        let row = (1000..).find(|row| !rows.contains(row)).unwrap();
        change(&mut output[row * 64..][..64]);
        reference.first_wrong(&attention, &output).map(|(at, _)| at / 64 == row)
    };
    assert_eq!(wrong(&reference, &|_| {}), None);
    assert_eq!(wrong(&reference, &|row| row[3] = Format::Bf16.encode(50.0)), Some(true));
    assert_eq!(wrong(&reference, &|row| row[63] = 0x7fff), Some(true));
    assert_eq!(wrong(&reference, &|row| row.fill(u16::from_ne_bytes([POISON; 2]))), Some(true));
    let mut compared = output.clone();
    compared[699 * 64] = Format::Bf16.encode(-Format::Bf16.decode(compared[699 * 64]));
    assert_eq!(reference.first_wrong(&attention, &compared).map(|(at, _)| at), Some(699 * 64));
}

#[test]
fn the_sweeps_have_every_variant_and_every_kind_of_data() {
    for (effort, least) in [(Effort::Full, 300), (Effort::Quick, 60), (Effort::Least, 8)] {
        let all = (LADDER.sweep)(effort);
        let distinct: BTreeSet<_> = all.iter().collect();
        assert!(distinct.len() >= least, "{effort:?}: {}", distinct.len());
        let problems = all.iter().map(|options| Attention::new(&LADDER.complete(options).unwrap()).unwrap());
        let kinds: BTreeSet<_> = problems.map(|problem| (problem.facts().variant, problem.data as usize)).collect();
        let variants: BTreeSet<_> = kinds.iter().map(|(variant, _)| variant).collect();
        let data: BTreeSet<_> = kinds.iter().map(|(_, data)| data).collect();
        assert_eq!((variants.len(), data.len()), (8, DATA.len()), "{effort:?}");
    }
}

#[test]
fn tensor_maps_have_one_matrix_per_head_and_rungs_choose_box_rows() {
    let map = |attention: &Attention, name| match attention.argument(name) {
        Some(Arg::TensorMap(TensorMap { buffer, columns, rows, matrices, tile, .. })) => {
            (buffer, columns, rows, matrices, tile)
        }
        other => panic!("{other:?}"),
    };
    let grouped =
        attention(&[("queries", "5"), ("keys", "9"), ("batch", "3"), ("heads", "4"), ("kv-heads", "2"), ("d", "64")]);
    assert_eq!(map(&grouped, "q_map"), (0, 64, 5, Some(12), [64, 64]));
    assert_eq!(map(&grouped, "k_map"), (1, 64, 9, Some(6), [64, 64]));
    assert_eq!(map(&grouped, "v_map"), (2, 64, 9, Some(6), [64, 64]));
    // For a tensor without rows, the map describes a row of the guard after the output.
    assert_eq!(map(&attention(&[("keys", "0")]), "k_map"), (3, 128, 1, Some(1), [64, 64]));

    let naive = LADDER.rung("attention_naive").unwrap();
    let rows = |variant: &str, map: &str| (map == "v_map").then_some(if variant == "d64" { 192 } else { 128 });
    let rung = Rung { parameters: &["k_map", "v_map"], box_rows: rows, ..*naive };
    let args = LADDER.launch(&rung, &grouped, None, DeviceProperties::default()).unwrap().args;
    let tiles: Vec<_> = args.iter().map(|arg| matches!(arg, Arg::TensorMap(map) if map.tile == [64, 192])).collect();
    assert_eq!(tiles, [false, true]);
}

#[test]
fn impossible_options_are_refused_with_the_allowed_values() {
    let divisor = refusal(&[("heads", "6"), ("kv-heads", "4")]);
    assert!(
        divisor.contains("kv-heads = 4 is out of bounds") && divisor.contains("a divisor of --heads 6"),
        "{divisor}"
    );
    assert!(refusal(&[("kv-heads", "0")]).contains("a divisor of --heads 4"));
    let size = refusal(&[("d", "96")]);
    assert!(size.contains("`96` is not a valid value for --d; the values are 128, 64"), "{size}");
    let large = refusal(&[("queries", "2^26")]);
    assert!(large.contains("Q of 1 × 4 × 67108864 × 128") && large.contains("2147483647"), "{large}");
    assert!(refusal(&[("heads", "0")]).contains("heads = 0 is out of bounds"));
    assert!(refusal(&[("keys", "2^40")]).contains("keys = 1099511627776 is out of bounds"));

    let scores = attention(&[("queries", "16384"), ("keys", "16384"), ("heads", "8")]);
    let naive = LADDER.rung("attention_naive").unwrap();
    let error = LADDER.launch(naive, &scores, None, DeviceProperties::default()).unwrap_err().to_string();
    let words = "its matrix of scores would have 2147483648 floats, 8 GB, and the limit is 1073741824 floats; \
        use attention_tiled, which";
    assert!(error.contains(words), "{error}");
    let bytes =
        scores.buffers(DeviceProperties::default()).iter().find(|buffer| buffer.name == "scores").unwrap().bytes;
    assert_eq!(bytes, 0);
    assert_eq!(scores.refuses(LADDER.rung("attention_tiled").unwrap()), None);
}

#[test]
fn a_variant_is_named_after_its_non_default_options() {
    let variant = |chosen: &[_]| attention(chosen).facts().variant;
    assert_eq!(variant(&[]), "");
    assert_eq!(variant(&[("type", "f16"), ("d", "64"), ("causal", "yes")]), "f16_d64_causal");
    let all = attention(&[("batch", "2"), ("kv-heads", "2"), ("keys", "100"), ("data", "constant"), ("causal", "yes")]);
    let title = "512 queries, 100 keys, batch of 2, 4 heads on 2, constant data, d = 128, bf16, causal";
    assert_eq!(all.labels().title, title);
    assert_eq!(all.facts().flops, Some(8 * 4 * 128 * (100 * 100 - 100 * 99 / 2)));
}

#[test]
fn the_smaller_problem_fits() {
    let fits = attention(&[("queries", "4000"), ("keys", "7000")]).smaller(0.5).unwrap();
    assert_eq!(fits.command_line(), "--queries 2000 --keys 3000");
}
