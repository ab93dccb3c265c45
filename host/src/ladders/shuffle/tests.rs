#![allow(clippy::unwrap_used)]

use super::*;
use crate::ladders::rung_fixture::{RungFixture, output_of, rung_fixture};

#[test]
fn a_right_output_is_accepted_and_a_wrong_value_is_named() {
    let fixture = rung_fixture("shuffle_xor_array", &Options::default());
    assert_eq!(fixture.launch.to_string(), "shuffle_xor_array_i32<<<1, 4, 0>>>");
    let right = [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11];
    assert_eq!(fixture.why(&right), None);
    let mut wrong = right;
    wrong[3] = 3;
    assert_eq!(fixture.why(&wrong).unwrap(), "value 3 is 3; 7 is right");
    assert!(fixture.needs_an_output());
}

#[test]
fn the_two_wrapping_shuffles_are_inverses() {
    let options = Options::default().with("delta", 2);
    let left = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1];
    assert_eq!(rung_fixture("shuffle_wrap", &options).why(&left), None);
    let right = [14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    assert_eq!(rung_fixture("shuffle_wrap_back", &options).why(&right), None);
}

#[test]
fn a_picture_has_both_rows() {
    let options = Options::default().with("type", "f32").with("width", 4);
    let RungFixture { problem, rung, launch } = rung_fixture("shuffle_up", &options);
    let values: Vec<u32> = (0..16).map(|i| (i as f32).to_bits()).collect();
    let picture = problem.picture(rung, &launch, &output_of(&values)).unwrap();
    assert_eq!(picture.what, "warp_shuffle_up(value, 2) in segments of 4");
    assert_eq!((picture.before.len(), picture.after.len()), (16, 16));
    assert_eq!((&*picture.before[3], &*picture.after[3]), ("3.5", "3"));
}
