#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use engine::problem::POISON;
use half::{bf16, f16};

use super::*;
use crate::ladders::rung_fixture::{RungFixture, rung_fixture};

fn rows(rung: &str, m: u64, n: u64, chosen: &[(&'static str, &str)]) -> RungFixture {
    let with = |options: Options, (name, value): &(&'static str, &str)| options.with(name, value);
    rung_fixture(rung, &chosen.iter().fold(Options::default().with("m", m).with("n", n), with))
}

fn made(chosen: &[(&'static str, &str)]) -> Result<Box<dyn Problem>, Error> {
    let with = |options: Options, (name, value): &(&'static str, &str)| options.with(name, value);
    LADDER.complete(&chosen.iter().fold(Options::default(), with)).and_then(|options| problem(&options))
}

fn refusal(chosen: &[(&'static str, &str)]) -> String {
    made(chosen).err().unwrap().to_string()
}

/// Returns the softmax of each row in f32, summed in the order of the elements, with the host's exponential.
fn softmax(input: &[f32], n: usize) -> Vec<f32> {
    let of_row = |row: &[f32]| {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = row.iter().map(|x| (x - max).exp()).sum();
        row.iter().map(|x| (x - max).exp() / sum).collect::<Vec<_>>()
    };
    input.chunks(n).flat_map(of_row).collect()
}

fn rms_norm(input: &[f32], weight: &[f32]) -> Vec<f32> {
    let of_row = |row: &[f32]| {
        let factor = 1.0 / (row.iter().map(|x| x * x).sum::<f32>() / row.len() as f32 + 1e-6).sqrt();
        row.iter().zip(weight).map(|(x, weight)| x * factor * weight).collect::<Vec<_>>()
    };
    input.chunks(weight.len()).flat_map(of_row).collect()
}

#[test]
fn the_check_covers_at_least_60_shapes_all_data_and_all_variants() {
    for effort in [Effort::Full, Effort::Quick, Effort::Least] {
        let all = sweep(effort);
        let usual = all.iter().filter(|options| options.get("op").is_none() && options.get("data").is_none());
        let shape = |options: &Options| ["m", "n"].map(|side| options.get(side).unwrap().to_string());
        let shapes: BTreeSet<_> = usual.map(shape).collect();
        assert!(shapes.len() >= 60, "{effort:?}: {}", shapes.len());
        let facts = all.iter().map(|options| problem(&LADDER.complete(options).unwrap()).unwrap().facts().variant);
        assert_eq!(facts.collect::<BTreeSet<_>>().len(), 6);
        let data = all.iter().filter_map(|options| options.get("data").map(ToString::to_string));
        assert_eq!(data.collect::<BTreeSet<_>>().len(), DATA.len() - 1);
    }
}

#[test]
fn a_variant_is_named_after_its_non_default_options_and_a_block_after_the_row() {
    let entry = |n: u64, chosen: &[_]| rows("softmax_vector", 3, n, chosen).launch.entry;
    assert_eq!(entry(1024, &[]), "softmax_vector_128");
    assert_eq!(entry(4097, &[]), "softmax_vector_256");
    assert_eq!(entry(32_768, &[("type", "f16")]), "softmax_vector_f16_1024");
    assert_eq!(entry(8192, &[("op", "rmsnorm"), ("type", "f32")]), "softmax_vector_rmsnorm_f32_512");
    let all = rows("softmax_bulk", 3, 100, &[("op", "rmsnorm"), ("data", "masked"), ("resident", "2")]);
    assert_eq!(all.problem.labels().size, "3 × 100, rmsnorm, masked, at most 2 blocks");
}

#[test]
fn another_order_of_f32_arithmetic_is_within_the_bound() {
    for (m, n) in [(1, 1), (5, 7), (9, 1000), (1, 20_000)] {
        let fixture = rows("softmax_online", m, n, &[("type", "f32")]);
        assert_eq!(fixture.why(&softmax(fixture.input(), n as usize)), None, "{m} × {n}");
        let fixture = rows("softmax_online", m, n, &[("type", "f32"), ("op", "rmsnorm")]);
        let right = rms_norm(fixture.input(), bytemuck::cast_slice(fixture.problem.input(1)));
        assert_eq!(fixture.why(&right), None, "{m} × {n}");
    }
}

#[test]
fn a_missing_element_of_the_sum_and_a_factor_near_1_are_noticed() {
    let fixture = rows("softmax_vector", 3, 1000, &[("type", "f32"), ("data", "constant")]);
    assert_eq!(fixture.why(&[1.0_f32 / 1000.0; 3000]), None);
    let why = fixture.why(&[1.0_f32 / 999.0; 3000]).unwrap();
    assert!(why.starts_with("row 0, column 0 is 1.001001e-3; 1e-3 is right"), "{why}");
    let mut one = softmax(rows("softmax_vector", 3, 1000, &[("type", "f32")]).input(), 1000);
    let fixture = rows("softmax_vector", 3, 1000, &[("type", "f32")]);
    one[2345] *= 1.0 + 1e-4;
    assert!(fixture.why(&one).unwrap().starts_with("row 2, column 345 is "));
    one[2345] = f32::from_ne_bytes([POISON; 4]);
    assert!(fixture.why(&one).unwrap().contains("the value from before the launch"));
    assert!(fixture.needs_an_output());
}

#[test]
fn elements_of_16_bits_are_rounded_to_the_nearest() {
    for (word, round) in
        [("bf16", (|x| bf16::from_f64(x).to_bits()) as fn(f64) -> u16), ("f16", |x| f16::from_f64(x).to_bits())]
    {
        let fixture = rows("softmax_vector", 1, 3, &[("type", word), ("data", "constant")]);
        let third = round(1.0 / 3.0);
        assert_eq!(fixture.why(&[third; 3]), None);
        assert!(fixture.why(&[third, third, third + 1]).is_some());
        assert!(fixture.why(&[third, third - 1, third]).is_some());
    }
}

#[test]
fn rows_with_infinities_and_nans() {
    let special = |op| rows("softmax_vector", 8, 40, &[("type", "f32"), ("data", "special"), ("op", op)]);
    let fixture = special("softmax");
    let (input, mut right) = (fixture.input::<f32>(), softmax(fixture.input(), 40));
    for row in [0, 1, 3] {
        assert!(right[row * 40..][..40].iter().all(|x| x.is_nan()), "{row}");
    }
    assert_eq!(fixture.why(&right), None);
    let masked = (80..120).find(|&at| input[at] == f32::NEG_INFINITY).unwrap();
    assert_eq!(right[masked], 0.0);
    right[masked] = 1e-45;
    assert!(fixture.why(&right).unwrap().contains("0e0 is right"));
    right[masked] = 0.0;
    right[3] = 0.0;
    assert!(fixture.why(&right).unwrap().contains("NaN is right"));

    let fixture = special("rmsnorm");
    let weight = bytemuck::cast_slice(fixture.problem.input(1));
    let right = rms_norm(fixture.input(), weight);
    assert_eq!(fixture.why(&right), None);
    // If the sum of squares is infinite, the elements are zeros.
    assert!(right[4 * 40..][..40].iter().all(|x| *x == 0.0));
}

#[test]
fn data_match_their_names() {
    let input = |data| rows("softmax_vector", 64, 512, &[("type", "f32"), ("data", data)]).input::<f32>().to_vec();
    let (random, masked) = (input("random"), input("masked"));
    let mean = random.iter().map(|x| f64::from(*x)).sum::<f64>() / random.len() as f64;
    let variance = random.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / random.len() as f64;
    assert!(mean.abs() < 0.1 && (variance - 4.0).abs() < 0.2, "{mean} {variance}");
    assert!(input("constant").iter().all(|x| *x == 0.75));
    for row in masked.chunks(512) {
        let kept = row.iter().position(|x| *x == f32::NEG_INFINITY).unwrap_or(512);
        assert!(kept > 0 && row[kept..].iter().all(|x| *x == f32::NEG_INFINITY));
    }
    let special = input("special");
    assert!([f32::INFINITY, f32::MAX, -f32::MAX, 60.0].iter().all(|x| special.contains(x)));
    assert!(special.iter().any(|x| x.is_nan()));
}

#[test]
fn impossible_options_are_refused_with_the_allowed_values() {
    let too_many = refusal(&[("m", "65536"), ("n", "32768")]);
    assert!(too_many.contains("65536 × 32768 is too large") && too_many.contains("2147483647"), "{too_many}");
    let f64 = refusal(&[("type", "f64")]);
    assert!(f64.contains("`f64` is not a valid value for --type"), "{f64}");
    let layernorm = refusal(&[("op", "layernorm")]);
    assert!(layernorm.contains("`layernorm` is not a valid value for --op"), "{layernorm}");
    let resident = refusal(&[("resident", "0")]);
    assert!(resident.contains("resident = 0 is out of bounds"), "{resident}");

    let launch = |rung: &str, chosen: &[_]| {
        let problem = made(chosen).unwrap();
        LADDER.launch(LADDER.rung(rung).unwrap(), &*problem, None, engine::DeviceProperties::default())
    };
    let long = launch("softmax_vector", &[("m", "1"), ("n", "32769")]).unwrap_err().to_string();
    assert!(long.contains("a row has 32769 elements") && long.contains("use --n 32768, or softmax_bulk"), "{long}");
    // Only rungs without a limit support this row.
    let longer = launch("softmax_cluster", &[("m", "1"), ("n", "524289")]).unwrap_err().to_string();
    assert!(longer.contains("use --n 262144, or softmax_online"), "{longer}");
    let many = launch("softmax_cluster", &[("m", "268435456"), ("n", "1")]).unwrap_err().to_string();
    assert!(many.contains("use --m 268435455, or softmax_bulk"), "{many}");
    let early = launch("softmax_block", &[("op", "rmsnorm")]).unwrap_err().to_string();
    assert!(early.contains("softmax_block was not compiled for rmsnorm"), "{early}");
}

#[test]
fn every_rung_accepts_its_longest_row_and_refuses_a_longer_one() {
    for (word, size) in [("bf16", 2), ("f16", 2), ("f32", 4)] {
        for rung in LADDER.rungs {
            let Some(longest) = kernels_gpu::softmax::longest_row(rung, size) else { continue };
            let problem = |n: u64| made(&[("m", "1"), ("n", &n.to_string()), ("type", word)]).unwrap();
            let device = engine::DeviceProperties::default();
            let launch = LADDER.launch(rung, &*problem(longest / size), None, device).unwrap();
            assert!(launch.blocks() >= 1);
            assert!(LADDER.launch(rung, &*problem(longest / size + 1), None, device).is_err(), "{}", rung.name);
        }
    }
}
