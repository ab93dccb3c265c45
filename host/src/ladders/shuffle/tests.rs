#![allow(clippy::unwrap_used)]

use super::*;
use crate::ladder;

fn of(rung: &str, options: &Options) -> (Box<dyn Problem>, &'static Rung, Launch) {
    let ladder = ladder("shuffle").unwrap();
    let problem = ladder.problem(options).unwrap();
    let rung = ladder.rung(rung).unwrap();
    let launch = ladder.launch(rung, &*problem, None).unwrap();
    (problem, rung, launch)
}

fn output(values: &[u32]) -> Vec<Vec<u8>> {
    vec![bytemuck::cast_slice(values).to_vec()]
}

#[test]
fn what_is_right_is_accepted_and_what_is_not_is_named() {
    let (problem, rung, launch) = of("shuffle_xor_array", &Options::default());
    assert_eq!(launch.to_string(), "shuffle_xor_array_i32<<<1, 4, 0>>>");
    let right = [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11];
    let verdict = problem.check(rung, &launch, &output(&right));
    assert_eq!(verdict, Verdict::Right);
    let mut wrong = right;
    wrong[3] = 3;
    let verdict = problem.check(rung, &launch, &output(&wrong));
    assert_eq!(verdict, Verdict::Wrong("value 3 is 3; 7 is right".into()));
    assert!(!problem.check(rung, &launch, &[]).is_right());
}

#[test]
fn the_two_wraps_are_each_others_inverse() {
    let (problem, wrap, launch) = of("shuffle_wrap", &Options::default().with("delta", 2));
    let left = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1];
    assert!(problem.check(wrap, &launch, &output(&left)).is_right());
    let (problem, back, launch) = of("shuffle_wrap_back", &Options::default().with("delta", 2));
    let right = [14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    assert!(problem.check(back, &launch, &output(&right)).is_right());
}

#[test]
fn a_picture_has_both_rows() {
    let options = Options::default().with("type", "f32").with("width", 4);
    let (problem, rung, launch) = of("shuffle_up", &options);
    let values: Vec<u32> = (0..16).map(|i| (i as f32).to_bits()).collect();
    let picture = problem.picture(rung, &launch, &output(&values)).unwrap();
    assert_eq!(picture.what, "warp_shuffle_up(value, 2) in segments of 4");
    assert_eq!((picture.before.len(), picture.after.len()), (16, 16));
    assert_eq!((&*picture.before[3], &*picture.after[3]), ("3.5", "3"));
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let ladder = ladder("shuffle").unwrap();
    for (option, value, takes) in [
        ("width", "3", "2, 4, 8, 16 or 32"),
        ("width", "64", "2, 4, 8, 16 or 32"),
        ("delta", "32", "0 to 31"),
        ("src", "99", "0 to 31"),
        ("mask", "32", "0 to 31"),
    ] {
        let error = ladder.problem(&Options::default().with(option, value));
        let text = error.err().unwrap().to_string();
        let expected = format!("{option} = {value} is out of bounds for the ladder shuffle: it takes {takes}");
        assert_eq!(text, expected);
    }
    let (problem, rung, _) = of("shuffle_up", &Options::default());
    let error = ladder.launch(rung, &*problem, Some([32, 1, 1])).unwrap_err();
    assert!(error.to_string().contains("32 with --width 32"), "{error}");
}
