#![allow(clippy::unwrap_used)]

use bytemuck::cast_slice;
use kernels_gpu::sort::key::Key;
use proptest::prelude::*;

use super::*;
use crate::ladders::rung_fixture::{RungFixture, rung_fixture};

fn fixture(rung: &str, n: u64, key: &str, data: &str) -> RungFixture {
    let options = Options::default().with("n", n).with("type", key).with("values", "yes").with("data", data);
    rung_fixture(rung, &options)
}

/// Returns the reason why keys or values are wrong, or `None` if they are right.
fn why<K: SortKey>(fixture: &RungFixture, keys: &[K], values: &[u32]) -> Option<String> {
    let outputs = [cast_slice(keys).to_vec(), cast_slice(values).to_vec()];
    match fixture.problem.check(fixture.rung, &fixture.launch, &outputs) {
        Verdict::Right => None,
        Verdict::Wrong(why) => Some(why),
    }
}

fn is_mapped_in_order<K: SortKey>(first: K, second: K) -> bool {
    let returns = |key: K| K::from_ordered(key.to_ordered()).order(key) == Ordering::Equal;
    returns(first) && returns(second) && first.to_ordered().cmp(&second.to_ordered()) == first.order(second)
}

proptest! {
    #[test]
    fn the_bits_of_keys_sort_like_the_keys(first in any::<u64>(), second in any::<u64>()) {
        let floats = [first, second].map(|bits| f32::from_bits(bits as u32));
        prop_assert!(is_mapped_in_order(first, second));
        prop_assert!(is_mapped_in_order(first as u32, second as u32));
        prop_assert!(is_mapped_in_order(first as i32, second as i32));
        prop_assert!(is_mapped_in_order(floats[0], floats[1]));
    }
}

#[test]
fn the_bits_of_special_keys_sort_like_the_keys() {
    fn all<K: SortKey>() -> bool {
        K::FEW.iter().all(|first| K::FEW.iter().all(|second| is_mapped_in_order(*first, *second)))
    }
    assert!(all::<u32>() && all::<i32>() && all::<f32>() && all::<u64>());
}

#[test]
fn digits_are_parts_of_the_bits() {
    assert_eq!([0, 8, 16, 24].map(|shift| <u32 as Key>::digit::<8>(0x1234_5678, shift)), [0x78, 0x56, 0x34, 0x12]);
    assert_eq!(<u64 as Key>::digit::<8>(0xab << 56, 56), 0xab);
    assert_eq!([0, 1].map(|shift| <u32 as Key>::digit::<1>(0b10, shift)), [0, 1]);
}

#[test]
fn the_reference_is_stable_and_puts_floats_in_total_order() {
    assert_eq!(sorted(&[7_u32, 3, 7, 3]), (vec![3, 3, 7, 7], vec![1, 3, 0, 2]));
    let keys = [0.0, f32::NAN, -0.0, f32::INFINITY, -f32::NAN, -1.0];
    assert_eq!(sorted(&keys).1, [4, 5, 2, 0, 3, 1]);
}

#[test]
fn data_match_their_names() {
    const N: u64 = 1000;
    fn distinct(keys: &[f32]) -> usize {
        keys.iter().map(|key| key.to_bits()).collect::<std::collections::BTreeSet<_>>().len()
    }
    let keys = |kind: &str| data::generate_keys::<f32>(N, kind);
    assert_eq!(distinct(&keys("constant")), 1);
    assert!(keys("sorted").is_sorted_by(|a, b| a.order(*b).is_lt()));
    assert!(keys("reversed").is_sorted_by(|a, b| a.order(*b).is_gt()));
    assert_eq!(distinct(&keys("few")), f32::FEW.len());
    let random = keys("random");
    assert!(distinct(&random) > 900 && random.iter().any(|key| key.is_nan()));
    assert!(random.iter().any(|key| key.is_infinite()) && random.contains(&0.0));
    assert!(data::generate_keys::<u64>(0, "sorted").is_empty());
}

#[test]
fn the_check_of_a_stable_rung_names_what_is_wrong() {
    let fixture = fixture("sort_merge", 1000, "i32", "few");
    let (mut keys, mut values) = sorted(fixture.input::<i32>());
    assert_eq!(why(&fixture, &keys, &values), None);
    values.swap(0, 1);
    let (found, right) = (values[0], values[1]);
    assert_eq!(why(&fixture, &keys, &values).unwrap(), format!("value 0 of the output is {found}; {right} is right"));
    keys[999] = 5;
    assert_eq!(why(&fixture, &keys, &values).unwrap(), "key 999 of the output is 5; 2147483647 is right");
    assert!(fixture.needs_an_output());
}

#[test]
fn the_check_of_an_unstable_rung_accepts_equal_keys_in_any_order() {
    let fixture = fixture("sort_bitonic", 1000, "u32", "few");
    let (keys, mut values) = sorted(fixture.input::<u32>());
    values.swap(0, 1);
    assert_eq!(why(&fixture, &keys, &values), None);
    values[1] = values[0];
    assert!(why(&fixture, &keys, &values).unwrap().starts_with("value 1 is"), "a value occurs twice");
    (values[0], values[1]) = (values[999], 1000);
    assert!(why(&fixture, &keys, &values).unwrap().starts_with("value 0 is"), "the value belongs to another key");
}

#[test]
fn sections_are_checked_one_by_one() {
    let fixture = fixture("sort_bitonic_block", 3000, "u32", "constant");
    let (keys, mut values) = (fixture.input::<u32>(), (0..3000).collect::<Vec<u32>>());
    assert_eq!(why(&fixture, keys, &values), None);
    values.swap(0, 2999);
    assert!(why(&fixture, keys, &values).unwrap().starts_with("value 0 is 2999; "));
}

#[test]
fn more_keys_than_the_kernels_count_are_refused() {
    let error = LADDER.problem(&Options::default().with("n", (1_u64 << 30) + 1)).err().unwrap().to_string();
    assert!(error.contains("n = 1073741825 is out of bounds") && error.contains("32 bits"), "{error}");
    assert!(LADDER.problem(&Options::default().with("n", 1 << 30)).is_ok());
}
