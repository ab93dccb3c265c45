#![allow(clippy::unwrap_used)]

use super::*;
use crate::data::{MAX_ELEMENTS, element};
use crate::ladder;
use crate::ladders::rung_fixture::{RungFixture, output_of, rung_fixture};
use engine::DeviceProperties;
use engine::launch::Arg;
use engine::problem::{POISON, Role, Verdict};

fn with_block(rung: &str, n: u64, block: u32) -> RungFixture {
    let mut fixture = rung_fixture(rung, &Options::default().with("n", n));
    fixture.launch =
        LADDER.launch(fixture.rung, &*fixture.problem, Some([block, 1, 1]), DeviceProperties::default()).unwrap();
    fixture
}

/// Returns the output of a correct kernel.
fn right_output(fixture: &RungFixture) -> Vec<i32> {
    let elements = (fixture.launch.threads() * u64::from(fixture.rung.items_per_thread)) as usize;
    let mut output = vec![0i32; fixture.launch.blocks() as usize];
    for (sum, share) in output.iter_mut().zip(fixture.input::<i32>().chunks(elements)) {
        *sum = share.iter().fold(0, |sum, &value| sum.wrapping_add(value));
    }
    output
}

#[test]
fn the_check_accepts_right_outputs_at_every_edge() {
    for n in [0, 1, 31, 63, 64, 65, 127, 1000, 4096, 4097, 100_003] {
        for block in [64, 128, 1024] {
            for rung in ["reduce_neighbored", "reduce_unrolling8", "reduce_smem_unroll4"] {
                let fixture = with_block(rung, n, block);
                assert_eq!(fixture.why(&right_output(&fixture)), None, "{} {n}", fixture.launch);
            }
        }
    }
}

#[test]
fn the_check_names_the_wrong_block() {
    let fixture = with_block("reduce_unrolling2", 1000, 64);
    let right = right_output(&fixture);

    let mut swapped = right.clone();
    swapped.swap(2, 5);
    // Two exchanged sums have the same total, but the output is wrong.
    let why = fixture.why(&swapped).unwrap();
    assert!(why.starts_with("block 2 of 8: its sum is "), "{why}");

    let mut unwritten = right.clone();
    unwritten[7] = i32::from_ne_bytes([POISON; 4]);
    let why = fixture.why(&unwritten).unwrap();
    let parts = ["block 7 of 8", "the value from before the launch"];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
}

#[test]
fn a_missing_output_is_wrong_and_does_not_panic() {
    assert!(with_block("reduce_smem", 1000, 128).needs_an_output());
}

