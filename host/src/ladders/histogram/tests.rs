#![allow(clippy::unwrap_used)]

use std::io::Write as _;

use super::*;
use crate::ladder;
use crate::ladders::rung_fixture::rung_fixture;

fn problem_of(options: &Options) -> Result<Box<dyn Problem>, Error> {
    ladder("histogram").unwrap().problem(options)
}

#[test]
fn data_match_their_names() {
    let share = |data: &str| {
        let problem = problem_of(&Options::default().with("n", 65_536).with("data", data)).unwrap();
        let counts = counts(problem.input(0));
        assert_eq!(counts.iter().sum::<u32>(), 65_536, "{data}");
        (counts.iter().max().copied().unwrap(), counts.iter().filter(|&&c| c > 0).count())
    };
    let (most, values) = share("uniform");
    assert!(most < 350 && values == 256, "{most} {values}");
    let (most, values) = share("skewed");
    assert!((32_000..33_500).contains(&most) && values > 10, "{most} {values}");
    assert_eq!(share("constant"), (65_536, 1));
}

#[test]
fn the_check_names_the_wrong_count() {
    let fixture = rung_fixture("histogram_global", &Options::default().with("n", 1000).with("data", "constant"));
    let mut counts = [0; BINS];
    counts[0x41] = 1000;
    assert_eq!(fixture.why(&counts), None);
    counts[0x41] = 999;
    assert_eq!(fixture.why(&counts).unwrap(), "the count of byte 0x41 is 999; 1000 is right");
    assert!(fixture.needs_an_output());
}

#[test]
fn a_file_is_counted_fully_or_up_to_n_bytes() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"hello world").unwrap();
    let path = file.path().to_str().unwrap();
    let data = Options::default().with("data", path);
    let problem = problem_of(&data).unwrap();
    assert_eq!((problem.input(0), problem.facts().shape), (&b"hello world"[..], vec![11]));
    let settled = LADDER.complete(&data).unwrap().with_all(&problem.facts().chosen);
    assert_eq!(settled.get("n").unwrap().to_string(), "11");
    assert_eq!(problem_of(&data.clone().with("n", 5)).unwrap().input(0), b"hello");
    let error = problem_of(&data.with("n", 12)).err().unwrap().to_string();
    assert!(error.contains("n = 12 is out of bounds") && error.contains("0 to 11, the bytes of"));
}

#[test]
fn uniform_data_may_exceed_the_range_of_one_counter() {
    let problem_with = |data: &'static str, n: u64| problem_of(&Options::default().with("n", n).with("data", data));
    assert_eq!(problem_with("uniform", 1 << 35).unwrap().facts().shape, [1 << 35]);
    for (data, most) in [("uniform", 1u64 << 36), ("skewed", u64::from(u32::MAX)), ("constant", u64::from(u32::MAX))] {
        let error = problem_with(data, most + 1).err().unwrap().to_string();
        assert!(error.contains(&format!("it takes 0 to {most}")), "{error}");
    }
}
