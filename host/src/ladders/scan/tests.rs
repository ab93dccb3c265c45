#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use engine::problem::POISON;

use super::*;
use crate::ladders::rung_fixture::{RungFixture, rung_fixture};

fn variant(rung: &str, n: u64, chosen: &[(&'static str, &str)]) -> RungFixture {
    let with = |options: Options, (name, value): &(&'static str, &str)| options.with(name, value);
    rung_fixture(rung, &chosen.iter().fold(Options::default().with("n", n), with))
}

fn refusal(chosen: &[(&'static str, &str)]) -> String {
    let with = |options: Options, (name, value): &(&'static str, &str)| options.with(name, value);
    let options = chosen.iter().fold(Options::default(), with);
    LADDER.complete(&options).and_then(|options| problem(&options)).err().unwrap().to_string()
}

/// Returns the inclusive scan in the type of the elements, computed sequentially.
fn scanned<T: bytemuck::Pod>(input: &[T], combine: impl Fn(T, T) -> T) -> Vec<T> {
    let mut all = input.to_vec();
    for index in 1..all.len() {
        all[index] = combine(all[index - 1], all[index]);
    }
    all
}

#[test]
fn the_check_covers_at_least_60_sizes_all_data_and_all_variants() {
    for effort in [Effort::Full, Effort::Quick, Effort::Least] {
        let all = sweep(effort);
        let usual = all.iter().filter(|options| options.get("op").is_none() && options.get("data").is_none());
        let sizes: BTreeSet<String> = usual.map(|options| options.get("n").unwrap().to_string()).collect();
        assert!(sizes.len() >= 60, "{effort:?}: {}", sizes.len());
        let facts = all.iter().map(|options| problem(&LADDER.complete(options).unwrap()).unwrap().facts().variant);
        assert_eq!(facts.collect::<BTreeSet<_>>().len(), 32);
        let data = all.iter().filter_map(|options| options.get("data").map(ToString::to_string));
        assert_eq!(data.collect::<BTreeSet<_>>().len(), DATA.len() - 1);
    }
}

#[test]
fn a_variant_is_named_after_its_non_default_options() {
    let entry = |chosen: &[_]| variant("scan_pipelined", 100, chosen).launch.entry;
    assert_eq!(entry(&[]), "scan_pipelined_1024");
    assert_eq!(entry(&[("type", "f32")]), "scan_pipelined_f32_1024");
    assert_eq!(entry(&[("op", "max"), ("kind", "exclusive")]), "scan_pipelined_max_exclusive_1024");
    let all = variant("scan_pipelined", 100, &[("op", "min"), ("type", "i64"), ("data", "few"), ("resident", "2")]);
    assert_eq!(all.problem.labels().size, "n = 100, min, i64, few, at most 2 blocks");
}

#[test]
fn an_exclusive_scan_begins_with_the_identity() {
    let fixture = variant("scan_look_back_warp", 1000, &[("op", "min"), ("kind", "exclusive")]);
    let inclusive = scanned(fixture.input::<i32>(), i32::min);
    let mut exclusive = vec![i32::MAX];
    exclusive.extend(&inclusive[..999]);
    assert_eq!(fixture.why(&exclusive), None);
    let why = fixture.why(&inclusive).unwrap();
    assert!(why.starts_with("the min up to element 0 of the output is "), "{why}");
}

#[test]
fn the_check_compares_sections_where_rungs_scan_sections() {
    let fixture = variant("scan_shuffle", 1000, &[]);
    let mut output: Vec<i32> =
        fixture.input::<i32>().chunks(256).flat_map(|part| scanned(part, i32::wrapping_add)).collect();
    assert_eq!(fixture.why(&output), None);
    output[999] = i32::from_ne_bytes([POISON; 4]);
    let why = fixture.why(&output).unwrap();
    assert!(
        why.starts_with("the sum up to element 999 of its section is ")
            && why.contains("the value from before the launch")
    );
    assert!(fixture.needs_an_output());
}

#[test]
fn sums_of_random_floats_are_exact_and_a_last_digit_is_noticed() {
    let fixture = variant("scan_pipelined", 100_003, &[("type", "f32")]);
    let mut sums = scanned(fixture.input::<f32>(), |a, b| a + b);
    assert_eq!(fixture.why(&sums), None);
    sums[77_777] = sums[77_777].next_up();
    assert!(fixture.why(&sums).is_some());
}

#[test]
fn sums_of_other_floats_are_within_the_bound_in_any_order() {
    for data in ["uniform", "constant", "sorted", "reversed", "few"] {
        let fixture = variant("scan_pipelined", 100_003, &[("type", "f32"), ("data", data)]);
        let input = fixture.input::<f32>();
        // As on a GPU, scan tiles, and add to each the sum of everything before it.
        let mut sums = Vec::new();
        let mut before = 0.0;
        for tile in input.chunks(1024) {
            sums.extend(
                tile.chunks(32)
                    .scan(before, |before, row| {
                        let of_row = scanned(row, |a: f32, b| a + b);
                        let all = of_row.iter().map(|sum| *before + sum).collect::<Vec<f32>>();
                        *before += of_row.last().unwrap();
                        Some(all)
                    })
                    .flatten(),
            );
            before = *sums.last().unwrap();
        }
        assert_eq!(fixture.why(&sums), None, "{data}");
        // The bound of the last element is γ(67) Σ|x|, which is less than 67 · 2^-23 Σ|x|.
        let magnitudes: f32 = input.iter().map(|x| x.abs()).sum();
        *sums.last_mut().unwrap() += 67.0 * f32::EPSILON * magnitudes;
        assert!(fixture.why(&sums).is_some(), "{data}");
        *sums.last_mut().unwrap() = f32::NAN;
        assert!(fixture.why(&sums).is_some(), "{data}");
    }
}

#[test]
fn nans_and_infinities_are_ignored_or_remain() {
    let special = |op| variant("scan_pipelined", 20_000, &[("op", op), ("type", "f32"), ("data", "special")]);
    let least = special("min");
    let mut found = scanned(least.input::<f32>(), f32::min);
    assert_eq!(found.last(), Some(&f32::NEG_INFINITY));
    assert_eq!(least.why(&found), None);
    found[20] = f32::NAN;
    assert!(least.why(&found).is_some());
    let sum = special("sum");
    let mut found = scanned(sum.input::<f32>(), |a, b| a + b);
    assert!(found.contains(&f32::NEG_INFINITY) && found[19_999].is_nan());
    assert_eq!(sum.why(&found), None);
    found[19_999] = 0.0;
    assert!(sum.why(&found).is_some());
}

#[test]
fn data_match_their_names() {
    let input = |data, op| {
        let fixture = variant("scan_pipelined", 50_000, &[("data", data), ("op", op)]);
        fixture.input::<i32>().to_vec()
    };
    let values = |data| input(data, "sum").into_iter().collect::<BTreeSet<_>>().len();
    assert_eq!((values("constant"), values("few"), values("random")), (1, 4, 50_000));
    assert!(input("sorted", "max").is_sorted());
    assert!(input("reversed", "max").iter().rev().is_sorted());
    assert!(input("special", "max").contains(&i32::MIN));
}

#[test]
fn the_workspace_has_words_for_every_tile() {
    for n in [0, 1, 1023, 1024, 1025, 100_003, MAX_ELEMENTS] {
        for word in TYPES {
            let options = LADDER.complete(&Options::default().with("n", n).with("type", word)).unwrap();
            let problem = problem(&options).unwrap();
            let device = engine::DeviceProperties::default();
            let bytes = |name| problem.buffers(device).into_iter().find(|buffer| buffer.name == name).unwrap().bytes;
            let (size, words) = (if *word == "i64" { 8 } else { 4 }, problem.facts().shape[0]);
            for rung in LADDER.select(&[], &*problem).unwrap() {
                for block in LADDER.blocks_of(rung, &*problem) {
                    let tiles = words.div_ceil(u64::from(block[0] * rung.items_per_thread));
                    if rung.parameters.contains(&"status") {
                        assert!((2 + tiles * size / 4) * 8 <= bytes("status"), "{} {n} {word}", rung.name);
                    }
                    if rung.parameters.contains(&"sums") {
                        assert!(tiles * size <= bytes("sums"), "{} {n} {word}", rung.name);
                    }
                }
            }
        }
    }
}

#[test]
fn impossible_options_are_refused_with_the_allowed_values() {
    let too_many = refusal(&[("n", "2147483648")]);
    assert!(too_many.contains("n = 2147483648 is out of bounds") && too_many.contains("0 to 2147483647"), "{too_many}");
    let f64 = refusal(&[("type", "f64")]);
    assert!(f64.contains("`f64` is not a valid value for --type"), "{f64}");
    let median = refusal(&[("op", "median")]);
    assert!(median.contains("`median` is not a valid value for --op"), "{median}");
    let resident = refusal(&[("resident", "0")]);
    assert!(resident.contains("resident = 0 is out of bounds"), "{resident}");
    let factors = refusal(&[("op", "product"), ("type", "f32"), ("data", "constant"), ("n", "65537")]);
    assert!(factors.contains("0 to 65536") && factors.contains("--data random"), "{factors}");
}