#[test]
fn the_output_is_large_enough_for_every_rung_and_block() {
    let ladder = ladder("reduce").unwrap();
    for n in [0, 1, 64, 65, 1000, MAX_ELEMENTS] {
        let problem = ladder.problem(&Options::default().with("n", n)).unwrap();
        let buffers = problem.buffers(DeviceProperties::default());
        for rung in ladder.rungs {
            for block in ladder.blocks_of(rung, &*problem) {
                let launch = ladder.launch(rung, &*problem, Some(block), DeviceProperties::default()).unwrap();
                for (index, buffer) in buffers.iter().enumerate() {
                    let takes = launch.args.contains(&Arg::Buffer(index));
                    if takes && buffer.role.is_result() {
                        let written = problem.written_bytes(&launch, buffer);
                        assert!(written <= buffer.bytes, "{launch}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_input_is_spread_over_all_words() {
    let values: Vec<i32> = (0..1 << 12).map(element).collect();
    let negative = values.iter().filter(|&&value| value < 0).count();
    assert!((1900..2200).contains(&negative), "{negative} of 4096");
    assert!(!values.contains(&0));
    assert_eq!(element(0), element(0));
    let wide: i64 = values.iter().copied().map(i64::from).sum();
    // A sum that does not wrap would be a weak test.
    assert_ne!(i64::from(plain_sum(&values)), wide);
}

/// Returns the result of a correct kernel for each block, in the precision of the type and in the order of the
/// elements.
fn partial<T: bytemuck::Pod>(fixture: &RungFixture, fold: impl Fn(&[T]) -> T) -> Vec<T> {
    let slice = fixture.launch.threads() as usize * fixture.rung.items_per_thread as usize;
    fixture.input().chunks(slice).map(fold).collect()
}

fn options(op: &str, word: &str, n: u64) -> Options {
    Options::default().with("n", n).with("op", op).with("type", word)
}

fn of_operation(op: &str, word: &str, n: u64) -> RungFixture {
    rung_fixture("reduce_any", &options(op, word, n))
}

fn divided_problem(op: &str, word: &str, n: u64) -> Box<dyn Divide> {
    divided(&LADDER.complete(&options(op, word, n)).unwrap()).unwrap()
}

#[test]
fn a_rounded_sum_passes_and_a_missing_element_fails() {
    let fixture = of_operation("sum", "f32", 30_000);
    assert_eq!(fixture.launch.entry, "reduce_any_sum_f32_512");
    let mut sums = partial(&fixture, |part: &[f32]| part.iter().sum());
    assert_eq!(fixture.why(&sums), None);
    sums[0] -= fixture.input::<f32>()[3];
    let why = fixture.why(&sums).unwrap();
    assert!(why.starts_with("block 0 of 8: its sum is "), "{why}");
    sums[0] = f32::NAN;
    assert!(fixture.why(&sums).is_some());
}

#[test]
fn products_are_of_many_factors_and_stay_in_range() {
    let fixture = of_operation("product", "f64", 40_000);
    let mut products = partial(&fixture, |part: &[f64]| part.iter().product());
    let is_in_range = |p: &f64| (0.5..2.0).contains(&p.abs()) && p.abs() != 1.0;
    assert!(products.iter().all(is_in_range));
    assert_eq!(fixture.why(&products), None);
    products[7] *= 1.0 + 1e-9;
    assert!(fixture.why(&products).is_some());

    let fixture = of_operation("product", "i64", 40_000);
    let products = partial(&fixture, |part: &[i64]| part.iter().fold(1, |all: i64, &one| all.wrapping_mul(one)));
    assert!(!products.contains(&0), "a product of even numbers would be 0");
    assert_eq!(fixture.why(&products), None);
}

#[test]
fn min_and_max_are_exact_and_ignore_nans() {
    let fixture = of_operation("max", "f32", 30_000);
    assert_eq!(fixture.input::<f32>().iter().filter(|x| x.is_nan()).count(), 31);
    let mut greatest = partial(&fixture, |part: &[f32]| part.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    assert_eq!(fixture.why(&greatest), None);
    greatest[2] = greatest[2].next_down();
    assert!(fixture.why(&greatest).is_some());
    // The result of no elements is the identity.
    assert_eq!(of_operation("min", "f64", 0).why(&[f64::INFINITY]), None);
}

/// Sums parts of `each` elements, then parts of these sums, and so on until one sum is left. The elements of a part are
/// evenly spaced. Returns the sum and the largest magnitude of all intermediate sums.
fn summed<T: bytemuck::Pod + std::ops::Add<Output = T> + Into<f64>>(input: &[u8], each: usize) -> (Vec<Vec<u8>>, f64) {
    let (mut level, mut largest) = (bytemuck::cast_slice::<_, T>(input).to_vec(), 0.0f64);
    while level.len() > 1 {
        let parts = level.len().div_ceil(each);
        level = (0..parts)
            .map(|part| {
                let mut elements = level.iter().copied().skip(part).step_by(parts);
                let first = elements.next().unwrap();
                elements.fold(first, |sum, one| {
                    largest = largest.max((sum + one).into().abs());
                    sum + one
                })
            })
            .collect();
    }
    (output_of(&level), largest)
}

/// Checks a single result of all elements.
fn check_whole(problem: &dyn Divide, output: &[Vec<u8>]) -> Verdict {
    problem.check_combined(&[problem.reference()], output.first().map_or(&[], Vec::as_slice))
}

#[test]
fn the_sum_of_floats_is_the_same_in_every_order() {
    const N: u64 = 300_007;
    for (word, bound) in [("f32", 18), ("f64", 21)] {
        let problem = divided_problem("sum", word, N);
        for each in [2, 3, 1000, usize::MAX] {
            let (output, largest) = match word {
                "f32" => summed::<f32>(problem.input(0), each),
                _ => summed::<f64>(problem.input(0), each),
            };
            let verdict = check_whole(&*problem, &output);
            assert_eq!(verdict, Verdict::Right, "{word} by {each}");
            // A random walk of 2^31 steps ends 85 times as far from its start as a random walk of `N` steps.
            assert!(largest < f64::from(1 << bound) / 85.0, "{word} by {each}: {largest}");
        }
    }
}

#[test]
fn a_whole_result_is_checked() {
    let problem = divided_problem("sum", "f32", 100_003);
    let input: &[f32] = bytemuck::cast_slice(problem.input(0));
    let sum: f32 = input.iter().sum();
    let wrong = |output: &[Vec<u8>]| match check_whole(&*problem, output) {
        Verdict::Right => panic!("right"),
        Verdict::Wrong(why) => why,
    };
    assert!(check_whole(&*problem, &output_of(&[sum])).is_right());
    for (index, &element) in input.iter().enumerate().step_by(10_007) {
        let why = wrong(&output_of(&[sum - element]));
        assert!(why.starts_with("the sum of all parts is "), "without {index}: {why}");
    }
    assert!(wrong(&output_of(&[sum, 1.0])).contains("2 results"));
    assert!(wrong(&[]).contains("0 results"));
    let unwritten = output_of(&[f32::from_ne_bytes([POISON; 4])]);
    assert!(wrong(&unwritten).contains("the value from before the launch"));
    assert!(wrong(&output_of(&[f32::NAN])).contains("NaN"));
}

#[test]
fn whole_products_stay_in_range_and_reveal_missing_factors() {
    let problem = divided_problem("product", "f32", 1 << 18);
    let input: &[f32] = bytemuck::cast_slice(problem.input(0));
    for each in [2, 4, 32, 1000, 20_000] {
        // As on a GPU, multiplies parts of `each` elements, and then pairs of products.
        let parts = input.chunks(each).map(|part| part.iter().product());
        let mut parts: Vec<f32> = parts.collect();
        while parts.len() > 1 {
            parts = parts.chunks(2).map(|pair| pair.iter().product()).collect();
        }
        let verdict = check_whole(&*problem, &output_of(&parts));
        assert_eq!(verdict, Verdict::Right, "by {each}");
        assert!((1e-3..1e3).contains(&parts[0].abs()), "{}", parts[0]);
    }
    let without = |missing: usize| {
        let factors = input[missing..].iter().copied();
        let product: f64 = factors.map(f64::from).product();
        !check_whole(&*problem, &output_of(&[product as f32])).is_right()
    };
    let noticed = (1..100).filter(|&missing| without(missing)).count();
    assert!(noticed > 80, "{noticed} of 99");
}

#[test]
fn a_launch_of_the_whole_gives_one_sum() {
    for (name, role) in [("reduce_atomic", Role::Sum), ("reduce_one_launch", Role::Output)] {
        let fixture = with_block(name, 100_003, 256);
        let sum = plain_sum(fixture.input());
        let buffers = fixture.problem.buffers(DeviceProperties::default());
        let written = (0..buffers.len()).filter(|&index| {
            let takes = fixture.launch.args.contains(&Arg::Buffer(index));
            takes && buffers[index].role.is_result()
        });
        let written: Vec<usize> = written.collect();
        assert_eq!(written.len(), 1);
        assert_eq!(buffers[written[0]].role, role);
        assert_eq!(fixture.problem.written_bytes(&fixture.launch, &buffers[written[0]]), 4);
        assert_eq!(fixture.why(&[sum]), None);
        let why = fixture.why(&[sum ^ 1]).unwrap();
        assert!(why.starts_with("the sum is "), "{why}");
    }
}
